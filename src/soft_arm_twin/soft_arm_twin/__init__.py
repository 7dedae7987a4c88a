"""The twin: a page in the browser that shows, drives and replays any robot."""
