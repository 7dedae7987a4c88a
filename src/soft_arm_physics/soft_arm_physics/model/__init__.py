"""From robot, assembly and world files to one MuJoCo model."""
