"""Keys of a study: which values they name, and what is refused before anything runs."""

from pathlib import Path

import pytest

from soft_arm_io.yaml_file import write_yaml
from soft_arm_studies.errors import StudyError
from soft_arm_studies.plan import make_plan
from soft_arm_studies.study_file import Study, load_study

BASE = {'schema_version': 1, 'name': 'study', 'experiment': 'own:run', 'parameters': {'k': 1.0}}


def plan(grid, **keys):
    content = BASE | {'robot': 'two_module_arm', 'world': 'floor'} | keys
    return make_plan(Study.model_validate(content | {'vary': {'grid': grid}}), Path())


def test_a_key_reaches_what_is_given_what_is_default_and_what_is_absent():
    made = plan(
        {
            'robot.segments.0.rigid_length_m': [0.05],
            'robot.segments.module_2.friction.sliding': [0.7],
            'world.gravity_m_s2.2': [-1.62],
            'parameters.k': [2.0],
            'seed': [5],
        }
    )
    keys = made.keys_of(0)
    assert keys['robot']['segments'][0]['rigid_length_m'] == 0.05
    assert keys['robot']['segments'][1]['friction'] == {'sliding': 0.7}
    assert keys['world']['gravity_m_s2'] == [0.0, 0.0, -1.62]
    assert (keys['parameters']['k'], keys['seed']) == (2.0, 5)
    assert 'friction' not in keys['robot']['segments'][0], 'only what is named is set'


def test_a_star_sets_every_item_and_an_assembly_opens_its_robots():
    made = plan(
        {
            'assembly.robots.*.robot.segments.*.damping_time_s': [0.1, 0.35],
            'assembly.robots.grasper.position_m.0': [0.06],
        },
        robot=None,
        assembly='squid',
    )
    robots = made.keys_of(1)['assembly']['robots']
    segments = [segment for entry in robots for segment in entry['robot']['segments']]
    assert len(segments) >= 4 and {s['damping_time_s'] for s in segments} == {0.35}
    assert robots[0]['position_m'][0] == 0.06
    assert {
        s.get('damping_time_s') for s in made.contents['assembly']['robots'][0]['robot']['segments']
    } != {0.35}


@pytest.mark.parametrize(
    'grid, words',
    [
        ({'robt.segments.0.length_m': [1.0]}, ["no 'robt'", 'robot', 'world', 'actuation']),
        ({'robot.segments.0.lenght_m': [1.0]}, ["no 'lenght_m'", 'robot.segments.0', 'length_m']),
        ({'robot.segments.9.length_m': [1.0]}, ["no '9'", '0, 1', 'module_1', '*']),
        ({'robot.name.x': [1.0]}, ['robot.name', 'single value']),
        ({'robot.ring': [1.0]}, ['robot.ring']),
        ({'world.objects.cube.mass_kg': [1.0]}, ["no 'cube'", 'no keys']),
        ({'parameters.j': [1.0]}, ["no 'j'", 'k']),
        ({'robot': ['four_piece_finger']}, ['robot.KEY']),
        (
            {'robot.segments.0.rigid_length_m': [0.05], 'robot.segments.*.rigid_length_m': [0.06]},
            ['set the same value'],
        ),
        ({'robot.segments.0.rigid_length_m': [-2.0, -1.0]}, ['run 0', '-2.0', 'must be in', 'm']),
        ({'world.medium.density_kg_m3': [1000.0]}, ['run 0', 'world.medium', 'missing']),
        ({'seed': [0.5]}, ['seed', 'whole number']),
    ],
)
def test_a_wrong_key_or_value_is_one_line_that_names_the_keys_there(grid, words):
    with pytest.raises(StudyError) as error:
        plan(grid)
    assert '\n' not in str(error.value)
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize(
    'change, words',
    [
        ({'experiment': 'no colon'}, 'experiment'),
        ({'experiment': 'simulate', 'parameters': {}}, 'needs a robot or an assembly'),
        ({'experiment': 'simulate', 'robot': 'two_module_arm'}, 'needs simulation'),
        ({'robot': 'two_module_arm', 'assembly': 'squid'}, 'both given'),
        ({'wrold': 'floor'}, 'wrold: unknown key'),
        ({'vary': {'grid': {'parameters.k': {'low': 1, 'high': 2}}}}, 'count: key is missing'),
    ],
)
def test_a_study_file_that_cannot_be_used_is_one_line(tmp_path, change, words):
    file = tmp_path / 'study.yaml'
    write_yaml(file, BASE | {'vary': {'grid': {'parameters.k': [1.0]}}} | change)
    with pytest.raises(StudyError, match=words) as error:
        load_study(file)
    assert '\n' not in str(error.value) and 'study.yaml' in str(error.value)


def test_a_run_that_cannot_be_made_does_not_refuse_the_others():
    made = plan({'robot.segments.0.rigid_length_m': [0.05, -1.0], 'seed': [0, 1]})
    assert list(made.refused) == [2, 3]
    assert 'must be in' in made.refused[2] and 'seed = 1' in made.refused[3]


def test_the_fingerprint_follows_the_values_and_not_the_description():
    one = plan({'parameters.k': [1.0, 2.0]})
    assert one.fingerprint == plan({'parameters.k': [1.0, 2.0]}, description='x').fingerprint
    assert one.fingerprint != plan({'parameters.k': [1.0, 3.0]}).fingerprint
    assert one.fingerprint != plan({'parameters.k': [1.0, 2.0]}, robot='modal_bellows').fingerprint
