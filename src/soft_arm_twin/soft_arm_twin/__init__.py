"""Web page that shows, commands and replays robots."""
