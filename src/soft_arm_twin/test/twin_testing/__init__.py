"""Helpers of the tests of the twin."""

import numpy as np


def drawn(part, frames):
    """Vertices (n, 3) of a part, as the page computes them."""
    homogeneous = [np.c_[at, np.ones(len(at))] for at in (part.local_a_m, part.local_b_m)]
    a = np.einsum('nij,nj->ni', frames[part.frame_a], homogeneous[0])
    b = np.einsum('nij,nj->ni', frames[part.frame_b], homogeneous[1])
    share = part.share_b[:, None]
    return (1.0 - share) * a + share * b
