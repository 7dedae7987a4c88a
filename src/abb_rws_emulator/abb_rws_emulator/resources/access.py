"""Mastership and the write access of RobotWare 8, in RWS 1.0 form."""

from abb_rws_emulator import refusals
from abb_rws_emulator.http.rendering import NO_CONTENT, Reply
from abb_rws_emulator.http.routing import Call, route


@route('POST', '/rw/mastership')
@route('POST', '/rw/mastership/{domain}')
def _change_mastership(call: Call) -> Reply:
    access = call.controller.access
    if access.single_write_access:
        raise refusals.gone()
    domains = [call.parts['domain']] if 'domain' in call.parts else list(access.masters)
    if not set(domains) <= set(access.masters):
        raise refusals.no_resource()
    if call.action == 'request':
        access.request_mastership(call.session, domains)
    elif call.action == 'release':
        access.release_mastership(call.session, domains)
    else:
        raise refusals.invalid()
    return NO_CONTENT


@route('POST', '/rw/controlstation/writeaccess/{action}')
def _change_write_access(call: Call) -> Reply:
    access, action = call.controller.access, call.parts['action']
    if not access.single_write_access or action not in ('request', 'release'):
        raise refusals.no_resource()
    if action == 'request':
        access.request_mastership(call.session, list(access.masters))
    elif access.masters['edit'] != call.session:
        raise refusals.no_write_access()
    else:
        access.release_mastership(call.session, list(access.masters))
    return NO_CONTENT
