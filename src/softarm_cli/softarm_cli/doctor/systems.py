"""Systems known to the doctor: their nodes and the rates of their topics."""

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class System:
    """Nodes that work together.

    Attributes:
        name: Kind of the system.
        nodes: Names in one namespace; any two of them make a system.
        others: Patterns of the full names of the nodes that it needs in other namespaces, and the
            nodes that start them.
        rates_hz: Expected rates [Hz] by topic, or by a pattern of topics; names without a leading
            slash are in the system's namespace.
        launch: Command that starts it.
    """

    name: str
    nodes: tuple[str, ...]
    others: dict[str, str]
    rates_hz: dict[str, float]
    launch: str


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
        {'/camera/*': 'virtual_rig or realsense2_camera'},
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
        {
            '/abb/abb_rws_bridge': 'cell.launch.xml',
            '/finger_camera/finger_camera': 'virtual_cell or orbbec_camera',
        },
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


def systems_of(names: Collection[str]) -> list[tuple[System, str]]:
    """Return each system of which two nodes run, with its namespace, by full names of nodes."""
    return [
        (system, namespace)
        for system in SYSTEMS
        for namespace in sorted({name.rpartition('/')[0] for name in names})
        if sum(f'{namespace}/{node}' in names for node in system.nodes) >= 2
    ]
