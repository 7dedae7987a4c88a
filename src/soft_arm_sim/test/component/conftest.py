"""Virtual rig in lockstep, as a process."""

from contextlib import contextmanager

import pytest

from system_testing.processes import free_port, start_node


@contextmanager
def _running(**parameters):
    parameters |= {'use_sim_time': 'true', 'modbus_port': free_port(), 'answers_from': '[driver]'}
    given = (f'{name}:={value}' for name, value in parameters.items())
    process = start_node('soft_arm_sim.ros.virtual_rig_node', *given)
    try:
        yield
    finally:
        process.terminate()
        process.communicate(timeout=20)


@pytest.fixture(scope='module')
def lockstep_rig(ros_domain):
    """A context in which a rig runs with parameters, and waits for a node `driver`."""
    return _running
