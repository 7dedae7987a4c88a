"""RWS 1.0: IRC5 with RobotWare 6. Digest, XHTML unless `json=1`, actions in the query."""

from abb_rws_bridge.dialect import Dialect

RWS1 = Dialect(
    name='rws1',
    basic=False,
    headers={'Accept': 'application/json, application/xhtml+xml'},
    form_type='application/x-www-form-urlencoded',
    websocket_protocol='robapi2_subscription',
    pings=True,
    edit_domain='rapid',
    takes_free_mastership=True,
    control_state_path='/rw/panel/ctrlstate',
    actions_in_query=True,
    query={'json': '1'},
)
