"""From a candidate mask to the pose of the ring.

A frame passes detector.py -> hypotheses.py (walls of the ring's radius) -> outline.py (its contour
to a fraction of a pixel) -> fit.py (wall and contour together) -> verification.py (is it the
ring?).
"""
