import pytest
from ring_frames import render

from soft_arm_description.robot import load_robot


@pytest.fixture(scope='session')
def render_ring():
    """The renderer, `render(centre, axis, ...) -> Frame`."""
    return render


@pytest.fixture(scope='session')
def ring():
    """The ring of the paper's arm."""
    return load_robot('two_module_arm').ring
