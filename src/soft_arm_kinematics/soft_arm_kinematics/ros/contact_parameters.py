"""Parameters of the contact estimator."""

from dataclasses import dataclass

from soft_arm_node_kit.parameters import parameter


@dataclass(frozen=True)
class ContactEstimatorParameters:
    """Parameters of the node."""

    robot: str = parameter('modal_bellows', 'name or path of a robot file with one modal segment')
    position_sigma_m: float = parameter(
        0.5e-3,
        'standard deviation of the position of poses without covariance [m]',
        minimum=1e-6,
        maximum=0.1,
    )
    angle_sigma_rad: float = parameter(
        5.24e-3,
        'standard deviation of the angle of poses without covariance [rad]',
        minimum=1e-6,
        maximum=1.0,
    )
    false_alarms_per_min: float = parameter(
        0.1, 'largest rate of false alarms in free motion [1/min]', minimum=1e-6, maximum=60.0
    )
    pose_rate_hz: float = parameter(30.0, 'rate of the poses [Hz]', minimum=1.0, maximum=1000.0)
    window: int = parameter(
        30, 'number of poses over which the twist of the tip is measured', minimum=3, maximum=600
    )
    locate_rate_hz: float = parameter(
        1.0,
        'rate at which the site is located while there is contact [Hz]',
        minimum=0.01,
        maximum=10.0,
    )
    pressure_age_s: float = parameter(
        0.1,
        'largest time between a pose and the nearest pressures [s]',
        minimum=0.001,
        maximum=10.0,
    )
