"""System, panel, motion, mastership, users and event log, in RWS 1.0 form."""

from datetime import UTC, datetime

from soft_arm_sim.rws import refusals
from soft_arm_sim.rws.rendering import NOTHING, Item, Reply
from soft_arm_sim.rws.routing import Call, one, route

EXTERNAL_AXES = {f'eax_{axis}': '9E+09' for axis in 'abcdef'}


# system


@route('GET', '/rw/system')
def _system(call: Call) -> Reply:
    version = '7.21.0+229' if call.generation == 2 else '6.16.2027'
    fields = {
        'name': 'IRB120_EMULATOR',
        'rwversion': version,
        'sysid': '{8E6C1F52-0000-4000-8000-000000000120}',
        'starttm': '2026-01-01 T 00:00:00',
        'rwversionname': '6.16.02.00',
    }
    if call.generation == 2:
        return one('sys-system', 'system', fields)
    return Reply((Item('sys-system-li', 'system', fields), Item('sys-option-li', 'options', {'option': '616-1 PC Interface'})), 'system')


@route('GET', '/rw')
def _root(call: Call) -> Reply:
    return Reply(
        tuple(
            Item('rw-service-li', name, {}, {'self': name}) for name in ('panel', 'rapid', 'iosystem', 'motionsystem', 'elog', 'mastership')
        )
    )


@route('GET', '/ctrl')
@route('GET', '/ctrl/identity')
def _identity(call: Call) -> Reply:
    return one(
        'ctrl-identity-info-li' if call.generation == 1 else 'ctrl-identity-info',
        'identity',
        {'ctrl-name': 'IRB120_EMULATOR', 'ctrl-type': 'Virtual Controller'},
    )


@route('GET', '/ctrl/clock')
def _clock(call: Call) -> Reply:
    return one('ctrl-clock-info', 'clock', {'datetime': datetime.now(UTC).strftime('%Y-%m-%d T %H:%M:%S')})


@route('GET', '/ctrl/{name}')
def _environment(call: Call) -> Reply:
    values = {'$RAMDISK': '/hd0a/IRB120/RAMDISK', '$HOME': '/hd0a/IRB120/HOME', '$TEMP': '/hd0a/TEMP', '$SYSPAR': '/hd0a/IRB120/SYSPAR'}
    name = call.parts['name']
    if name not in values:
        raise refusals.no_resource()
    return one('ctrl-env', name, {'_value': values[name], 'value': values[name]})


# panel


@route('GET', '/rw/panel/{what}')
def _panel(call: Call) -> Reply:
    controller, what = call.controller, call.parts['what']
    if what == 'coldetstate':  # RobotWare 6.16 writes this class with a blank behind it
        return one('pnl-coldetstate', 'coldetstate', {'coldetstate ': 'INIT'})
    fields = {'ctrlstate': controller.control_state, 'opmode': controller.operation_mode, 'speedratio': str(controller.speed_percent)}
    if what not in fields:
        raise refusals.no_resource()
    return one(f'pnl-{what}', what, {what: fields[what]})


@route('GET', '/rw/panel')
def _panel_list(call: Call) -> Reply:
    return Reply(
        tuple(Item('pnl-resource-li', name, {}, {'self': name}) for name in ('ctrlstate', 'opmode', 'speedratio', 'coldetstate')), 'panel'
    )


@route('POST', '/rw/panel/{what}')
def _set_panel(call: Call) -> Reply:
    if (call.parts['what'], call.action) == ('ctrlstate', 'setctrlstate'):
        call.controller.set_control_state(call.session, call.form.get('ctrl-state', ''))
    elif (call.parts['what'], call.action) == ('speedratio', 'setspeedratio'):
        call.controller.set_speed(call.session, call.form.get('speed-ratio', ''))
    else:
        raise refusals.invalid()
    return NOTHING


# motion


@route('GET', '/rw/motionsystem')
def _motion_system(call: Call) -> Reply:
    return one('ms-motionsystem', 'motionsystem', {'mechanical-unit': 'ROB_1', 'motors': call.controller.control_state})


@route('GET', '/rw/motionsystem/mechunits')
def _units(call: Call) -> Reply:
    return Reply(
        (Item('ms-mechunit-li', 'ROB_1', {'mode': 'Activated', 'activation-allowed': 'FALSE', 'drive-module': '1'}, {'self': 'ROB_1'}),),
        'mechunits',
    )


@route('GET', '/rw/motionsystem/mechunits/{unit}')
@route('GET', '/rw/motionsystem/mechunits/{unit}/{what}')
def _unit(call: Call) -> Reply:
    if call.parts['unit'] != 'ROB_1':
        raise refusals.no_resource()
    robot, what = call.controller.robot, call.parts.get('what')
    if what is None:
        fields = {
            'type': 'TCPRobot',
            'task-name': 'T_ROB1',
            'is-integrated-unit': 'NoIntegratedUnit',
            'has-integrated-unit': 'NoIntegratedUnit',
            'mode': 'Activated',
            'status': 'Synchronized',
            'jog-mode': 'Linear',
            'axes': '6',
            'axes-total': '6',
            'tool-name': 'tool0',
            'wobj-name': 'wobj0',
            'payload-name': 'load0',
            'total-payload-name': 'load0',
            'coord-system': 'Base',
        }
        return one('ms-mechunit', 'ROB_1', fields)
    if what == 'jointtarget':
        return one('ms-jointtarget', 'ROB_1', robot.jointtarget() | EXTERNAL_AXES)
    if what == 'robtarget':
        return one(
            'ms-robtargets',
            'ROB_1',
            robot.robtarget() | robot.configuration() | {name.replace('_', ''): v for name, v in EXTERNAL_AXES.items()},
        )
    if what == 'cartesian':
        quadrants = dict(zip(('j1', 'j4', 'j6', 'jx'), robot.configuration().values(), strict=True))
        return one('ms-mechunit-cartesian', 'cartesian', robot.robtarget() | (quadrants if call.generation == 1 else robot.configuration()))
    raise refusals.no_resource()


# mastership, users, event log


@route('GET', '/rw/mastership')
def _masters(call: Call) -> Reply:
    return Reply(tuple(Item('msh-resource-li', domain, {}, {'self': domain}) for domain in call.controller.masters), 'mastership')


@route('GET', '/rw/mastership/{domain}')
def _master(call: Call) -> Reply:
    controller, domain = call.controller, call.parts['domain']
    if domain not in controller.masters:
        raise refusals.no_resource()
    holder = controller.masters[domain]
    names = {None: 'nomaster', call.session: 'remote'}
    return one(
        'msh-resource',
        domain,
        {
            'uid': '' if holder is None else '1',
            'location': '',
            'alias': '',
            'application': holder or '',
            'mastership': names.get(holder, 'remote'),
            'holdmastership': str(holder == call.session).upper(),
        },
    )


@route('POST', '/rw/mastership')
@route('POST', '/rw/mastership/{domain}')
def _change_master(call: Call) -> Reply:
    domains = [call.parts['domain']] if 'domain' in call.parts else list(call.controller.masters)
    if any(domain not in call.controller.masters for domain in domains):
        raise refusals.no_resource()
    if call.action not in ('request', 'release'):
        raise refusals.invalid()
    change = call.controller.request_mastership if call.action == 'request' else call.controller.release_mastership
    change(call.session, domains)
    return NOTHING


@route('GET', '/users')
def _users(call: Call) -> Reply:
    return one('user-li', call.session, {'uid': '1', 'username': 'user', 'locale': 'remote'})


@route('POST', '/users')
def _register_user(call: Call) -> Reply:
    if call.action != 'set-locale' and not call.form.get('username'):
        raise refusals.invalid()
    return Reply((Item('user-li', call.session, {'uid': '1'}),), 'users', status=201)


@route('POST', '/users/rmmp')
def _request_privilege(call: Call) -> Reply:
    if call.action == 'cancel':
        call.controller.remote_privilege.pop(call.session, None)
        return NOTHING
    if call.form.get('privilege') not in ('modify', 'exec'):
        raise refusals.invalid()
    if call.controller.operation_mode == 'AUTO':
        raise refusals.wrong_mode()
    call.controller.remote_privilege[call.session] = 'PENDING'
    return Reply(status=202)


@route('GET', '/users/rmmp')
@route('GET', '/users/rmmp/poll')
def _privilege(call: Call) -> Reply:
    status = call.controller.remote_privilege.get(call.session, 'NONE')
    return one('user-rmmp-poll', 'rmmp', {'status': status, 'privilege': 'modify' if status == 'GRANTED' else 'none'})


@route('GET', '/rw/elog')
def _log_domains(call: Call) -> Reply:
    return Reply(
        tuple(
            Item(
                'elog-domain-li',
                str(i),
                {'domain-name': name, 'numevts': str(len(call.controller.event_log) if i == 0 else 0), 'buffsize': '1000'},
            )
            for i, name in enumerate(('Common', 'Operational', 'System'))
        ),
        'elog',
    )


@route('GET', '/rw/elog/{domain}')
def _log(call: Call) -> Reply:
    if not call.parts['domain'].isdigit():
        raise refusals.no_resource()
    entries = call.controller.event_log[-200:] if call.parts['domain'] == '0' else []
    if call.query.get('resource') == 'count':
        return one('elog-domain', call.parts['domain'], {'count': str(len(entries))})
    if call.query.get('elogseqnum', '').isdigit():
        entries = [e for e in entries if e[0] > int(call.query['elogseqnum'])]
    return Reply(tuple(_log_item(entry) for entry in reversed(entries)), 'elog')


@route('GET', '/rw/elog/{domain}/{sequence}')
def _log_message(call: Call) -> Reply:
    for entry in call.controller.event_log:
        if str(entry[0]) == call.parts['sequence']:
            return Reply((_log_item(entry),), 'elog')
    raise refusals.no_resource()


def _log_item(entry: tuple[int, int, int, str, str]) -> Item:
    sequence, kind, code, stamp, title = entry
    return Item(
        'elog-message-li',
        f'/rw/elog/0/{sequence}',
        {
            'msgtype': str(kind),
            'code': str(code),
            'src-name': 'MC0',
            'tstamp': stamp,
            'argc': 0,
            'title': title,
            'desc': title,
            'conseqs': '',
            'causes': '',
            'actions': '',
        },
    )


@route('POST', '/rw/elog')
def _clear_log(call: Call) -> Reply:
    if call.action != 'clearall':
        raise refusals.invalid()
    call.controller.event_log.clear()
    return NOTHING


@route('GET', '/rw/cfg/{topic}/{kind}/instances')
def _configuration(call: Call) -> Reply:
    return Reply((), 'cfg')  # the emulated controller shows none of its configuration
