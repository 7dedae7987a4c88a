"""Point clouds and cylinders: from depth to points, RANSAC, Gauss-Newton, cylinders in scenes."""
