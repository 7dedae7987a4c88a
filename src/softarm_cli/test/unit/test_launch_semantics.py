"""`softarm launch` gives launch files the meaning of `ros2 launch`.

Every expected value was observed with launch 3.4.3 and launch_ros 0.26.6 (Jazzy), by describing the
same text with both. REFUSED: both end with an error before they start anything.
"""

import pytest
import yaml

from softarm_cli.launching.description import describe
from softarm_cli.launching.xml import LaunchError

REFUSED = object()


@pytest.fixture
def processes(tmp_path, monkeypatch, demo_package):
    """The processes of a launch file's body, with the package `demo` and its executable `talk`."""
    demo_package('talk')
    (tmp_path / 'scratch').mkdir()
    monkeypatch.setenv('SET_BEFORE', 'before')

    def described(body, *arguments):
        path = tmp_path / 'test.launch.xml'
        path.write_text(f'<launch>{body}</launch>')
        given = dict(argument.split(':=', 1) for argument in arguments)
        return describe(path, given, tmp_path / 'scratch').processes

    return described


def same(value, expected):
    """Return whether values are equal and of the same types."""
    if isinstance(expected, list):
        return isinstance(value, list) and list(map(type, value)) == list(map(type, expected))
    return type(value) is type(expected) and value == expected


def parameter(processes, attributes, variable):
    let = '' if variable is None else f'<let name="v" value="{variable}"/>'
    node = f'<node pkg="demo" exec="talk" name="n"><param name="x" {attributes}/></node>'
    [process] = processes(let + node)
    file = process.command[process.command.index('--params-file') + 1]
    with open(file) as text:
        return yaml.safe_load(text)['/**']['ros__parameters']['x']


@pytest.mark.parametrize(
    'attributes, variable, expected',
    [
        # literal values, by YAML's rules
        ('value="1"', None, 1),
        ('value="010"', None, 8),
        ('value="0x1F"', None, 31),
        ('value="1.5"', None, 1.5),
        ('value="1e-3"', None, '1e-3'),
        ('value="1.0e-3"', None, 0.001),
        ('value="true"', None, True),
        ('value="off"', None, False),
        ('value="a b"', None, 'a b'),
        ('value="a:b"', None, 'a:b'),
        ('value="a: b"', None, REFUSED),
        ('value="12:30"', None, 750),
        ('value="10.0.0.1:502"', None, '10.0.0.1:502'),
        ('value="2026-01-01"', None, REFUSED),
        ('value=""', None, ''),
        ('value=" "', None, REFUSED),
        ('value="null"', None, REFUSED),
        ('value="{a: 1}"', None, REFUSED),
        ('value="@b"', None, '@b'),
        ('value="a #x"', None, 'a'),
        ('value="\'7\'"', None, '7'),
        ('value="C$x"', None, 'C$x'),
        ('value="a\\b"', None, 'ab'),
        ('value="a\\\\b"', None, 'a\\b'),
        ('value="[a, b]"', None, ['a', 'b']),
        ('value="[1, 2]"', None, [1, 2]),
        ("value=\"['1', '2']\"", None, ['1', '2']),
        ('value="[1, 2.5]"', None, REFUSED),
        ('value="[a, 1]"', None, REFUSED),
        ('value="[]"', None, []),
        ('value="[[1]]"', None, REFUSED),
        ('value="- a"', None, ['a']),
        # the value of a substitution is typed again
        ('value="$(var v)"', '1', 1),
        ('value="$(var v)"', 'true', True),
        ('value="$(var v)"', '', ''),
        ('value="$(var v)"', '[a, b]', ['a', 'b']),
        ('value="$(var v)"', '[1, a]', REFUSED),
        ('value="$(var v)"', 'a, b', 'a, b'),
        ('value="$(var v)"', 'a: b', REFUSED),
        ('value="$(var v)"', '@b', REFUSED),
        ('value="$(var v)"', '2026-01-01', REFUSED),
        ('value="$(var v)$(var v)"', '1', 11),
        ('value="$(var v).5"', '1', 1.5),
        ('value="\'$(var v)\'"', '1', 1),
        ('value="$(var v): 1"', 'a', REFUSED),
        ('value="{a: $(var v)}"', 'a', REFUSED),
        # a list is made before its items are substituted
        ('value="[$(var v)]"', 'a, b', ['a, b']),
        ('value="[$(var v)]"', '1', [1]),
        ('value="[$(var v)]"', '', ['']),
        ('value="[$(var v)]"', 'a: b', REFUSED),
        ('value="[$(var v), c]"', 'a, b', ['a, b', 'c']),
        ('value="[$(var v), c]"', '1', REFUSED),
        ('value="[1, $(var v)]"', '2', [1, 2]),
        ('value="[1, $(var v)]"', 'x', REFUSED),
        ('value="[1.5, $(var v)]"', '2', REFUSED),
        # type=
        ('value="1" type="str"', None, '1'),
        ('value="[1, 2]" type="str"', None, '[1, 2]'),
        ('value="$(var v)" type="str"', 'a: b', 'a: b'),
        ('value="[$(var v)]" type="str"', '1, 2', '[1, 2]'),
        ('value="1" type="int"', None, 1),
        ('value="1.5" type="int"', None, REFUSED),
        ('value="" type="int"', None, REFUSED),
        ('value="$(var v)" type="int"', 'a', REFUSED),
        ('value="1" type="float"', None, 1.0),
        ('value="$(var v)" type="float"', '1', 1.0),
        ('value="0" type="bool"', None, False),
        ('value="yes" type="bool"', None, True),
        ('value="$(var v)" type="bool"', '1.5', REFUSED),
        ('value="[a, b]" type="list_of_str"', None, ['a', 'b']),
        ('value="[1, 2]" type="list_of_str"', None, REFUSED),
        ('value="[]" type="list_of_str"', None, []),
        ('value="[]" type="list_of_int"', None, REFUSED),
        ('value="$(var v)" type="list_of_str"', '[a, b]', REFUSED),
        ('value="[$(var v)]" type="list_of_str"', '1', ['1']),
        ('value="[$(var v)]" type="list_of_float"', '1', [1.0]),
        ('value="[1, 2]" type="list_of_float"', None, REFUSED),
        ('value="[true]" type="list_of_int"', None, REFUSED),
        ('value="1" type="double"', None, REFUSED),
        # value-sep=
        ('value="a,b" value-sep=","', None, ['a', 'b']),
        ('value="1, 2" value-sep=","', None, [1, 2]),
        ('value="1,2.5" value-sep=","', None, REFUSED),
        ('value="" value-sep=","', None, ['']),
        ('value="$(var v)" value-sep=","', 'x,y', ['x,y']),
        ('value="$(var v),c" value-sep=","', 'x', ['x', 'c']),
        ('value="$(var v),c" value-sep=","', '1', REFUSED),
        ('value="1,2" value-sep="," type="list_of_str"', None, ['1', '2']),
        ('value="1,2" value-sep="," type="list_of_float"', None, [1.0, 2.0]),
        ('value="1,2" value-sep="," type="str"', None, REFUSED),
    ],
)
def test_values_of_parameters(processes, attributes, variable, expected):
    if expected is REFUSED:
        with pytest.raises(LaunchError, match=r'test.launch.xml:1: '):
            parameter(processes, attributes, variable)
    else:
        value = parameter(processes, attributes, variable)
        assert same(value, expected), value


def echo(text):
    return f'<executable cmd="echo {text}"/>'


@pytest.mark.parametrize(
    'body, arguments, expected',
    [
        # words
        (echo(' a  b '), (), 'a|b'),
        (echo("'a b' c"), (), 'a b|c'),
        (echo("'$(var v)'"), ('v:=1',), REFUSED),
        (echo('$(var v) $(var v)x'), ('v:=1 2',), '1 2|1 2x'),
        (echo('a$(var v)b'), ('v:=1 2',), 'a1 2b'),
        # substitutions
        (echo('$(var v)'), ('v:=$(var w)', 'w:=1'), '$(var w)'),
        (echo('$(var v)'), ('v:=a)b',), 'a)b'),
        (echo('$(var v)'), (), REFUSED),
        (echo('$(var v d)'), (), 'd'),
        (echo('$(var $(var v))'), ('v:=w', 'w:=1'), '1'),
        (echo('$(env SET_BEFORE)'), (), 'before'),
        (echo('$(env NOT_SET)'), (), REFUSED),
        (echo("$(env NOT_SET 'd e')"), (), 'd e'),
        (echo("$(env NOT_SET '')"), (), ''),
        ('<set_env name="NEW" value="1"/>' + echo('$(env NEW)'), (), '1'),
        (echo('$(equals a a) $(equals a b) $(equals a A)'), (), 'true|false|false'),
        (echo('$(equals 1 1.0) $(equals 1e0 1)'), (), 'true|true'),
        (echo('$(equals true 1) $(not-equals true True)'), (), 'true|false'),
        (echo('$(equals yes true)'), (), 'false'),
        (echo('$(equals a  a)'), (), REFUSED),
        (echo('$(var v'), ('v:=1',), REFUSED),
        (echo("$(command 'printf %s-%s $(var v)')"), ('v:=two words',), 'two-words'),
        (echo("$(command 'sh -c &quot;echo x; echo y >&amp;2&quot;')"), (), REFUSED),
        (echo("$(command 'sh -c &quot;echo x; echo y >&amp;2&quot;' warn)"), (), 'x\n'),
        (echo("$(command 'sh -c &quot;echo x; echo y >&amp;2&quot;' ignore)"), (), 'x\n'),
        (echo("$(command 'sh -c &quot;echo x; echo y >&amp;2&quot;' capture)"), (), 'x\ny\n'),
        (echo("$(command 'true' loud)"), (), REFUSED),
        (echo("$(command 'false' warn)"), (), REFUSED),
        # if, unless
        ('<let name="v" value="2" if=" TRUE "/>' + echo('$(var v)'), ('v:=1',), '2'),
        ('<let name="v" value="2" if="0"/>' + echo('$(var v)'), ('v:=1',), '1'),
        ('<let name="v" value="2" unless="1"/>' + echo('$(var v)'), ('v:=1',), '1'),
        ('<let name="v" value="2" unless="false"/>' + echo('$(var v)'), ('v:=1',), '2'),
        ('<arg name="v" default="1" if="0"/>' + echo('$(var v none)'), (), 'none'),
        ('<let name="v" value="2" if=""/>' + echo('a'), (), REFUSED),
        ('<let name="v" value="2" if="yes"/>' + echo('a'), (), REFUSED),
        ('<let name="v" value="2" if="1" unless="0"/>' + echo('a'), (), REFUSED),
        # arguments
        ('<arg name="a" default="x$(var b)"/>' + echo('$(var a)'), ('b:=1',), 'x1'),
        ('<arg name="a" default="1"/><arg name="a" default="2"/>' + echo('$(var a)'), (), '1'),
        ('<let name="a" value="1"/><arg name="a" default="2"/>' + echo('$(var a)'), (), '1'),
        ('<arg name="a"/><let name="a" value="2"/>' + echo('$(var a)'), ('a:=3',), '2'),
        ('<arg name="a"/>' + echo('$(var a)'), (), REFUSED),
        ('<group if="0"><arg name="a"/></group>' + echo('a'), (), 'a'),
        ('<arg name="a"><choice value="x"/></arg>' + echo('$(var a)'), ('a:=x',), 'x'),
        ('<arg name="a"><choice value="x"/></arg>' + echo('$(var a)'), ('a:=y',), REFUSED),
        (echo('$(var undeclared none)'), ('undeclared:=1',), '1'),
        # scopes
        ('<group><let name="v" value="2"/></group>' + echo('$(var v)'), ('v:=1',), '1'),
        ('<group><arg name="v" default="2"/></group>' + echo('$(var v none)'), (), 'none'),
        ('<group scoped="0"><let name="v" value="2"/></group>' + echo('$(var v)'), ('v:=1',), '2'),
        ('<group><set_env name="E" value="1"/></group>' + echo('$(env E none)'), (), 'none'),
        ('<let name="v" value="w"/><let name="$(var v)" value="1"/>' + echo('$(var w)'), (), '1'),
    ],
)
def test_commands(processes, body, arguments, expected):
    if expected is REFUSED:
        with pytest.raises(LaunchError):
            processes(body, *arguments)
    else:
        [process] = processes(body, *arguments)
        assert '|'.join(process.command[1:]) == expected


@pytest.mark.parametrize(
    'outer, attributes, arguments, rule',
    [
        ([], 'name="n"', ['-r', '__node:=n'], '/**'),
        ([], 'name="n" namespace="c"', ['-r', '__node:=n', '-r', '__ns:=/c'], '/c/n'),
        ([], 'name="n" namespace=""', ['-r', '__node:=n', '-r', '__ns:=/'], '/n'),
        ([], 'namespace="c"', ['-r', '__ns:=/c'], '/**'),
        (['a', 'b/'], 'name="n" namespace="c"', ['-r', '__node:=n', '-r', '__ns:=/a/b/c'], None),
        (['a'], 'name="n" namespace="/c"', ['-r', '__node:=n', '-r', '__ns:=/c'], None),
        (['a', '/b'], 'name="n"', ['-r', '__node:=n', '-r', '__ns:=/b'], '/b/n'),
        (['/'], 'name="n"', ['-r', '__node:=n', '-r', '__ns:=/'], '/n'),
        ([], 'name=""', REFUSED, None),
        ([], 'name="n" args=""', ['-r', '__node:=n'], None),
    ],
)
def test_names_and_namespaces(processes, outer, attributes, arguments, rule):
    pushed = ''.join(f'<push_ros_namespace namespace="{name}"/>' for name in outer)
    body = f'{pushed}<node pkg="demo" exec="talk" {attributes}><param name="x" value="1"/></node>'
    if arguments is REFUSED:
        with pytest.raises(LaunchError):
            processes(body)
        return
    [process] = processes(body)
    *before, _flag, file = process.command[1:]
    assert before == ([''] if 'args' in attributes else []) + ['--ros-args', *arguments]
    with open(file) as text:
        assert rule is None or list(yaml.safe_load(text)) == [rule]


@pytest.mark.parametrize(
    'attributes, expected',
    [
        ('', (False, 0.0, -1, False, 'log')),
        ('output="screen"', (False, 0.0, -1, False, 'screen')),
        ('output="loud"', REFUSED),
        ('respawn="$(var v)"', (True, 0.0, -1, False, 'log')),
        (
            'respawn="true" respawn_delay="0.5" respawn_max_retries="3"',
            (True, 0.5, 3, False, 'log'),
        ),
        ('respawn_delay="1"', (False, 1.0, -1, False, 'log')),
        ('respawn_delay="$(var v)"', REFUSED),
        ('respawn_delay="-1"', REFUSED),
        ('respawn_max_retries="2.5"', REFUSED),
        ('on_exit="shutdown"', (False, 0.0, -1, True, 'log')),
        ('on_exit="restart"', REFUSED),
    ],
)
def test_output_and_end_of_a_process(processes, attributes, expected):
    body = f'<let name="v" value="1"/><executable cmd="echo" {attributes}/>'
    if expected is REFUSED:
        with pytest.raises(LaunchError):
            processes(body)
        return
    [p] = processes(body)
    end = p.respawn, p.respawn_delay_s, p.respawn_max_retries, p.shutdown_on_exit, p.output
    assert end == expected
