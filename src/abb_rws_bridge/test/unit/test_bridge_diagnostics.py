"""Diagnostics of the bridge by lifecycle state."""

from types import SimpleNamespace

import pytest

from abb_rws_bridge.monitor import Knowledge
from abb_rws_bridge.ros.bridge_diagnostics import status


@pytest.mark.parametrize(
    ('phase', 'remedy'),
    [('unconfigured', 'configure and activate the node'), ('finalized', 'start the node again')],
)
def test_the_remedy_is_possible_in_the_state(phase, remedy):
    link = SimpleNamespace(known=Knowledge(), events_live=False, sessions_used=0)
    assert status(link, phase, 1.0)[1].startswith(f'{phase}: {remedy}')
