"""Render responses: RWS 1.0 JSON and XHTML, RWS 2.0 HAL JSON and XHTML."""

import html
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from aiohttp import web

from abb_rws_emulator.refusals import Refused
from abb_rws_emulator.worker_thread import in_worker_thread

XHTML = 'application/xhtml+xml'
LONG_LIST = 200
_NO_XML = re.compile('[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]')


@dataclass(frozen=True)
class Item:
    """A state: class, title, fields and links; JSON keeps numbers, a tuple is a list."""

    kind: str
    title: str
    fields: Mapping[str, object] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Reply:
    """A successful response: status 204 without items; `content` is a file, `location` a header."""

    items: tuple[Item, ...] | None = None
    title: str = 'rw'
    status: int = 200
    links: dict[str, str] = field(default_factory=dict)
    location: str = ''
    content: bytes | None = None


NOTHING = Reply()


@dataclass(frozen=True)
class Format:
    """Format of the responses that a client asks for."""

    generation: int
    as_json: bool
    base: str

    @property
    def content_type(self) -> str:
        """Content type exactly as a controller writes it; clients compare it literally."""
        if self.generation == 2:
            return 'application/hal+json;v=2.0' if self.as_json else 'application/xhtml+xml;v=2.0'
        return 'application/json' if self.as_json else XHTML


def body(reply: Reply, style: Format) -> bytes:
    """Return the body of a reply with items."""
    return (
        _json(reply, style) if style.as_json else page(reply.title, style.base, _state(reply))
    ).encode()


async def response(reply: Reply, style: Format) -> web.Response:
    """Return the response of a reply; a long list is rendered in the worker thread."""
    located = {'Location': reply.location} if reply.location else {}
    if reply.content is not None:
        return web.Response(
            body=reply.content, headers={'Content-Type': 'application/octet-stream'}
        )
    if reply.items is None and reply.status == 200:
        return web.Response(status=204, headers=located)
    if reply.items is None:  # clients read the type of everything but a 204
        return web.Response(
            status=reply.status, headers={'Content-Type': style.content_type} | located
        )
    content = (
        body(reply, style)
        if len(reply.items) < LONG_LIST
        else await in_worker_thread(body, reply, style)
    )
    return web.Response(
        status=reply.status, body=content, headers={'Content-Type': style.content_type} | located
    )


def refusal(refused: Refused, style: Format) -> web.Response:
    """Return a response with status >= 400 and the controller's code."""
    base = {'base': {'href': style.base}}
    if style.as_json:
        status = {'code': refused.code, 'msg': refused.message}
        body = (
            {'_links': base, 'status': status}
            if style.generation == 2
            else {'_links': base, '_embedded': {'status': status, '_state': []}}
        )
        text = json.dumps(body)
    else:
        message = _text(refused.message)
        spans = f'<span class="code">{refused.code}</span><span class="msg">{message}</span>'
        text = page('rw', style.base, f'<div class="status">{spans}</div>')
    return web.Response(
        status=refused.status, body=text.encode(), headers={'Content-Type': style.content_type}
    )


def _json(reply: Reply, style: Format) -> str:
    items = reply.items or ()
    states = [_json_item(item, style) for item in items]
    links = {'base': {'href': style.base}} | {
        rel: {'href': href} for rel, href in reply.links.items()
    }
    if style.generation == 1:
        return json.dumps({'_links': links, '_embedded': {'_state': states}})
    body = {'_links': links, 'status': {'code': 294912}}
    listed = [state for item, state in zip(items, states, strict=True) if item.kind.endswith('-li')]
    if not listed:
        return json.dumps(body | {'state': states})
    return json.dumps(
        body
        | {
            'state': [state for state in states if state not in listed],
            '_embedded': {'resources': listed},
        }
    )


def _json_item(item: Item, style: Format) -> dict:
    links = (
        {'_links': {rel: {'href': href} for rel, href in item.links.items()}} if item.links else {}
    )
    return (
        links
        | {'_type': item.kind, '_title': item.title}
        | {name: _json_value(value, style) for name, value in item.fields.items()}
    )


def _json_value(value: object, style: Format) -> object:
    if isinstance(value, tuple):
        return [_json_item(item, style) for item in value]
    return value if style.generation == 1 else str(value)


def list_item(item: Item) -> str:
    """Return the <li> of an item; items inside it follow its fields as a nested list."""
    links = ''.join(
        f'<a href="{_attribute(href)}" rel="{rel}"></a>' for rel, href in item.links.items()
    )
    spans = ''.join(
        f'<ul>{"".join(map(list_item, value))}</ul>'
        if isinstance(value, tuple)
        else f'<span class="{_attribute(name)}">{_text(str(value))}</span>'
        for name, value in item.fields.items()
    )
    return f'<li class="{item.kind}" title="{_attribute(item.title)}">{links}{spans}</li>'


def _text(text: str) -> str:
    return html.escape(_NO_XML.sub('\ufffd', text), quote=False)


def _attribute(text: str) -> str:
    return html.escape(_NO_XML.sub('\ufffd', text))


def _state(reply: Reply) -> str:
    links = ''.join(
        f'<a href="{_attribute(href)}" rel="{rel}"></a>'
        for rel, href in ({'self': ''} | reply.links).items()
    )
    return f'<div class="state">{links}<ul>{"".join(map(list_item, reply.items or ()))}</ul></div>'


def page(title: str, base: str, content: str) -> str:
    """Return a whole XHTML page."""
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title>{_text(title)}</title>'
        f'<base href="{_attribute(base)}"/></head><body>{content}</body></html>'
    )
