"""Rigid motions as tuples (translation xyz, quaternion xyzw).

For the few frames of a lookup plain floats are faster than small arrays.
"""

import math

IDENTITY = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))


def _multiply(p, q):
    px, py, pz, pw = p
    qx, qy, qz, qw = q
    return (
        pw * qx + px * qw + py * qz - pz * qy,
        pw * qy - px * qz + py * qw + pz * qx,
        pw * qz + px * qy - py * qx + pz * qw,
        pw * qw - px * qx - py * qy - pz * qz,
    )


def _rotate(q, v):
    x, y, z, w = q
    # v + 2 w (u x v) + 2 u x (u x v)
    cx, cy, cz = 2 * (y * v[2] - z * v[1]), 2 * (z * v[0] - x * v[2]), 2 * (x * v[1] - y * v[0])
    return (
        v[0] + w * cx + y * cz - z * cy,
        v[1] + w * cy + z * cx - x * cz,
        v[2] + w * cz + x * cy - y * cx,
    )


def compose(first, second):
    """T_ac from T_ab and T_bc."""
    (p, q), (r, s) = first, second
    moved = _rotate(q, r)
    return (p[0] + moved[0], p[1] + moved[1], p[2] + moved[2]), _multiply(q, s)


def inverse(transform):
    """T_ba from T_ab."""
    p, (x, y, z, w) = transform
    back = (-x, -y, -z, w)
    moved = _rotate(back, p)
    return (-moved[0], -moved[1], -moved[2]), back


def interpolate(first, second, ratio):
    """Interpolate along a straight line and the shortest great arc; `ratio` is 0 at `first`."""
    (p, q), (r, s) = first, second
    position = tuple(a + ratio * (b - a) for a, b in zip(p, r, strict=True))
    cosine = sum(a * b for a, b in zip(q, s, strict=True))
    if cosine < 0.0:
        s, cosine = tuple(-c for c in s), -cosine
    if cosine > 1.0 - 1e-9:
        a, b = 1.0 - ratio, ratio
    else:
        angle = math.acos(cosine)
        a = math.sin((1.0 - ratio) * angle) / math.sin(angle)
        b = math.sin(ratio * angle) / math.sin(angle)
    rotation = tuple(a * c + b * d for c, d in zip(q, s, strict=True))
    norm = math.sqrt(sum(c * c for c in rotation))
    return position, tuple(c / norm for c in rotation)
