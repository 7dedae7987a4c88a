import json
import math

import numpy as np
import pytest
import yaml

from soft_arm_description.assembly import load_assembly
from soft_arm_description.robot import load_robot
from soft_arm_somo import cli


def link(shape='box', size=(0.5, 0.4, 0.25), mass=0.004, **more):
    return {
        'shape_type': shape,
        'dimensions': list(size),
        'mass': mass,
        'inertial_values': [0.01, 0, 0, 0.01, 0, 0.01],
        'material_color': [0.2, 0.4, 0.6, 1.0],
        'material_name': 'teal',
    } | more


def joint(axis=(1, 0, 0), stiffness=90.0, **more):
    return {
        'joint_type': 'revolute',
        'axis': list(axis),
        'limits': [-2.5, 2.5, 100, 3],
        'spring_stiffness': stiffness,
        'joint_neutral_position': 0,
        'joint_control_limit_force': 0.4,
    } | more


def actuator(segments=8, joints=None, body=None, planar=0):
    body = body or link()
    size = body['dimensions']
    height = {3: size[-1], 2: size[0], 1: 2 * size[0]}[len(size)]
    return {
        'actuator_length': segments * height,
        'n_segments': segments,
        'planar_flag': planar,
        'link_definition': body,
        'joint_definitions': joints or [joint(), joint((0, 1, 0), 400.0)],
    }


def manipulator(*actuators, **more):
    actuators = actuators or (actuator(),)
    return {
        'manipulator_name': 'My-Finger',
        'urdf_filename': 'finger.urdf',
        'n_act': len(actuators),
        'actuator_definitions': list(actuators),
        'base_definition': link(size=(0.6, 0.6, 0.2), mass=0.5),
        'tip_definition': link('sphere', (0.3,), 0.015, origin_offset=[0, 0.1, -0.2, 0, 0, 0]),
    } | more


def run(tmp_path, definition, *options, name='definition.yaml', out='robot.yaml'):
    path = tmp_path / name
    path.write_text(json.dumps(definition) if path.suffix == '.json' else yaml.dump(definition))
    return cli.main([str(path), '-o', str(tmp_path / out), *options])


def imported(tmp_path, definition, *options, **names):
    assert run(tmp_path, definition, *options, **names) == 0
    return load_robot(tmp_path / 'robot.yaml')


def test_the_scale_is_undone(tmp_path):
    """Torques scale by X^2 Y, lengths by X, masses by Y (SoMo's manual)."""
    robot = imported(tmp_path, manipulator(), '--world-scale', '20', '--mass-scale', '2')
    (segment,) = robot.segments
    assert segment.length_m == pytest.approx(8 * 0.25 / 20)
    assert segment.section_size_m == pytest.approx((0.025, 0.02))
    assert segment.link_masses_kg == pytest.approx([0.002] * 9)
    grasp, side = segment.hinges
    assert grasp.stiffness_n_m_rad == pytest.approx(90 / 800)
    assert side.stiffness_n_m_rad == pytest.approx(400 / 800)
    assert grasp.friction_torque_n_m == pytest.approx(0.4 / 800)
    assert grasp.limits_rad == side.limits_rad == (-2.5, 2.5)
    assert grasp.torque_limits_n_m == pytest.approx((-2.5 * 90 / 800, 2.5 * 90 / 800))
    assert robot.base.position_m == pytest.approx((0, 0, 0.01))
    assert robot.base.flange_m == pytest.approx((0.03, 0.03, 0.01))
    assert robot.base.mass_kg == pytest.approx(0.25)
    assert (robot.tip.shape, robot.tip.size_m) == ('sphere', (0.015,))
    assert robot.tip.mass_kg == pytest.approx(0.0075)
    assert robot.tip.position_m == pytest.approx((0, 0.005, 0.005))  # radius 0.3 less 0.2, / 20


def test_hinges_repeat_in_the_order_of_the_definition(tmp_path):
    torsion = [joint(), joint((0, 1, 0)), joint((0, 0, 1))]
    robot = imported(tmp_path, manipulator(actuator(7, torsion), actuator(5)))
    first, second = robot.segments
    assert [h.name for h in first.section_hinges] == ['ax0', 'ax1', 'ax2'] * 2 + ['ax0']
    assert [h.name for h in second.section_hinges] == ['ax0', 'ax1', 'ax0', 'ax1', 'ax0']
    assert [c.name for c in robot.coordinates] == [
        'act0_ax0',
        'act0_ax1',
        'act0_ax2',
        'act1_ax0',
        'act1_ax1',
    ]


def test_a_planar_actuator_may_have_a_spring_of_its_own_in_every_joint(tmp_path, capsys):
    graded = [joint(stiffness=50.0 * 2**i, joint_control_limit_force=0.1 * i) for i in range(5)]
    graded[0]['joint_control_limit_force'] = 0.3
    (segment,) = imported(tmp_path, manipulator(actuator(5, graded, planar=2))).segments
    assert [h.stiffness_n_m_rad for h in segment.section_hinges] == [50, 100, 200, 400, 800]
    assert {h.friction_torque_n_m for h in segment.section_hinges} == {0.3}  # SoMo: of the first
    assert 'joint_control_limit_force of all joints but the first' in capsys.readouterr().out
    assert [c.name for c in segment.coordinates] == ['act0_ax0']
    (plain,) = imported(tmp_path, manipulator(actuator(5, [joint()], planar=True))).segments
    assert [h.name for h in plain.section_hinges] == ['ax0'] * 5


@pytest.mark.parametrize(
    ('shape', 'size', 'expected', 'height'),
    [
        ('cylinder', (0.2, 0.15), ('cylinder', (0.15,)), 0.2),
        ('capsule', (0.2, 0.15), ('capsule', (0.15,)), 0.2),
        ('stadium', (0.4, 0.3, 0.2), ('box', (0.4, 0.3)), 0.2),
        ('sphere', (0.1,), ('sphere', (0.1,)), 0.2),
    ],
)
def test_shapes_of_links(tmp_path, shape, size, expected, height):
    body = link(shape, size)
    (segment,) = imported(
        tmp_path, manipulator(actuator(6, body=body), base_definition=None, tip_definition='')
    ).segments
    assert (segment.section_shape, segment.section_size_m) == expected
    assert segment.length_m == pytest.approx(6 * height)


def test_rigid_joints_offsets_neutral_positions_and_joints_without_limits(tmp_path):
    joints = [
        joint(neutral_axis_offset=[0, 0.1, 0, 0, 0, 0], joint_neutral_position=0.2),
        {'joint_type': 'fixed', 'axis': None, 'limits': None, 'spring_stiffness': None},
        joint((0, 1, 0), joint_type='continuous', limits=None),
    ]
    body = link(origin_offset=[0.02, 0, 0, 0, 0, 0])
    (segment,) = imported(tmp_path, manipulator(actuator(6, joints, body))).segments
    bent, rigid, free = segment.hinges
    assert (bent.offset_m, bent.neutral_rad) == ((0, 0.1, 0), 0.2)
    assert bent.torque_limits_n_m == pytest.approx((-2.7 * 90, 2.3 * 90))
    assert rigid.stiffness_n_m_rad is None and not rigid.actuated
    assert free.limits_rad is None
    assert segment.link_offset_m == (0.02, 0, 0)


def test_several_tips_become_one_of_the_same_weight_and_moment(tmp_path):
    tips = [
        link('sphere', (0.3,), 0.1, origin_offset=[0, 0.2, 0, 0, 0, 0]),
        link('box', (0.2, 0.2, 0.4), 0.3),
    ]
    tip = imported(tmp_path, manipulator(tip_definition=None, tip_definitions=tips)).tip
    assert tip.mass_kg == pytest.approx(0.4)
    assert tip.position_m == pytest.approx((0, 0.05, (0.1 * 0.3 + 0.3 * 0.2) / 0.4))
    assert tip.shape == 'box'


def test_json_and_parts_in_files_of_their_own_are_the_same(tmp_path):
    whole = manipulator()
    plain = imported(tmp_path, whole)
    parts = tmp_path / 'parts'
    parts.mkdir()
    split = json.loads(json.dumps(whole))
    first = split['actuator_definitions'][0]
    (parts / 'link.json').write_text(json.dumps(first['link_definition'], indent='\t'))
    (parts / 'side.yaml').write_text(yaml.dump(first['joint_definitions'][1]))
    first['link_definition'], first['joint_definitions'][1] = 'link.json', 'side.yaml'
    (parts / 'actuator.yaml').write_text(yaml.dump(first))
    split['actuator_definitions'] = ['parts/actuator.yaml']
    assert imported(tmp_path, split, name='definition.json').segments == plain.segments


def test_many_joints_stay_within_the_bend_that_a_robot_file_allows(tmp_path):
    graded = [joint(stiffness=k) for k in np.geomspace(1, 1000, 120).tolist()]
    body = link(size=(0.1, 0.1, 0.01))
    long = actuator(200, [joint(joint_type='continuous'), joint((0, 1, 0))], body)
    imported(tmp_path, manipulator(actuator(120, graded, body, planar=2), long))


def test_what_is_lost_is_named_line_by_line(tmp_path, capsys):
    definition = manipulator(
        actuator(joints=[joint(damping=1.0), joint((0, 1, 0), None)], body=link('stadium')),
        colour='red',
    )
    assert run(tmp_path, definition) == 0
    lost = [line for line in capsys.readouterr().out.splitlines() if 'not carried over' in line]
    for word in (
        'manipulator.colour',
        'actuator_definitions.0.joint_definitions.0.damping',
        'joint_definitions.1.spring_stiffness None',
        'shape_type stadium',
        'inertial_values',
        'material_color',
        'urdf_filename',
        'effort and velocity',
    ):
        assert sum(word in line for line in lost) == 1, (word, lost)


def test_json_output_and_the_hint_at_a_scaled_world(tmp_path, capsys):
    assert run(tmp_path, manipulator()) == 0
    assert '--world-scale' in capsys.readouterr().out
    assert run(tmp_path, manipulator(), '--world-scale', '20', '--json') == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary['hinges'], summary['torques'], summary['robots']) == (8, 2, 1)
    assert summary['length_m'] == pytest.approx(0.1)


@pytest.mark.parametrize(
    ('definition', 'words'),
    [
        ([1, 2], ['no keys']),
        ({'settings': 1}, ['actuator_definitions']),
        (manipulator(n_act=2), ['n_act', '2', '1']),
        (manipulator(actuator() | {'actuator_length': 3.0}), ['actuator_length 3', 'n_segments']),
        (manipulator(actuator(joints=[joint()])), ['planar_flag 0', 'given 1']),
        (manipulator(actuator(joints=[joint()] * 3, planar=2)), ['planar_flag 2', '8']),
        (manipulator(actuator(body=link('cone'))), ['shape_type', 'cone']),
        (manipulator(actuator(body=link('cylinder'))), ['dimensions', 'cylinder']),
        (manipulator(actuator(body=link(mass='x'))), ['mass']),
        (manipulator(actuator(body=link(mass=0))), ['mass']),
        (manipulator(actuator(body=link(size=(9.0, 9.0, 0.25)))), ['section_size_m', 'scale']),
        (manipulator(actuator(joints=[joint(limits=None)] * 2)), ['limits', 'revolute']),
        (manipulator(actuator(joints=[joint(limits=[0, 0, 1, 1])] * 2)), ['limits', 'fixed']),
        (manipulator(actuator(joints=[joint((0, 0, 0))] * 2)), ['axis', 'direction']),
        (manipulator(actuator(joints=[joint(joint_type='prismatic')] * 2)), ['joint_type']),
        (manipulator(tip_definition='nowhere.yaml'), ['here.yaml', 'No such file']),
        (manipulator(tip_definition='definition.yaml'), ['name each other']),
    ],
)
def test_a_bad_definition_is_refused_in_one_line_and_writes_nothing(
    tmp_path, capsys, definition, words
):
    assert run(tmp_path, definition) == 2
    message = capsys.readouterr().err
    assert message.count('\n') == 1 and all(word in message for word in words), message
    assert not (tmp_path / 'robot.yaml').exists()


def hand(offsets, **more):
    return {
        'assembly_name': 'hand',
        'base_links': [link('cylinder', (0.5, 1.0), 1.0, origin_offset=[0, 0, 0.25, 0, 0, 0])],
        'manipulator_definition_pairs': [
            [manipulator(base_definition=None), list(offset)] for offset in offsets
        ],
    } | more


def test_an_assembly_has_its_first_hinges_where_somo_has_them(tmp_path, capsys):
    offsets = [
        (math.cos(a), math.sin(a), 0.1, 0.0, math.pi / 2, a)
        for a in (2 * math.pi / 5 * i for i in range(5))
    ]
    assert run(tmp_path, hand(offsets), '--world-scale', '20', out='hand.yaml') == 0
    assert 'robots 5, hinges 40, torques 10' in capsys.readouterr().out
    assembly = load_assembly(tmp_path / 'hand.yaml')
    (body,) = assembly.bodies
    assert (body.size_m, body.position_m) == ((0.05, 0.025), (0, 0, 0.0125))
    for robot, (x, y, z, *_, a) in zip(assembly.robots, offsets, strict=True):
        assert robot.mount == 'base0'
        direction = np.array([math.cos(a), math.sin(a), 0.0])  # its z axis, after 90 deg of pitch
        hinge = np.array(robot.position_m) + body.position_m + direction * 0.125 / 20
        assert hinge == pytest.approx(np.array([x, y, z + 1.5 * 0.25]) / 20)
        assert robot.rpy_deg == pytest.approx((0, 90, math.remainder(math.degrees(a), 360)))


@pytest.mark.parametrize('tilt', [(0.3, 0.0, 0.2), (-1.1, 0.7, 2.5), (0.4, math.pi / 2, 0.0)])
def test_a_body_that_is_tilted_carries_the_robots_where_they_were(tmp_path, capsys, tilt):
    """Body pose times place equals the place in an assembly without a body."""
    from scipy.spatial.transform import Rotation

    offset = (0.4, -0.2, 0.1, 0.5, -0.3, 1.2)
    definition = hand([offset])
    definition['base_links'][0]['origin_offset'] = [0.1, 0.2, 0.3, *tilt]
    assert run(tmp_path, definition, out='tilted.yaml') == 0
    said = capsys.readouterr().out
    for word in ('all robots stand on the first', 'in the hinges', 'base_links: SoMo says'):
        assert sum(word in line for line in said.splitlines()) == 1, said
    (free := tmp_path / 'free').mkdir()
    assert run(free, definition | {'base_links': None}, out='free.yaml') == 0
    tilted, plain = load_assembly(tmp_path / 'tilted.yaml'), load_assembly(free / 'free.yaml')
    assert not tilted.self_contact
    (body,), (robot,), (alone,) = tilted.bodies, tilted.robots, plain.robots
    turn = Rotation.from_euler('xyz', body.rpy_deg, degrees=True)
    place = turn.apply(robot.position_m) + body.position_m
    assert place == pytest.approx(np.array(alone.position_m), abs=1e-9)
    of_robot = turn * Rotation.from_euler('xyz', robot.rpy_deg, degrees=True)
    wanted = Rotation.from_euler('xyz', alone.rpy_deg, degrees=True)
    assert (of_robot * wanted.inv()).magnitude() < 1e-7


def test_what_an_assembly_of_somo_leaves_out_is_named(tmp_path, capsys):
    three = manipulator(actuator(4, [joint(), joint((0, 1, 0)), joint((0, 0, 1))]), actuator(3))
    definition = hand([]) | {'manipulator_definition_pairs': [[three, [0, 0, 0, 0, 0, 0]]]}
    assert run(tmp_path, definition, out='hand.yaml') == 0
    said = capsys.readouterr().out
    for word in ('the first joint of', 'each actuator of an assembly again', 'where the URDF has'):
        assert sum(word in line for line in said.splitlines()) == 1, said


def test_robot_files_of_an_assembly_replace_nothing(tmp_path, capsys):
    other = manipulator(actuator(4), base_definition=None)
    definition = hand([(0, 0, 0, 0, 0, 0)], base_links=None)
    definition['manipulator_definition_pairs'] += [[other, [1, 0, 0, 0.3, 0, 0]]] * 2
    assert run(tmp_path, definition, out='hand.yaml') == 0
    assembly = load_assembly(tmp_path / 'hand.yaml')
    assert [len(robot.robot.segments[0].section_hinges) for robot in assembly.robots] == [8, 4, 4]
    assert sorted(p.name for p in tmp_path.glob('my_finger*')) == [
        'my_finger.yaml',
        'my_finger_2.yaml',
    ]
    assert run(tmp_path, definition, out='hand.yaml') == 2
    assert 'is there already' in capsys.readouterr().err
