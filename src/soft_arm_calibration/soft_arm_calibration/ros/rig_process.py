"""Start the virtual rig or cell as a child process on free ports, and end all its processes."""

import contextlib
import os
import random
import signal
import socket
import subprocess
import tempfile
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path

from std_srvs.srv import Trigger

from soft_arm_control.errors import ExperimentError
from soft_arm_description.rig import REAL, Rig
from soft_arm_node_kit.graph import DeviceWatch
from soft_arm_node_kit.session import Session

SIM, CELL = 'sim.launch.xml', 'cell.launch.xml'
NAMESPACES = {SIM: 'soft_arm', CELL: 'gripper'}  # of the pneumatic driver
PORTS = {SIM: ('modbus_port',), CELL: ('modbus_port', 'rws_port')}
# Users choose low domains, and tests claim those below 50 without joining them at once. The ports
# of higher domains overlap the ephemeral ports.
DOMAINS = range(50, 100)
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


def require_devices(watch: DeviceWatch, rig: Rig) -> None:
    """Check that the running devices belong to the rig.

    Raises:
        ExperimentError: If real devices run for a virtual rig, or virtual ones for a real rig.
    """
    if mismatch := watch.mismatch(rig.name, rig.devices):
        raise ExperimentError(f'{mismatch}; nothing was saved')


@contextlib.contextmanager
def child(command: list[str], log: Path) -> Iterator[subprocess.Popen]:
    """Run a program in its own process group while the context is open, its output in a file."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open('w') as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        end(process)


@contextlib.contextmanager
def virtual_launch(
    launch_file: str, plant_seed: int, log: Path, **arguments: str
) -> Iterator[Callable[[], None]]:
    """Run `softarm launch` on the virtual rig or cell while the context is open.

    Args:
        launch_file: `SIM` or `CELL`.
        plant_seed: Which virtual arm or finger.
        log: File of the output.
        arguments: Further arguments of the launch file.

    Yields:
        A function that raises ExperimentError, with the log's last line, if the launch has ended.
    """
    workspace = os.environ.get('SOFT_ARM_WS')
    if workspace is None:
        raise ExperimentError('SOFT_ARM_WS is not set: run `. env.sh` first')
    given = {**arguments, 'plant_seed': plant_seed, **{p: free_port() for p in PORTS[launch_file]}}
    words = [f'{name}:={value}' for name, value in given.items()]
    path = Path(workspace) / 'launch' / launch_file
    with child(['softarm', 'launch', str(path), *words], log) as process:

        def check() -> None:
            if process.poll() is not None:
                lines = log.read_text(errors='replace').strip().splitlines()
                raise ExperimentError(
                    f'`softarm launch` ended with code {process.returncode}: '
                    f'{lines[-1] if lines else "(no output)"}; see {log}'
                )

        yield check


@contextlib.contextmanager
def rig_to_measure(
    options: Namespace, rig: Rig, launch_file: str, **arguments: str
) -> Iterator[Callable[[], None]]:
    """Use the running rig, or run a virtual one in a free ROS domain while the context is open.

    A real rig must be running.

    Args:
        options: Options of the command: rig, robot, use_running and plant_seed.
        rig: The rig of the options.
        launch_file: What is started where nothing is running, `SIM` or `CELL`.
        arguments: Further arguments of this launch file.

    Yields:
        A function that raises ExperimentError if the virtual rig has ended.

    Raises:
        ExperimentError: If the rig has to be running and is not, or runs and is given arguments.
    """
    is_real = rig.devices == REAL
    if options.use_running or is_real:
        if options.plant_seed is not None or 'network' in arguments:
            raise ExperimentError(
                '--plant-seed and --network are for the virtual rig that this command starts, '
                f'but rig {rig.name!r} runs already: leave them out'
            )
        namespace = NAMESPACES[launch_file]
        if not driver_is_running(namespace):
            file = 'rig.launch.xml' if is_real and launch_file == SIM else launch_file
            emulated = ' emulated:=false' if is_real and launch_file == CELL else ''
            raise ExperimentError(
                f'rig {rig.name!r} is not running in ROS domain '
                f'{os.environ.get("ROS_DOMAIN_ID", "0")}: no driver offers /{namespace}/vent; '
                f'start it with `softarm launch launch/{file} rig:={rig.argument}{emulated}`'
            )
        yield lambda: None
        return
    os.environ['ROS_DOMAIN_ID'] = str(free_domain(int(os.environ.get('ROS_DOMAIN_ID', '0'))))
    seed = 1 if options.plant_seed is None else options.plant_seed
    with tempfile.TemporaryDirectory() as folder:
        given = {'rig': options.rig, 'robot': options.robot, **arguments}
        with virtual_launch(launch_file, seed, Path(folder) / 'rig.log', **given) as check:
            yield check


def end(process: subprocess.Popen) -> None:
    """End a process group with SIGINT, then SIGKILL whatever of it is left after `END_S`."""
    for number in (signal.SIGINT, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):  # the whole group has ended
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END_S)
