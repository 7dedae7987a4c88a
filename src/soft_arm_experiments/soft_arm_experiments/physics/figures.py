"""Accuracy of the simulated chain, for `softarm bench physics`."""

import numpy as np

from soft_arm_description.robot import load_robot
from soft_arm_description.world import World
from soft_arm_experiments.physics.cosserat import LENGTH_M as COSSERAT_LENGTH_M
from soft_arm_experiments.physics.cosserat import chain_tip_m, cosserat_tip_m
from soft_arm_experiments.physics.elastica import beam_frequency_hz
from soft_arm_experiments.physics.rods import first_frequency_hz, spatial_error_m, tip_error_m
from soft_arm_physics import Simulation

LENGTH_M, BENDING_N_M2, MASS_KG_M = 0.3, 0.1, 1.0
ROD = LENGTH_M, BENDING_N_M2, MASS_KG_M
COARSE, FINE = 10, 20
ROUND_N_M2, FLAT_N_M2 = (0.1, 0.1, 0.1 / 1.5), (0.1, 0.4, 0.05)  # EI about x and y, GJ
BLOCKED_FORCE_N = 0.75  # soft_finger's file: where its torque `grasp` comes from


def cantilever_figures() -> dict[str, float]:
    """Tip errors of a cantilever with a load and of a heavy rod that hangs aslant: the larger."""
    errors = {}
    for sections in (COARSE, FINE):
        loaded = tip_error_m(LENGTH_M, BENDING_N_M2, 1e-3, sections, tip_force_n=(2.5, 0.0))
        hanging = tip_error_m(*ROD, sections, gravity_angle_rad=np.deg2rad(60.0))
        errors[sections] = np.array([loaded, hanging]) / LENGTH_M
    return {
        'cantilever_error_fraction': float(errors[FINE].max()),
        'cantilever_error_fraction_10': float(errors[COARSE].max()),
        'cantilever_order': float((errors[COARSE] / errors[FINE]).min()),
    }


def twist_figures() -> dict[str, float]:
    """Tip errors of rods that twist: one bent at rest, one with two bending stiffnesses."""
    errors = {}
    for sections in (COARSE, FINE):
        bent = spatial_error_m(
            LENGTH_M, ROUND_N_M2, MASS_KG_M, sections, rest_bend_rad=1.5, tip_force_n=(0, 1.5, 0)
        )
        flat = spatial_error_m(LENGTH_M, FLAT_N_M2, MASS_KG_M, sections, tip_force_n=(1.5, 1.5, 0))
        errors[sections] = np.array([bent, flat]) / LENGTH_M
    return {
        'twist_error_fraction': float(errors[FINE].max()),
        'twist_order': float((errors[COARSE] / errors[FINE]).min()),
    }


def frequency_figures() -> dict[str, float]:
    """Error of the first bending frequency."""
    error = first_frequency_hz(*ROD, COARSE) / beam_frequency_hz(*ROD) - 1.0
    return {'frequency_error_fraction': abs(error)}


def cosserat_figures() -> dict[str, float]:
    """Distance of the chain's tip from that of PyElastica's rod, bent in three dimensions."""
    distance_m = np.linalg.norm(chain_tip_m(FINE) - cosserat_tip_m())
    return {'cosserat_error_fraction': float(distance_m / COSSERAT_LENGTH_M)}


def blocked_force_figures() -> dict[str, float]:
    """Force of the shipped finger's tip on a fixed body, at its largest torque `grasp`.

    The body touches the straight finger's tip from the side to which it bends, without friction;
    the finger has no weight, as in the calibration.
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
    sim.robot.actuate([sim.robot.actuation[0].high, 0.0])
    sim.settle(60.0)
    pushes = [c for c in sim.contacts() if 'sensor' in (c.body_a, c.body_b)]
    force_n = abs(sum(c.force_n[1] for c in pushes))
    return {
        'blocked_force_error_fraction': abs(force_n / BLOCKED_FORCE_N - 1.0),
        'blocked_force_n': force_n,
    }
