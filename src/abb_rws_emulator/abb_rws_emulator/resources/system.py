"""System identity and environment variables, in RWS 1.0 form."""

from abb_rws_emulator import refusals
from abb_rws_emulator.controller.file_store import ROOTS
from abb_rws_emulator.http.rendering import Item, Reply
from abb_rws_emulator.http.routing import Call, one, route

OPTIONS = ('616-1 PC Interface', '709-1 DeviceNet Master/Slave', 'English')


@route('GET', '/rw/system')
def _system(call: Call) -> Reply:
    version = call.controller.robotware
    major, minor = version.split('.')[:2]
    fields = {
        'major': major,
        'minor': minor,
        'name': 'IRB120_EMULATOR',
        'rwversion': version,
        'sysid': '{8E6C1F52-0000-4000-8000-000000000120}',
        'starttm': '2026-01-01 T 00:00:00',
        'rwversionname': version,
    }
    if call.generation == 2:
        return one('sys-system', 'system', fields)
    options = (Item('sys-option-li', str(i), {'option': name}) for i, name in enumerate(OPTIONS))
    return Reply((Item('sys-system-li', 'system', fields), *options), 'system')


@route('GET', '/ctrl/{variable}')
def _environment(call: Call) -> Reply:
    name = call.parts['variable']
    if name[:1] != '$' or name[1:].upper() not in ROOTS:
        raise refusals.no_resource()
    folder = ROOTS[name[1:].upper()]
    return one('ctrl-env', name, {'_value': folder, 'value': folder})
