"""Checks before a launch: values of parameters, and nodes of the same names that already run."""

from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping
from pathlib import Path

from pneumatic_driver.register_map import load_map
from soft_arm_description.command_line import port_or_any, seed_number
from soft_arm_description.robot import load_robot
from softarm_cli.launching.description import Process
from softarm_cli.launching.packages import is_ours
from softarm_cli.launching.xml import LaunchError

_CHECKS: dict[str, Callable[[str], object]] = {
    'robot': load_robot,
    'map': load_map,
    'port': port_or_any,
    'modbus_port': port_or_any,
    'rws_port': port_or_any,
    'control_port': port_or_any,
    'plant_seed': seed_number,
}


def check(processes: list[Process]) -> None:
    """Refuse processes that cannot run.

    Raises:
        LaunchError: If a node of this workspace would refuse the value of a parameter, or a node of
            the same name already runs in the same ROS domain.
    """
    for process in processes:
        if process.package and is_ours(process.package):
            _check_parameters(process)
    running = _running_nodes()
    for process in processes:
        domain = _domain(process.environment)
        pid = running.get((process.node, domain))
        if pid is not None:
            raise LaunchError(
                f'{process.node} already runs in ROS domain {domain} (pid {pid}): end that launch '
                'first, or start this one in another domain, ROS_DOMAIN_ID=..'
            )


def _check_parameters(process: Process) -> None:
    for name, value in process.parameters.items():
        if name in _CHECKS:
            try:
                _CHECKS[name](str(value))
            except (ValueError, OSError, ArgumentTypeError) as error:
                raise LaunchError(f'{process.node}: {name}:={value}: {error}') from error


def _domain(environment: Mapping[str, str]) -> str:
    return environment.get('ROS_DOMAIN_ID', '0')


def _running_nodes() -> dict[tuple[str | None, str], int]:
    """Return process ids by node name and domain, of this user's nodes on this machine.

    The command lines are read instead of the ROS graph, which keeps a killed node for 20 s and
    discovers a new one late.
    """
    found: dict[tuple[str | None, str], int] = {}
    for entry in Path('/proc').glob('[0-9]*'):
        try:
            remaps = _assignments(entry / 'cmdline', ':=')
            if '__node' in remaps:
                domain = _domain(_assignments(entry / 'environ', '='))
                found[_full_name(remaps), domain] = int(entry.name)
        except OSError:
            continue  # it has ended, or belongs to another user
    return found


def _assignments(path: Path, separator: str) -> dict[str, str]:
    words = path.read_text(errors='replace').split('\0')
    return dict(word.split(separator, 1) for word in words if separator in word)


def _full_name(remaps: dict[str, str]) -> str:
    return f'/{remaps.get("__ns", "").strip("/")}/{remaps["__node"]}'.replace('//', '/')
