import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from softarm_cli import launch_command
from softarm_cli.launching.description import declared_arguments, describe
from softarm_cli.launching.xml import LaunchError


@pytest.fixture
def package(demo_package):
    """Executable `talker` of the package `demo`."""
    return demo_package('talker')


@pytest.fixture
def launch(tmp_path):
    """Describes a launch file given by its body."""
    scratch = tmp_path / 'scratch'
    scratch.mkdir()

    def describe_body(body, **given):
        path = tmp_path / 'test.launch.xml'
        path.write_text(f'<launch>\n{body}\n</launch>')
        return describe(path, given, scratch)

    return describe_body


def arguments_after(process, flag):
    return [
        value
        for name, value in zip(process.command, process.command[1:], strict=False)
        if name == flag
    ]


def test_a_node_gets_name_namespace_remaps_and_arguments(launch, package):
    [process] = launch("""
        <arg name="robot" default="arm"/>
        <node pkg="demo" exec="talker" name="driver" namespace="left"
            args="--file $(var robot).yaml 'two words'" output="screen">
          <remap from="a" to="/b"/>
        </node>""").processes
    assert process.command[0] == str(package)
    assert process.command[1:4] == ('--file', 'arm.yaml', 'two words')
    assert arguments_after(process, '-r') == ['__node:=driver', '__ns:=/left', 'a:=/b']
    assert (process.name, process.output, process.respawn) == ('talker-1', 'screen', False)


def test_parameter_files_come_in_the_order_of_the_launch_file(launch, package, tmp_path):
    (tmp_path / 'all.yaml').write_text('/**:\n  ros__parameters:\n    x: 1\n')
    [process] = launch("""
        <node pkg="demo" exec="talker" name="driver" namespace="arm">
          <param from="$(dirname)/all.yaml"/>
          <param name="rate_hz" value="50.0"/>
        </node>""").processes
    first, second = arguments_after(process, '--params-file')
    assert first == str(tmp_path / 'all.yaml')
    assert yaml.safe_load(Path(second).read_text()) == {
        '/arm/driver': {'ros__parameters': {'rate_hz': 50.0}}
    }


def test_groups_are_scopes_and_includes_are_not(launch, package, tmp_path):
    (tmp_path / 'inner.launch.xml').write_text("""<launch>
      <arg name="who" default="nobody"/>
      <let name="leaked" value="yes"/>
      <set_env name="SOFT_ARM_TEST" value="1"/>
      <node pkg="demo" exec="talker" name="$(var who)"/>
    </launch>""")
    processes = launch("""
        <group>
          <push_ros_namespace namespace="outer"/>
          <group>
            <push_ros_namespace namespace="inner"/>
            <include file="$(dirname)/inner.launch.xml"><arg name="who" value="first"/></include>
          </group>
          <node pkg="demo" exec="talker" name="second"/>
          <node pkg="demo" exec="talker" name="absolute" namespace="/other"/>
        </group>
        <include file="$(dirname)/inner.launch.xml"/>
        <executable cmd="echo $(var leaked)"/>""").processes
    assert [arguments_after(p, '-r') for p in processes[:4]] == [
        ['__node:=first', '__ns:=/outer/inner'],
        ['__node:=second', '__ns:=/outer'],
        ['__node:=absolute', '__ns:=/other'],
        ['__node:=nobody'],
    ]
    assert processes[0].environment.get('SOFT_ARM_TEST') == '1'
    assert processes[1].environment.get('SOFT_ARM_TEST') is None
    assert processes[4].command == ('echo', 'yes')


@pytest.mark.parametrize('tag', ['arg', 'let'])
def test_arguments_of_an_included_file(launch, tmp_path, tag):
    (tmp_path / 'inner.launch.xml').write_text(
        '<launch><arg name="who" default="nobody"/><executable cmd="echo $(var who)"/></launch>'
    )
    given = f'<include file="$(dirname)/inner.launch.xml"><{tag} name="who" value="me"/></include>'
    assert launch(given).processes[0].command == ('echo', 'me')


def test_declared_arguments_are_listed_without_values(tmp_path):
    (tmp_path / 'inner.launch.xml').write_text(
        '<launch><arg name="deep" description="from the include"/></launch>'
    )
    path = tmp_path / 'a.launch.xml'
    path.write_text("""<launch><arg name="needed"/>
      <arg name="rig" default="virtual"><choice value="virtual"/><choice value="lab"/></arg>
      <group if="$(var needed)"><include file="$(dirname)/inner.launch.xml"/></group>
      <node pkg="not_there" exec="x"/></launch>""")
    declared = declared_arguments(path)
    assert list(declared) == ['needed', 'rig', 'deep']
    assert declared['needed'].default is None
    assert declared['rig'].choices == ('virtual', 'lab')
    assert declared['deep'].description == 'from the include'


@pytest.mark.parametrize(
    'body, given, message',
    [
        ('<nod pkg="demo" exec="talker"/>', {}, ':2: unknown tag <nod>.*known: arg, executable'),
        ('\n<node pkg="demo" exec="talker" nam="x"/>', {}, ":3: unknown attribute 'nam' of <node>"),
        ('<node pkg="demo"/>', {}, ":2: <node> lacks the attribute 'exec'"),
        ('<node pkg="demo" exec="talkr"/>', {}, "no executable 'talkr'; it has: talker"),
        (
            '<node pkg="demo" exec="talker"><param from="/nowhere.yaml"/></node>',
            {},
            '/nowhere.yaml does not exist',
        ),
        (
            '<executable cmd="echo $(var x)"/>',
            {},
            ":2: launch configuration 'x' is not declared; declared: none",
        ),
        ('<executable cmd="echo $(eval 1 + 1)"/>', {}, r'unknown substitution \$\(eval'),
        ('<executable cmd="echo" if="maybe"/>', {}, "if='maybe' of <executable> is neither"),
        ('<node pkg="not_here" exec="x"/>', {}, 'sudo apt-get install ros-jazzy-not-here'),
        ('<node pkg="soft_arm_none" exec="x"/>', {}, 'run: make build'),
        (
            '<executable cmd="echo '
            "$(command 'sh -c &quot;echo no such robot >&amp;2; exit 3&quot;')\"/>",
            {},
            ':2: no such robot',
        ),
        ('<arg name="x"/>', {}, "argument 'x' has no default: give x:=VALUE"),
        (
            '<arg name="x"><choice value="a"/></arg>',
            {'x': 'b'},
            "argument 'x' is 'b'; choose from: a",
        ),
        ('<include file="$(dirname)/test.launch.xml"/>', {}, 'includes itself'),
        ('<executable cmd="echo">', {}, 'mismatched tag'),
    ],
)
def test_refusals_name_file_line_and_word(launch, package, body, given, message):
    with pytest.raises(LaunchError, match=message) as refusal:
        launch(body, **given)
    assert 'test.launch.xml' in str(refusal.value)


LAUNCH = Path(__file__).parents[4] / 'launch'


@pytest.mark.parametrize(
    'file, argument, message',
    [
        ('sim', 'x=1', "'x=1' is not of the form NAME:=VALUE"),
        ('sim', 'namespace:=a b', "namespace 'a b'"),
        ('sim', 'robot:=/nosuch.yaml', "robot file '/nosuch.yaml': No such file"),
        ('sim', 'plant_seed:=x', "'x' is not a whole number"),
        ('sim', 'rig:=nosuch', "rig 'nosuch' is not known"),
        ('cell', 'rws_port:=-1', '-1 must be at least 0'),
        ('cell', 'map:=valve', "register map 'valve'"),
    ],
)
def test_a_bad_argument_starts_nothing(file, argument, message):
    launch = [sys.executable, '-m', 'softarm_cli.softarm', 'launch']
    command = [*launch, str(LAUNCH / f'{file}.launch.xml'), argument]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, '')
    assert message in done.stderr and done.stderr.count('\n') == 1 and len(done.stderr) <= 301


def test_an_undeclared_argument_is_named_and_ignored(tmp_path, capsys):
    path = tmp_path / 'test.launch.xml'
    path.write_text('<launch><arg name="x" default="1"/><executable cmd="echo $(var x)"/></launch>')
    assert launch_command.main(['--print', str(path), 'y:=2']) == 0
    out, err = capsys.readouterr()
    assert out == '[echo-1] echo 1\n'
    assert "'y' is not declared" in err and 'declared: x' in err and err.count('\n') == 1
