"""Reference solutions for the physics: elastica and vibrating beam."""
