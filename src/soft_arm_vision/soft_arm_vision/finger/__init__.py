"""Bends of a finger's pieces from its painted lines, and records of their calibration."""
