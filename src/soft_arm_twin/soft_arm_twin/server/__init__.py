"""What a page is told and what it may ask: one WebSocket, and static files."""
