"""Event log, in RWS 1.0 form."""

from abb_rws_emulator import refusals
from abb_rws_emulator.http.rendering import Item, Reply
from abb_rws_emulator.http.routing import Call, route
from abb_rws_emulator.request_numbers import whole

DOMAINS = 11
"""Number of log domains; all entries are in the common domain 0."""
ENTRIES_PER_PAGE = 200


@route('GET', '/rw/elog/{domain}')
def _log(call: Call) -> Reply:
    domain = whole(call.parts['domain'])
    if domain is None or domain >= DOMAINS:
        raise refusals.no_resource()
    entries = call.controller.event_log if domain == 0 else []
    listed = entries[-ENTRIES_PER_PAGE:]
    if call.query.get('order') != 'fifo':
        listed = listed[::-1]
    return Reply(tuple(map(_item, listed)), 'elog')


def _item(entry: tuple[int, int, int, str, str]) -> Item:
    sequence, level, code, stamp, title = entry
    fields = {
        'msgtype': str(level),
        'code': str(code),
        'src-name': 'MC0',
        'tstamp': stamp,
        'argc': 0,
        'title': title,
        'desc': title,
        'conseqs': '',
        'causes': '',
        'actions': '',
    }
    return Item('elog-message-li', f'/rw/elog/0/{sequence}', fields, {'self': f'0/{sequence}'})
