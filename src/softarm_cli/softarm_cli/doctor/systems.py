"""Systems known to the doctor: their nodes and the rates of their topics."""

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import filter as matching


@dataclass(frozen=True)
class System:
    """Nodes that work together.

    Attributes:
        name: Kind of the system.
        nodes: Names in one namespace; any two of them make a system.
        others: Patterns of the full names of the nodes that it needs in other namespaces.
        rates_hz: Expected rates [Hz] by topic, or by a pattern of topics; names without a leading
            slash are in the system's namespace.
        launch: Command that starts it.
    """

    name: str
    nodes: tuple[str, ...]
    others: tuple[str, ...]
    rates_hz: dict[str, float]
    launch: str

    def expected_rates_hz(self, namespace: str, topics: Iterable[str]) -> dict[str, float]:
        """Return the expected rate [Hz] of each topic of the system in a namespace.

        Args:
            namespace: Namespace of the system.
            topics: Existing topics, matched with the patterns.
        """
        topics, expected = list(topics), {}
        for name, rate_hz in self.rates_hz.items():
            full = name if name.startswith('/') else f'{namespace}/{name}'
            for topic in matching(topics, full) if '*' in full else [full]:
                expected[topic] = rate_hz
        return expected


SYSTEMS = (
    System(
        'arm',
        (
            'pneumatic_driver',
            'forward_kinematics',
            'inverse_kinematics',
            'tip_tracker',
            'tip_controller',
        ),
        ('/camera/*',),
        {
            'pressures': 50.0,
            'configuration': 50.0,
            'tip_pose': 30.0,
            '/camera/*/color/image_raw': 30.0,
            '/camera/*/color/camera_info': 30.0,
            '/camera/*/aligned_depth_to_color/image_raw': 30.0,
        },
        'softarm launch launch/sim.launch.xml, or launch/rig.launch.xml',
    ),
    System(
        'gripper',
        ('pcu2v_driver', 'finger_kinematics', 'finger_detector', 'gripper_controller'),
        ('/abb/abb_rws_bridge', '/finger_camera/finger_camera'),
        {
            'pressures': 50.0,
            'state': 50.0,
            'configuration': 50.0,
            '/finger_camera/color/image_raw': 15.0,
            '/finger_camera/depth/image_raw': 15.0,
        },
        'softarm launch launch/cell.launch.xml',
    ),
)

STARTED_BY = {
    '/camera/*': 'virtual_rig or realsense2_camera',
    '/finger_camera/finger_camera': 'virtual_cell or orbbec_camera',
}
"""Starters of the nodes that run inside another executable."""
