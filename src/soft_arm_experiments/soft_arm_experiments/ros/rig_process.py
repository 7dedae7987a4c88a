"""The virtual rig or cell as a child process: started headless on a free DDS domain and port, ended completely."""

import contextlib
import os
import random
import signal
import socket
import subprocess
from pathlib import Path
from typing import Self

import rclpy
from rclpy.context import Context
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from std_srvs.srv import Trigger

from soft_arm_control.errors import ExperimentError

DOMAINS = range(10, 100)  # above, DDS ports reach into the ephemeral ones
LOOK_S = 3.5  # for nodes that run already: DDS discovery takes up to 3 s
END_S = 20.0  # `softarm launch` itself escalates after 5 and 10 s


def free_domain(avoid: int) -> int:
    """A DDS domain in which nobody on this host seems to take part.

    Raises:
        ExperimentError: If all are taken.
    """
    for domain in random.sample(DOMAINS, len(DOMAINS)):
        if domain != avoid and all(
            _can_bind(socket.SOCK_DGRAM, 7400 + 250 * domain + offset) for offset in (0, 10, 11)
        ):
            return domain
    raise ExperimentError(
        f'every DDS domain from {DOMAINS[0]} to {DOMAINS[-1]} is in use: end some programs'
    )


def free_port() -> int:
    """A TCP port that is free on loopback now."""
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def _can_bind(kind, port: int) -> bool:
    with socket.socket(type=kind) as probe:
        try:
            probe.bind(('', port))
        except OSError:
            return False
    return True


def driver_is_running(namespace: str, timeout_s: float = LOOK_S) -> bool:
    """Whether a pneumatic driver of this namespace takes part in this process's ROS domain; a "no" takes `timeout_s`."""
    context = Context()
    rclpy.init(context=context, signal_handler_options=SignalHandlerOptions.NO)
    node = Node(
        'look_for_rig',
        context=context,
        use_global_arguments=False,
        enable_rosout=False,
        start_parameter_services=False,
    )
    client = node.create_client(Trigger, f'/{namespace}/vent')
    try:
        return client.wait_for_service(timeout_s)
    finally:
        node.destroy_node()
        context.try_shutdown()


def require_driver(rig: str, namespace: str, launch_file: str) -> None:
    """Make sure that the rig to be measured runs.

    Raises:
        ExperimentError: If no driver of this namespace runs.
    """
    if not driver_is_running(namespace):
        domain = os.environ.get('ROS_DOMAIN_ID', '0')
        raise ExperimentError(
            f'rig {rig!r} is not running in ROS domain {domain}: no driver offers /{namespace}/vent; '
            f'start it with `softarm launch {launch_file}`'
        )


class _VirtualLaunch:
    """Context manager around `softarm launch` of one launch file of this workspace; its output goes to a log file."""

    def __init__(self, launch_file: str, arguments: dict[str, object], log: Path):
        workspace = os.environ.get('SOFT_ARM_WS')
        if workspace is None:
            raise ExperimentError('SOFT_ARM_WS is not set: run `. env.sh` first')
        self._command = ['softarm', 'launch', str(Path(workspace) / 'launch' / launch_file)]
        self._command += [f'{name}:={value}' for name, value in arguments.items()]
        self._log_path = log

    def __enter__(self) -> Self:
        self._log_path.parent.mkdir(parents=True, exist_ok=True)
        with self._log_path.open('w') as log:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return self

    def __exit__(self, *_) -> None:
        end(self._process)

    def check(self) -> None:
        """Raise ExperimentError, with the log's last line, if the rig has ended."""
        if self._process.poll() is not None:
            lines = self._log_path.read_text(errors='replace').strip().splitlines() or [
                '(no output)'
            ]
            raise ExperimentError(
                f'what was launched ended with code {self._process.returncode}: {lines[-1]}; see {self._log_path}'
            )


class VirtualRig(_VirtualLaunch):
    """The virtual rig of the soft arm; `arguments` are others of sim.launch.xml."""

    def __init__(self, plant_seed: int, log: Path, **arguments: str):
        arguments |= {'plant_seed': plant_seed, 'modbus_port': free_port()}
        super().__init__('sim.launch.xml', arguments, log)


class VirtualCell(_VirtualLaunch):
    """The virtual gripper cell; `arguments` are others of cell.launch.xml."""

    def __init__(self, plant_seed: int, log: Path, **arguments: str):
        arguments |= {'plant_seed': plant_seed, 'modbus_port': free_port(), 'rws_port': free_port()}
        super().__init__('cell.launch.xml', arguments, log)


def end(process: subprocess.Popen) -> None:
    """SIGINT to the process group; SIGKILL to what of it does not end in time, or has lost its leader."""
    for number in (signal.SIGINT, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):  # the whole group has ended
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END_S)
