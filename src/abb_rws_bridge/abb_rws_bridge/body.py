"""Parser of response and event bodies: RWS 1.0 JSON, RWS 2.0 HAL JSON and XHTML."""

import json
import re
from dataclasses import dataclass, field
from typing import NoReturn
from xml.etree import ElementTree

from abb_rws_bridge.errors import BadResponse, printable

_CODE = re.compile(r'[-+]?[0-9]{1,12}')


@dataclass(frozen=True)
class Item:
    """State in a response: class (`pnl-ctrlstate`), title, fields and links, all as text."""

    kind: str
    title: str
    fields: dict[str, str]
    links: dict[str, str] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """Return the text of a field.

        Raises:
            BadResponse: If the item has no such field.
        """
        if name not in self.fields:
            raise BadResponse(
                f'response item {self.kind!r} has no field {name!r}; it has {sorted(self.fields)}'
            )
        return self.fields[name]


@dataclass(frozen=True)
class Document:
    """Parsed body: items, links, and code and message of a refusal."""

    items: tuple[Item, ...] = ()
    links: dict[str, str] = field(default_factory=dict)
    code: int | None = None
    message: str = ''

    def first(self, kind: str | None = None) -> Item:
        """Return the first item, or the first item of a class.

        Raises:
            BadResponse: If the item is missing.
        """
        for item in self.items:
            if kind is None or item.kind == kind:
                return item
        raise BadResponse(
            f'response has no item{"" if kind is None else f" {kind!r}"}; it has '
            f'{[i.kind for i in self.items][:8]}'
        )


def parse(body: bytes) -> Document:
    """Parse a body by its content; some controllers send JSON as text/html.

    Raises:
        BadResponse: If the body is neither JSON nor XHTML, or truncated.
    """
    text = body.decode('utf-8', errors='replace').lstrip('\ufeff \r\n\t')
    if not text:
        return Document()
    if text.startswith('{'):
        return _parse_json(text)
    if text.startswith('<'):
        return _parse_xhtml(text)
    raise BadResponse(f'response is neither JSON nor XHTML: {text[:60]!r}')


def _no_constant(name: str) -> NoReturn:
    raise BadResponse(f'response contains {name}, which is not a JSON number')


def _parse_json(text: str) -> Document:
    try:  # numbers stay text; control characters occur in strings
        root = json.loads(
            text, strict=False, parse_float=str, parse_int=str, parse_constant=_no_constant
        )
    except (ValueError, RecursionError) as error:
        raise BadResponse(f'response is not complete JSON: {error}') from error
    embedded = _object(root.get('_embedded'))
    status = _object(root.get('status')) or _object(embedded.get('status'))
    states = [
        *_array(root.get('state')),
        *_array(embedded.get('_state')),
        *_array(embedded.get('resources')),
    ]
    items = tuple(_json_item(state) for state in states if isinstance(state, dict))
    return Document(
        items, _json_links(root), _integer(status.get('code')), _text(status.get('msg'))
    )


def _object(value: object) -> dict:
    return value if isinstance(value, dict) else {}


def _array(value: object) -> list:
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    return printable(value) if isinstance(value, str) else ''


def _json_item(state: dict) -> Item:
    fields = {
        _text(k): printable(str(v))
        for k, v in state.items()
        if isinstance(v, (str, bool)) and k not in ('_type', '_title')
    }
    return Item(
        _text(state.get('_type')).strip(),
        _text(state.get('_title')),
        fields,
        _json_links(state),
    )


def _json_links(value: dict) -> dict[str, str]:
    links = _object(value.get('_links'))
    return {
        _text(rel): _text(link.get('href'))
        for rel, link in links.items()
        if isinstance(link, dict) and isinstance(link.get('href'), str)
    }


def _parse_xhtml(text: str) -> Document:
    try:  # parse text, not bytes, to ignore the declared encoding
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError) as error:
        raise BadResponse(f'response is not complete XHTML: {error}') from error
    for element in root.iter():
        element.tag = element.tag.rpartition('}')[2]
    spans = {
        (s.get('class') or '').strip(): s.text or ''
        for d in root.iter('div')
        if (d.get('class') or '') == 'status'
        for s in d.iter('span')
    }
    items = tuple(_xhtml_item(li) for li in root.iter('li'))
    in_items = {id(a) for li in root.iter('li') for a in li.iter('a')}
    links = {a.get('rel', ''): a.get('href', '') for a in root.iter('a') if id(a) not in in_items}
    if not items and not spans and not links and root.find('.//div') is None:
        raise BadResponse('response is a web page, not Robot Web Services: check host and port')
    return Document(items, links, _integer(spans.get('code')), spans.get('msg', ''))


def _xhtml_item(li: ElementTree.Element) -> Item:
    fields = {(s.get('class') or '').strip(): (s.text or '').strip() for s in li.iter('span')}
    return Item(
        (li.get('class') or '').strip(),
        li.get('title', ''),
        fields,
        {a.get('rel', ''): a.get('href', '') for a in li.iter('a')},
    )


def _integer(text: object) -> int | None:
    return int(text) if isinstance(text, str) and _CODE.fullmatch(text) else None
