"""What drives the joints: chambers, bellows, rest shapes, tendons and torques."""
