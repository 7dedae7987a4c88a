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
    generation: int = parameter(1, '1: RWS 1.0 (IRC5), 2: RWS 2.0 (OmniCore)', minimum=1, maximum=2)
    tls: bool = parameter(False, 'HTTPS; OmniCore speaks nothing else')
    ca_file: str = parameter('', "PEM file with the controller's certificate, for TLS")
    verify_tls: bool = parameter(
        True, 'false trusts any certificate: for a closed lab network only'
    )
    credentials_file: str = parameter(
        '', 'YAML file with user and password, mode 600; empty: from the environment'
    )
    timeout_s: float = parameter(0.8, 'for one whole request [s]', minimum=0.1, maximum=10.0)
    request_interval_s: float = parameter(
        0.055, 'least time between the starts of two requests [s]', minimum=0.0, maximum=1.0
    )
    ping_s: float = parameter(2.0, 'distance of WebSocket pings [s]', minimum=0.5, maximum=30.0)
    connect_timeout_s: float = parameter(
        5.0, 'for configure to find the controller [s]', minimum=0.5, maximum=60.0
    )
    stale_after_s: float = parameter(
        0.5, 'joint angles older than this are reported as stale [s]', minimum=0.1, maximum=5.0
    )
    frame_prefix: str = parameter('abb_', 'before the names of frames and joints')
    target_symbol: str = parameter(
        'T_ROB1/J_Orientation_Target', 'RAPID jointtarget that the program moves to'
    )
    move_timeout_s: float = parameter(30.0, 'for one move [s]', minimum=1.0, maximum=600.0)
    move_tolerance_rad: float = parameter(
        0.002, 'joint distance at which a move has arrived [rad]', minimum=1e-5, maximum=0.1
    )
    signals: list[str] = parameter(('DO_01', 'DO_02', 'DI_02'), 'I/O signals that are published')
    autostart: bool = parameter(False, 'configure and activate without being asked')
