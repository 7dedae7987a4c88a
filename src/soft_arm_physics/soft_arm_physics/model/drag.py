"""Drag coefficients of the limbs and bodies of a model in a medium.

A limb has the drag of a slender cylinder, per length: across its axis by the width that it shows
to the flow, along it by friction on its surface, and by its blunt end. In a viscous medium the
linear terms of slender bodies (R. G. Cox, The motion of long slender bodies in a viscous fluid 1,
J. Fluid Mech. 44, 1970) and of spheres (Stokes) count as well.
"""

import math
from dataclasses import dataclass

import mujoco
import numpy as np

from soft_arm_description.rigid_bodies import RigidBody
from soft_arm_description.segments import Segment, TorqueSegment
from soft_arm_description.world import Medium
from soft_arm_physics.actuation.drag import Drag
from soft_arm_physics.model.chain import pieces
from soft_arm_physics.model.mesh import mesh_spans
from soft_arm_physics.model.robot import RobotBodies

# Of a sphere and of a disc across the flow; of a box: S. Hoerner, Fluid-Dynamic Drag, 1965.
BODY_COEFFICIENTS = {'sphere': 0.45, 'capsule': 0.8, 'cylinder': 1.0, 'box': 1.05, 'mesh': 1.0}
SPIN_COEFFICIENT = 0.06  # torque of a smooth spinning ball over rho r^5 w^2 / 2
_GAUSS = 0.5 / math.sqrt(3.0)  # two points integrate the drag of a rigid piece that turns


@dataclass(frozen=True, eq=False)
class DragPoint:
    """A point at which the medium brakes a body: see `actuation.drag.Drag`."""

    body: str
    at_m: np.ndarray  # in the body's frame, (3,)
    linear: np.ndarray  # (6,)
    quadratic: np.ndarray  # (6,)
    slender: bool


def robot_drag(bodies: RobotBodies, medium: Medium, *, free_tip: bool) -> list[DragPoint]:
    """Return the points of a robot: limb, and body at the tip or blunt end.

    The end counts if the tip is free: if no other robot stands on it.
    """
    robot, found = bodies.robot, list[DragPoint]()
    length_m = sum(s.natural_length_m + s.rigid_length_m for s in robot.segments)
    radius_m = float(np.mean([s.radius_m(np.array(0.5)) for s in robot.segments]))
    slimness = math.log(max(2.0 * length_m / radius_m, math.e))
    viscous = 4.0 * math.pi * medium.viscosity_pa_s / np.array([slimness + 0.5, slimness - 0.5])
    viscous[1] /= 2.0
    body, offset_m = f'{bodies.prefix}base', 0.0
    for segment in robot.segments:
        n, h = segment.sections, segment.natural_length_m / segment.sections
        names = [body, *(f'{bodies.prefix}{segment.name}_{i}' for i in range(n + 1))]
        parts = pieces(names, offset_m, segment, h)
        body, offset_m = names[-1], segment.rigid_length_m
        if offset_m > 0.0:
            parts.append((body, 0.0, offset_m, 1.0, 1.0))
        for name, low, high, a, b in parts:
            for share in (0.5 - _GAUSS, 0.5 + _GAUSS):
                z_m, along = low + share * (high - low), a + share * (b - a)
                half_m = (high - low) / 2.0
                found.append(_limb_point(name, z_m, half_m, segment, along, medium, viscous))
    if robot.tip is not None:
        at_m = np.array(robot.tip.position_m) + [0.0, 0.0, offset_m]
        spans_m, areas_m2 = _spans(robot.tip.shape, robot.tip.size_m)
        coefficient = BODY_COEFFICIENTS[robot.tip.shape]
        found.append(
            _body_point(body, at_m, robot.tip.shape, spans_m, areas_m2, coefficient, medium)
        )
    elif free_tip:
        end = np.zeros(6)
        end_m2 = math.pi * float(robot.segments[-1].radius_m(np.array(1.0))) ** 2
        end[2] = 0.5 * medium.density_kg_m3 * medium.drag.end * end_m2
        found.append(DragPoint(body, np.array([0.0, 0.0, offset_m]), np.zeros(6), end, True))
    return found


def body_drag(item: RigidBody, medium: Medium) -> DragPoint:
    """Return the point of a body of an assembly or an object of a world that can move."""
    if item.mesh is not None:
        spans_m, areas_m2 = mesh_spans(item.mesh)
    else:
        spans_m, areas_m2 = _spans(item.shape, item.size_m or ())
    coefficient = item.drag_coefficient
    if coefficient is None:
        coefficient = BODY_COEFFICIENTS[item.shape]
    return _body_point(item.name, np.zeros(3), item.shape, spans_m, areas_m2, coefficient, medium)


def _limb_point(
    body: str,
    z_m: float,
    length_m: float,
    segment: Segment,
    share: float,
    medium: Medium,
    viscous: np.ndarray,
) -> DragPoint:
    """Return the point of a piece of a limb; `viscous`: across and along, per length [Pa s]."""
    at_m = np.array([0.0, 0.0, z_m])
    radius_m = float(segment.radius_m(np.array(share)))
    x_m = y_m = 2.0 * radius_m  # widths
    girth_m = 2.0 * math.pi * radius_m
    if isinstance(segment, TorqueSegment):
        at_m += segment.link_offset_m
        if segment.section_shape == 'box':
            x_m, y_m = segment.section_size_m[:2]
            girth_m = 2.0 * (x_m + y_m)
    skin = medium.drag.along * girth_m
    quadratic = np.array([medium.drag.across * y_m, medium.drag.across * x_m, skin, 0.0, 0.0, 0.0])
    quadratic[5] = skin * radius_m**3
    linear = np.array([viscous[0], viscous[0], viscous[1], 0.0, 0.0, 0.0])
    linear[5] = 4.0 * math.pi * medium.viscosity_pa_s * radius_m**2
    scale = 0.5 * medium.density_kg_m3 * length_m
    return DragPoint(body, at_m, length_m * linear, scale * quadratic, True)


def _body_point(
    body: str,
    at_m: np.ndarray,
    shape: str,
    spans_m: np.ndarray,
    areas_m2: np.ndarray,
    coefficient: float,
    medium: Medium,
) -> DragPoint:
    """Return the point of a compact body by its widths (3,) [m] and areas (3,) [m^2] on its axes.

    A face that turns about an axis in its plane has the torque of the flow across it.
    """
    radius_m = math.sqrt(float(areas_m2.mean()) / math.pi)
    spins = np.full(3, SPIN_COEFFICIENT * radius_m**5)
    fourth = spans_m**4
    faces = coefficient * spans_m * (fourth.sum() - fourth) / 32.0
    if shape in ('box', 'mesh'):
        spins += faces
    elif shape != 'sphere':
        spins[:2] += faces[:2]
    quadratic = np.concatenate([coefficient * areas_m2, spins])
    mu = medium.viscosity_pa_s
    linear = np.repeat([6.0 * math.pi * mu * radius_m, 8.0 * math.pi * mu * radius_m**3], 3)
    return DragPoint(body, at_m, linear, 0.5 * medium.density_kg_m3 * quadratic, False)


def _spans(shape: str, size_m: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return widths [m] and areas [m^2] that a shape shows along its axes, (3,) each."""
    if shape == 'box':
        spans_m = np.array(size_m)
        return spans_m, spans_m.prod() / spans_m
    radius_m, width_m = size_m[0], 2.0 * size_m[0]
    disc_m2 = math.pi * radius_m**2
    if shape == 'sphere':
        return np.full(3, width_m), np.full(3, disc_m2)
    side_m2 = width_m * size_m[1]
    if shape == 'capsule':
        side_m2 += disc_m2 - width_m**2
    return np.array([width_m, width_m, size_m[1]]), np.array([side_m2, side_m2, disc_m2])


def make_drag(model: mujoco.MjModel, points: list[DragPoint]) -> Drag:
    """Return the points of a compiled model as arrays for the stepping loop."""
    body = np.array([model.body(point.body).id for point in points], dtype=np.int64)
    at_m = np.array([point.at_m for point in points]).reshape(-1, 3)
    return Drag(
        body,
        model.body_rootid[body].astype(np.int64),
        at_m - model.body_ipos[body],
        np.array([point.linear for point in points]).reshape(-1, 6),
        np.array([point.quadratic for point in points]).reshape(-1, 6),
        np.array([point.slender for point in points], dtype=bool),
    )
