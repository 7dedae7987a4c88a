"""Error types of refusals in all three body formats (T19), and malformed bodies (T6)."""

import html
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abb_rws_bridge import body, errors

# status, code, message as recorded on RobotWare 6.16 and 7.21 virtual controllers
RECORDED = [
    (403, -1073445862, 'mastership.cpp[547] held by someone else', errors.MastershipHeld),
    (403, -1073445859, 'panel.cpp[1688] mastership is required', errors.MastershipMissing),
    (403, -1073445881, 'iosystem.cpp[3554] Rejected', errors.AccessDenied),
    (403, -1073445867, 'uas.cpp[2995] The user is not allowed access', errors.AccessDenied),
    (403, -1073445860, 'Operation not allowed in current operation mode', errors.WrongMode),
    (400, -1073442809, 'execution.cpp[1128] ERROR: wrong state', errors.WrongState),
    (400, -1073442783, 'No PP', errors.NoProgramPointer),
    (400, -1073445879, 'cfg.cpp[2107] Error set attribute', errors.InvalidArgument),
    (400, -1073438708, 'task.cpp[1602] ', errors.NotFound),
    (400, -1073442816, 'task.cpp[1777] Unknown module name', errors.NotFound),
    (400, -1073414146, 'symbol_data.cpp[286] Symbol not found', errors.NotFound),
    (404, -1073442816, 'symbol_data.cpp[254] Symbol not found', errors.NotFound),
    (404, -1073414146, 'services.cpp[129] Resource not found', errors.NotFound),
    (404, -1073445866, 'iosystem.cpp[2500] Invalid IO signal name', errors.NotFound),
    (404, -1073438713, 'file_service.cpp[218] Path does not exist', errors.NotFound),
    (400, -1073438716, 'file_service.cpp[237] Virtual root does not exist', errors.NotFound),
    (400, -1073442813, 'module.cpp[1233] module name/parameter is invalid', errors.NotFound),
    (400, -1073414146, 'some other plain failure', errors.Rejected),
]


def forms(code: int, message: str) -> list[bytes]:
    status = {'code': code, 'msg': message}
    page = (
        '<?xml version="1.0" encoding="UTF-8"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title>rw</title></head><body>'
        f'<div class="status"><span class="code">{code}</span> <span '
        f'class="msg">{html.escape(message)}</span></div></body></html>'
    )
    return [
        json.dumps({'_links': {}, '_embedded': {'status': status, '_state': []}}).encode(),
        json.dumps({'_links': {}, 'status': status}).encode(),
        page.encode(),
    ]


@pytest.mark.parametrize(('status', 'code', 'message', 'kind'), RECORDED)
def test_recorded_refusals(status, code, message, kind):
    for form in forms(code, message):
        document = body.parse(form)
        assert (document.code, document.message) == (code, message)
        assert errors.classify(status, document.code, document.message) is kind


@pytest.mark.parametrize(
    ('status', 'kind'),
    [
        (401, errors.NotAuthorised),
        (503, errors.Busy),
        (429, errors.Busy),
        (500, errors.BadResponse),
        (404, errors.NotFound),
        (410, errors.NotFound),
        (403, errors.Rejected),
    ],
)
def test_refusals_without_a_code(status, kind):
    assert errors.classify(status, None, '') is kind


def test_a_message_is_shortened_to_its_text():
    text = (
        'C:\\BUILDAGENTS\\x\\rws_resource_mastership.cpp[547] '
        'Requested resource is held by someone else code:-1073445862 icode:-1'
    )
    assert errors.short(text) == 'Requested resource is held by someone else'


@pytest.mark.parametrize(
    'content',
    [
        b'{"_embedded": {"_state": [',
        b'<html><body><div>',
        b'plain text',
        b'{"a": NaN}',
        b'\xff\xfe\x00',
        b'[1, 2]',
        b'<html><head><title>It works</title></head><body><p>hello</p></body></html>',
    ],
)
def test_broken_bodies_are_bad_responses(content):
    with pytest.raises(errors.BadResponse):
        body.parse(content)


_NAMES = ('state', '_embedded', '_state', 'status', 'code', 'msg', '_links', 'href', '_type')
_TEXTS = st.sampled_from([*_NAMES, 'self', '\ud800', 'a\0b', '-1']) | st.text(max_size=3)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(_TEXTS, _VALUES), st.booleans())
def test_any_json_gives_printable_text_or_a_bad_response(value, cut):
    content = json.dumps(value).encode()
    try:
        document = body.parse(content[: len(content) // 2] if cut else content)
    except errors.BadResponse as error:
        assert str(error).isprintable()
        return
    assert document.code is None or isinstance(document.code, int)
    for item in (*document.items, body.Item(document.message, '', {}, document.links)):
        for text in (item.kind, item.title, *item.fields, *item.fields.values(), *item.links):
            assert errors.printable(text) == text


def test_a_state_gives_the_same_item_in_every_format():
    rws1 = (
        b'{"_links":{},"_embedded":{"_state":'
        b'[{"_type":"pnl-ctrlstate","_title":"ctrlstate","ctrlstate":"motoron"}]}}'
    )
    state = b'[{"_type":"pnl-ctrlstate","_title":"ctrlstate","ctrlstate":"motoron"}]'
    rws2 = b'{"_links":{},"status":{"code":294912},"state":' + state + b'}'
    page = (
        b'<?xml version="1.0" encoding="UTF-8"?><html xmlns="http://www.w3.org/1999/xhtml"><body>'
        b'<div class="state"><a href="" rel="self"/>'
        b'<ul><li class="pnl-ctrlstate " title="ctrlstate"><span class="ctrlstate ">motoron</span>'
        b'</li></ul></div></body></html>'
    )
    assert {
        tuple(sorted(body.parse(form).first('pnl-ctrlstate').fields.items()))
        for form in (rws1, rws2, page)
    } == {(('ctrlstate', 'motoron'),)}


def test_numbers_in_json_stay_text():
    item = body.parse(
        b'{"_embedded":{"_state":[{"_type":"ios-signal-li","lvalue":0,"x":1.50}]}}'
    ).first()
    assert item.fields == {'lvalue': '0', 'x': '1.50'}
