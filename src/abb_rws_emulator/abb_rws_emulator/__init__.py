"""Emulated ABB controller with an IRB 120: HTTP and WebSocket server."""
