"""RWS 2.0: OmniCore with RobotWare 7. Basic over TLS, HAL JSON, actions in the path."""

from abb_rws_bridge.dialect import Dialect

RWS2 = Dialect(
    name='rws2',
    basic=True,
    headers={'Accept': 'application/hal+json;v=2.0'},
    form_type='application/x-www-form-urlencoded;v=2.0',
    websocket_protocol='rws_subscription',
    pings=False,
    edit_domain='edit',
    takes_free_mastership=False,
    control_state_path='/rw/panel/ctrl-state',
    actions_in_query=False,
)
