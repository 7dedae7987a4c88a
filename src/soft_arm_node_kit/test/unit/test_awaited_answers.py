"""Nodes that simulated time waits for."""

import pytest

from soft_arm_node_kit.awaited_answers import AwaitedAnswers

DRIVER, CONTROLLER, DETECTOR, PROGRAM = '/driver', '/controller', '/detector', '/program'


@pytest.fixture
def awaited():
    """Driver and controller have answered 20 ms, the detector an image of 5 ms."""
    answers = AwaitedAnswers([DRIVER, CONTROLLER], [DETECTOR])
    for node, until_ns in ((DRIVER, 20), (CONTROLLER, 20), (DETECTOR, 5)):
        answers.answer(node, until_ns)
    return answers


def test_expected_nodes_are_waited_for_from_the_start_on_and_never_given_up_before_an_answer():
    answers = AwaitedAnswers([DRIVER], [DETECTOR])
    assert answers.missing(0, -1) == [DRIVER]  # no image yet
    assert sorted(answers.missing(0, 0)) == [DETECTOR, DRIVER]
    assert answers.give_up(answers.missing(0, 0)) == []
    assert sorted(answers.missing(0, 0)) == [DETECTOR, DRIVER]


def test_a_node_is_missing_until_it_has_come_as_far(awaited):
    assert awaited.missing(20, 5) == []
    assert awaited.missing(21, 5) == [CONTROLLER, DRIVER]
    awaited.answer(DRIVER, 39)
    awaited.answer(DRIVER, 30)  # of a message that was overtaken
    assert awaited.missing(39, 5) == [CONTROLLER]


def test_an_image_is_answered_by_its_stamp(awaited):
    assert awaited.missing(20, 6) == [DETECTOR]
    awaited.answer(DETECTOR, 6)
    assert awaited.missing(20, 6) == []


def test_a_lost_node_is_waited_for_again_when_it_answers_again(awaited):
    assert awaited.give_up([CONTROLLER]) == [CONTROLLER]
    assert awaited.lost == {CONTROLLER}
    assert awaited.missing(30, 5) == [DRIVER]
    awaited.answer(CONTROLLER, 29)
    assert not awaited.lost
    assert awaited.missing(30, 5) == [CONTROLLER, DRIVER]


@pytest.mark.parametrize('how', ['leave', 'give_up'])
def test_a_program_joins_by_an_answer_and_is_forgotten(awaited, how):
    awaited.answer(PROGRAM, 10)
    assert awaited.missing(20, 5) == [PROGRAM]
    awaited.leave(PROGRAM) if how == 'leave' else awaited.give_up([PROGRAM])
    assert awaited.missing(20, 5) == []
    assert not awaited.lost
