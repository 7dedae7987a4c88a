"""Without load, a simulated rod of hinges takes the shape of its kinematics."""

import numpy as np
import pytest

from soft_arm_description import load_robot, load_world
from soft_arm_kinematics.arm import make_arm
from soft_arm_physics.simulation import Simulation


@pytest.mark.parametrize(
    ('name', 'u'), [('soft_finger', [0.03, -0.1]), ('snake_body', [0.8, -0.5, 0.5, -0.8])]
)
def test_a_free_rod_of_hinges_has_the_shape_of_its_kinematics(name, u):
    weightless = load_world('empty').model_copy(update={'gravity_m_s2': (0.0, 0.0, 0.0)})
    sim = Simulation(load_robot(name), weightless)
    sim.robot.actuate(u)
    sim.step(20.0)
    expected = make_arm(load_robot(name)).at(np.array(u)).tip_pose
    assert sim.robot.T_base_tip() == pytest.approx(expected, abs=1e-5)
