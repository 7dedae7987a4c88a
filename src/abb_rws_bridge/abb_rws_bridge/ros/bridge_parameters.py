"""Parameters of the node `abb_rws_bridge`."""

from dataclasses import dataclass

from soft_arm_node_kit.parameters import parameter


@dataclass(frozen=True)
class BridgeParameters:
    """Parameters of the node.

    User and password come from `credentials_file`, or from ABB_RWS_USER and ABB_RWS_PASSWORD.
    """

    host: str = parameter(description='address of the controller')
    port: int = parameter(80, 'TCP port of the controller', minimum=1, maximum=65535)
    generation: int = parameter(
        1,
        'version of Robot Web Services: 1 for RWS 1.0 (IRC5), 2 for RWS 2.0 (OmniCore)',
        minimum=1,
        maximum=2,
    )
    tls: bool = parameter(False, 'use HTTPS; required for generation 2 except on loopback')
    ca_file: str = parameter('', "PEM file with the controller's certificate, for HTTPS")
    verify_tls: bool = parameter(
        True, 'verify the certificate; false accepts any, for a closed lab network only'
    )
    credentials_file: str = parameter(
        '', 'YAML file with user and password, mode 600; empty: take them from the environment'
    )
    timeout_s: float = parameter(
        0.8, 'time limit of one whole request [s]', minimum=0.1, maximum=10.0
    )
    request_interval_s: float = parameter(
        0.055, 'minimum time between the starts of two requests [s]', minimum=0.0, maximum=1.0
    )
    ping_s: float = parameter(2.0, 'period of the WebSocket pings [s]', minimum=0.5, maximum=30.0)
    connect_timeout_s: float = parameter(
        5.0, 'time limit of the connection at configuration [s]', minimum=0.5, maximum=60.0
    )
    stale_after_s: float = parameter(
        0.5, 'age above which joint angles are reported as stale [s]', minimum=0.1, maximum=5.0
    )
    frame_prefix: str = parameter('abb_', 'prefix of the names of frames and joints')
    base_position_m: list[float] = parameter(
        (0.0, 0.0, 0.0), "x, y, z of the robot's base in the frame world [m]"
    )
    base_yaw_deg: float = parameter(
        0.0, "rotation of the robot's base about the vertical [deg]", minimum=-360.0, maximum=360.0
    )
    target_symbol: str = parameter(
        'T_ROB1/J_Orientation_Target', 'RAPID jointtarget that the program moves to'
    )
    move_timeout_s: float = parameter(
        30.0, 'time limit of one move [s]', minimum=1.0, maximum=600.0
    )
    move_tolerance_rad: float = parameter(
        0.002, 'largest joint error of a reached target [rad]', minimum=1e-5, maximum=0.1
    )
    signals: list[str] = parameter(('DO_01', 'DO_02', 'DI_02'), 'published I/O signals')
    autostart: bool = parameter(False, 'configure and activate the node at its start')
