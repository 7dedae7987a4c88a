"""Emulator of an ABB controller: a real HTTP and WebSocket server with an IRB 120 behind it."""
