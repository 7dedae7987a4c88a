"""Benchmarks of this package: `softarm bench kinematics`."""
