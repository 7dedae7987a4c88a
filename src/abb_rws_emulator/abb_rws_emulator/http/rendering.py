"""Rendering of responses: RWS 1.0 JSON and XHTML, RWS 2.0 HAL JSON and XHTML."""

import html
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from aiohttp import web

from abb_rws_emulator.refusals import Refused

XHTML = 'application/xhtml+xml'
_NO_XML = re.compile('[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]')


@dataclass(frozen=True)
class Item:
    """State in a response: class, title, fields and links; JSON keeps numbers."""

    kind: str
    title: str
    fields: Mapping[str, object] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Reply:
    """Successful response: status 204 without items; `content` is a file."""

    items: tuple[Item, ...] | None = None
    title: str = 'rw'
    status: int = 200
    links: dict[str, str] = field(default_factory=dict)
    content: bytes | None = None


NO_CONTENT = Reply()


@dataclass(frozen=True)
class Format:
    """Response format requested by a client."""

    generation: int
    as_json: bool
    base: str

    @property
    def content_type(self) -> str:
        """Content type exactly as sent by a controller; clients compare it literally."""
        if self.generation == 2:
            return 'application/hal+json;v=2.0' if self.as_json else 'application/xhtml+xml;v=2.0'
        return 'application/json' if self.as_json else XHTML


def response(reply: Reply, style: Format) -> web.Response:
    """Return the HTTP response of a reply."""
    if reply.content is not None:
        return web.Response(
            body=reply.content, headers={'Content-Type': 'application/octet-stream'}
        )
    if reply.items is None and reply.status == 200:
        return web.Response(status=204)
    headers = {'Content-Type': style.content_type}
    if reply.items is None:  # clients read the content type of every status except 204
        return web.Response(status=reply.status, headers=headers)
    body = _json(reply, style) if style.as_json else page(reply.title, style.base, _state(reply))
    return web.Response(status=reply.status, body=body.encode(), headers=headers)


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
    listed = [state for item, state in zip(items, states, strict=True) if item.kind.endswith('-li')]
    body = {
        '_links': links,
        'status': {'code': 294912},
        'state': [state for state in states if state not in listed],
    }
    return json.dumps(body | ({'_embedded': {'resources': listed}} if listed else {}))


def _json_item(item: Item, style: Format) -> dict:
    links = (
        {'_links': {rel: {'href': href} for rel, href in item.links.items()}} if item.links else {}
    )
    fields = {
        name: value if style.generation == 1 else str(value) for name, value in item.fields.items()
    }
    return links | {'_type': item.kind, '_title': item.title} | fields


def list_item(item: Item) -> str:
    """Return the <li> element of an item."""
    links = ''.join(
        f'<a href="{_attribute(href)}" rel="{rel}"></a>' for rel, href in item.links.items()
    )
    spans = ''.join(
        f'<span class="{_attribute(name)}">{_text(str(value))}</span>'
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
    """Return a complete XHTML page."""
    return (
        '<?xml version="1.0" encoding="UTF-8"?><html xmlns="http://www.w3.org/1999/xhtml">'
        f'<head><title>{_text(title)}</title><base href="{_attribute(base)}"/></head>'
        f'<body>{content}</body></html>'
    )
