"""From a candidate mask to the pose of the ring.

A frame passes detector.py -> hypotheses.py (walls of the ring's radius) -> mask_refinement.py and
outline.py (its contour) -> fit.py (wall and contour together) -> verification.py (is it the ring?).
"""
