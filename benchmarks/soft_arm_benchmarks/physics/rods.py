"""Rods as simulated robots, for comparison with the Kirchhoff rod and with a vibrating beam."""

import numpy as np

from soft_arm_benchmarks.physics.kirchhoff import kirchhoff_tip_m
from soft_arm_description.robot import Robot
from soft_arm_description.world import World
from soft_arm_physics import Simulation
from soft_arm_physics.model.checks import slowest_mode_rad_s

GRAVITY_M_S2 = 9.81
RADIUS_M = 1e-3  # thin, so that the rotational inertia of a section is negligible
CLAMPED_FREE = 1.875104068711961  # first root of cos(x) cosh(x) = -1


def rod_robot(
    length_m: float,
    bending_stiffness_n_m2: float | tuple[float, float],
    mass_kg_m: float,
    sections: int,
    torsional_n_m2: float | None = None,
    rest_bend_rad: float = 0.0,
) -> Robot:
    """Return a rod as a robot that no pressure bends, with its base at the origin.

    Without a torsional stiffness it does not twist. At rest it is an arc that bends by
    `rest_bend_rad` towards x.
    """
    segment = {
        'name': 'rod',
        'kind': 'single_bend',
        'closing_twist': True,
        'sections': sections,
        'rigid_length_m': 0.0,
        'body_mass_kg': mass_kg_m * length_m,
        'body_radius_m': RADIUS_M,
        'stiffness': {
            'bending_n_m2': bending_stiffness_n_m2,
            'torsional_n_m2': torsional_n_m2,
        },
        'collision': 'none',
        'chamber': 'none',
        'nominal': True,
        'length_m': length_m,
        'phi_deg': 0.0,
        'pressure_unit_pa': 1.0e5,
        'pressure_limits_pa': [0.0, 1.0e5],
        'theta_coefficients_rad': [rest_bend_rad, 0.0, 0.0, 0.0],
    }
    base = {
        'frame': 'rod_base_link',
        'parent_frame': 'world',
        'position_m': [0.0, 0.0, 0.0],
        'rpy_deg': [0.0, 0.0, 0.0],
        'flange_m': [0.01, 0.01, 0.001],
    }
    content = {
        'schema_version': 1,
        'name': 'rod',
        'description': 'Straight rod.',
        'source': 'Computed.',
        'base': base,
        'segments': [segment],
    }
    return Robot.model_validate(content)


def settled_tip_m(
    rod: Robot,
    *,
    tip_force_n: tuple[float, float, float] = (0.0, 0.0, 0.0),
    gravity_m_s2: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> np.ndarray:
    """Return the tip of a simulated rod at rest under a tip force and gravity [m], (3,)."""
    world = World(schema_version=1, name='rod', description='', gravity_m_s2=gravity_m_s2)
    sim = Simulation(rod, world)
    sim.apply_load('rod', 'tip', tip_force_n)
    sim.settle(120.0, critical=True)
    return sim.robot.T_base_tip()[:3, 3]


def tip_error_m(
    length_m: float,
    stiffness_n_m2: tuple[float, float, float | None],
    mass_kg_m: float,
    sections: int,
    *,
    rest_bend_rad: float = 0.0,
    tip_force_n: tuple[float, float, float] = (0.0, 0.0, 0.0),
    gravity_m_s2: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> float:
    """Return the distance of a simulated rod's tip at rest from the Kirchhoff rod's [m].

    Args:
        length_m, mass_kg_m: Length [m] and mass per length [kg/m].
        stiffness_n_m2: EI about x, EI about y and GJ [N m^2]; without GJ the chain does not twist,
            for loads in a plane.
        sections: Sections of the chain.
        rest_bend_rad: Bend towards x without load [rad].
        tip_force_n: Force on the tip [N].
        gravity_m_s2: Gravity [m/s^2].
    """
    about_x_n_m2, about_y_n_m2, torsional_n_m2 = stiffness_n_m2
    bending_n_m2 = about_x_n_m2, about_y_n_m2
    rod = rod_robot(length_m, bending_n_m2, mass_kg_m, sections, torsional_n_m2, rest_bend_rad)
    tip_m = settled_tip_m(rod, tip_force_n=tip_force_n, gravity_m_s2=gravity_m_s2)
    g_x, g_y, g_z = gravity_m_s2
    reference_m = kirchhoff_tip_m(
        length_m,
        (about_x_n_m2, about_y_n_m2, torsional_n_m2 or about_x_n_m2),
        rest_curvature_1_m=(0.0, rest_bend_rad / length_m, 0.0),
        tip_force_n=tip_force_n,
        weight_n_m=(mass_kg_m * g_x, mass_kg_m * g_y, mass_kg_m * g_z),
    )
    return float(np.linalg.norm(tip_m - reference_m))


def first_frequency_hz(
    length_m: float, bending_stiffness_n_m2: float, mass_kg_m: float, sections: int
) -> float:
    """Return the first bending frequency of a simulated rod [Hz] by its mass and stiffness."""
    sim = Simulation(rod_robot(length_m, bending_stiffness_n_m2, mass_kg_m, sections))
    return slowest_mode_rad_s(sim.model) / (2.0 * np.pi)


def beam_frequency_hz(length_m: float, bending_stiffness_n_m2: float, mass_kg_m: float) -> float:
    """Return the first bending frequency of a clamped beam [Hz] (Euler-Bernoulli)."""
    square = np.sqrt(bending_stiffness_n_m2 / (mass_kg_m * length_m**4))
    return float(CLAMPED_FREE**2 * square / (2.0 * np.pi))
