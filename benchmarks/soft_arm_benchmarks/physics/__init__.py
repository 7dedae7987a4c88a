"""Reference solutions and benchmarks of the physics."""
