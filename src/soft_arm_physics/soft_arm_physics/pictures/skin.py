"""Skins of segments (`soft_arm_description.skins`) that follow the links of a MuJoCo model."""

import mujoco
import numpy as np

from soft_arm_description.robot import Robot
from soft_arm_description.segments import Segment
from soft_arm_description.skins import Skin, segment_skins


def add_skins(spec: mujoco.MjSpec, robot: Robot, prefix: str) -> list[str]:
    """Add a skin to every segment of a robot; return the names of the geoms that they stand for.

    Args:
        spec: A model that `model.world.build` has made.
        robot: The robot file.
        prefix: With which names of its bodies begin.
    """
    parent, offset_m, covered = f'{prefix}base', 0.0, []
    for number, segment in enumerate(robot.segments):
        bodies, origins_m = _bones(parent, offset_m, segment, prefix)
        for k, shape in enumerate(segment_skins(robot, number)):
            skin = spec.add_skin(name=f'{prefix}{segment.name}_skin_{k}')
            skin.rgba = [*shape.colour_rgb, 1.0]
            skin.vert = shape.vertices_m.ravel().tolist()
            skin.face = shape.triangles.ravel().tolist()
            _attach(skin, spec, bodies, origins_m, shape)
        names = [parent, *(f'{prefix}{segment.name}_{i}' for i in range(segment.sections + 1))]
        covered += [f'{name}/{segment.name}' for name in names]
        parent = f'{prefix}{segment.name}_{segment.sections}'
        offset_m = segment.rigid_length_m
    return covered


def _bones(
    parent: str, offset_m: float, segment: Segment, prefix: str
) -> tuple[list[str], np.ndarray]:
    """Return the bodies of the links, and where their origins are on the straight segment [m].

    Link i has its middle at i / sections of the length; the last body is the end.
    """
    n, h = segment.sections, segment.natural_length_m / segment.sections
    inner = [f'{prefix}{segment.name}_{i}' for i in range(n - 1)]
    origins_m = [-offset_m, *((i + 0.5) * h for i in range(n - 1)), n * h]
    return [parent, *inner, f'{prefix}{segment.name}_{n}'], np.array(origins_m)


def _attach(
    skin: mujoco.MjsSkin,
    spec: mujoco.MjSpec,
    bodies: list[str],
    origins_m: np.ndarray,
    shape: Skin,
) -> None:
    """Let the vertices follow the links whose middles are next to them."""
    skin.bodyname = bodies
    skin.bindpos = np.stack([0 * origins_m, 0 * origins_m, origins_m], axis=1).ravel().tolist()
    end = spec.body(bodies[-1])
    skin.bindquat = [*np.tile([1.0, 0.0, 0.0, 0.0], len(bodies) - 1), *end.quat]
    of_link = [
        (np.flatnonzero((shape.below == i) | (shape.below == i - 1)), i) for i in range(len(bodies))
    ]
    skin.vertid = [ids.tolist() for ids, _ in of_link]
    skin.vertweight = [
        np.where(
            shape.below[ids] == i, 1.0 - shape.above_share[ids], shape.above_share[ids]
        ).tolist()
        for ids, i in of_link
    ]
