"""Route table of the resources, and the call passed to a handler."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from abb_rws_emulator.controller.virtual_controller import VirtualController
from abb_rws_emulator.http.rendering import Item, Reply


@dataclass(frozen=True)
class Call:
    """Request to a resource: session, variable parts of the path, query, form and content."""

    controller: VirtualController
    session: str
    parts: dict[str, str]
    query: dict[str, str] = field(default_factory=dict)
    form: dict[str, str] = field(default_factory=dict)
    content: bytes = b''
    generation: int = 1

    @property
    def action(self) -> str:
        """Value of `action` in the query."""
        return self.query.get('action', '')


Handler = Callable[[Call], Reply]
ROUTES: list[tuple[str, re.Pattern, Handler]] = []


def route(method: str, path: str) -> Callable[[Handler], Handler]:
    """Register a handler; `{name}` matches one part of the path, `{name*}` the rest."""
    names = re.sub(r'\{(\w+)\*\}', r'(?P<\1>.+?)', path)
    pattern = re.compile('^' + re.sub(r'(?<!\(\?P<)\{(\w+)\}', r'(?P<\1>[^/]+)', names) + '/?$')

    def register(handler: Handler) -> Handler:
        ROUTES.append((method, pattern, handler))
        return handler

    return register


def one(kind: str, title: str, fields: Mapping[str, object], **links: str) -> Reply:
    """Return a reply with one item."""
    return Reply((Item(kind, title, fields, links),), title)
