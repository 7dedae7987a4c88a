"""Command lines of this package."""
