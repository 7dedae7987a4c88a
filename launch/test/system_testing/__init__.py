"""Helpers of the system tests, and of tests of several packages."""
