"""Nodes of the launch files; nothing else in this package is a node."""
