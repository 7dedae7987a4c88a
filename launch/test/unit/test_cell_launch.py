"""launch/cell.launch.xml: beside the soft arm, and on real devices by its arguments."""

import os
import stat
from pathlib import Path

import pytest
import yaml

from softarm_cli.launching.description import describe

LAUNCH = Path(__file__).parents[2]


@pytest.fixture
def scratch(tmp_path):
    folder = tmp_path / 'scratch'
    folder.mkdir()
    return folder


@pytest.fixture
def orbbec_camera(tmp_path, monkeypatch):
    """A stand-in for the camera's package, which only ROS machines have."""
    prefix = tmp_path / 'prefix'
    marker = prefix / 'share/ament_index/resource_index/packages/orbbec_camera'
    executable = prefix / 'lib/orbbec_camera/orbbec_camera_node'
    for path in (marker, executable):
        path.parent.mkdir(parents=True)
        path.write_text('#!/bin/sh\n')
    executable.chmod(executable.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv(
        'AMENT_PREFIX_PATH', f'{prefix}{os.pathsep}{os.environ["AMENT_PREFIX_PATH"]}'
    )


def full_names(processes):
    remaps = [
        dict(word.split(':=') for word in process.command if ':=' in word) for process in processes
    ]
    return sorted(f'{r.get("__ns", "").rstrip("/")}/{r["__node"]}' for r in remaps)


def parameters(process):
    files = [
        value
        for name, value in zip(process.command, process.command[1:], strict=False)
        if name == '--params-file'
    ]
    values = {}
    for file in files:
        for node in yaml.safe_load(Path(file).read_text()).values():
            values |= node['ros__parameters']
    return values


def by_name(processes):
    return {
        name.rpartition('/')[2]: process
        for name, process in zip(full_names_in_order(processes), processes, strict=True)
    }


def full_names_in_order(processes):
    return [full_names([process])[0] for process in processes]


def test_arm_and_cell_share_neither_nodes_nor_ports(scratch):
    cell, arm = (
        describe(LAUNCH / name, {}, scratch).processes
        for name in ('cell.launch.xml', 'sim.launch.xml')
    )
    assert len(set(full_names(cell))) == len(cell) and not set(full_names(cell)) & set(
        full_names(arm)
    )
    cell_node, rig_node = by_name(cell)['virtual_cell'], by_name(arm)['virtual_rig']
    ports = [
        parameters(cell_node)['rws_port'],
        parameters(cell_node)['modbus_port'],
        parameters(rig_node)['modbus_port'],
    ]
    assert len(set(ports)) == 3


def test_drivers_and_emulated_devices_meet(scratch):
    nodes = by_name(
        describe(
            LAUNCH / 'cell.launch.xml', {'rws_port': '7001', 'modbus_port': '7002'}, scratch
        ).processes
    )
    devices = parameters(nodes['virtual_cell'])
    for driver, port in (('abb_rws_bridge', 'rws_port'), ('pcu2v_driver', 'modbus_port')):
        assert parameters(nodes[driver])['port'] == devices[port]
        assert parameters(nodes[driver])['host'] == '127.0.0.1'
    users = {
        (node.environment['ABB_RWS_USER'], node.environment['ABB_RWS_PASSWORD'])
        for node in nodes.values()
    }
    assert len(users) == 1


def test_on_real_devices_the_same_nodes_run_without_the_emulated_ones(
    scratch, orbbec_camera, monkeypatch
):
    monkeypatch.delenv('ABB_RWS_PASSWORD', raising=False)
    virtual = describe(LAUNCH / 'cell.launch.xml', {}, scratch).processes
    given = {'rig': 'lab', 'emulated': 'false', 'rws_port': '80', 'modbus_port': '502'}
    real = describe(LAUNCH / 'cell.launch.xml', given, scratch).processes
    assert set(full_names(virtual)) - set(full_names(real)) == {'/virtual_cell'}
    assert set(full_names(real)) - set(full_names(virtual)) == {'/finger_camera/finger_camera'}
    nodes = by_name(real)
    assert all('ABB_RWS_PASSWORD' not in node.environment for node in real), (
        'no launch file knows the password of a real controller'
    )
    for driver, port in (('abb_rws_bridge', 80), ('pcu2v_driver', 502)):
        assert parameters(nodes[driver])['port'] == port
        assert not parameters(nodes[driver])['host'].startswith('127.')
    assert parameters(nodes['pcu2v_driver'])['accept_unverified_map'] == ''
    assert parameters(nodes['pcu2v_driver'])['auto_recover'] is False
