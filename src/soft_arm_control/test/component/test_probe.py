"""The probe of the tests: what it leaves in the graph disturbs the next file in its ROS domain."""

import gc

from rclpy.action import ActionServer, get_action_names_and_types

from soft_arm_msgs.action import MoveTip
from system_testing.probe import Probe


def abort(handle):
    handle.abort()
    return MoveTip.Result()


def test_a_closed_probe_has_no_client_in_the_graph(ros_domain):
    gc.disable()  # it would end the client of a probe that nothing refers to
    try:
        with Probe('server') as server, Probe('client') as probe:
            action = ActionServer(server, MoveTip, 'move_tip', abort)
            server.spin()
            handle, _ = probe.spin().send_goal(MoveTip, 'move_tip', MoveTip.Goal())
            probe.result(probe.called(handle.get_result_async))
            action.destroy()
        with Probe('other') as other:
            other.wait(lambda: other.get_node_names() == ['other'], 'no node of the closed probes')
            assert get_action_names_and_types(other) == []
    finally:
        gc.enable()
