"""Robot files: the single source for a robot, with URDF, meshes and calibration."""
