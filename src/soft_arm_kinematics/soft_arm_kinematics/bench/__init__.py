"""Benchmarks of this package."""
