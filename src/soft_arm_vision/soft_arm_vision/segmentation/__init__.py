"""Candidates for the ring in an image: by colour, or by a network (yolact)."""
