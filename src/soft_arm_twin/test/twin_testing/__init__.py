"""Helpers of the tests of the twin."""
