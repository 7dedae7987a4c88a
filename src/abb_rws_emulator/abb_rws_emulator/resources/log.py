"""The event log, in RWS 1.0 form."""

from abb_rws_emulator import refusals
from abb_rws_emulator.controller.file_store import normal_path
from abb_rws_emulator.controller.virtual_controller import LOG_LENGTH
from abb_rws_emulator.http.rendering import NOTHING, Item, Reply
from abb_rws_emulator.http.routing import Call, one, route
from abb_rws_emulator.request_numbers import whole

DOMAINS = (
    'Common',
    'Operational',
    'System',
    'Hardware',
    'Program',
    'Motion',
    'IO & Communication',
    'User',
    'Internal',
    'Process',
    'Cfg',
)
MOST_A_PAGE = 200


def _entries(call: Call, domain: str) -> list[tuple]:
    """Return the entries of a domain: all are in the common domain, the others are empty."""
    number = whole(domain)
    if number is None or number >= len(DOMAINS):
        raise refusals.no_resource()
    return call.controller.event_log if number == 0 else []


@route('GET', '/rw/elog')
def _domains(call: Call) -> Reply:
    fields = [
        {
            'domain-name': name,
            'numevts': str(len(_entries(call, str(i)))),
            'buffsize': str(LOG_LENGTH),
        }
        for i, name in enumerate(DOMAINS)
    ]
    return Reply(
        tuple(
            Item('elog-domain-li', str(i), f, {'self': f'elog/{i}'}) for i, f in enumerate(fields)
        ),
        'elog',
    )


@route('GET', '/rw/elog/{domain}')
def _log(call: Call) -> Reply:
    entries = _entries(call, call.parts['domain'])
    if call.query.get('resource') == 'count':
        return one('elog-domain', call.parts['domain'], {'count': str(len(entries))})
    if call.query.get('resource') == 'info':
        return one(
            'elog-domain',
            call.parts['domain'],
            {'numevts': str(len(entries)), 'buffsize': str(LOG_LENGTH)},
        )
    entries = [entry for entry in entries if entry[0] > (whole(call.query.get('elogseqnum')) or 0)]
    newest_first = list(reversed(entries))
    start, limit = whole(call.query.get('start')) or 0, whole(call.query.get('limit'))
    listed = newest_first[
        start : start + (MOST_A_PAGE if limit is None else min(limit, MOST_A_PAGE))
    ]
    if call.query.get('order') == 'fifo':
        listed.reverse()
    return Reply(tuple(_item(entry, 'elog-message-li') for entry in listed), 'elog')


@route('GET', '/rw/elog/{domain}/{sequence}')
def _message(call: Call) -> Reply:
    for entry in _entries(call, call.parts['domain']):
        if str(entry[0]) == call.parts['sequence']:
            return Reply((_item(entry, 'elog-message'),), 'elog')
    raise refusals.no_resource()


def _item(entry: tuple[int, int, int, str, str], kind: str) -> Item:
    sequence, level, code, stamp, title = entry
    fields = {
        'msgtype': str(level),
        'code': str(code),
        'src-name': 'MC0',
        'tstamp': stamp,
        'argc': 0,
    }
    fields |= {'title': title, 'desc': title, 'conseqs': '', 'causes': '', 'actions': ''}
    return Item(kind, f'/rw/elog/0/{sequence}', fields, {'self': f'0/{sequence}'})


@route('POST', '/rw/elog')
def _act(call: Call) -> Reply:
    if call.action == 'clearall':
        call.controller.event_log.clear()
        return NOTHING
    if call.action != 'saveraw':
        raise refusals.invalid()
    lines = [
        f'{sequence}\t{code}\t{stamp}\t{title}'
        for sequence, _, code, stamp, title in call.controller.event_log
    ]
    call.controller.store.write(normal_path(call.form.get('path', '')), '\r\n'.join(lines).encode())
    return Reply(status=202, location=call.controller.begin_work())


@route('POST', '/rw/elog/{domain}')
def _clear(call: Call) -> Reply:
    if call.action != 'clear':
        raise refusals.invalid()
    _entries(call, call.parts['domain']).clear()
    return NOTHING
