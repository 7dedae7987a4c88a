"""Accuracy of the simulated chain, for `softarm bench physics`."""

import numpy as np

from soft_arm_benchmarks.physics.cosserat import LENGTH_M as COSSERAT_LENGTH_M
from soft_arm_benchmarks.physics.cosserat import chain_tip_m, cosserat_tip_m
from soft_arm_benchmarks.physics.rods import (
    GRAVITY_M_S2,
    beam_frequency_hz,
    first_frequency_hz,
    tip_error_m,
)
from soft_arm_description.robot import load_robot
from soft_arm_description.world import World
from soft_arm_physics import Simulation

LENGTH_M, BENDING_N_M2, MASS_KG_M = 0.3, 0.1, 1.0
ROD = LENGTH_M, BENDING_N_M2, MASS_KG_M
COARSE, FINE = 10, 20
PLANE_N_M2 = BENDING_N_M2, BENDING_N_M2, None  # no twist
ROUND_N_M2, FLAT_N_M2 = (0.1, 0.1, 0.1 / 1.5), (0.1, 0.4, 0.05)  # EI about x and y, GJ
BLOCKED_FORCE_N = 0.75  # from which the robot file derives the largest torque `grasp`


def cantilever_figures() -> dict[str, float]:
    """Return the larger tip error of a loaded cantilever and of a heavy rod inclined by 60 deg."""
    slope = np.deg2rad(60.0)
    hanging = (GRAVITY_M_S2 * np.sin(slope), 0.0, GRAVITY_M_S2 * np.cos(slope))
    level = (GRAVITY_M_S2, 0.0, 0.0)
    coarse, fine = (
        np.array(
            [
                tip_error_m(
                    LENGTH_M, PLANE_N_M2, 1e-3, n, tip_force_n=(2.5, 0, 0), gravity_m_s2=level
                ),
                tip_error_m(LENGTH_M, PLANE_N_M2, MASS_KG_M, n, gravity_m_s2=hanging),
            ]
        )
        / LENGTH_M
        for n in (COARSE, FINE)
    )
    return {
        'cantilever_error_fraction': float(fine.max()),
        'cantilever_error_fraction_10': float(coarse.max()),
        'cantilever_order': float((coarse / fine).min()),
    }


def twist_figures() -> dict[str, float]:
    """Return the larger tip error of two rods that twist: bent at rest, and with EI_y = 4 EI_x."""
    rod = LENGTH_M, ROUND_N_M2, MASS_KG_M
    coarse, fine = (
        np.array(
            [
                tip_error_m(*rod, n, rest_bend_rad=1.5, tip_force_n=(0, 1.5, 0)),
                tip_error_m(LENGTH_M, FLAT_N_M2, MASS_KG_M, n, tip_force_n=(1.5, 1.5, 0)),
            ]
        )
        / LENGTH_M
        for n in (COARSE, FINE)
    )
    return {
        'twist_error_fraction': float(fine.max()),
        'twist_order': float((coarse / fine).min()),
    }


def frequency_figures() -> dict[str, float]:
    """Return the relative error of the first bending frequency."""
    error = first_frequency_hz(*ROD, COARSE) / beam_frequency_hz(*ROD) - 1.0
    return {'frequency_error_fraction': abs(error)}


def cosserat_figures() -> dict[str, float]:
    """Return the distance of the tips of the chain and of the Cosserat rod, in lengths."""
    distance_m = np.linalg.norm(chain_tip_m(FINE) - cosserat_tip_m())
    return {'cosserat_error_fraction': float(distance_m / COSSERAT_LENGTH_M)}


def blocked_force_figures() -> dict[str, float]:
    """Return the force of the shipped finger's tip on a fixed body, at its largest torque `grasp`.

    The body touches the tip of the straight finger on the side to which it bends, without friction
    and gravity, as in the calibration.
    """
    radius_m, side_m, gap_m = 0.0085, 0.02, 2e-5  # of the finger's tip and of the body
    sensor = {
        'name': 'sensor',
        'shape': 'box',
        'size_m': [0.02, side_m, side_m],
        'fixed': True,
        'friction': 0.0,
        'position_m': [0.0, -radius_m - gap_m - side_m / 2, 0.1],
    }
    world = World.model_validate(
        {
            'schema_version': 1,
            'name': 'sensor',
            'description': '',
            'gravity_m_s2': [0.0, 0.0, 0.0],
            'objects': [sensor],
        }
    )
    finger = load_robot('soft_finger')
    sim = Simulation(finger, world)
    sim.robot.actuate([sim.robot.coordinates[0].high, 0.0])
    sim.settle(60.0)
    pushes = [c for c in sim.contacts() if 'sensor' in (c.body_a, c.body_b)]
    force_n = abs(sum(c.force_n[1] for c in pushes))
    return {
        'blocked_force_error_fraction': abs(force_n / BLOCKED_FORCE_N - 1.0),
        'blocked_force_n': force_n,
    }
