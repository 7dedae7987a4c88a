"""Cosserat rod of PyElastica, for comparison with the simulated chain.

PyElastica clamps a whole first element. The rod therefore begins half an element behind the clamp,
so that the centre of the element is at the clamp. Unlike the chain, the Cosserat rod shears and
stretches: its shear and axial stiffness are increased.
"""

import elastica
import numpy as np

from soft_arm_benchmarks.physics.rods import GRAVITY_M_S2, rod_robot, settled_tip_m

LENGTH_M, BENDING_N_M2, TORSION_N_M2, MASS_KG_M = 0.3, 0.1, 0.1 / 1.5, 1.0
RADIUS_M = 0.015  # of PyElastica's rod: sets shear and stretch, and its inertia on the way to rest
TIP_FORCE_N = np.array([1.5, 0.0, 0.0])  # across the axis z and across gravity
GRAVITY = np.array([0.0, -GRAVITY_M_S2, 0.0])
ELEMENTS = 30
STIFFER = 3.0  # factor of shear and axial stiffness
COURANT = 0.5
DAMPING_1_S = 25.0  # near the critical damping of the first mode
REST_S = 2.0


def cosserat_tip_m() -> np.ndarray:
    """Return the tip of the clamped rod at rest under gravity and tip force [m], (3,)."""
    behind_m = LENGTH_M / (ELEMENTS - 0.5) / 2
    modulus_pa = BENDING_N_M2 / (np.pi / 4 * RADIUS_M**4)
    rod = elastica.CosseratRod.straight_rod(
        ELEMENTS,
        np.array([0.0, 0.0, -behind_m]),
        np.array([0.0, 0.0, 1.0]),
        np.array([1.0, 0.0, 0.0]),
        LENGTH_M + behind_m,
        RADIUS_M,
        MASS_KG_M / (np.pi * RADIUS_M**2),
        youngs_modulus=modulus_pa,
        shear_modulus=modulus_pa / 3.0,
    )
    rod.bend_matrix[2, 2] = TORSION_N_M2
    rod.shear_matrix *= STIFFER
    wave_m_s = np.sqrt(STIFFER * modulus_pa * np.pi * RADIUS_M**2 / MASS_KG_M)
    time_step_s = COURANT * 2 * behind_m / wave_m_s
    parts = elastica.BaseSystemCollection, elastica.Constraints, elastica.Forcing, elastica.Damping
    rods = type('Rods', parts, {})()
    rods.append(rod)
    rods.constrain(rod).using(
        elastica.OneEndFixedBC, constrained_position_idx=(0,), constrained_director_idx=(0,)
    )
    rods.add_forcing_to(rod).using(elastica.GravityForces, acc_gravity=GRAVITY)
    rods.add_forcing_to(rod).using(
        elastica.EndpointForces, np.zeros(3), TIP_FORCE_N, ramp_up_time=0.1
    )
    rods.dampen(rod).using(
        elastica.AnalyticalLinearDamper, uniform_damping_constant=DAMPING_1_S, time_step=time_step_s
    )
    rods.finalize()
    stepper, time_s = elastica.PositionVerlet(), np.float64(0.0)
    for _ in range(int(REST_S / time_step_s)):
        time_s = stepper.step(rods, time_s, np.float64(time_step_s))
    return rod.position_collection[:, -1].copy()


def chain_tip_m(sections: int) -> np.ndarray:
    """Return the tip of the simulated chain at rest under the same loads [m], (3,)."""
    rod = rod_robot(LENGTH_M, BENDING_N_M2, MASS_KG_M, sections, torsional_n_m2=TORSION_N_M2)
    return settled_tip_m(rod, tip_force_n=tuple(TIP_FORCE_N), gravity_m_s2=tuple(GRAVITY))
