"""Parameters of the node `tip_controller`."""

from dataclasses import dataclass

from soft_arm_node_kit.parameters import parameter


@dataclass(frozen=True)
class TipControllerParameters:
    """Parameters of the node."""

    robot: str = parameter(description='name or path of the robot file')
    rig: str = parameter(description='rig whose calibration is used')
    measured: bool = parameter(
        True, 'whether anything measures the tip; false: only goals in open loop can be reached'
    )
    by_camera: bool = parameter(
        False,
        'whether the tip is measured in the images of color/camera_info: targets outside them are '
        'refused, unless the goal is open_loop',
    )
    tolerance_m: float = parameter(
        0.001, 'tolerance of a goal without one [m]', minimum=1e-4, maximum=0.1
    )
    timeout_s: float = parameter(
        10.0, 'timeout of a goal without one [s]', minimum=0.1, maximum=600.0
    )
