"""Virtual rig in lockstep, as a process."""

import socket
import subprocess
import sys
from contextlib import contextmanager

import pytest

START = 'import sys; from soft_arm_sim.ros.virtual_rig_node import main; sys.exit(main())'


@contextmanager
def _running(**parameters):
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        port = probe.getsockname()[1]
    parameters |= {'use_sim_time': 'true', 'modbus_port': port, 'answers_from': '[driver]'}
    arguments = [word for name, v in parameters.items() for word in ('-p', f'{name}:={v}')]
    process = subprocess.Popen([sys.executable, '-c', START, '--ros-args', *arguments])
    try:
        yield
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture(scope='module')
def lockstep_rig(ros_domain):
    """A context in which a rig runs with parameters, and waits for a node `driver`."""
    return _running
