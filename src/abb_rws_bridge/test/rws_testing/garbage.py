"""Answers that no controller should give, by name."""

import gzip
import json

FIELDS = (
    *(f'rax_{i}' for i in range(1, 7)),
    *('ctrlstate', 'opmode', 'ctrlexecstate', 'cycle', 'speedratio', 'name', 'lvalue', 'lstate'),
    *('value', 'code', 'msgtype', 'tstamp', 'title', 'active', 'excstate', 'motiontask', 'type'),
)
"""Every field that the bridge reads."""


def answer(body: bytes | str, *headers: str, status: str = '200 OK', kind='application/json'):
    """A response with a body."""
    content = body if isinstance(body, bytes) else body.encode()
    lines = [f'HTTP/1.1 {status}', f'Content-Type: {kind}', f'Content-Length: {len(content)}']
    return '\r\n'.join([*lines, *headers, '', '']).encode('latin-1') + content


def raw(*lines: str, body: bytes = b'') -> bytes:
    """A response with these header lines only."""
    return '\r\n'.join([*lines, '', '']).encode('latin-1') + body


def everything(value: object) -> bytes:
    """A response in which every field has this value."""
    item = {'_type': 'elog-message-li', '_title': '/rw/elog/0/7', **dict.fromkeys(FIELDS, value)}
    return answer(json.dumps({'state': [item], '_embedded': {'_state': [item]}}))


def xml(declaration: str, body: str = '<html><body><div class="state"><ul/></div></body></html>'):
    """A response with an XML document."""
    return answer(f'{declaration}{body}', kind='application/xhtml+xml')


def encoded(name: str) -> bytes:
    """A response with an XML document that names an encoding."""
    return xml(f'<?xml version="1.0" encoding="{name}"?>')


def refused(*challenges: str) -> bytes:
    """A response with status 401."""
    return answer('', *challenges, status='401 Unauthorized')


def cookie(value: str) -> bytes:
    """A response with a session cookie."""
    return answer('{}', f'Set-Cookie: {value}')


_BOMB = '<!DOCTYPE l [<!ENTITY a "ha">' + ''.join(
    f'<!ENTITY {chr(98 + i)} "{"&" + chr(97 + i) + ";"}{("&" + chr(97 + i) + ";") * 9}">'
    for i in range(9)
)
_OK = 'HTTP/1.1 200 OK'

GARBAGE: dict[str, bytes] = {
    # HTTP
    'nothing': b'',
    'http_0_9': b'<html>hello</html>\r\n',
    'binary': bytes(range(256)) * 20,
    'status_text': raw('HTTP/1.1 abc OK'),
    'status_zero': raw('HTTP/1.1 000 Nothing', 'Content-Length: 0'),
    'status_huge': raw('HTTP/1.1 99999 Much'),
    'version_9': raw('HTTP/9.9 200 OK', 'Content-Length: 0'),
    'header_without_colon': raw(_OK, 'Content-Length 3', body=b'{}'),
    'header_with_nul': raw(_OK, 'X: a\0b', 'Content-Length: 2', body=b'{}'),
    'header_not_utf8': answer('{}', 'X: \xff\xfe', 'Server: \xa0'),
    'header_huge': answer('{}', f'X: {"x" * 100_000}'),
    'headers_many': answer('{}', *(f'X-{i}: {i}' for i in range(3000))),
    'length_text': raw(_OK, 'Content-Length: abc', body=b'{}'),
    'length_negative': raw(_OK, 'Content-Length: -5', body=b'{}'),
    'length_twice': raw(_OK, 'Content-Length: 2', 'Content-Length: 9', body=b'{}'),
    'length_too_long': raw(_OK, 'Content-Length: 999', body=b'{"state"'),
    'chunk_size_text': raw(_OK, 'Transfer-Encoding: chunked', body=b'zz\r\n{}\r\n0\r\n\r\n'),
    'chunk_cut': raw(_OK, 'Transfer-Encoding: chunked', body=b'50\r\n{}'),
    'chunk_size_huge': raw(_OK, 'Transfer-Encoding: chunked', body=b'f' * 40 + b'\r\n{}'),
    'transfer_unknown': raw(_OK, 'Transfer-Encoding: rot13', body=b'{}'),
    'gzip_bad': answer(b'\x1f\x8bnot gzip', 'Content-Encoding: gzip'),
    'gzip_bomb': answer(gzip.compress(b'{' * 9_000_000), 'Content-Encoding: gzip'),
    'two_answers': answer('{}') + answer('{"state":[]}'),
    'redirect': answer('', 'Location: /elsewhere', status='302 Found'),
    'redirect_broken': answer('', 'Location: http://[', status='302 Found'),
    'redirect_port': answer('', 'Location: http://h:99999999/', status='307 Temporary Redirect'),
    'redirect_loop': answer('', 'Location: /rw/system', status='301 Moved Permanently'),
    'not_modified': raw('HTTP/1.1 304 Not Modified'),
    'continue': raw('HTTP/1.1 100 Continue'),
    'switching': raw('HTTP/1.1 101 Switching Protocols', 'Upgrade: x', 'Connection: upgrade'),
    'partial': answer('{"state":', status='206 Partial Content'),
    'created_broken': answer('{}', 'Location: http://[', status='201 Created'),
    'created_port': answer('{}', 'Location: ws://h:99999999/x', status='201 Created'),
    # authentication
    '401_alone': refused(),
    '401_basic': refused('WWW-Authenticate: Basic realm="x"'),
    '401_not_utf8': refused('WWW-Authenticate: Digest realm="\xff\xfe", nonce="\xff", qop="auth"'),
    '401_algorithm': refused('WWW-Authenticate: Digest realm="r", nonce="n", algorithm=ROT13'),
    '401_quotes': refused('WWW-Authenticate: Digest realm="r\\", nonce="n'),
    # refusals
    '403_page': answer('<html><h1>No', status='403 Forbidden', kind='text/html'),
    '404_binary': answer(b'\xff\0\xd8', status='404 Not Found'),
    '429': answer('', status='429 Too Many Requests'),
    '500_code_list': answer('{"status":{"code":[1]}}', status='500 Oh'),
    '503_page': answer('<html>', status='503 Busy', kind='text/html'),
    # documents
    'code_list': answer('{"status":{"code":[1],"msg":{"a":1}}}'),
    'code_object': answer('{"status":{"code":{"a":1}}}'),
    'code_huge': answer('{"status":{"code":%s}}' % ('9' * 6000)),
    'code_refusal': answer('{"status":{"code":-1073445859,"msg":"rejected"}}'),
    'xml_big5': encoded('big5'),
    'xml_foo': encoded('foo'),
    'xml_idna': encoded('idna'),
    'xml_utf_16': encoded('utf-16'),
    'xml_utf_7': encoded('utf-7'),
    'xml_undefined': encoded('undefined'),
    'xml_bomb': xml(_BOMB + ']>', '<l>&j;</l>'),
    'xml_entity': xml('<!DOCTYPE l [<!ENTITY x SYSTEM "file:///etc/passwd">]>', '<l>&x;</l>'),
    'xml_deep': xml('', '<a>' * 30_000),
    'xml_deep_whole': xml('', '<div>' * 20_000 + '</div>' * 20_000),
    'xml_cut': xml('', '<html><body><div class="state"><ul><li'),
    'xml_nul': xml('', '<html><div>\0</div></html>'),
    'json_cut': answer('{"state":[{"_type":"pnl'),
    'json_deep': answer('{"state":' + '[' * 20_000),
    'json_deep_objects': answer('{"state":[' + '{"a":' * 20_000 + '1' + '}' * 20_000 + ']}'),
    'json_nan': answer('{"state":[{"rax_1":NaN}]}'),
    'json_array': answer('[1,2,3]'),
    'json_twice': answer('{"state":[],"state":5,"state":{"state":1}}'),
    'json_utf_16': answer('{"state":[]}'.encode('utf-16')),
    'json_not_utf8': answer(b'{"state":[{"_type":"\xff\xfe","ctrlstate":"\x80"}]}'),
    'state_numbers': answer('{"state":[1,null,"x",[2]],"_embedded":7,"_links":[1]}'),
    'links_odd': answer(
        '{"state":[{"_links":{"self":{"href":[1]},"next":5}}],"_links":{"next":{}}}'
    ),
    'next_for_ever': answer('{"state":[],"_links":{"next":{"href":"signals?start=1"}}}'),
    'empty': answer(''),
    'empty_object': answer('{}'),
    'page': answer('<html><body><h1>Welcome</h1></body></html>', kind='text/html'),
    'huge': answer(b'{"state":"' + b'x' * 9_000_000 + b'"}'),
    'fields_surrogates': everything('\ud800'),
    'fields_nul': everything('a\0b'),
    'fields_null': everything(None),
    'fields_true': everything(True),
    'fields_list': everything([1]),
    'fields_inf': everything('inf'),
    'fields_1e999': everything('1e999'),
    'fields_1e300': everything('1e300'),
    'fields_integer': everything(10**400),
    'fields_digits': everything('\u0663'),
    'fields_long': everything('x' * 100_000),
    # cookies
    'cookie_empty': cookie('-http-session-=; path=/'),
    'cookie_broken': cookie('-http-session-=\x01\xff"; path=\xff;;;=;'),
    'cookie_octal': cookie('-http-session-="a\\015\\012X: y"; path=/'),
    'cookie_huge': cookie(f'-http-session-={"x" * 20_000}; path=/'),
    'cookie_other': cookie('-http-session-=another; path=/nowhere; domain=example.com; max-age=0'),
    'cookie_nonsense': cookie('=;;\xff=;,,"'),
}


def frame(payload: bytes | str, opcode: int = 1, first: int = 0x80) -> bytes:
    """A WebSocket frame of a server."""
    content = payload if isinstance(payload, bytes) else payload.encode()
    return bytes([first | opcode, 126]) + len(content).to_bytes(2, 'big') + content


def event(fields: str) -> bytes:
    """A WebSocket frame with one event."""
    item = f'<li class="x"><a href="/rw/panel/ctrlstate" rel="self"/>{fields}</li>'
    return frame(f'<html><body><div class="state"><ul>{item}</ul></div></body></html>')


FRAMES: dict[str, bytes] = {
    'opcode_unknown': frame('x', opcode=7),
    'reserved_bits': frame('x', first=0xF0),
    'masked': b'\x81\x81abcdx',
    'length_huge': b'\x81\x7f' + b'\xff' * 8,
    'not_utf8': frame(b'\xff\xfe'),
    'continuation_alone': frame('x', opcode=0),
    'fragment_without_end': frame('<html>', first=0),
    'ping_too_long': frame('x' * 200, opcode=9),
    'close_code_unknown': frame(b'\x00\x05bye', opcode=8),
    'binary': frame(b'\x00' * 50, opcode=2),
    'http': b'HTTP/1.1 200 OK\r\n\r\n',
    'encoding_big5': frame('<?xml version="1.0" encoding="big5"?><html><div/></html>'),
    'encoding_idna': frame('<?xml version="1.0" encoding="idna"?><html><div/></html>'),
    'code_list': frame('{"status":{"code":[1]}}'),
    'surrogate': frame('{"state":[{"_links":{"self":{"href":"\\ud800"}},"opmode":"\\ud800"}]}'),
    'mode_unknown': event('<span class="opmode">HOLIDAY</span>'),
    'state_unknown': event('<span class="ctrlstate">asleep</span>'),
    'execution_unknown': event('<span class="ctrlexecstate">5</span>'),
    'ratio_nan': event('<span class="speedratio">nan</span>'),
    'ratio_huge': event('<span class="speedratio">1e300</span>'),
    'empty_text': frame(''),
}
