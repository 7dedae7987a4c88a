"""System and controller.

Versions, identity, clock, backup, devices, return codes, in RWS 1.0 form.
"""

from datetime import UTC, datetime

from abb_rws_emulator import refusals
from abb_rws_emulator.controller.file_store import ROOTS, normal_path
from abb_rws_emulator.http.rendering import NOTHING, Item, Reply
from abb_rws_emulator.http.routing import Call, one, route
from abb_rws_emulator.request_numbers import whole
from abb_rws_emulator.return_codes import RETURN_CODES

OPTIONS = ('616-1 PC Interface', '709-1 DeviceNet Master/Slave', 'English')
DEVICES = {'HW_DEVICES': 'Hardware devices', 'SW_RESOURCES': 'Software resources'}
WORKS_KEPT = 100
_CLOCK = (
    'sys-clock-year',
    'sys-clock-month',
    'sys-clock-day',
    'sys-clock-hour',
    'sys-clock-min',
    'sys-clock-sec',
)
_VIRTUAL_TIME = {
    'vttime': 'vtcounter',
    'vtstate': 'vtcurrstate',
    'vtspeed': 'vtcurrspeed',
    'vttimeslice': 'vttimeslice',
}

_OPTION_ITEMS = tuple(
    Item('sys-option-li', str(i), {'option': name}) for i, name in enumerate(OPTIONS)
)


# what it is


@route('GET', '/rw')
def _services(call: Call) -> Reply:
    names = (
        'panel',
        'rapid',
        'iosystem',
        'motionsystem',
        'elog',
        'mastership',
        'system',
        'cfg',
        'dipc',
        'devices',
        'vision',
        'retcode',
    )
    return Reply(tuple(Item('rw-service-li', name, {}, {'self': name}) for name in names))


@route('GET', '/')
def _root(call: Call) -> Reply:
    names = ('rw', 'ctrl', 'users', 'subscription', 'fileservice', 'progress')
    return Reply(tuple(Item('root-service-li', name, {}, {'self': name}) for name in names), 'root')


@route('GET', '/rw/system')
def _system(call: Call) -> Reply:
    version = call.controller.robotware
    major, minor = version.split('.')[:2]
    fields = {'major': major, 'minor': minor, 'name': 'IRB120_EMULATOR', 'rwversion': version}
    fields |= {
        'sysid': '{8E6C1F52-0000-4000-8000-000000000120}',
        'starttm': '2026-01-01 T 00:00:00',
        'rwversionname': version,
    }
    if call.generation == 1:
        return Reply((Item('sys-system-li', 'system', fields), *_OPTION_ITEMS), 'system')
    options = tuple(Item('sys-options', str(i), {'option': name}) for i, name in enumerate(OPTIONS))
    listed = Item('sys-options-li', 'options', {'options': options}, {'self': 'options'})
    return Reply((Item('sys-system', 'system', fields), listed), 'system')


@route('GET', '/rw/system/{what}')
def _system_part(call: Call) -> Reply:
    what = call.parts['what']
    if what == 'options':
        return Reply(_OPTION_ITEMS, what)
    if what == 'products':
        return one(
            'sys-product-li',
            'RobotWare',
            {'name': 'RobotWare', 'version': call.controller.robotware, 'version-name': 'emulated'},
        )
    fields = {
        'robottype': ('sys-robottype', {'robot-type': 'IRB 120-3/0.58'}),
        'license': ('sys-license', {'license': 'emulated', 'serial': '120-000000'}),
        'energy': (
            'sys-energy-state',
            {
                'state': 'ON',
                'energy-state': 'OK',
                'change-count': '1',
                'interval-energy': '0',
                'accumulated': '0',
            },
        ),
    }
    if what not in fields:
        raise refusals.no_resource()
    return one(fields[what][0], what, fields[what][1])


@route('POST', '/rw/system/energy')
@route('POST', '/rw/system/energy/reset')
def _reset_energy(call: Call) -> Reply:
    return NOTHING


@route('GET', '/rw/retcode')
def _return_codes(call: Call) -> Reply:
    wanted = call.query.get('code')
    items = tuple(
        Item(
            'err-desc-li',
            str(code),
            {
                'name': name,
                'code': str(code),
                'severity': 'Error' if code < 0 else 'Success',
                'description': text,
            },
        )
        for code, (name, text) in RETURN_CODES.items()
        if wanted in (None, str(code))
    )
    if not items:
        raise refusals.invalid()
    return Reply(items, 'retcode')


@route('GET', '/rw/devices')
@route('GET', '/rw/devices/{path*}')
def _devices(call: Call) -> Reply:
    path = call.parts.get('path', '')
    if path and path.upper() not in DEVICES:
        raise refusals.no_resource()
    kind = 'dev-id-li' if path else 'dev-group-li'
    names = {'ROB_1': 'IRB 120'} if path.upper() == 'HW_DEVICES' else {} if path else DEVICES
    if call.generation == 2:
        return Reply(
            tuple(Item(kind, key, {'name': name}, {'self': key}) for key, name in names.items()),
            'devices',
        )
    return one(
        'dev-group',
        path or 'devices',
        {'devices': tuple(Item(kind, key, {'name': name}) for key, name in names.items())},
    )


# controller


@route('GET', '/ctrl')
@route('GET', '/ctrl/identity')
def _identity(call: Call) -> Reply:
    kind = 'ctrl-identity-info-li' if call.generation == 1 else 'ctrl-identity-info'
    settings = call.controller.settings
    return one(
        kind, 'identity', {'ctrl-name': settings['ctrl-name'], 'ctrl-type': 'Virtual Controller'}
    )


@route('PUT', '/ctrl/identity')
def _set_identity(call: Call) -> Reply:
    if not call.form or not set(call.form) <= {'ctrl-name', 'ctrl-id'}:
        raise refusals.invalid()
    call.controller.settings |= call.form
    return NOTHING


@route('POST', '/ctrl')
def _act(call: Call) -> Reply:
    if call.action == 'set-lang' and call.form.get('lang'):
        call.controller.settings['lang'] = call.form['lang']
    elif not call.action and call.form.get('restart-mode') in (
        'restart',
        'xstart',
        'shutdown',
        'istart',
        'pstart',
        'bstart',
    ):
        call.controller.on_restart()
    else:
        raise refusals.invalid()
    return NOTHING


@route('GET', '/ctrl/clock')
def _clock(call: Call) -> Reply:
    return one(
        'ctrl-clock-info',
        'clock',
        {
            'datetime': (datetime.now(UTC) + call.controller.clock_offset).strftime(
                '%Y-%m-%d T %H:%M:%S'
            )
        },
    )


@route('PUT', '/ctrl/clock')
def _set_clock(call: Call) -> Reply:
    numbers = [n for name in _CLOCK if (n := whole(call.form.get(name))) is not None]
    if len(numbers) < len(_CLOCK) or not 2000 <= numbers[0] < 2100:
        raise refusals.invalid()
    year, month, day, hour, minute, second = numbers
    try:
        stamp = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except (ValueError, OverflowError):
        raise refusals.invalid() from None
    call.controller.clock_offset = stamp - datetime.now(UTC)
    return NOTHING


@route('GET', '/ctrl/clock/{what}')
def _clock_part(call: Call) -> Reply:
    fields = {
        'timezone': ('ctrl-timezone', {'timezone': call.controller.settings['timezone']}),
        'timeserver': ('ctrl-timeserver', {}),
    }
    if call.parts['what'] not in fields:
        raise refusals.no_resource()
    kind, values = fields[call.parts['what']]
    return one(kind, call.parts['what'], values)


@route('POST', '/ctrl/clock/timezone')
def _set_timezone(call: Call) -> Reply:
    if not call.form.get('timezone'):
        raise refusals.invalid()
    call.controller.settings['timezone'] = call.form['timezone']
    return NOTHING


@route('GET', '/ctrl/restart/restartcount')
def _restart_count(call: Call) -> Reply:
    return one(
        'ctrl-restart-count', 'restartcount', {'restart-count': str(call.controller.restarts)}
    )


@route('GET', '/ctrl/network')
def _network(call: Call) -> Reply:
    fields = {'if-name': 'LAN', 'addr': '192.168.125.1', 'mask': '255.255.255.0', 'method': 'fixip'}
    return one('ctrl-netw', 'LAN', fields)


@route('GET', '/ctrl/network/{what}')
def _network_part(call: Call) -> Reply:
    if call.parts['what'] not in ('dns', 'routes', 'route'):
        raise refusals.no_resource()
    return Reply((), call.parts['what'])


@route('GET', '/ctrl/options')
@route('GET', '/ctrl/features')
def _nothing_listed(call: Call) -> Reply:
    return NOTHING if call.generation == 1 else Reply((), 'options')


@route('GET', '/ctrl/system')
def _installed(call: Call) -> Reply:
    return one('ctrl-system-li', 'IRB120_EMULATOR', {'name': 'IRB120_EMULATOR', 'selected': 'TRUE'})


@route('GET', '/ctrl/certstore')
@route('GET', '/ctrl/registry')
def _empty_list(call: Call) -> Reply:
    return Reply((), 'ctrl')


@route('GET', '/ctrl/diagnostics')
def _diagnostics(call: Call) -> Reply:
    raise refusals.invalid('No Diagnostics Saved')


@route('GET', '/ctrl/safety')
@route('GET', '/ctrl/safety/{what*}')
def _safety(call: Call) -> Reply:
    raise refusals.option_missing()


@route('GET', '/ctrl/{name}')
def _environment(call: Call) -> Reply:
    name = call.parts['name']
    if name[:1] != '$' or name[1:].upper() not in ROOTS:
        raise refusals.no_resource()
    real = ROOTS[name[1:].upper()]
    return one('ctrl-env', name, {'_value': real, 'value': real})


# work that takes its time: it is done when it is asked for, and its progress says so


@route('GET', '/progress')
def _all_progress(call: Call) -> Reply:
    fields = {'state': 'ready', 'progress-state': 'ready', 'code': '294912'}
    last = call.controller.works
    known = range(max(1, last - WORKS_KEPT + 1), last + 1)
    return Reply(
        tuple(Item('progress-li', str(i), fields, {'self': str(i)}) for i in known), 'progress'
    )


@route('GET', '/progress/{number}')
def _progress(call: Call) -> Reply:
    number = call.parts['number']
    if not 1 <= (whole(number) or 0) <= call.controller.works:
        raise refusals.no_resource()
    return one('progress', number, {'state': 'ready', 'progress-state': 'ready', 'code': '294912'})


@route('GET', '/ctrl/backup')
@route('GET', '/ctrl/backup/state')
def _backup_state(call: Call) -> Reply:
    kind = 'ctrl-backup-info' if call.generation == 1 else 'ctrl-backup-state'
    return one(
        kind,
        'backup',
        {'progress-state': 'finished', 'backup-state': 'No backup or restore in progress'},
    )


@route('POST', '/ctrl/backup')
def _backup(call: Call) -> Reply:
    store, path = call.controller.store, normal_path(_fileservice(call.form.get('backup', '')))
    if call.action == 'backup':
        store.write(f'{path}/system.xml', b'<System name="IRB120_EMULATOR"/>')
        for module in call.controller.memory.modules.values():
            store.write(f'{path}/RAPID/TASK1/PROGMOD/{module.name}.mod', module.text.encode())
        for domain in call.controller.configuration.types:
            store.write(
                f'{path}/SYSPAR/{domain}.cfg', call.controller.configuration.text(domain).encode()
            )
        return Reply(status=202, location=call.controller.begin_work())
    if call.action not in ('restore', 'check-restore'):
        raise refusals.invalid()
    store.read(f'{path}/system.xml')
    return NOTHING


def _fileservice(text: str) -> str:
    if not text.startswith('/fileservice/'):
        raise refusals.invalid('Invalid File Service path')
    return text


@route('POST', '/ctrl/compress')
def _compress(call: Call) -> Reply:
    source, target = (
        normal_path(_fileservice(call.form.get(name, ''))) for name in ('srcpath', 'dstpath')
    )
    if call.action not in ('comp', 'dcomp'):
        raise refusals.invalid()
    call.controller.store.write(target, call.controller.store.read(source))
    return Reply(status=202, location=call.controller.begin_work())


# virtual time


@route('GET', '/ctrl/virtualtime/{what}')
def _virtual_time(call: Call) -> Reply:
    what = call.parts['what']
    if what not in _VIRTUAL_TIME:
        raise refusals.no_resource()
    value = (
        str(int(1000 * call.controller.clock()))
        if what == 'vttime'
        else call.controller.settings[what]
    )
    return one(f'ctrl-{what}', what, {_VIRTUAL_TIME[what]: value})


@route('POST', '/ctrl/virtualtime/{what}')
def _set_virtual_time(call: Call) -> Reply:
    """Store the virtual time, for later reading; the clock of the emulator is not changed."""
    what, settings = call.parts['what'], call.controller.settings
    if what == 'vtstate' and call.action in ('run', 'pause'):
        settings[what] = 'running' if call.action == 'run' else 'paused'
    elif what in ('vtstate', 'vtspeed', 'vttimeslice') and call.form.get(_VIRTUAL_TIME[what]):
        settings[what] = call.form[_VIRTUAL_TIME[what]]
    else:
        raise refusals.invalid()
    return NOTHING


# cameras: none


@route('GET', '/rw/vision')
def _vision(call: Call) -> Reply:
    return (
        one('number-of-cameras-li', 'vision', {'number-of-cameras': '0'})
        if call.generation == 2
        else Reply((), 'vision')
    )
