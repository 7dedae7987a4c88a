"""Actuation of the joints: chambers, bellows, rest shapes, tendons and torques."""
