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


def xml(declaration: str, body: str = '<html><body><div class="state"><ul/></div></body></html>'):
    """Response with an XML document."""
    return answer(f'{declaration}{body}', kind='application/xhtml+xml')


def encoded(name: str) -> bytes:
    """Response with an XML document that declares an encoding."""
    return xml(f'<?xml version="1.0" encoding="{name}"?>')


def refused(*challenges: str) -> bytes:
    """Response with status 401."""
    return answer('', *challenges, status='401 Unauthorized')


def cookie(value: str) -> bytes:
    """Response with a session cookie."""
    return answer('{}', f'Set-Cookie: {value}')


_BOMB = '<!DOCTYPE l [<!ENTITY a "ha">' + ''.join(
    f'<!ENTITY {chr(98 + i)} "{"&" + chr(97 + i) + ";"}{("&" + chr(97 + i) + ";") * 9}">'
    for i in range(9)
)
_OK = 'HTTP/1.1 200 OK'

GARBAGE: dict[str, bytes] = {
    # HTTP
    'nothing': b'',
    'binary': bytes(range(256)) * 20,
    'status_text': raw('HTTP/1.1 abc OK'),
    'status_huge': raw('HTTP/1.1 99999 Much'),
    'header_not_utf8': answer('{}', 'X: \xff\xfe', 'Server: \xa0'),
    'header_huge': answer('{}', f'X: {"x" * 100_000}'),
    'headers_many': answer('{}', *(f'X-{i}: {i}' for i in range(3000))),
    'length_negative': raw(_OK, 'Content-Length: -5', body=b'{}'),
    'length_too_long': raw(_OK, 'Content-Length: 999', body=b'{"state"'),
    'chunk_cut': raw(_OK, 'Transfer-Encoding: chunked', body=b'50\r\n{}'),
    'transfer_unknown': raw(_OK, 'Transfer-Encoding: rot13', body=b'{}'),
    'gzip_bomb': answer(gzip.compress(b'{' * 9_000_000), 'Content-Encoding: gzip'),
    'two_answers': answer('{}') + answer('{"state":[]}'),
    'redirect': answer('', 'Location: /elsewhere', status='302 Found'),
    'redirect_broken': answer('', 'Location: http://[', status='302 Found'),
    'continue': raw('HTTP/1.1 100 Continue'),
    'switching': raw('HTTP/1.1 101 Switching Protocols', 'Upgrade: x', 'Connection: upgrade'),
    'created_broken': answer('{}', 'Location: http://[', status='201 Created'),
    # authentication
    '401_basic': refused('WWW-Authenticate: Basic realm="x"'),
    '401_not_utf8': refused('WWW-Authenticate: Digest realm="\xff\xfe", nonce="\xff", qop="auth"'),
    '401_algorithm': refused('WWW-Authenticate: Digest realm="r", nonce="n", algorithm=ROT13'),
    # refusals
    '403_page': answer('<html><h1>No', status='403 Forbidden', kind='text/html'),
    '500_code_list': answer('{"status":{"code":[1]}}', status='500 Oh'),
    # documents
    'code_list': answer('{"status":{"code":[1],"msg":{"a":1}}}'),
    'code_huge': answer('{"status":{"code":%s}}' % ('9' * 6000)),
    'xml_big5': encoded('big5'),
    'xml_idna': encoded('idna'),
    'xml_bomb': xml(_BOMB + ']>', '<l>&j;</l>'),
    'xml_deep_whole': xml('', '<div>' * 20_000 + '</div>' * 20_000),
    'json_cut': answer('{"state":[{"_type":"pnl'),
    'json_deep_objects': answer('{"state":[' + '{"a":' * 20_000 + '1' + '}' * 20_000 + ']}'),
    'json_not_utf8': answer(b'{"state":[{"_type":"\xff\xfe","ctrlstate":"\x80"}]}'),
    'links_odd': answer(
        '{"state":[{"_links":{"self":{"href":[1]},"next":5}}],"_links":{"next":{}}}'
    ),
    'next_for_ever': answer('{"state":[],"_links":{"next":{"href":"signals?start=1"}}}'),
    'page': answer('<html><body><h1>Welcome</h1></body></html>', kind='text/html'),
    'huge': answer(b'{"state":"' + b'x' * 9_000_000 + b'"}'),
    'fields_surrogates': everything('\ud800'),
    'fields_list': everything([1]),
    'fields_inf': everything('inf'),
    'fields_1e999': everything('1e999'),
    'fields_integer': everything(10**400),
    'fields_long': everything('x' * 100_000),
    # cookies
    'cookie_broken': cookie('-http-session-=\x01\xff"; path=\xff;;;=;'),
    'cookie_huge': cookie(f'-http-session-={"x" * 20_000}; path=/'),
    'cookie_other': cookie('-http-session-=another; path=/nowhere; domain=example.com; max-age=0'),
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
    'masked': b'\x81\x81abcdx',
    'length_huge': b'\x81\x7f' + b'\xff' * 8,
    'not_utf8': frame(b'\xff\xfe'),
    'fragment_without_end': frame('<html>', first=0),
    'ping_too_long': frame('x' * 200, opcode=9),
    'close_code_unknown': frame(b'\x00\x05bye', opcode=8),
    'encoding_idna': frame('<?xml version="1.0" encoding="idna"?><html><div/></html>'),
    'surrogate': frame('{"state":[{"_links":{"self":{"href":"\\ud800"}},"opmode":"\\ud800"}]}'),
    'state_unknown': event('<span class="ctrlstate">asleep</span>'),
    'ratio_huge': event('<span class="speedratio">1e300</span>'),
}
