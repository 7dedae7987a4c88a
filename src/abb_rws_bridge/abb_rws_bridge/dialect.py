"""Dialects of Robot Web Services: RWS 1.0 (IRC5) and RWS 2.0 (OmniCore)."""

from dataclasses import dataclass, field

from abb_rws_bridge.request import Request


@dataclass(frozen=True)
class Dialect:
    """Paths, media types and rules of one generation of controllers.

    Attributes:
        query: Added to every request.
        actions_in_query: True for `?action=x` on the resource (1.0), False for the action as last
            part of the path (2.0).
        edit_domain: Mastership required for RAPID writes.
        takes_free_mastership: In automatic mode a write takes a free mastership implicitly.
        pings: The controller answers WebSocket pings; a 2.0 controller closes the socket on any
            received frame.
    """

    name: str
    basic: bool
    headers: dict[str, str]
    form_type: str
    websocket_protocol: str
    pings: bool
    edit_domain: str
    takes_free_mastership: bool
    control_state_path: str
    actions_in_query: bool
    query: dict[str, str] = field(default_factory=dict)

    def get(self, path: str, **query: str) -> Request:
        """Return a read request."""
        return Request('GET', path, self.query | query)

    def post(
        self,
        path: str,
        action: str | None = None,
        form: dict[str, str] | None = None,
        *,
        urgent: bool = False,
    ) -> Request:
        """Return a write request."""
        if action is None:
            return Request('POST', path, dict(self.query), form or {}, urgent)
        if self.actions_in_query:
            return Request('POST', path, {'action': action} | self.query, form or {}, urgent)
        return Request('POST', f'{path}/{action}', dict(self.query), form or {}, urgent)

    def set_control_state(self, state: str, *, urgent: bool) -> Request:
        """Return the request that switches the motors."""
        action = 'setctrlstate' if self.actions_in_query else None
        return self.post(self.control_state_path, action, {'ctrl-state': state}, urgent=urgent)

    def set_speed_ratio(self, percent: str) -> Request:
        """Return the request that sets the speed ratio; the path is the same in both dialects."""
        query = {'action': 'setspeedratio'} | self.query
        return Request('POST', '/rw/panel/speedratio', query, {'speed-ratio': percent})

    def symbol_path(self, symbol: str) -> str:
        """Return the path of a RAPID symbol `task/[module/]name`."""
        symbol = symbol.replace('{', '%7B').replace('}', '%7D')
        if self.actions_in_query:
            return f'/rw/rapid/symbol/data/RAPID/{symbol}'
        return f'/rw/rapid/symbol/RAPID/{symbol}/data'

    def set_symbol(self, symbol: str, literal: str) -> Request:
        """Return the request that writes a RAPID variable."""
        action = 'set' if self.actions_in_query else None
        return self.post(self.symbol_path(symbol), action, {'value': literal})

    def set_signal(self, path: str, text: str) -> Request:
        """Return the request that writes an I/O signal."""
        action = 'set' if self.actions_in_query else 'set-value'
        return self.post(f'/rw/iosystem/signals/{path}', action, {'lvalue': text})


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
"""IRC5 with RobotWare 6: digest authentication, XHTML unless `json=1`."""

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
"""OmniCore with RobotWare 7: basic authentication over TLS, HAL JSON."""
