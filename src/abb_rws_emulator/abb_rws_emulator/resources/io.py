"""I/O signals, networks and devices, in RWS 1.0 form."""

from abb_rws_emulator import refusals
from abb_rws_emulator.controller import gripper_cell
from abb_rws_emulator.http.rendering import NOTHING, Item, Reply
from abb_rws_emulator.http.routing import Call, one, route
from abb_rws_emulator.request_numbers import whole

SIGNALS_A_PAGE = 100


@route('GET', '/rw/iosystem/signals')
def _signals(call: Call) -> Reply:
    listed = list(call.controller.signals.by_path.values())
    start = whole(call.query.get('start')) or 0
    links = {}
    if call.generation == 2:
        following = start + SIGNALS_A_PAGE
        links = (
            {'next': f'signals?start={following}&limit={SIGNALS_A_PAGE}'}
            if following < len(listed)
            else {}
        )
        listed = listed[start:following]
    return Reply(tuple(map(_list_item, listed)), 'signals', links=links)


def _list_item(signal: gripper_cell.SignalState) -> Item:
    value = int(signal.value) if signal.value == int(signal.value) else signal.value
    return Item(
        'ios-signal-li',
        signal.path,
        signal_fields(signal) | {'lvalue': value},
        {'self': f'signals/{signal.path}'},
    )


def signal_fields(signal: gripper_cell.SignalState) -> dict[str, str]:
    """Return the fields of a signal; its value is a number in a list, text in a single answer."""
    return {
        'name': signal.name,
        'type': signal.kind,
        'category': signal.category,
        'lvalue': signal.text,
        'lstate': 'simulated' if signal.simulated else 'not simulated',
    }


@route('GET', '/rw/iosystem/signals/{signal*}')
def _signal(call: Call) -> Reply:
    signal = call.controller.signals.find(call.parts['signal'].partition(';')[0])
    if signal is None:
        raise refusals.no_signal()
    device = signal.path.split('/')[1]
    if call.query.get('resource') == 'config':
        fields = {
            'name': signal.name,
            'type': signal.kind,
            'device': device,
            'category': signal.category,
            'access': signal.access,
        }
        return one('ios-signal-config-general', signal.path, fields)
    fields = signal_fields(signal) | {
        'unitnm': device,
        'phstate': 'valid',
        'pvalue': signal.text,
        'quality': '1',
    }
    return one(
        'ios-signal' if call.generation == 1 else 'ios-signal-li',
        signal.path,
        fields,
        device=f'devices/{device}',
    )


@route('POST', '/rw/iosystem/signals/{signal*}')
def _set_signal(call: Call) -> Reply:
    if call.action != 'set':
        raise refusals.invalid()
    if call.form.get('lstate') in ('simulated', 'not simulated') and 'lvalue' not in call.form:
        call.controller.signals.simulate(call.parts['signal'], call.form['lstate'] == 'simulated')
    else:
        call.controller.signals.write(call.parts['signal'], call.form)
    return NOTHING


@route('POST', '/rw/iosystem/signals')
def _search(call: Call) -> Reply:
    """Return the signals that meet all criteria; a name meets one if it contains its text."""
    if call.action == 'unblock-signal':
        return NOTHING
    if call.action not in ('signal-search', 'signal-searchex'):
        raise refusals.invalid()
    found = [
        s
        for s in call.controller.signals.by_path.values()
        if all(_matches(s, call.form, suffix) for suffix in ('', '2'))
    ]
    return Reply(tuple(map(_list_item, found)), 'signals')


def _matches(signal: gripper_cell.SignalState, form: dict[str, str], suffix: str) -> bool:
    network, device, _ = signal.path.split('/')
    told = {
        'device': device,
        'network': network,
        'category': signal.category,
        'type': signal.kind,
        'invert': 'false',
        'blocked': 'false',
    }
    exact = all(form.get(f'{key}{suffix}') in (None, '', value) for key, value in told.items())
    return exact and form.get(f'name{suffix}', '') in signal.name


@route('GET', '/rw/iosystem')
def _services(call: Call) -> Reply:
    return Reply(
        tuple(
            Item('ios-resource-li', name, {}, {'self': f'iosystem/{name}'})
            for name in ('networks', 'devices', 'signals')
        ),
        'iosystem',
    )


@route('GET', '/rw/iosystem/{what}')
def _units(call: Call) -> Reply:
    if call.parts['what'] not in ('networks', 'devices'):
        raise refusals.no_resource()
    items = _unit_items(call, call.parts['what'], '-li')
    wanted = call.query.get('network')
    return Reply(
        tuple(i for i in items if wanted in (None, i.title.partition('/')[0])), call.parts['what']
    )


def _unit_items(call: Call, what: str, ending: str) -> list[Item]:
    depth, kind = (1, 'ios-network') if what == 'networks' else (2, 'ios-device')
    names = dict.fromkeys(
        '/'.join(path.split('/')[:depth]) for path in call.controller.signals.by_path
    )
    fields = {'pstate': 'running', 'lstate': 'started' if depth == 1 else 'enabled'} | (
        {} if depth == 1 else {'address': '0'}
    )
    return [
        Item(
            f'{kind}{ending}',
            name,
            {'name': name.rpartition('/')[2]} | fields,
            {'self': f'{what}/{name}'},
        )
        for name in names
    ]


@route('GET', '/rw/iosystem/{what}/{unit*}')
def _unit(call: Call) -> Reply:
    found = [
        i
        for i in _unit_items(call, _known_kind(call), '')
        if call.parts['unit'] in (i.title, i.fields['name'])
    ]
    if not found:
        raise refusals.no_resource()
    if call.query.get('resource') == 'config':
        return one(
            f'{found[0].kind}-config-general', found[0].title, {'name': found[0].fields['name']}
        )
    return Reply((found[0],), found[0].title)


def _known_kind(call: Call) -> str:
    if call.parts['what'] not in ('networks', 'devices'):
        raise refusals.no_resource()
    return call.parts['what']


@route('POST', '/rw/iosystem/devices')
def _search_devices(call: Call) -> Reply:
    form = call.form
    if call.action != 'search' or not (form.get('name') or form.get('lstate')):
        raise refusals.invalid('device name (or) device lstate is needed')
    items = _unit_items(call, 'devices', '-li')
    found = [
        i
        for i in items
        if form.get('name', '') in str(i.fields['name'])
        and form.get('lstate') in (None, i.fields['lstate'])
    ]
    return Reply(
        tuple(i for i in found if form.get('network') in (None, '', i.title.partition('/')[0])),
        'devices',
    )


@route('POST', '/rw/iosystem/{what}/{unit*}')
def _set_unit(call: Call) -> Reply:
    """Refuse to disable a network or device of the emulated cell."""
    if call.action != 'set' or 'lstate' not in call.form:
        raise refusals.invalid()
    if not any(
        call.parts['unit'] in (i.title, i.fields['name'])
        for i in _unit_items(call, _known_kind(call), '')
    ):
        raise refusals.no_resource()
    raise refusals.access_denied()
