"""Friction and contact time of shapes: each holds in every contact of the body that states it.

MuJoCo takes all parameters of a contact from the shape with the higher priority and mixes those of
equal shapes: the larger friction, and the mean contact time weighted by `solmix`. Friction that is
given has priority, a contact time that is given has a weight. What neither can express, friction of
one shape with the contact time of another, is an explicit pair.
"""

from itertools import product

import mujoco
import numpy as np

_DECIDES = 1e6  # weight of a given contact time against a default one


def set_friction(geom: mujoco.MjsGeom, sliding: float | None) -> None:
    """Set the friction of a shape; it wins over a shape whose friction is not given."""
    if sliding is not None:
        geom.friction[0], geom.priority = sliding, 1


def set_contact_time(geom: mujoco.MjsGeom, time_s: float | None) -> None:
    """Set the contact time of a shape [s]; it wins over a shape whose contact time is not given."""
    if time_s is not None:
        geom.solref, geom.solmix = [time_s, 1.0], _DECIDES


def pair_shapes(spec: mujoco.MjSpec) -> None:
    """Pair what gives friction with what gives a contact time alone, where they can touch."""
    excluded = {frozenset((e.bodyname1, e.bodyname2)) for e in spec.excludes}
    rough = [geom for geom in spec.geoms if geom.priority]
    hard = [geom for geom in spec.geoms if geom.solmix == _DECIDES and not geom.priority]
    for a, b in product(rough, hard):
        if _can_touch(a, b) and frozenset((a.parent.name, b.parent.name)) not in excluded:
            add_pair(spec, a, b, a.friction[0], a.friction[0])


def add_pair(
    spec: mujoco.MjSpec, a: mujoco.MjsGeom, b: mujoco.MjsGeom, along: float, across: float
) -> None:
    """Give a pair of shapes its friction along and across the first tangent of their contact.

    Its contact time is what their own ones and their weights give.
    """
    a.name = a.name or a.parent.name
    pair = spec.add_pair(geomname1=a.name, geomname2=b.name, condim=3)
    pair.friction[:2] = along, across
    pair.solref = np.average([a.solref, b.solref], axis=0, weights=[a.solmix, b.solmix])


def _can_touch(a: mujoco.MjsGeom, b: mujoco.MjsGeom) -> bool:
    """Return whether MuJoCo would look for contacts of two shapes: it does not for a pair."""
    if not (a.contype & b.conaffinity or b.contype & a.conaffinity):
        return False
    of_a, of_b = _moving_body(a.parent), _moving_body(b.parent)
    return of_a is not of_b and not (_hangs_on(of_a, of_b) or _hangs_on(of_b, of_a))


def _moving_body(body: mujoco.MjsBody) -> mujoco.MjsBody:
    """Return the body with joints to which a body is fixed, or the world."""
    while body.parent is not None and not body.joints:
        body = body.parent
    return body


def _hangs_on(child: mujoco.MjsBody, body: mujoco.MjsBody) -> bool:
    """Return whether the joints of one body connect it with another one that moves, too."""
    if child.parent is None or body.parent is None:
        return False
    return _moving_body(child.parent) is body
