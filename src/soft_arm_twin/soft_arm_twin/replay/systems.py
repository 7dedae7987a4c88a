"""Which systems a bag holds, by its topics and their types, as they are found in a live graph."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from soft_arm_description.assembly import Assembly, load_assembly
from soft_arm_description.errors import DescriptionError
from soft_arm_description.robot import Robot, load_robot
from soft_arm_description.world import World, load_world
from soft_arm_twin.errors import TwinError
from soft_arm_twin.graph.known_graph import KnownGraph
from softarm_cli.bags.file import Bag

_DIAGNOSTICS = '/diagnostics'


@dataclass(frozen=True)
class Systems:
    """Systems of a bag.

    Attributes:
        robots: Soft robots by namespace.
        assemblies: Assemblies with their worlds, by namespace.
        industrial_robots, grippers: Namespaces.
    """

    robots: Mapping[str, Robot]
    assemblies: Mapping[str, tuple[Assembly, World]]
    industrial_robots: tuple[str, ...]
    grippers: tuple[str, ...]

    def add_to(self, known: KnownGraph) -> None:
        """Add all to what is known of a graph."""
        for namespace, robot in self.robots.items():
            known.add_robot(namespace, robot)
        for namespace, (assembly, world) in self.assemblies.items():
            known.add_assembly(namespace, assembly, world)
        for namespace in self.industrial_robots:
            known.add_industrial_robot(namespace)
        for namespace in self.grippers:
            known.add_gripper(namespace)


def find_systems(bag: Bag, robots: Mapping[str, str]) -> Systems:
    """Return the systems of an open bag.

    A robot is that of the argument, else the one that its kinematics node named in the recorded
    diagnostics, as its `hardware_id`; an assembly and its world are named by `virtual_robots`.

    Args:
        bag: The bag.
        robots: Name or path of the robot file, by namespace; the namespace may be empty if the bag
            holds one robot.

    Raises:
        TwinError: If the file of a robot is unknown, or nothing in the bag can be shown.
    """
    kinds = {connection.topic: connection.msgtype for connection in bag.connections}

    def places(kind: str, name: str = '') -> tuple[str, ...]:
        return tuple(
            topic.rpartition('/')[0]
            for topic, its_kind in sorted(kinds.items())
            if its_kind == kind and topic.endswith(f'/{name}')
        )

    soft = places('soft_arm_msgs/msg/ArmConfiguration', 'configuration')
    files = _named(bag, soft, robots)
    served = _served(bag)
    assemblies = {
        place: _assembly(bag, place, served)
        for place in places('visualization_msgs/msg/MarkerArray', 'scene')
    }
    found = Systems(
        {
            place: _robot(bag, place, files.get(place) or _robot_of(place, served))
            for place in dict.fromkeys((*soft, *files))
        },
        assemblies,
        places('soft_arm_msgs/msg/ControllerState', 'controller_state'),
        places('soft_arm_msgs/msg/GripperState', 'state'),
    )
    if not any(vars(found).values()):
        raise TwinError(
            f'{bag.path} holds no robot (no topic ../configuration, ../controller_state, ../state '
            'or ../scene): record every topic with softarm bag record -o FOLDER'
        )
    return found


def _named(bag: Bag, soft: tuple[str, ...], robots: Mapping[str, str]) -> dict[str, str]:
    """Return the files that the user named, by namespace with its slash."""
    files = {f'/{place.strip("/")}': file for place, file in robots.items() if place}
    spaces = {connection.topic.rpartition('/')[0] for connection in bag.connections}
    unknown = sorted(set(files) - spaces)
    if unknown:
        raise TwinError(
            f'{bag.path} holds no namespace {unknown[0]}: softarm bag info {bag.path} lists all'
        )
    if '' in robots:
        if len(soft) != 1:
            raise TwinError(
                f'--robot {robots[""]}: {bag.path} holds {len(soft)} robots '
                f'({", ".join(soft) or "none"}): give --robot NAMESPACE={robots[""]}'
            )
        files[soft[0]] = robots['']
    return files


def _served(bag: Bag) -> dict[str, str]:
    """Return what each node serves (`hardware_id`), by the node's full name."""
    reports = [connection for connection in bag.connections if connection.topic == _DIAGNOSTICS]
    found: dict[str, str] = {}
    for connection, _, raw in bag.messages(reports) if reports else ():
        for status in bag.decode(connection, raw).status:
            found.setdefault(f'/{status.name}', status.hardware_id)
    return found


def _robot_of(place: str, served: Mapping[str, str]) -> str:
    nodes = (node for node in served if node.rpartition('/')[0] == place)
    return next((served[node] for node in nodes if node.endswith('_kinematics')), '')


def _robot(bag: Bag, place: str, file: str) -> Robot:
    remedy = f'give --robot {place}=FILE'
    if not file:
        raise TwinError(f'{bag.path} does not say which robot {place} is: {remedy}')
    return _loaded(load_robot, file, f'the robot {place} in {bag.path}', remedy)


def _assembly(bag: Bag, place: str, served: Mapping[str, str]) -> tuple[Assembly, World]:
    assembly, _, world = served.get(f'{place}/virtual_robots', '').partition(' in ')
    if not world:
        raise TwinError(
            f'{bag.path} does not say which assembly and world {place} is: it needs the '
            f'diagnostics of {place}/virtual_robots: record every topic'
        )
    what = f'the assembly {place} in {bag.path}'
    remedy = 'install the files that it was recorded with'
    return _loaded(load_assembly, assembly, what, remedy), _loaded(load_world, world, what, remedy)


def _loaded(load: Any, file: str, what: str, remedy: str) -> Any:
    try:
        return load(Path(file) if '/' in file else file)
    except DescriptionError as error:
        raise TwinError(f'{what}: {error}: {remedy}') from error
