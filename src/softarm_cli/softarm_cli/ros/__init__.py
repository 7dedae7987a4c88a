"""Nodes of this package."""
