"""Checks before a launch: parameter values, and nodes of the same names that already run."""

from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping

from pneumatic_driver.register_map import load_map
from soft_arm_description.command_line import port_or_any, seed_number
from soft_arm_description.robot import load_robot
from softarm_cli.graph.running_nodes import command_line, environment, node_of, pids
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
    """Return process ids of this user's nodes on this machine by node name and domain.

    The command lines are read instead of the ROS graph, which keeps a killed node for 20 s and
    discovers a new one late.
    """
    return {
        (node, _domain(variables)): pid
        for pid in pids()
        if (node := node_of(command_line(pid))) and (variables := environment(pid))
    }
