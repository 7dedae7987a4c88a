"""Malformed responses and WebSocket frames, by name."""

import gzip
import json

FIELDS = (
    *(f'rax_{i}' for i in range(1, 7)),
    *('ctrlstate', 'opmode', 'ctrlexecstate', 'cycle', 'speedratio', 'name', 'lvalue', 'lstate'),
    *('value', 'code', 'msgtype', 'tstamp', 'title', 'active', 'excstate', 'motiontask', 'type'),
)
"""Fields that the bridge reads."""


def answer(body: bytes | str, *headers: str, status: str = '200 OK', kind='application/json'):
    """Response with a body."""
    content = body if isinstance(body, bytes) else body.encode()
    lines = [f'HTTP/1.1 {status}', f'Content-Type: {kind}', f'Content-Length: {len(content)}']
    return '\r\n'.join([*lines, *headers, '', '']).encode('latin-1') + content


def raw(*lines: str, body: bytes = b'') -> bytes:
    """Response with these header lines only."""
    return '\r\n'.join([*lines, '', '']).encode('latin-1') + body


def everything(value: object) -> bytes:
    """Response in which every field has this value."""
    item = {'_type': 'elog-message-li', '_title': '/rw/elog/0/7', **dict.fromkeys(FIELDS, value)}
    return answer(json.dumps({'state': [item], '_embedded': {'_state': [item]}}))


_BOMB = '<!DOCTYPE l [<!ENTITY a "ha">' + ''.join(
    f'<!ENTITY {chr(98 + i)} "{"&" + chr(97 + i) + ";"}{("&" + chr(97 + i) + ";") * 9}">'
    for i in range(9)
)
_OK = 'HTTP/1.1 200 OK'

GARBAGE: dict[str, bytes] = {
    # HTTP
    'binary': bytes(range(256)) * 20,
    'status_text': raw('HTTP/1.1 abc OK'),
    'header_huge': answer('{}', f'X: {"x" * 100_000}'),
    'chunk_cut': raw(_OK, 'Transfer-Encoding: chunked', body=b'50\r\n{}'),
    'gzip_bomb': answer(gzip.compress(b'{' * 9_000_000), 'Content-Encoding: gzip'),
    'redirect': answer('', 'Location: /elsewhere', status='302 Found'),
    # authentication
    '401_basic': answer('', 'WWW-Authenticate: Basic realm="x"', status='401 Unauthorized'),
    # documents
    'code_list': answer('{"status":{"code":[1],"msg":{"a":1}}}'),
    'xml_bomb': answer(f'{_BOMB}]><l>&j;</l>', kind='application/xhtml+xml'),
    'json_deep_objects': answer('{"state":[' + '{"a":' * 20_000 + '1' + '}' * 20_000 + ']}'),
    'links_odd': answer(
        '{"state":[{"_links":{"self":{"href":[1]},"next":5}}],"_links":{"next":{}}}'
    ),
    'next_for_ever': answer('{"state":[],"_links":{"next":{"href":"signals?start=1"}}}'),
    'huge': answer(b'{"state":"' + b'x' * 9_000_000 + b'"}'),
    'fields_surrogates': everything('\ud800'),
    'fields_1e999': everything('1e999'),
    # cookies
    'cookie_broken': answer('{}', 'Set-Cookie: -http-session-=\x01\xff"; path=\xff;;;=;'),
}


def frame(payload: bytes | str, opcode: int = 1, first: int = 0x80) -> bytes:
    """WebSocket frame of a server."""
    content = payload if isinstance(payload, bytes) else payload.encode()
    return bytes([first | opcode, 126]) + len(content).to_bytes(2, 'big') + content


def event(fields: str) -> bytes:
    """WebSocket frame with one event."""
    item = f'<li class="x"><a href="/rw/panel/ctrlstate" rel="self"/>{fields}</li>'
    return frame(f'<html><body><div class="state"><ul>{item}</ul></div></body></html>')


FRAMES: dict[str, bytes] = {
    'opcode_unknown': frame('x', opcode=7),
    'not_utf8': frame(b'\xff\xfe'),
    'fragment_without_end': frame('<html>', first=0),
    'ping_too_long': frame('x' * 200, opcode=9),
    'state_unknown': event('<span class="ctrlstate">asleep</span>'),
    'ratio_huge': event('<span class="speedratio">1e300</span>'),
}
