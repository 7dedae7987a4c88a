"""Web server: one WebSocket for each page, and static files."""
