"""What `softarm launch` looks at before it starts anything: values of parameters, and nodes that already run."""

import os
from collections.abc import Callable
from pathlib import Path

from pneumatic_driver.register_map import load_map
from soft_arm_bringup.launch_description import Process, is_ours
from soft_arm_bringup.launch_xml import LaunchError
from soft_arm_description.robot import load_robot


def check(processes: list[Process]) -> None:
    """Refuse what cannot run.

    Raises:
        LaunchError: If a parameter of a node of this workspace has a value that it will refuse, or a node of the same name
            already runs in the same ROS domain.
    """
    for process in processes:
        if process.package and is_ours(process.package):
            _check_parameters(process)
    for process in processes:
        if process.node and (pid := _running(process.node, _domain(process.environment))):
            raise LaunchError(
                f'{process.node} already runs in ROS domain {_domain(process.environment)} (pid {pid}): end that launch first, '
                'or start this one in a domain of its own, ROS_DOMAIN_ID=..'
            )


def _check_parameters(process: Process) -> None:
    for name, value in process.parameters.items():
        try:
            _CHECKS.get(name, lambda _: None)(value)
        except (ValueError, OSError) as error:
            raise LaunchError(f'{process.node}: {name}:={value}: {error}') from error


def _whole(low: int, high: int, what: str) -> Callable[[object], None]:
    def checked(value: object) -> None:
        if type(value) is not int or not low <= value <= high:
            raise ValueError(f'give {what}, {low} to {high}')

    return checked


_PORT = _whole(0, 65535, 'a TCP port')
_CHECKS: dict[str, Callable[[object], object]] = {
    'robot': load_robot,
    'map': load_map,
    'port': _PORT,
    'modbus_port': _PORT,
    'rws_port': _PORT,
    'control_port': _PORT,
    'plant_seed': _whole(0, 2**63 - 1, 'a whole number'),
}


def _domain(environment: dict[str, str]) -> str:
    return environment.get('ROS_DOMAIN_ID', '0')


def _running(node: str, domain: str) -> int | None:
    """Process id of a node of this name in this domain, on this machine and of this user; None where there is none.

    The command lines are read instead of the ROS graph, which knows a killed node for another 20 s, and hears of a new one late.
    """
    for entry in Path('/proc').glob('[0-9]*'):
        try:
            words = (entry / 'cmdline').read_text(errors='replace').split('\0')
            remaps = dict(word.split(':=', 1) for word in words if word.startswith(('__node:=', '__ns:=')))
            if '__node' not in remaps or _full_name(remaps) != node:
                continue
            variables = (entry / 'environ').read_text(errors='replace').split('\0')
        except OSError:
            continue  # it has ended, or belongs to somebody else
        if _domain(dict(v.split('=', 1) for v in variables if '=' in v)) == domain:
            return int(entry.name)
    return None


def _full_name(remaps: dict[str, str]) -> str:
    return f'/{remaps.get("__ns", "").strip("/")}/{remaps["__node"]}'.replace('//', '/')
