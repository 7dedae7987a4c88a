"""What the twin costs, and how late it is."""
