"""Parameters of the driver nodes."""

from dataclasses import dataclass

from soft_arm_node_kit.parameters import parameter


@dataclass(frozen=True)
class DriverParameters:
    """Parameters of the node."""

    robot: str = parameter(description='robot file: a shipped name or a path')
    map: str = parameter('valve_board', 'register map: a shipped name or a path')
    host: str = parameter('', 'address of the board; empty: from the map')
    port: int = parameter(0, 'TCP port of the board; 0: from the map', minimum=0, maximum=65535)
    serial_device: str = parameter(
        '', 'serial port of the board, for Modbus RTU; empty: from the map'
    )
    accept_unverified_map: str = parameter(
        '', 'name of an unverified map that may nevertheless write'
    )
    rate_hz: float = parameter(
        50.0, 'exchanges with the board per second [Hz]', minimum=5.0, maximum=100.0
    )
    command_timeout_s: float = parameter(
        0.5, 'time without a command after which the arm is vented [s]', minimum=0.05, maximum=5.0
    )
    autostart: bool = parameter(False, 'configure and activate at start')
    auto_recover: bool = parameter(
        False,
        'with autostart: reactivate after link loss or a fault; keep false on a real rig',
    )
