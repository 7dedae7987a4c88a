"""What `softarm launch` looks at before it starts anything: values of parameters, and nodes that already run."""

from argparse import ArgumentTypeError
from collections.abc import Callable
from pathlib import Path

from pneumatic_driver.register_map import load_map
from soft_arm_description.command_line import port_or_any, seed_number
from soft_arm_description.rig import load_rig
from soft_arm_description.robot import load_robot
from softarm_cli.launching.description import Process
from softarm_cli.launching.packages import is_ours
from softarm_cli.launching.xml import LaunchError


def check(processes: list[Process]) -> None:
    """Refuse what cannot run.

    Raises:
        LaunchError: If a parameter of a node of this workspace has a value that it will refuse, or
            a node of the same name
            already runs in the same ROS domain.
    """
    for process in processes:
        if process.package and is_ours(process.package):
            _check_parameters(process)
    running = _running_nodes()
    for process in processes:
        domain = _domain(process.environment)
        if (process.node, domain) in running:
            raise LaunchError(
                f'{process.node} already runs in ROS domain {domain} (pid {running[process.node, domain]}): end that launch first, '
                'or start this one in a domain of its own, ROS_DOMAIN_ID=..'
            )


def _check_parameters(process: Process) -> None:
    for name, value in process.parameters.items():
        try:
            _CHECKS.get(name, lambda _: None)(value)
        except (ValueError, OSError, ArgumentTypeError) as error:
            raise LaunchError(f'{process.node}: {name}:={value}: {error}') from error


_CHECKS: dict[str, Callable[[object], object]] = {
    'robot': lambda value: load_robot(str(value)),
    'rig': lambda value: load_rig(str(value)),
    'map': lambda value: load_map(str(value)),
    'port': lambda value: port_or_any(str(value)),
    'modbus_port': lambda value: port_or_any(str(value)),
    'rws_port': lambda value: port_or_any(str(value)),
    'control_port': lambda value: port_or_any(str(value)),
    'plant_seed': lambda value: seed_number(str(value)),
}


def _domain(environment: dict[str, str]) -> str:
    return environment.get('ROS_DOMAIN_ID', '0')


def _running_nodes() -> dict[tuple[str, str], int]:
    """Process ids by node name and domain, of this user's nodes on this machine.

    The command lines are read instead of the ROS graph, which knows a killed node for another 20 s,
    and hears of a new one late.
    """
    found = {}
    for entry in Path('/proc').glob('[0-9]*'):
        try:
            words = (entry / 'cmdline').read_text(errors='replace').split('\0')
            remaps = dict(
                word.split(':=', 1) for word in words if word.startswith(('__node:=', '__ns:='))
            )
            if '__node' in remaps:
                variables = (entry / 'environ').read_text(errors='replace').split('\0')
                domain = _domain(
                    dict(variable.split('=', 1) for variable in variables if '=' in variable)
                )
                found[_full_name(remaps), domain] = int(entry.name)
        except OSError:
            continue  # it has ended, or belongs to somebody else
    return found


def _full_name(remaps: dict[str, str]) -> str:
    return f'/{remaps.get("__ns", "").strip("/")}/{remaps["__node"]}'.replace('//', '/')
