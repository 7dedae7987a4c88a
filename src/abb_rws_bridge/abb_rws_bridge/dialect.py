"""Differences between RWS 1.0 (IRC5, `rws1.py`) and RWS 2.0 (OmniCore, `rws2.py`)."""

from dataclasses import dataclass, field

from abb_rws_bridge.request import Request


@dataclass(frozen=True)
class Dialect:
    """Paths, media types and rules of one generation of controllers.

    Attributes:
        query: Added to every request.
        actions_in_query: `?action=x` on the resource (1.0) or the action as the last part of the
            path (2.0).
        edit_domain: Mastership that RAPID writes need.
        takes_free_mastership: In automatic mode a write takes a mastership that nobody holds.
        pings: The controller answers WebSocket pings; a 2.0 controller closes the socket when it
            receives any frame.
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
        in_query: bool | None = None,
    ) -> Request:
        """Return a write request.

        `in_query` overrides the place of the action, for resources that are alike in both dialects.
        """
        if action is None:
            return Request('POST', path, dict(self.query), form or {}, urgent)
        if self.actions_in_query if in_query is None else in_query:
            return Request('POST', path, {'action': action} | self.query, form or {}, urgent)
        return Request('POST', f'{path}/{action}', dict(self.query), form or {}, urgent)

    def symbol_path(self, symbol: str) -> str:
        """Return the path of a RAPID symbol `task/[module/]name`."""
        if self.actions_in_query:
            return f'/rw/rapid/symbol/data/RAPID/{symbol}'
        return f'/rw/rapid/symbol/RAPID/{symbol}/data'

    def set_symbol(self, symbol: str, literal: str) -> Request:
        """Return the request that writes a RAPID variable."""
        return self.post(
            self.symbol_path(symbol), 'set' if self.actions_in_query else None, {'value': literal}
        )

    def set_signal(self, path: str, text: str) -> Request:
        """Return the request that writes an I/O signal."""
        return self.post(
            f'/rw/iosystem/signals/{path}',
            'set' if self.actions_in_query else 'set-value',
            {'lvalue': text},
        )
