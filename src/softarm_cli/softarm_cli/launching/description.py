"""Interpreter of XML launch files: declared arguments and started processes.

Supports the subset of ROS 2's XML launch format used by this repository, with the semantics of
`ros2 launch` (Jazzy): a group is a scope, an include is not; parameters are passed to a
node as files, and later files win. Anything else is refused, with file and line.
`test_launch_semantics.py` specifies these semantics by cases observed with `ros2 launch`.
"""

import math
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from softarm_cli.launching.packages import find_executable
from softarm_cli.launching.substitutions import Scope, SubstitutionError, words
from softarm_cli.launching.values import typed_value
from softarm_cli.launching.xml import Element, LaunchError, read, where

_CONDITIONS = {'if', 'unless'}
_PROCESS = {'output', 'respawn', 'respawn_delay', 'respawn_max_retries', 'on_exit'}
_NAME = '[A-Za-z_][A-Za-z0-9_]*'
_NAME_RULE = 'letters, digits and _, a letter first'
_BOOLEANS = {'true': True, '1': True, 'false': False, '0': False}


class _ParameterDumper(yaml.SafeDumper):
    """Quote all strings: the parser of ROS reads 018322071443 as a number."""


_ParameterDumper.add_representer(
    str, lambda dumper, text: dumper.represent_scalar('tag:yaml.org,2002:str', text, style='"')
)


@dataclass(frozen=True)
class Argument:
    """A declared argument of a launch file; without a default it must be given."""

    name: str
    default: str | None
    description: str
    choices: tuple[str, ...]


@dataclass(frozen=True)
class Process:
    """Process with the handling of its output and its end.

    Attributes:
        name: Label in the launch's output.
        command: Executable and arguments.
        environment: All environment variables of the process.
        node: Full name of its ROS node; None if it is not a node, or sets its name itself.
        package: Package of the node; None if it is not a node.
        parameters: Parameters that the launch file gives by value.
        output: `screen`, or `log`: standard output goes to launch.log only.
        respawn: True to restart it after its end.
        respawn_delay_s: Delay of the restart [s].
        respawn_max_retries: Maximum number of restarts; negative: no limit.
        shutdown_on_exit: True if its end ends the launch.
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


@dataclass
class Description:
    """Arguments and processes of a launch file and its includes."""

    arguments: dict[str, Argument] = field(default_factory=dict)
    processes: list[Process] = field(default_factory=list)


def declared_arguments(path: Path) -> dict[str, Argument]:
    """Return all arguments that a launch file and its includes declare."""
    reader = _Reader(scratch=None)
    reader.file(path)
    return reader.description.arguments


def describe(path: Path, given: dict[str, str], scratch: Path) -> Description:
    """Interpret a launch file.

    Args:
        path: The launch file.
        given: Values of arguments, as on the command line; undeclared ones are variables, too.
        scratch: Folder for the parameter files of single parameters.

    Raises:
        LaunchError: If anything in it is unknown, missing or malformed.
    """
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
        self._namespace: str | None = None
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
            'set_env': self._set_env,
        }

    def file(self, path: Path) -> None:
        """Interpret a file; its result is added to `description`."""
        path = path.resolve()
        if path in self._files:
            chain = ' -> '.join(p.name for p in [*self._files, path])
            raise LaunchError(f'{where(path)} includes itself: {chain}')
        self._files.append(path)
        root = read(path)
        root.check({'version'}, set(self._actions))
        self._run(root.children)
        self._files.pop()

    def _run(self, elements: list[Element]) -> None:
        for element in elements:
            if self._scratch is None:
                if element.tag not in ('node', 'executable', 'push_ros_namespace'):
                    self._actions[element.tag](element)
            elif self._holds(element):
                self._actions[element.tag](element)

    def _holds(self, element: Element) -> bool:
        if set(element.attributes) >= _CONDITIONS:
            raise element.error(f'<{element.tag}> has both if and unless; give one')
        for name in _CONDITIONS & set(element.attributes):
            return self._boolean(element, name) == (name == 'if')
        return True

    def _scope(self, element: Element) -> Scope:
        return Scope(self.variables, self._environment, str(element.file.parent))

    def _expand(self, element: Element, text: str) -> str:
        try:
            return self._scope(element).expand(text)
        except SubstitutionError as error:
            raise element.error(str(error)) from error

    def _value(self, element: Element, name: str, default: str | None = None) -> str:
        if default is not None and name not in element.attributes:
            return default
        return self._expand(element, element.required(name))

    def _words(self, element: Element, name: str) -> list[str]:
        if name not in element.attributes:
            return []
        scope = self._scope(element)
        try:
            return [scope.join(word) for word in words(element.attributes[name])]
        except SubstitutionError as error:
            raise element.error(str(error)) from error

    def _boolean(self, element: Element, name: str, default: str | None = None) -> bool:
        return _truth(element, name, self._value(element, name, default))

    def _arg(self, element: Element) -> None:
        element.check({'name', 'default', 'description'} | _CONDITIONS, {'choice'})
        name, default = element.required('name'), element.attributes.get('default')
        description = element.attributes.get('description', '')
        for choice in element.children:
            choice.check({'value'})
        choices = tuple(choice.required('value') for choice in element.children)
        argument = Argument(name, default, description, choices)
        self.description.arguments.setdefault(name, argument)
        if name not in self.variables:
            if default is None and self._scratch is not None:
                raise element.error(
                    f'argument {name!r} has no default: give {name}:=VALUE ({description})'
                )
            self.variables[name] = self._expand(element, default or '')
        value = self.variables[name]
        if choices and self._scratch is not None and value not in choices:
            raise element.error(
                f'argument {name!r} is {value!r}; choose from: {", ".join(choices)}'
            )

    def _let(self, element: Element) -> None:
        element.check({'name', 'value'} | _CONDITIONS)
        self.variables[self._value(element, 'name')] = self._value(element, 'value')

    def _set_env(self, element: Element) -> None:
        element.check({'name', 'value'} | _CONDITIONS)
        self._environment[self._value(element, 'name')] = self._value(element, 'value')

    def _include(self, element: Element) -> None:
        element.check({'file'} | _CONDITIONS, {'arg', 'let'})
        for argument in element.children:
            argument.check({'name', 'value'})
            self.variables[self._value(argument, 'name')] = self._value(argument, 'value')
        path = Path(self._value(element, 'file'))
        if not path.is_file():
            raise element.error(f'included file {_relative(element, path)} does not exist')
        self.file(path)

    def _group(self, element: Element) -> None:
        element.check({'scoped'} | _CONDITIONS, set(self._actions))
        kept = dict(self.variables), dict(self._environment), self._namespace
        self._run(element.children)
        if _truth(element, 'scoped', element.attributes.get('scoped', 'true')):
            self.variables, self._environment, self._namespace = kept

    def _push_namespace(self, element: Element) -> None:
        element.check({'namespace'} | _CONDITIONS)
        self._namespace = self._namespace_of(element)

    def _namespace_of(self, element: Element) -> str | None:
        """Return the element's namespace in the current one; an absolute one replaces it."""
        if 'namespace' not in element.attributes:
            return self._namespace
        inner = self._value(element, 'namespace')
        if inner.strip('/') and not re.fullmatch(f'/?{_NAME}(/{_NAME})*/?', inner):
            raise element.error(
                f'namespace {inner!r} is not valid in ROS: {_NAME_RULE}; separate parts by /'
            )
        outer = '' if inner.startswith('/') else self._namespace or ''
        return '/' + '/'.join(filter(None, (outer.strip('/'), inner.strip('/'))))

    def _topic(self, element: Element, end: str) -> str:
        name = self._value(element, end)
        if not re.fullmatch(f'(~?/)?{_NAME}(/{_NAME})*', name):
            raise element.error(
                f'topic {name!r} is not valid in ROS: {_NAME_RULE}; / between parts'
            )
        return name

    def _executable(self, element: Element) -> None:
        element.check({'cmd', 'name'} | _PROCESS | _CONDITIONS)
        element.required('cmd')
        command = self._words(element, 'cmd')
        if not command:
            raise element.error('cmd of <executable> is empty')
        name = self._value(element, 'name', os.path.basename(command[0]))
        self._add(element, name, command)

    def _node(self, element: Element) -> None:
        known = {'pkg', 'exec', 'name', 'namespace', 'args'}
        element.check(known | _PROCESS | _CONDITIONS, {'param', 'remap'})
        package, executable = self._value(element, 'pkg'), self._value(element, 'exec')
        namespace = self._namespace_of(element)
        name = self._value(element, 'name') if 'name' in element.attributes else None
        if name is not None and not re.fullmatch(_NAME, name):
            raise element.error(f'node name {name!r} is not valid in ROS: {_NAME_RULE}')
        ros_arguments = ['-r', f'__node:={name}'] if name else []
        ros_arguments += ['-r', f'__ns:={namespace}'] if namespace else []
        full_name = f'{(namespace or "").rstrip("/")}/{name}' if name else None
        # As `ros2 launch` does: without name or namespace the parameters are for any node.
        rule = full_name if full_name and namespace else '/**'
        parameters: dict[str, object] = {}
        for child in element.children:
            if child.tag == 'param':
                file = self._param(child, rule, parameters)
                ros_arguments += ['--params-file', file]
        for child in element.children:
            if child.tag == 'remap':
                child.check({'from', 'to'})
                ros_arguments += [
                    '-r',
                    ':='.join(self._topic(child, end) for end in ('from', 'to')),
                ]
        try:
            path = find_executable(package, executable)
        except LookupError as error:
            raise element.error(error.args[0]) from error
        command = [path, *self._words(element, 'args'), '--ros-args', *ros_arguments]
        self._add(element, executable, command, full_name, package, parameters)

    def _param(self, element: Element, node: str, parameters: dict[str, object]) -> str:
        """Return the parameter file of a <param>; for a value, write the file."""
        element.check({'name', 'value', 'from', 'type', 'value-sep'})
        if ('from' in element.attributes) == ('name' in element.attributes):
            raise element.error('<param> takes either name and value, or from')
        if 'from' in element.attributes:
            file = self._value(element, 'from')
            if not os.path.isfile(file):
                raise element.error(
                    f'parameter file {_relative(element, Path(file))} does not exist'
                )
            return file
        assert self._scratch is not None
        name, given = self._value(element, 'name'), element.attributes
        try:
            parameters[name] = typed_value(
                element.required('value'),
                given.get('type'),
                given.get('value-sep'),
                self._scope(element).expand,
            )
        except ValueError as error:
            raise element.error(str(error)) from error
        path = self._scratch / f'launch_params_{len(list(self._scratch.iterdir()))}.yaml'
        content = {node: {'ros__parameters': {name: parameters[name]}}}
        path.write_text(yaml.dump(content, Dumper=_ParameterDumper))
        return str(path)

    def _add(
        self,
        element: Element,
        name: str,
        command: list[str],
        node: str | None = None,
        package: str | None = None,
        parameters: dict[str, object] | None = None,
    ) -> None:
        output = self._value(element, 'output', 'log')
        if output not in ('screen', 'log'):
            raise element.error(f'output={output!r} is neither screen nor log')
        if element.attributes.get('on_exit', 'shutdown') != 'shutdown':
            raise element.error(
                f'on_exit={element.attributes["on_exit"]!r} is unknown; the only value is shutdown'
            )
        retries = _number(element, 'respawn_max_retries', '-1', -math.inf, 'a whole number')
        if retries % 1:
            raise element.error(f'respawn_max_retries={retries} is not a whole number')
        delay_s = _number(
            element, 'respawn_delay', '0', 0.0, 'a number of seconds that is not negative'
        )
        self.description.processes.append(
            Process(
                name=f'{name}-{len(self.description.processes) + 1}',
                command=tuple(command),
                environment=dict(self._environment),
                node=node,
                package=package,
                parameters=parameters or {},
                output=output,
                respawn=self._boolean(element, 'respawn', 'false'),
                respawn_delay_s=delay_s,
                respawn_max_retries=int(retries),
                shutdown_on_exit='on_exit' in element.attributes,
            )
        )


def _truth(element: Element, name: str, text: str) -> bool:
    if text.strip().lower() not in _BOOLEANS:
        raise element.error(f'{name}={text!r} of <{element.tag}> is neither true, 1, false nor 0')
    return _BOOLEANS[text.strip().lower()]


def _number(element: Element, name: str, default: str, least: float, what: str) -> float:
    """Return a literal number; `ros2 launch` takes no substitution here."""
    text = element.attributes.get(name, default)
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not least <= value < math.inf:
        raise element.error(f'{name}={text!r} is not {what}')
    return value


def _relative(element: Element, path: Path) -> str:
    """Return a path as seen from the launch file's folder, if it is in it."""
    folder = element.file.parent
    return str(path.relative_to(folder) if path.is_relative_to(folder) else path)
