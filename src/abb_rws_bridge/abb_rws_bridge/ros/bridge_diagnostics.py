"""Diagnostic status of the bridge: level, message with remedy, values."""

from abb_rws_bridge.link import Link
from abb_rws_bridge.monitor import BUSY, CONNECTING, LOST, REFUSED, UP
from abb_rws_bridge.ros import conversions
from soft_arm_node_kit import diagnostics

_REMEDIES = {
    CONNECTING: 'wait; if it stays so, check the parameters host and port',
    LOST: 'check that the controller is on, the cable, and the parameters host and port',
    BUSY: 'log other clients out of the controller, or wait 5 minutes until their sessions expire',
    REFUSED: 'check user and password of the credentials',
}
"""Remedy by link state."""


def status(link: Link, phase: str, stale_after_s: float) -> tuple[bytes, str, dict]:
    """Return level, message and values.

    Args:
        phase: Lifecycle state of the node.
        stale_after_s: Age above which joint angles are stale [s].
    """
    known, age_s = link.known, conversions.age_s(link.known.joints)
    connected = phase in ('inactive', 'active')
    stale = not age_s <= stale_after_s  # true for NaN, before the first joint angles
    if not connected or (known.ready and not stale):
        level = diagnostics.OK
    else:
        level = diagnostics.WARN if known.link == UP else diagnostics.ERROR
    if phase == 'finalized':
        message = f'{phase}: start the node again'
    elif not connected:
        message = f'{phase}: configure and activate the node, or set its parameter autostart'
    elif known.link != UP:
        message = f'link {known.link} {known.error[:180]}: {_REMEDIES[known.link]}'
    elif stale:
        limit = f'{stale_after_s:g} s {known.error[:150]}'.strip()
        message = f'joint angles are older than {limit}: check the load of network and controller'
    elif not known.ready:
        message = 'the controller has no RAPID tasks yet: it is booting, wait'
    else:
        message = known.error or phase
    values = {
        'state': phase,
        'ready': phase == 'active',
        'link': known.link,
        'joint_age_s': age_s,
        'events': link.events_live,
        'controller_sessions': link.sessions_used,
    }
    return level, message, values
