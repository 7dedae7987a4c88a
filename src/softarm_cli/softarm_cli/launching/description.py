"""What an XML launch file asks for: its arguments, and the processes with their command lines.

Reads the part of ROS 2's XML launch format that this workspace uses, with the meaning that `ros2
launch` (Jazzy) gives it: an include is not a scope, a group is; a node's parameters are passed as
files, later ones win. Anything else is refused by name and line.
"""

import math
import os
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from ament_index_python.packages import PackageNotFoundError, get_package_prefix

from softarm_cli.launching import substitutions
from softarm_cli.launching.xml import Element, LaunchError, read, where

_CONDITIONS = {'if', 'unless'}
_PROCESS = {
    'output',
    'respawn',
    'respawn_delay',
    'respawn_max_retries',
    'on_exit',
    'launch-prefix',
    'cwd',
}
_OUTPUTS = ('screen', 'log', 'both')
_NAME = '[A-Za-z_][A-Za-z0-9_]*'
_NAME_RULE = 'letters, digits and _, a letter first'


@dataclass(frozen=True)
class Argument:
    """A declared argument of a launch file; `default` None means that it must be given."""

    name: str
    default: str | None
    description: str
    choices: tuple[str, ...]


@dataclass(frozen=True)
class Process:
    """One process to start and how to treat it.

    Attributes:
        node: Full name of the ROS node that it is; None where it is none, or chooses its name itself.
        package: Package of the node; None where it is none.
        parameters: Parameters that the launch file gives by value.
        respawn_max_retries: How often it is started again; negative: without end.
    """

    name: str
    command: tuple[str, ...]
    environment: dict[str, str]
    node: str | None = None
    package: str | None = None
    parameters: dict[str, object] = field(default_factory=dict)
    output: str = 'log'
    respawn: bool = False
    respawn_delay_s: float = 0.0
    respawn_max_retries: int = -1
    shutdown_on_exit: bool = False
    directory: str | None = None


@dataclass
class Description:
    """Everything a launch file and its includes declare and start."""

    arguments: dict[str, Argument] = field(default_factory=dict)
    processes: list[Process] = field(default_factory=list)


def declared_arguments(path: Path) -> dict[str, Argument]:
    """Every argument that a launch file and its includes declare, whether or not their conditions hold."""
    reader = _Reader(scratch=None)
    reader.file(path)
    return reader.description.arguments


def describe(path: Path, given: dict[str, str], scratch: Path) -> Description:
    """Interpret a launch file.

    Args:
        path: The launch file.
        given: Values of arguments, as on the command line.
        scratch: Folder for the parameter files that single parameters are written to.

    Raises:
        LaunchError: If anything in it is unknown, undeclared, missing or malformed.
    """
    declared = declared_arguments(path)
    undeclared = sorted(set(given) - set(declared))
    if undeclared:
        raise LaunchError(
            f'{where(path)}: argument {undeclared[0]!r} is not declared; declared: {", ".join(sorted(declared)) or "none"}'
        )
    reader = _Reader(scratch)
    reader.variables.update(given)
    reader.file(path)
    return reader.description


class _Reader:
    """One pass over the files. Without a scratch folder it only collects the declared arguments."""

    def __init__(self, scratch: Path | None):
        self.description = Description()
        self.variables: dict[str, str] = {}
        self._environment = dict(os.environ)
        self._namespace = ''
        self._scratch = scratch
        self._files: list[Path] = []
        self._actions: dict[str, Callable[[Element], None]] = {
            'arg': self._arg,
            'let': self._let,
            'node': self._node,
            'executable': self._executable,
            'include': self._include,
            'group': self._group,
            'push_ros_namespace': self._push_namespace,
            'push-ros-namespace': self._push_namespace,
            'set_env': self._set_env,
            'unset_env': self._unset_env,
        }

    def file(self, path: Path) -> None:
        path = path.resolve()
        if path in self._files:
            raise LaunchError(
                f'{where(path)} includes itself: {" -> ".join(p.name for p in [*self._files, path])}'
            )
        self._files.append(path)
        root = read(path)
        root.check({'version'}, set(self._actions))
        self._run(root.children)
        self._files.pop()

    def _run(self, elements: list[Element]) -> None:
        for element in elements:
            listing = self._scratch is None
            if listing and element.tag in (
                'node',
                'executable',
                'push_ros_namespace',
                'push-ros-namespace',
            ):
                continue
            if listing or self._holds(element):
                self._actions[element.tag](element)

    def _holds(self, element: Element) -> bool:
        if 'if' in element.attributes and 'unless' in element.attributes:
            raise element.error(f'<{element.tag}> has both if and unless; give one')
        for name in _CONDITIONS & set(element.attributes):
            value = self._expand(element, element.attributes[name])
            return self._boolean(element, name, value) == (name == 'if')
        return True

    def _expand(self, element: Element, text: str) -> str:
        try:
            return substitutions.expand(
                text, self.variables, self._environment, str(element.file.parent)
            )
        except substitutions.SubstitutionError as error:
            raise element.error(str(error)) from error

    def _value(self, element: Element, name: str, default: str | None = None) -> str:
        if default is not None and name not in element.attributes:
            return default
        return self._expand(element, element.required(name))

    def _words(self, element: Element, name: str) -> list[str]:
        try:
            words = substitutions.split(element.attributes.get(name, ''))
        except ValueError as error:
            raise element.error(f'{name}={element.attributes[name]!r}: {error}') from error
        return [self._expand(element, word) for word in words]

    def _boolean(self, element: Element, name: str, value: str) -> bool:
        known = {'true': True, '1': True, 'false': False, '0': False}
        if value.strip().lower() not in known:
            raise element.error(
                f'{name}={value!r} of <{element.tag}> is neither true, 1, false nor 0'
            )
        return known[value.strip().lower()]

    def _arg(self, element: Element) -> None:
        element.check({'name', 'default', 'description'} | _CONDITIONS, {'choice'})
        name = element.required('name')
        for choice in element.children:
            choice.check({'value'})
        choices = tuple(choice.required('value') for choice in element.children)
        default = element.attributes.get('default')
        self.description.arguments.setdefault(
            name, Argument(name, default, element.attributes.get('description', ''), choices)
        )
        if name not in self.variables:
            if default is None and self._scratch is not None:
                raise element.error(
                    f'argument {name!r} has no default: give {name}:=VALUE ({element.attributes.get("description", "")})'
                )
            self.variables[name] = self._expand(element, default or '')
        if choices and self._scratch is not None and self.variables[name] not in choices:
            raise element.error(
                f'argument {name!r} is {self.variables[name]!r}; choose from: {", ".join(choices)}'
            )

    def _let(self, element: Element) -> None:
        element.check({'name', 'value'} | _CONDITIONS)
        self.variables[element.required('name')] = self._value(element, 'value')

    def _include(self, element: Element) -> None:
        element.check({'file'} | _CONDITIONS, {'arg'})
        for argument in element.children:
            argument.check({'name', 'value'})
            self.variables[argument.required('name')] = self._value(argument, 'value')
        path = Path(self._value(element, 'file'))
        if not path.is_file():
            raise element.error(f'included file {self._beside(element, path)} does not exist')
        self.file(path)

    def _group(self, element: Element) -> None:
        element.check({'scoped'} | _CONDITIONS, set(self._actions))
        kept = dict(self.variables), dict(self._environment), self._namespace
        self._run(element.children)
        if self._boolean(element, 'scoped', element.attributes.get('scoped', 'true')):
            self.variables, self._environment, self._namespace = kept

    def _push_namespace(self, element: Element) -> None:
        element.check({'namespace'} | _CONDITIONS)
        self._namespace = self._inside(self._namespace, self._ros_namespace(element))

    def _ros_namespace(self, element: Element) -> str:
        namespace = self._value(element, 'namespace', '')
        if namespace.strip('/') and not re.fullmatch(f'/?{_NAME}(/{_NAME})*/?', namespace):
            raise element.error(
                f'namespace {namespace!r} is none of ROS: {_NAME_RULE}; parts are separated by /'
            )
        return namespace

    def _set_env(self, element: Element) -> None:
        element.check({'name', 'value'} | _CONDITIONS)
        self._environment[element.required('name')] = self._value(element, 'value')

    def _unset_env(self, element: Element) -> None:
        element.check({'name'} | _CONDITIONS)
        self._environment.pop(element.required('name'), None)

    def _executable(self, element: Element) -> None:
        element.check({'cmd', 'name'} | _PROCESS | _CONDITIONS, {'env'})
        element.required('cmd')
        command = self._words(element, 'cmd')
        if not command:
            raise element.error('cmd of <executable> is empty')
        self._add(element, self._value(element, 'name', os.path.basename(command[0])), command)

    def _node(self, element: Element) -> None:
        element.check(
            {'pkg', 'exec', 'name', 'namespace', 'args', 'ros_args'} | _PROCESS | _CONDITIONS,
            {'param', 'remap', 'env'},
        )
        executable = self._value(element, 'exec')
        namespace = self._inside(self._namespace, self._ros_namespace(element))
        name = self._value(element, 'name', '')
        if name and not re.fullmatch(_NAME, name):
            raise element.error(f'name {name!r} of a node is none of ROS: {_NAME_RULE}')
        ros_arguments = self._words(element, 'ros_args')
        if name:
            ros_arguments += ['-r', f'__node:={name}']
        if namespace:
            ros_arguments += ['-r', f'__ns:={namespace}']
        # Without a name the executable chooses it, so the parameters go to whatever it is.
        who = f'{namespace.rstrip("/")}/{name}' if name else '/**'
        parameters = {}
        for child in element.children:
            if child.tag == 'param':
                ros_arguments += ['--params-file', self._param(child, who, parameters)]
        for child in element.children:
            if child.tag == 'remap':
                child.check({'from', 'to'})
                ros_arguments += ['-r', f'{self._value(child, "from")}:={self._value(child, "to")}']
        command = [
            self._find(element, executable),
            *self._words(element, 'args'),
            '--ros-args',
            *ros_arguments,
        ]
        self._add(
            element,
            executable,
            command,
            node=f'/{who.lstrip("/")}' if name else None,
            package=self._value(element, 'pkg'),
            parameters=parameters,
        )

    def _param(self, element: Element, who: str, parameters: dict[str, object]) -> str:
        element.check({'name', 'value', 'from', 'type'})
        if ('from' in element.attributes) == ('name' in element.attributes):
            raise element.error('<param> takes either name and value, or from')
        if 'from' in element.attributes:
            path = self._value(element, 'from')
            if not os.path.isfile(path):
                raise element.error(f'parameter file {self._beside(element, path)} does not exist')
            return path
        if element.attributes.get('type', 'str') != 'str':
            raise element.error(
                f'type={element.attributes["type"]!r} is not known; the only one is str, without it the value says'
            )
        text = self._value(element, 'value')
        value = text if 'type' in element.attributes else self._by_yaml_rules(element, text)
        parameters[element.required('name')] = value
        path = self._scratch / f'launch_params_{len(list(self._scratch.iterdir()))}.yaml'
        path.write_text(
            yaml.safe_dump({who: {'ros__parameters': {element.required('name'): value}}})
        )
        return str(path)

    def _by_yaml_rules(self, element: Element, text: str):
        """What launch takes for the value; only text without a substitution may be no YAML, and is then what it is."""
        try:
            value = yaml.safe_load(text) if text else ''
        except (yaml.YAMLError, ValueError):  # ValueError: a date of month 13
            value = None if '$(' in element.attributes['value'] else text
        kinds = {type(one) for one in value} if isinstance(value, list) else {type(value)}
        if len(kinds) > 1 or not kinds <= {bool, int, float, str}:
            raise element.error(
                f'value={text!r} is by YAML rules no value of a parameter: give type="str", or a list of one kind'
            )
        return value

    def _find(self, element: Element, executable: str) -> str:
        package = self._value(element, 'pkg')
        try:
            return find_executable(package, executable)
        except LookupError as error:
            raise element.error(error.args[0]) from error

    def _add(self, element: Element, name: str, command: list[str], **node) -> None:
        environment = dict(self._environment)
        for child in element.children:
            if child.tag == 'env':
                child.check({'name', 'value'})
                environment[child.required('name')] = self._value(child, 'value')
        output = self._value(element, 'output', 'log')
        if output not in _OUTPUTS:
            raise element.error(f'output={output!r} is not one of: {", ".join(_OUTPUTS)}')
        if element.attributes.get('on_exit', 'shutdown') != 'shutdown':
            raise element.error(
                f'on_exit={element.attributes["on_exit"]!r} is not known; the only one is shutdown'
            )
        self.description.processes.append(
            Process(
                name=f'{name}-{len(self.description.processes) + 1}',
                command=(*self._words(element, 'launch-prefix'), *command),
                environment=environment,
                output=output,
                respawn=self._boolean(element, 'respawn', self._value(element, 'respawn', 'false')),
                respawn_delay_s=self._number(
                    element, 'respawn_delay', '0', float, 'a number of seconds, 0 or more', 0.0
                ),
                respawn_max_retries=self._number(
                    element, 'respawn_max_retries', '-1', int, 'a whole number', -math.inf
                ),
                shutdown_on_exit='on_exit' in element.attributes,
                directory=self._value(element, 'cwd', '') or None,
                **node,
            )
        )

    def _number(
        self, element: Element, name: str, default: str, kind: type, what: str, least: float
    ):
        text = self._value(element, name, default)
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not least <= value < math.inf:
            raise element.error(f'{name}={text!r} is not {what}')
        return value

    @staticmethod
    def _beside(element: Element, path: str | Path) -> str:
        """A path as seen from the launch file's folder, where it lies in it."""
        folder = element.file.parent
        return (
            str(Path(path).relative_to(folder)) if Path(path).is_relative_to(folder) else str(path)
        )

    @staticmethod
    def _inside(outer: str, inner: str) -> str:
        """Namespace `inner` below `outer`; an absolute one replaces it."""
        if not inner or inner.startswith('/'):
            return inner or outer
        return f'{outer.rstrip("/")}/{inner}'


def find_executable(package: str, executable: str) -> str:
    """Path of a package's executable.

    Raises:
        LookupError: If the package or the executable is not there; the message names those that
            are.
    """
    try:
        prefix = get_package_prefix(package)
    except (PackageNotFoundError, ValueError) as error:
        raise LookupError(
            f'package {package!r} is not found on {socket.gethostname()}: {how_to_get(package)}'
        ) from error
    folder = Path(prefix) / 'lib' / package
    path = folder / executable
    if not (path.is_file() and os.access(path, os.X_OK)):
        present = (
            sorted(p.name for p in folder.iterdir() if os.access(p, os.X_OK))
            if folder.is_dir()
            else []
        )
        raise LookupError(
            f'package {package!r} has no executable {executable!r}; it has: {", ".join(present) or "none"}'
        )
    return str(path)


def is_ours(package: str) -> bool:
    """Whether a package is one of this workspace."""
    return package.startswith(('soft_arm_', 'pneumatic_driver', 'abb_rws_bridge'))


def how_to_get(package: str) -> str:
    """What to do about a package that is not found."""
    if is_ours(package):
        return 'run: make build, then . ./env.sh'
    name = package.replace('_', '-')
    return f'is the name right? On a ROS machine: sudo apt-get install ros-jazzy-{name}; without ROS it cannot run here'
