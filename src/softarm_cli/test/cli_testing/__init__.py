"""Helpers of the tests of the command line."""
