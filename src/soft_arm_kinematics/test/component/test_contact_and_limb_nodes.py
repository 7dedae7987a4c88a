"""contact_estimator and limb_states in this process, heard over DDS by a probe node."""

import copy
import math

import numpy as np
import pytest
from geometry_msgs.msg import PoseWithCovarianceStamped, Quaternion
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from soft_arm_description.robot import load_robot
from soft_arm_kinematics.calibration.modal_fit import PSI_PA
from soft_arm_kinematics.contact.estimation import tip_in_contact
from soft_arm_kinematics.limbs import Limbs
from soft_arm_kinematics.ros.contact_conversions import planar_covariance
from soft_arm_kinematics.ros.contact_estimator_node import ContactEstimatorNode
from soft_arm_kinematics.ros.limb_states_node import LimbStatesNode
from soft_arm_kinematics.segments.modal import ModalModel
from soft_arm_msgs.msg import ArmConfiguration, ChamberPressures, ContactEstimate
from soft_arm_node_kit import qos
from system_testing.probe import Probe


@pytest.fixture
def graph(ros_domain):
    with Graph() as found:
        topics = found.pressures, found.poses, found.arcs
        found.wait(lambda: all(topic.get_subscription_count() for topic in topics))
        yield found


class Graph(Probe):
    """Publisher to the nodes, and listener."""

    def __init__(self):
        super().__init__('probe', '/soft_arm', [ContactEstimatorNode, LimbStatesNode])
        self.contacts = self.listen(ContactEstimate, 'contact', qos.STATE)
        self.joints = self.listen(JointState, 'joint_states', qos.STATE)
        self.frames = self.listen(TFMessage, '/tf', qos.STATE)
        self.pressures = self.create_publisher(ChamberPressures, 'pressures', qos.STATE)
        self.poses = self.create_publisher(PoseWithCovarianceStamped, 'tip_pose', qos.STATE)
        self.arcs = self.create_publisher(ArmConfiguration, 'limb_configuration', qos.STATE)
        self.poses_sent = []

    def send(self, k, pressure_pa, planar, covariance=None):
        """The k-th sample: a pressure and a pose of the same time; waits for the answer."""
        pressures = ChamberPressures(names=['bellows'], pressures_pa=[float(pressure_pa)])
        pose = PoseWithCovarianceStamped()
        pressures.header.stamp.sec = pose.header.stamp.sec = 100 + k // 30
        pressures.header.stamp.nanosec = pose.header.stamp.nanosec = (k % 30) * 33_000_000
        pose.pose.pose.position.x, pose.pose.pose.position.z = float(planar[0]), float(planar[1])
        pose.pose.pose.orientation.y = math.sin(planar[2] / 2)
        pose.pose.pose.orientation.w = math.cos(planar[2] / 2)
        pose.pose.covariance = np.zeros(36) if covariance is None else np.ravel(covariance)
        before, at_s = len(self.contacts), 100 + k // 30 + (k % 30) * 0.033
        samples = self.nodes[0]._pressures.samples
        self.pressures.publish(pressures)
        self.wait(lambda: samples and samples[-1][0] >= at_s - 1e-6)
        self.poses.publish(pose)
        self.poses_sent.append(pose)
        self.wait(lambda: len(self.contacts) > before)
        return self.contacts[-1]


def test_contact_is_detected_and_located(graph):
    model = ModalModel.of_segment(load_robot('modal_bellows').segments[0])
    q, site_m, onset_pa = PSI_PA * np.arange(0.0, 16.0, 0.15), 0.5 * model.length_m, 6.0 * PSI_PA
    poses, _ = tip_in_contact(model, q, site_m, onset_pa)
    poses += np.random.default_rng(0).standard_normal(poses.shape) * [0.5e-3, 0.5e-3, 5.24e-3]
    answers = [graph.send(k, *sample) for k, sample in enumerate(zip(q, poses, strict=True))]
    free = [a for a, pressure in zip(answers, q, strict=True) if pressure <= onset_pa]
    assert not any(a.in_contact for a in free) and all(math.isnan(a.site_m) for a in free)
    assert answers[-1].in_contact and answers[-1].statistic > answers[-1].limit
    graph.wait(lambda: graph.nodes[0]._estimate is not None)
    last = graph.send(len(q), q[-1], poses[-1])
    assert last.site_low_m < last.site_m < last.site_high_m
    assert last.site_m == pytest.approx(site_m, abs=0.03 * model.length_m)
    assert last.onset_pa == pytest.approx(onset_pa, abs=0.5 * PSI_PA)
    assert 'contact at' in last.message


def test_the_covariance_of_the_pose_is_the_noise(graph):
    """A noisy tracker that reports its covariance raises no alarm."""
    model = ModalModel.of_segment(load_robot('modal_bellows').segments[0])
    q, sigma = PSI_PA * np.arange(0.0, 16.0, 0.25), 10.0 * np.array([0.5e-3, 0.5e-3, 5.24e-3])
    poses = model.tip(q) + np.random.default_rng(1).standard_normal((len(q), 3)) * sigma
    # Y and the turns about x and z are across the plane.
    covariance = np.diag([sigma[0], 1.0, sigma[1], 1.0, sigma[2], 1.0]) ** 2
    answers = [
        graph.send(k, *sample, covariance) for k, sample in enumerate(zip(q, poses, strict=True))
    ]
    assert not any(a.in_contact for a in answers) and answers[-1].statistic > 0.0
    assert graph.nodes[0]._status()[2]['noise_from'] == 'tip_pose'
    again = (graph.send(len(q) + k, *sample) for k, sample in enumerate(zip(q, poses, strict=True)))
    assert any(a.in_contact for a in again)  # as far as the first
    assert graph.nodes[0]._status()[2]['noise_from'] == 'parameters'


def test_planar_covariance_is_that_of_the_bending_plane():
    rng, phi = np.random.default_rng(2), 0.7
    root = rng.standard_normal((6, 6)) * 1e-3
    covariance = root @ root.T
    # Small shifts and turns about the axes of the base.
    samples = rng.standard_normal((200_000, 6)) @ root.T
    along = samples[:, 0] * np.cos(phi) + samples[:, 1] * np.sin(phi)
    tipped = np.cross(samples[:, 3:], [0.0, 0.0, 1.0])  # where the z axis goes
    planar = np.stack([along, samples[:, 2], tipped @ [np.cos(phi), np.sin(phi), 0.0]])
    assert planar_covariance(covariance.ravel(), phi) == pytest.approx(
        np.cov(planar), abs=0.02 * covariance.max()
    )
    assert planar_covariance(np.zeros(36), phi) is None
    assert planar_covariance(np.full(36, np.nan), phi) is None


def test_limbs_move_and_carry_their_frames(graph):
    limbs, (theta, phi, ell) = Limbs(), (0.8, 0.5, 0.59)
    graph.arcs.publish(
        ArmConfiguration(segments=['camera_1'], theta_rad=[theta], phi_rad=[phi], ell_m=[ell])
    )
    limbs.bend([('camera_1', theta, phi, ell)])
    graph.wait(lambda: graph.joints and np.allclose(graph.joints[-1].position, limbs.joint_values))
    assert graph.joints[-1].name == list(limbs.joint_names)
    graph.frames.clear()
    graph.wait(lambda: graph.frames)
    frames = {t.child_frame_id: t for t in graph.frames[-1].transforms}
    moved = frames['squid_camera_frame'].transform.translation
    expected = limbs.arms[2].at([theta, phi, ell]).tip_m
    assert [moved.x, moved.y, moved.z] == pytest.approx(expected) and 'squid_light_frame' in frames
    for segments, *arcs, word in (  # the light alone would do
        (['light_1', 'camera_1'], [0.3, math.nan], [0.0, phi], [0.6, ell], 'nan'),
        (['light_1'], [0.3, 0.3], [0.0], [0.6], '2 theta_rad'),
    ):
        graph.arcs.publish(
            ArmConfiguration(segments=segments, theta_rad=arcs[0], phi_rad=arcs[1], ell_m=arcs[2])
        )
        graph.wait(lambda word=word: word in graph.nodes[1]._fault)
        heard = len(graph.joints)
        graph.wait(lambda heard=heard: len(graph.joints) > heard + 1)
        assert np.allclose(graph.joints[-1].position, limbs.joint_values), (
            f'{segments} was obeyed in part'
        )


def test_poses_that_are_none_are_ignored(graph):
    model = ModalModel.of_segment(load_robot('modal_bellows').segments[0])
    (estimator, _) = graph.nodes[:2]
    graph.send(0, 5e4, model.tip(5e4))
    good, nan = graph.poses_sent[-1], math.nan

    def spoilt(word, change):
        pose = copy.deepcopy(good)
        change(pose)
        graph.poses.publish(pose)
        graph.wait(lambda: word in estimator._fault)
        assert len(estimator._fault) <= 300
        graph.send(0, 5e4, model.tip(5e4))  # and the next one is taken

    spoilt(
        'unit quaternion',
        lambda m: setattr(m.pose.pose, 'orientation', Quaternion(x=0.0, y=0.0, z=0.0, w=0.0)),
    )
    spoilt('not finite', lambda m: setattr(m.pose.pose.orientation, 'w', nan))
    spoilt('not finite', lambda m: setattr(m.pose.pose.position, 'x', nan))
    spoilt('out of reach', lambda m: setattr(m.pose.pose.position, 'x', 5.0))
    spoilt('out of reach', lambda m: setattr(m.pose.pose.position, 'z', -1e300))
    spoilt('unknown pose', lambda m: setattr(m.pose, 'covariance', np.eye(6).ravel() * 1e300))
    spoilt('camera', lambda m: setattr(m.header, 'frame_id', 'camera'))
    spoilt('same time', lambda m: setattr(m.header.stamp, 'sec', 5))
    for value in (nan, math.inf, -1e-9):
        graph.send(0, 5e4, model.tip(5e4), np.eye(6) * value)  # not a usable covariance
