"""Extrinsic calibration: solve for the camera's pose, load it, and notice when the camera moves."""
