"""Mastership, users, remote privilege and the write access of RobotWare 8, in RWS 1.0 form."""

from abb_rws_emulator import refusals
from abb_rws_emulator.http.rendering import NOTHING, Item, Reply
from abb_rws_emulator.http.routing import Call, one, route

GRANTS = (
    'UAS_RAPID_EXECUTE',
    'UAS_RAPID_EDIT',
    'UAS_RAPID_CURRVALUE',
    'UAS_RAPID_LOADPROGRAM',
    'UAS_IO_WRITE',
    'UAS_CFG_WRITE',
    'UAS_REMOTE_START_STOP_IN_AUTO',
    'UAS_BACKUP',
    'UAS_CONTROLLER_PROPERTIES_WRITE',
)
ALL = 'all'
"""Holder of write access on RobotWare 8 stands under this name."""


# mastership


@route('GET', '/rw/mastership')
def _masters(call: Call) -> Reply:
    return Reply(
        tuple(
            Item('msh-resource-li', domain, {}, {'self': f'mastership/{domain}'})
            for domain in _domains(call)
        ),
        'mastership',
    )


def _domains(call: Call) -> list[str]:
    if call.controller.access.single_write_access:
        raise refusals.gone()
    return list(call.controller.access.masters)


@route('GET', '/rw/mastership/{domain}')
def _master(call: Call) -> Reply:
    if call.parts['domain'] not in _domains(call):
        raise refusals.no_resource()
    holder = call.controller.access.masters[call.parts['domain']]
    fields = {
        'uid': '' if holder is None else '1',
        'location': '',
        'alias': '',
        'application': holder or '',
        'mastership': 'nomaster' if holder is None else 'remote',
        'holdmastership': str(holder == call.session).upper(),
    }
    return one('msh-resource', call.parts['domain'], fields)


@route('POST', '/rw/mastership')
@route('POST', '/rw/mastership/{domain}')
def _change_master(call: Call) -> Reply:
    known = _domains(call)
    domains = [call.parts['domain']] if 'domain' in call.parts else known
    if any(domain not in known for domain in domains):
        raise refusals.no_resource()
    if call.action == 'watchdog' and call.generation == 2:
        return NOTHING
    if call.action not in ('request', 'release') and not (
        call.generation == 2 and call.action in ('request-with-id', 'release-with-id')
    ):
        raise refusals.invalid()
    if call.action == 'release-with-id' and call.form.get('mastershipid') != '1':
        raise refusals.invalid()
    change = (
        call.controller.access.request_mastership
        if call.action.startswith('request')
        else call.controller.access.release_mastership
    )
    change(call.session, domains)
    return (
        one('msh-resource', domains[0], {'mastership-id': '1'})
        if call.action == 'request-with-id'
        else NOTHING
    )


# RobotWare 8


@route('GET', '/rw/controlstation/{what*}')
def _station(call: Call) -> Reply:
    controller = call.controller
    if not controller.access.single_write_access:
        raise refusals.no_resource()
    holder = controller.access.masters['edit']
    fields = {
        'writeaccess/status': (
            'controlstation-write-access-status',
            {
                'control-station-write-access-held': str(holder is not None).lower(),
                'held-by-control-station-Id': holder or '',
                'held-by-control-station-name': holder or '',
            },
        ),
        'writeaccess/release/appeal/changecount': (
            'controlstation-release-write-access-appeal-change-count',
            {'change-count': '0'},
        ),
        'type': ('controlstation-type', {'control-station-type': 'Remote'}),
        'id': ('control-station', {'control-station-Id': call.session}),
        'local/isconnected': (
            'controlstation-local-connected',
            {'control-station-local-isconnected': 'false'},
        ),
        'allowmotioncontrol': (
            'controstation-allow-motion-control',
            {'allow-motion-control': 'true'},
        ),  # the controller spells it so
        'tpu/safety/protocol/status': (
            'controlstation-tpu-safety-protocol-status',
            {'status': 'Disconnected'},
        ),
    }
    if call.parts['what'] not in fields:
        raise refusals.no_resource()
    kind, values = fields[call.parts['what']]
    return one(kind, call.parts['what'].rpartition('/')[2], values)


@route('POST', '/rw/controlstation/{what*}')
def _act_on_station(call: Call) -> Reply:
    controller, what = call.controller, call.parts['what']
    if not controller.access.single_write_access:
        raise refusals.no_resource()
    domains = list(controller.access.masters)
    if what == 'writeaccess/request':
        controller.access.request_mastership(call.session, domains)
    elif what == 'writeaccess/release':
        if controller.access.masters['edit'] != call.session:
            raise refusals.no_write_access()
        controller.access.release_mastership(call.session, domains)
    elif what == 'register/remote' and not {'control-station-name', 'control-station-id'} <= set(
        call.form
    ):
        raise refusals.invalid()
    elif what not in (
        'register/remote',
        'allowmotioncontrol',
        'disableexternalcontrol',
        'writeaccess/release/appeal',
    ):
        raise refusals.no_resource()
    return NOTHING


# users


@route('GET', '/users')
def _users(call: Call) -> Reply:
    """Return one user for each session."""
    sessions = (
        [call.session] if call.query.get('user-type') == 'self' else call.controller.sessions()
    )
    fields = {
        'username': 'user',
        'alias': '',
        'location': '',
        'application': '',
        'locale': 'remote',
    }
    return Reply(
        tuple(
            Item('user-li', session, {'uid': str(i)} | fields)
            for i, session in enumerate(sessions, start=1)
        ),
        'users',
    )


@route('GET', '/users/login-info')
def _login(call: Call) -> Reply:
    return one(
        'user-login-info',
        'login-info',
        {'uid': '1', 'username': 'user', 'locale': 'remote', 'application': '', 'location': ''},
    )


@route('GET', '/users/grants')
def _grants(call: Call) -> Reply:
    return Reply(tuple(Item('user-grant', name, {'grantname': name}) for name in GRANTS), 'grants')


@route('GET', '/users/grant-exists')
def _grant_exists(call: Call) -> Reply:
    return one(
        'user-grant-status',
        'grant-exists',
        {'status': str(call.query.get('grant') in GRANTS).lower()},
    )


@route('GET', '/uas/grants')
@route('GET', '/uas/user/grants')
def _uas_grants(call: Call) -> Reply:
    items = (
        Item('uas-grant', name, {'grantname': name, 'grant-name': name, 'grant-description': name})
        for name in GRANTS
    )
    return Reply(tuple(items), 'grants')


@route('GET', '/uas/ldap')
@route('GET', '/uas/ldap/{what*}')
def _ldap(call: Call) -> Reply:
    raise refusals.no_grant()


@route('GET', '/uas/user/password-change-allow')
def _password_change(call: Call) -> Reply:
    return one(
        'uas-password-change-allow', 'password-change-allow', {'password-change-allow': 'false'}
    )


@route('POST', '/users')
def _register_user(call: Call) -> Reply:
    if call.action == 'set-locale' and call.form.get('type') in ('local', 'remote'):
        return Reply((Item('user-li', call.session, {'locale': call.form['type']}),), 'users')
    if call.action in ('set-locale', 'impersonate') or not call.form.get('username'):
        raise refusals.invalid()
    return Reply((Item('user-li', call.session, {'uid': '1'}),), 'users', status=201)


@route('POST', '/users/rmmp')
def _request_privilege(call: Call) -> Reply:
    controller = call.controller
    if call.action == 'cancel':
        controller.access.privilege.cancel(call.session)
        return NOTHING
    if call.form.get('privilege') not in ('modify', 'exec'):
        raise refusals.invalid()
    if controller.operation_mode == 'AUTO':
        raise refusals.wrong_mode()
    if any(session != call.session for session in controller.access.privilege.holders):
        raise refusals.held('rws_users\\rws_resource_rmmp.cpp')
    controller.access.privilege.ask(call.session)
    return Reply(status=202)


@route('GET', '/users/rmmp')
def _privilege(call: Call) -> Reply:
    holders = call.controller.access.privilege.holders
    status = next(iter(holders.values()), 'NONE')
    fields = {
        'userid': '1' if holders else '0',
        'alias': '',
        'location': '',
        'application': '',
        'privilege': {'PENDING': 'pending modify', 'GRANTED': 'modify'}.get(status, 'none'),
        'rmmpheldbyme': str(holders.get(call.session) == 'GRANTED').lower(),
    }
    return one('user-rmmp', 'rmmp', fields)


@route('GET', '/users/rmmp/poll')
def _poll_privilege(call: Call) -> Reply:
    status = call.controller.access.privilege.poll(call.session)
    return one('user-rmmp-poll', 'rmmp', {'code': '294912', 'status': status})
