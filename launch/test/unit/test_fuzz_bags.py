"""Bags with flipped, cut or doubled bytes are read in part, or refused in one line.

`SOFT_ARM_CASES` is the number of mutated bags of each format.
"""

import os
import random
import shutil
import time
from pathlib import Path

import pytest
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from fuzzing.bad_files import PHRASES_OF_PYTHON, changed_bytes
from soft_arm_calibration.cli import bag_evaluate
from softarm_cli.bag_command import main

CASES = int(os.environ.get('SOFT_ARM_CASES', '30'))
BAG = Path(__file__).parents[3] / 'src/soft_arm_calibration/test/data/virtual_rig_bag'
STORE = get_typestore(Stores.ROS2_JAZZY)
POSE, TF = 'geometry_msgs/msg/PoseStamped', 'tf2_msgs/msg/TFMessage'


def write(path, plugin):
    """A bag of true poses and of strings."""
    types = STORE.types
    with Writer(path, version=9, storage_plugin=plugin) as writer:
        pose = writer.add_connection('/rig/debug/tip_truth', POSE, typestore=STORE)
        text = writer.add_connection('/words', 'std_msgs/msg/String', typestore=STORE)
        for number in range(60):
            stamp = types['builtin_interfaces/msg/Time'](1, number * 10**7)
            place = types['geometry_msgs/msg/Point'](0.01 * number, 0.0, 0.3)
            turn = types['geometry_msgs/msg/Quaternion'](0.0, 0.0, 0.0, 1.0)
            message = types[POSE](
                types['std_msgs/msg/Header'](stamp, 'base'),
                types['geometry_msgs/msg/Pose'](place, turn),
            )
            at_ns = 10**9 + number * 10**7
            writer.write(pose, at_ns, STORE.serialize_cdr(message, POSE))
            word = types['std_msgs/msg/String'](f'word {number}')
            writer.write(text, at_ns, STORE.serialize_cdr(word, text.msgtype))


def spoilt(whole, bag, case):
    """Copy a bag with one changed file; every third one has no metadata.yaml."""
    shutil.copytree(whole, bag)
    [messages] = {*bag.iterdir()} - {bag / 'metadata.yaml'}
    path = messages if case % 5 else bag / 'metadata.yaml'
    path.write_bytes(changed_bytes(path.read_bytes(), random.Random(case)))
    if case % 3 == 1:
        (bag / 'metadata.yaml').unlink()
    return bag


def check(command, arguments, capsys):
    """Run a command: it says what it has evaluated, or in one line why it has not."""
    began_s = time.monotonic()
    code = command([*map(str, arguments)])
    captured = capsys.readouterr()
    assert time.monotonic() - began_s < 10, arguments
    refusals = [line for line in captured.err.splitlines() if line.startswith('softarm bag')]
    assert code in (0, 2) and len(refusals) == bool(code), (arguments, captured.err)
    assert bool(captured.out) == (code == 0), arguments
    assert not [p for p in PHRASES_OF_PYTHON if p in ''.join(refusals)], (arguments, refusals)
    return code


@pytest.mark.parametrize('plugin', StoragePlugin)
def test_spoilt_bags_are_read_or_refused(tmp_path, capsys, plugin):
    write(tmp_path / 'whole', plugin)
    codes = []
    for case in range(CASES):
        bag = spoilt(tmp_path / 'whole', tmp_path / str(case), case)
        codes.append(check(main, ['info', bag], capsys))
        check(main, ['plot', bag, '-o', tmp_path / 'plot.png'], capsys)
        shutil.rmtree(bag)
    assert {*codes} == {0, 2}


def test_spoilt_bags_are_evaluated_or_refused(tmp_path, capsys):
    for case in range(CASES // 4):
        bag = spoilt(BAG, tmp_path / str(case), case)
        check(bag_evaluate.main, [bag, '--tip-source', 'colour'], capsys)
        shutil.rmtree(bag)
