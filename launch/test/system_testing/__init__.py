"""Helpers of the system tests."""
