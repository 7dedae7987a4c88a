"""launch/cell.launch.xml: next to the soft arm, and on real devices by its arguments."""

from pathlib import Path

import yaml

from softarm_cli.launching.description import describe

LAUNCH = Path(__file__).parents[2]


def nodes_of(file, given, scratch):
    """Return the processes of a launch file by the full names of their nodes."""
    processes = describe(LAUNCH / file, given, scratch).processes
    return {process.node: process for process in processes}


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


def test_arm_and_cell_share_neither_nodes_nor_ports(scratch):
    cell = nodes_of('cell.launch.xml', {}, scratch)
    arm = nodes_of('sim.launch.xml', {}, scratch)
    assert not cell.keys() & arm.keys()
    cell_node, rig_node = cell['/virtual_cell'], arm['/soft_arm/virtual_rig']
    ports = [
        parameters(cell_node)['rws_port'],
        parameters(cell_node)['modbus_port'],
        parameters(rig_node)['modbus_port'],
    ]
    assert len(set(ports)) == 3


def test_drivers_and_emulated_devices_meet(scratch):
    nodes = nodes_of('cell.launch.xml', {'rws_port': '7001', 'modbus_port': '7002'}, scratch)
    devices = parameters(nodes['/virtual_cell'])
    for driver, port in (
        ('/abb/abb_rws_bridge', 'rws_port'),
        ('/gripper/pcu2v_driver', 'modbus_port'),
    ):
        assert parameters(nodes[driver])['port'] == devices[port]
        assert parameters(nodes[driver])['host'] == '127.0.0.1'
    users = {
        (node.environment['ABB_RWS_USER'], node.environment['ABB_RWS_PASSWORD'])
        for node in nodes.values()
    }
    assert len(users) == 1


def test_on_real_devices_the_same_nodes_run_without_the_emulated_ones(
    scratch, install, monkeypatch
):
    install('orbbec_camera', 'orbbec_camera_node')
    monkeypatch.delenv('ABB_RWS_PASSWORD', raising=False)
    virtual = nodes_of('cell.launch.xml', {}, scratch)
    given = {'rig': 'lab', 'emulated': 'false', 'rws_port': '80', 'modbus_port': '502'}
    real = nodes_of('cell.launch.xml', given, scratch)
    assert virtual.keys() - real.keys() == {'/virtual_cell'}
    assert real.keys() - virtual.keys() == {'/finger_camera/finger_camera'}
    # No launch file knows the password of a real controller.
    assert all('ABB_RWS_PASSWORD' not in node.environment for node in real.values())
    for driver, port in (('/abb/abb_rws_bridge', 80), ('/gripper/pcu2v_driver', 502)):
        assert parameters(real[driver])['port'] == port
        assert not parameters(real[driver])['host'].startswith('127.')
    assert parameters(real['/gripper/pcu2v_driver'])['accept_unverified_map'] == ''
    assert parameters(real['/gripper/pcu2v_driver'])['auto_recover'] is False
