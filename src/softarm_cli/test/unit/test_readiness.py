import pytest

from softarm_cli.readiness import GONE_S, Readiness, Report, listed

GOOD = Report('1', True, '')


@pytest.fixture
def two():
    return Readiness(['/arm/driver', '/arm/ik'], 0.0)


def test_nodes_that_have_not_reported_are_missing(two):
    assert two.missing(0.0) == {
        '/arm/driver': 'has not reported yet',
        '/arm/ik': 'has not reported yet',
    }
    two.add('/arm/driver', GOOD, 1.0)
    two.add('/somebody/else', GOOD, 1.0)
    assert list(two.missing(1.0)) == ['/arm/ik']
    two.add('/arm/ik', Report('2', False, 'compiling the solver'), 1.0)
    assert two.missing(1.0) == {'/arm/ik': 'compiling the solver'}
    two.add('/arm/ik', Report('2', True, 'slow'), 2.0)
    assert not two.missing(2.0)
    assert two.remarks() == {'/arm/ik': 'slow'}


def test_a_node_that_falls_silent_is_missing_again(two):
    two.add('/arm/driver', GOOD, 0.0)
    two.add('/arm/ik', GOOD, 10.0)
    assert two.missing(10.0) == {'/arm/driver': 'has stopped reporting'}
    assert two.silent(10.0) == ['/arm/driver']


def test_a_restarted_node_is_not_a_double_and_two_processes_are(two):
    for second, pid in enumerate(['1', '1', '2', '2']):
        two.add('/arm/ik', Report(pid, True, ''), float(second))
        assert not two.doubled
    two.add('/arm/ik', GOOD, 5.0)
    assert two.doubled == '/arm/ik'


def test_a_node_on_another_machine_belongs_to_another_launch(two):
    two.add('/arm/ik', Report('1', True, '', here=False), 1.0)
    assert two.doubled == '/arm/ik'


def test_a_node_that_is_not_there_for_a_minute_is_gone(two):
    two.see({'/arm/driver', '/arm/ik'}, 0.5 * GONE_S)
    two.see({'/arm/driver', '/other'}, GONE_S)
    assert two.gone(1.4 * GONE_S) == []
    assert two.gone(1.6 * GONE_S) == ['/arm/ik']
    two.add('/arm/ik', GOOD, 1.6 * GONE_S)
    assert two.gone(1.6 * GONE_S) == []


def test_a_list_names_three_and_counts_the_rest():
    assert listed({'/a/b': 'x', '/c': 'y'}) == 'b: x; c: y'
    assert listed({name: 'x' for name in 'abcde'}) == 'a: x; b: x; c: x; and 2 more'
