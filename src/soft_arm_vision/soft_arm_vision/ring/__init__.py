"""From a candidate mask to the pose of the ring.

A frame passes detector.py -> pose_hypothesis.py and verification.py (is it the ring?) -> fit.py,
which solves wall.py (depth) and outline.py with edge_error.py (contour) together.
"""
