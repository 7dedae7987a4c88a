"""bellows.launch.xml reports the contact of a modal bellows."""

from geometry_msgs.msg import PoseWithCovarianceStamped

from soft_arm_description.robot import load_robot
from soft_arm_kinematics.segments.modal import ModalModel
from soft_arm_msgs.msg import ChamberPressures, ContactEstimate
from system_testing.launched_graph import LAUNCH, LaunchedGraph

CONTACT = '/bellows/contact'


def test_the_contact_of_a_bellows_is_reported(tmp_path, ros_domain):
    command, streams = [str(LAUNCH / 'bellows.launch.xml')], {CONTACT: ContactEstimate}
    tip = ModalModel.of_segment(load_robot('modal_bellows').segments[0]).tip(0.0)
    with LaunchedGraph(tmp_path / 'launch.txt', command, streams) as graph:
        pressures = graph.create_publisher(ChamberPressures, '/bellows/pressures', 10)
        poses = graph.create_publisher(PoseWithCovarianceStamped, '/bellows/tip_pose', 10)

        def send():
            pressure = ChamberPressures(names=['bellows'], pressures_pa=[0.0])
            pose = PoseWithCovarianceStamped()
            pressure.header.stamp = pose.header.stamp = graph.get_clock().now().to_msg()
            pose.pose.pose.position.x, pose.pose.pose.position.z = float(tip[0]), float(tip[1])
            pose.pose.pose.orientation.w = 1.0
            pressures.publish(pressure)
            poses.publish(pose)

        graph.wait(lambda: CONTACT in graph.latest, 'the contact', send)
        ready = 'ready: contact of modal_bellows, 1 node,'
        graph.wait(lambda: ready in graph.output() or graph.deaths(), 'it is ready', send)
    assert not graph.latest[CONTACT].in_contact and graph.latest[CONTACT].message == 'free motion'
    assert not graph.deaths()
