"""Emulate an ABB controller with an IRB 120: an HTTP and WebSocket server."""
