"""Routes from addresses to handlers, and the call that a handler receives."""

import bisect
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from abb_rws_emulator.controller.virtual_controller import VirtualController
from abb_rws_emulator.http.rendering import Item, Reply


@dataclass(frozen=True)
class Call:
    """A request to a resource: session, parts of the path, query and form."""

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


Handler = TypeVar('Handler', bound=Callable[[Call], Reply | Awaitable[Reply]])

ROUTES: list[tuple[str, re.Pattern, Callable[[Call], Reply | Awaitable[Reply]]]] = []
"""Routes with fewer variable parts come first."""
_looseness: list[tuple[int, int]] = []


def route(method: str, path: str) -> Callable[[Handler], Handler]:
    """Register a handler; `{name}` is one part of the path, `{name*}` the rest."""
    names = re.sub(r'\{(\w+)\*\}', r'(?P<\1>.+?)', path.replace('$', r'\$'))
    pattern = re.compile('^' + re.sub(r'(?<!\(\?P<)\{(\w+)\}', r'(?P<\1>[^/]+)', names) + '/?$')

    def register(handler: Handler) -> Handler:
        looseness = path.count('*'), path.count('{')
        place = bisect.bisect_right(_looseness, looseness)
        _looseness.insert(place, looseness)
        ROUTES.insert(place, (method, pattern, handler))
        return handler

    return register


def one(kind: str, title: str, fields: Mapping[str, object], **links: str) -> Reply:
    """Return a reply with one item."""
    return Reply((Item(kind, title, fields, links),), title)
