"""No node assigns an attribute that rclpy uses itself: that breaks services of ROS tools."""

import ast
from functools import partial
from pathlib import Path

import pytest
from rclpy.lifecycle import LifecycleNode
from rclpy.node import Node

from system_testing.probe import Probe

SOURCES = sorted(Path(__file__).parents[3].glob('*/*/ros/*.py'))


@pytest.fixture(scope='module')
def names_of_rclpy():
    kinds = partial(Node, 'plain'), partial(LifecycleNode, 'lifecycle')
    with Probe(nodes=kinds) as probe:
        return {name for node in probe.nodes for name in vars(node)}


def assigned(source):
    """Attributes of self that the classes of a file assign."""
    for part in ast.walk(ast.parse(source)):
        if (
            isinstance(part, ast.Attribute)
            and isinstance(part.ctx, ast.Store)
            and ast.unparse(part.value) == 'self'
        ):
            yield part.attr


def test_the_check_sees_a_clash(names_of_rclpy):
    assert set(
        assigned('class N(Node):\n    def __init__(self):\n        p = self._parameters = 1')
    ) & names_of_rclpy == {'_parameters'}


@pytest.mark.parametrize(
    'path', [p for p in SOURCES if p.name.endswith('_node.py')], ids=lambda path: path.stem
)
def test_no_node_reuses_a_name_of_rclpy(path, names_of_rclpy):
    assert set(assigned(path.read_text())) & names_of_rclpy == set()
