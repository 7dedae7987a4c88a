"""I/O signals, in RWS 1.0 form."""

from abb_rws_emulator import refusals
from abb_rws_emulator.controller.gripper_cell import SignalState
from abb_rws_emulator.http.rendering import NO_CONTENT, Item, Reply
from abb_rws_emulator.http.routing import Call, one, route
from abb_rws_emulator.request_numbers import whole

SIGNALS_PER_PAGE = 100


@route('GET', '/rw/iosystem/signals')
def _signals(call: Call) -> Reply:
    listed = list(call.controller.signals.by_path.values())
    links = {}
    if call.generation == 2:
        start = whole(call.query.get('start')) or 0
        following = start + SIGNALS_PER_PAGE
        if following < len(listed):
            links = {'next': f'signals?start={following}&limit={SIGNALS_PER_PAGE}'}
        listed = listed[start:following]
    return Reply(tuple(map(_list_item, listed)), 'signals', links=links)


def _list_item(signal: SignalState) -> Item:
    value = int(signal.value) if signal.value == int(signal.value) else signal.value
    fields = _fields(signal) | {'lvalue': value}
    return Item('ios-signal-li', signal.path, fields, {'self': f'signals/{signal.path}'})


def _fields(signal: SignalState) -> dict[str, object]:
    """Return the fields of a signal; the value is a number in a list, else a string."""
    return {
        'name': signal.name,
        'type': signal.kind,
        'category': signal.category,
        'lvalue': signal.text,
        'lstate': 'not simulated',
    }


@route('GET', '/rw/iosystem/signals/{signal*}')
def _signal(call: Call) -> Reply:
    signal = call.controller.signals.find(call.parts['signal'])
    device = signal.path.split('/')[1]
    fields = _fields(signal) | {
        'unitnm': device,
        'phstate': 'valid',
        'pvalue': signal.text,
        'quality': '1',
    }
    kind = 'ios-signal' if call.generation == 1 else 'ios-signal-li'
    return one(kind, signal.path, fields, device=f'devices/{device}')


@route('POST', '/rw/iosystem/signals/{signal*}')
def _set_signal(call: Call) -> Reply:
    if call.action != 'set':
        raise refusals.invalid()
    call.controller.signals.write(call.parts['signal'], call.form.get('lvalue', ''))
    return NO_CONTENT
