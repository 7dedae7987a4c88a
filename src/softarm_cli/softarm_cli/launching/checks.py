"""Checks before a launch: parameter values, and nodes of the same names that already run."""

from argparse import ArgumentTypeError
from collections.abc import Callable

from pneumatic_driver.register_map import load_map
from soft_arm_description.robot import load_robot
from soft_arm_io.command_line import port_or_any, seed_number
from soft_arm_node_kit.node_names import AlreadyRunsError, domain_of
from softarm_cli.graph.running_nodes import running_pids
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
    running = {d: running_pids(d) for d in {domain_of(p.environment) for p in processes}}
    for process in processes:
        domain = domain_of(process.environment)
        for pid in running[domain].get(process.node or '', ()):
            raise LaunchError(str(AlreadyRunsError(process.node or '', domain, pid)))


def _check_parameters(process: Process) -> None:
    for name, value in process.parameters.items():
        if name in _CHECKS:
            try:
                _CHECKS[name](str(value))
            except (ValueError, OSError, ArgumentTypeError) as error:
                raise LaunchError(f'{process.node}: {name}:={value}: {error}') from error
