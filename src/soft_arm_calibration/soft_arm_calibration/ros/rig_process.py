"""Start the virtual rig or cell as a child process on free ports, and end all its processes."""

import contextlib
import os
import random
import signal
import socket
import subprocess
import tempfile
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Self

from std_srvs.srv import Trigger

from soft_arm_control.errors import ExperimentError
from soft_arm_description.rig import REAL, Rig
from soft_arm_node_kit.graph import DeviceWatch
from soft_arm_node_kit.session import Session

DOMAINS = range(10, 100)  # the ports of higher DDS domains overlap the ephemeral ports
LOOK_S = 3.5  # DDS discovery of running nodes takes up to 3 s
END_S = 20.0  # `softarm launch` itself sends stronger signals after 5 and 10 s


def free_domain(avoid: int) -> int:
    """Return a DDS domain in which no program on this host seems to take part.

    Raises:
        ExperimentError: If every domain is in use.
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
    """Return a TCP port that is free on loopback now."""
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return int(probe.getsockname()[1])


def _can_bind(kind: socket.SocketKind, port: int) -> bool:
    with socket.socket(type=kind) as probe:
        try:
            probe.bind(('', port))
        except OSError:
            return False
    return True


def driver_is_running(namespace: str, timeout_s: float = LOOK_S) -> bool:
    """Return whether a pneumatic driver of this namespace runs in this ROS domain.

    Without one the answer takes `timeout_s`.
    """
    with Session('look_for_rig', namespace) as session:
        return session.holds(
            session.node.create_client(Trigger, 'vent').service_is_ready, timeout_s
        )


def time_is_simulated() -> bool:
    """Return whether the graph of this ROS domain follows /clock; if not, this takes `LOOK_S`."""
    with Session('look_for_clock') as session:
        return session.holds(lambda: session.node.count_publishers('/clock') > 0, LOOK_S)


def require_driver(rig: str, namespace: str, launch_file: str) -> None:
    """Make sure that the rig to be measured runs.

    Raises:
        ExperimentError: If no driver of this namespace runs.
    """
    if not driver_is_running(namespace):
        domain = os.environ.get('ROS_DOMAIN_ID', '0')
        raise ExperimentError(
            f'rig {rig!r} is not running in ROS domain {domain}: no driver offers '
            f'/{namespace}/vent; start it with `softarm launch {launch_file}`'
        )


def require_devices(watch: DeviceWatch, rig: Rig) -> None:
    """Check that the running devices belong to the rig.

    Raises:
        ExperimentError: If real devices run for a virtual rig, or virtual ones for a real rig.
    """
    if mismatch := watch.mismatch(rig.name, rig.devices):
        raise ExperimentError(f'{mismatch}; nothing was saved')


class _VirtualLaunch:
    """Run `softarm launch` on a launch file of this workspace while the context is open.

    Its output goes to a log file.
    """

    def __init__(self, launch_file: str, arguments: Mapping[str, object], log: Path):
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

    def __exit__(self, *_: object) -> None:
        end(self._process)

    def check(self) -> None:
        """Raise ExperimentError, with the log's last line, if the rig has ended."""
        if self._process.poll() is not None:
            lines = self._log_path.read_text(errors='replace').strip().splitlines()
            raise ExperimentError(
                f'`softarm launch` ended with code {self._process.returncode}: '
                f'{lines[-1] if lines else "(no output)"}; see {self._log_path}'
            )


class VirtualRig(_VirtualLaunch):
    """The virtual rig of the soft arm; `arguments` are further ones of sim.launch.xml."""

    def __init__(self, plant_seed: int, log: Path, **arguments: str):
        fixed = {'plant_seed': plant_seed, 'modbus_port': free_port()}
        super().__init__('sim.launch.xml', {**arguments, **fixed}, log)


class VirtualCell(_VirtualLaunch):
    """The virtual gripper cell; `arguments` are further ones of cell.launch.xml."""

    def __init__(self, plant_seed: int, log: Path, **arguments: str):
        fixed = {'plant_seed': plant_seed, 'modbus_port': free_port(), 'rws_port': free_port()}
        super().__init__('cell.launch.xml', {**arguments, **fixed}, log)


@contextlib.contextmanager
def rig_to_measure(
    options: Namespace,
    rig: Rig,
    namespace: str,
    launch_file: str,
    virtual: type[VirtualRig] | type[VirtualCell],
    **arguments: str,
) -> Iterator[Callable[[], None]]:
    """Use the running rig, or run a virtual one in a free ROS domain while the context is open.

    A real rig must be running.

    Args:
        options: Options of the command: rig, robot, use_running and plant_seed.
        rig: The rig of the options.
        namespace: Namespace of the rig's pneumatic driver.
        launch_file: Launch file, with its arguments, by which the user starts such a rig.
        virtual: What is started where nothing is running.
        arguments: Further arguments of the virtual rig's launch file.

    Yields:
        A function that raises ExperimentError if the virtual rig has ended.

    Raises:
        ExperimentError: If the rig has to be running and is not, or runs and is given arguments.
    """
    if options.use_running or rig.devices == REAL:
        if options.plant_seed is not None or 'network' in arguments:
            raise ExperimentError(
                '--plant-seed and --network are for the virtual rig that this command starts, '
                f'but rig {rig.name!r} runs already: leave them out'
            )
        require_driver(rig.name, namespace, launch_file)
        yield lambda: None
        return
    os.environ['ROS_DOMAIN_ID'] = str(free_domain(int(os.environ.get('ROS_DOMAIN_ID', '0'))))
    seed = 1 if options.plant_seed is None else options.plant_seed
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / 'rig.log'
        with virtual(seed, log, rig=options.rig, robot=options.robot, **arguments) as started:
            yield started.check


def end(process: subprocess.Popen) -> None:
    """End a process group with SIGINT, then SIGKILL whatever of it is left after `END_S`."""
    for number in (signal.SIGINT, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):  # the whole group has ended
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END_S)
