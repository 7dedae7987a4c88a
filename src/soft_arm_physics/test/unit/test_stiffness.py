import json

import numpy as np
import pytest
import yaml
from scipy.integrate import solve_bvp, trapezoid

from physics_testing import hinged
from soft_arm_description.robot import load_robot
from soft_arm_physics import Simulation
from soft_arm_physics.calibration.stiffness import cantilever_deflection, fit_cantilever
from soft_arm_physics.cli import calibrate_stiffness

LENGTH_M, BENDING_N_M2 = 0.12, 0.004


def elastica_m(load_n):
    """Deflection of the tip by the boundary-value problem of the elastica."""
    s = np.linspace(0.0, LENGTH_M, 200)
    solution = solve_bvp(
        lambda s, y: [y[1], -load_n * np.cos(y[0]) / BENDING_N_M2],
        lambda a, b: [a[0], b[1]],
        s,
        np.zeros((2, len(s))),
        tol=1e-9,
        max_nodes=20000,
    )
    fine = np.linspace(0.0, LENGTH_M, 5001)
    return trapezoid(np.sin(solution.sol(fine)[0]), fine)


@pytest.mark.parametrize('load_n', [1e-3, 0.3, -1.0, 2.0])
def test_deflection_is_that_of_the_elastica(load_n):
    found = cantilever_deflection(np.array([load_n]), LENGTH_M, BENDING_N_M2)[0]
    assert found == pytest.approx(elastica_m(load_n), rel=1e-5)


def test_a_beam_gives_back_its_stiffness_and_an_honest_interval():
    loads, inside = np.linspace(-0.2, 1.5, 9), 0
    true = cantilever_deflection(loads, LENGTH_M, BENDING_N_M2)
    for seed in range(200):
        noise = np.random.default_rng(1000 + seed).normal(0.0, 4e-4, len(loads))
        fit = fit_cantilever(loads, true + 0.003 + noise, LENGTH_M)
        inside += abs(fit.value - BENDING_N_M2) < fit.confidence_95
    assert 180 <= inside <= 199  # 95 % of 200


def write(tmp_path, columns, *data):
    rows = [columns, *(','.join(f'{v:.12g}' for v in row) for row in zip(*data, strict=True))]
    (tmp_path / 'data.csv').write_text('\n'.join(rows) + '\n')
    return ['--data', str(tmp_path / 'data.csv'), '--length-m', str(LENGTH_M)]


def write_rod(tmp_path, sections):
    """Write the file of a light rod with a heavy tip; return its path."""
    hinges = [
        {'name': name, 'axis': axis, 'stiffness_n_m_rad': 1.0, 'torque_limits_n_m': [-0.5, 0.5]}
        for name, axis in (('bend', [1, 0, 0]), ('side', [0, 1, 0]))
    ]
    robot = hinged(
        {'mass_kg': 0.01, 'shape': 'sphere', 'size_m': [0.005]},
        length_m=LENGTH_M,
        sections=sections,
        section_shape='cylinder',
        section_size_m=[0.01],
        body_mass_kg=1e-6,
        hinges=hinges,
    )
    path = tmp_path / 'rod.yaml'
    path.write_text(yaml.safe_dump(robot.model_dump(mode='json', exclude_unset=True)))
    return str(path)


@pytest.mark.parametrize('sections', [10, 20])
def test_the_chain_with_the_measured_stiffness_deflects_like_the_beam(tmp_path, sections):
    """The hinges of one axis are not in the middles of their parts: E I / l would err by 15 %."""
    loads = np.array([0.05, 0.1, 0.2])
    data = write(
        tmp_path, 'load_n,deflection_m', loads, cantilever_deflection(loads, LENGTH_M, BENDING_N_M2)
    )
    robot = ['--robot', write_rod(tmp_path, sections), '--hinge', 'bend']
    out = tmp_path / 'measured.yaml'
    assert calibrate_stiffness.main([*data, *robot, '--output', str(out)]) == 0
    bend, side = load_robot(out).segments[0].hinges
    assert side.stiffness_n_m_rad == 1.0
    assert bend.stiffness_n_m_rad == pytest.approx(
        BENDING_N_M2 * sections / 2 / LENGTH_M, rel=2 / sections
    )
    content = yaml.safe_load(out.read_text())
    content['base']['rpy_deg'] = [90, 0, 0]  # it lies along -y, and its tip weighs it down
    out.write_text(yaml.safe_dump(content))
    sim = Simulation(str(out))
    sim.settle()
    fallen_m = content['base']['position_m'][2] - sim.robot.T_world_tip()[2, 3]
    beam_m = cantilever_deflection(np.array([0.01 * 9.81]), LENGTH_M, BENDING_N_M2)[0]
    assert fallen_m == pytest.approx(beam_m, rel=0.01)


@pytest.mark.parametrize(('held', 'share'), [('straight', 1.0), ('tip', 2 / 3)])
def test_blocked_force_gives_the_torque_of_a_pressure(tmp_path, capsys, held, share):
    pressures = np.linspace(0.0, 100e3, 6)
    data = write(tmp_path, 'pressure_pa,force_n', pressures, 0.1 + 0.75e-5 * pressures)
    options = ['--quantity', 'torque', '--held', held]
    assert calibrate_stiffness.main([*data, *options, '--json']) == 0
    found = json.loads(capsys.readouterr().out)
    assert found['torque_n_m_pa'] == pytest.approx(0.75e-5 * LENGTH_M * share)
    assert found['offset'] == pytest.approx(0.1 * LENGTH_M * share)
    robot, plot = ['--robot', write_rod(tmp_path, 6)], ['--plot', str(tmp_path / 'fit.png')]
    assert calibrate_stiffness.main([*data, *options, *robot, *plot]) == 0
    keys = yaml.safe_load(capsys.readouterr().out)
    limits = [hinge['torque_limits_n_m'] for hinge in keys['hinges']]
    assert limits == [pytest.approx([0.0, 0.75 * LENGTH_M * share], rel=1e-5)] * 2
    assert (tmp_path / 'fit.png').stat().st_size > 1000


@pytest.mark.parametrize(
    ('columns', 'data', 'options', 'words'),
    [
        ('load_n,height_m', ([1, 2, 3], [1, 2, 3]), [], ['deflection_m', 'missing']),
        ('load_n,deflection_m', ([1, 2], [1, 2]), [], ['2 points', 'at least 3']),
        ('load_n,deflection_m', ([1, 2, 3], [3, 2, 1]), [], ['grow with the load']),
        ('load_n,deflection_m', ([1, 2, 3], [10, 20, 30]), [], ['correct length or unit']),
        (
            'load_n,deflection_m',
            ([1, 2, 3], [1e-3, 2e-3, 3e-3]),
            ['--output', 'x.yaml'],
            ['--robot'],
        ),
        (
            'load_n,deflection_m',
            ([1, 2, 3], [1e-3, 2e-3, 3e-3]),
            ['--robot', 'two_module_arm'],
            ['bellows', 'curve'],
        ),
    ],
)
def test_bad_input_is_one_line(tmp_path, capsys, columns, data, options, words):
    assert calibrate_stiffness.main([*write(tmp_path, columns, *data), *options]) == 2
    message = capsys.readouterr().err
    assert message.count('\n') == 1 and all(word in message for word in words), message
