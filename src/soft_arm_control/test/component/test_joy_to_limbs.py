"""The joystick's node: a silent joystick moves nothing, whatever happens to the system's clock."""

from types import SimpleNamespace

import pytest
from sensor_msgs.msg import Joy

from soft_arm_control.ros.joy_to_limbs_node import JoyToLimbsNode
from soft_arm_node_kit import node as kit
from system_testing.probe import Probe

PARAMETERS = {
    'assembly': 'squid',
    'segments': '[camera_1]',
    'x_axes': '[0]',
    'y_axes': '[1]',
    'length_axes': '[-1]',
    'buttons': '[0]',
}
TILTED = Joy(axes=[1.0, 0.0], buttons=[1])


@pytest.fixture
def joystick(monkeypatch, ros_domain):
    """The node on a steady clock `steady_s` and a system's clock `system_s`; `sent` is kept."""
    with Probe(nodes=[JoyToLimbsNode], **PARAMETERS) as probe:
        (node,), sent = probe.nodes, []
        clocks = SimpleNamespace(steady_s=100.0, system_s=1e9)
        monkeypatch.setattr(kit, 'time', SimpleNamespace(monotonic=lambda: clocks.steady_s))
        monkeypatch.setattr(node, 'now_s', lambda: clocks.system_s)
        monkeypatch.setattr(node._publisher, 'publish', sent.append)
        yield SimpleNamespace(node=node, clocks=clocks, sent=sent)


@pytest.mark.parametrize('step_s', [0.0, 5.0, -5.0, 60.0, -60.0, -3600.0])
def test_a_silent_joystick_stops_the_limbs_also_after_a_step_of_the_clock(joystick, step_s):
    joystick.node._on_joy(TILTED)
    joystick.clocks.system_s += step_s
    joystick.node._tick()
    assert len(joystick.sent) == 1
    joystick.clocks.steady_s += 0.51
    joystick.clocks.system_s += 0.51
    joystick.node._tick()
    assert len(joystick.sent) == 1
