"""What stands under each address: reads and writes of the virtual controller, in RWS 1.0 form."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from soft_arm_sim.rws import cell, refusals
from soft_arm_sim.rws.rendering import NOTHING, Item, Reply
from soft_arm_sim.rws.virtual_controller import VirtualController

EXTERNAL_AXES = {f'eax_{axis}': '9E+09' for axis in 'abcdef'}
SIGNALS_A_PAGE = 100


@dataclass(frozen=True)
class Call:
    """One request to a resource: the session it came on, parts of its path, query and form."""

    controller: VirtualController
    session: str
    parts: dict[str, str]
    query: dict[str, str] = field(default_factory=dict)
    form: dict[str, str] = field(default_factory=dict)
    content: bytes = b''
    generation: int = 1

    @property
    def action(self) -> str:
        """The `action` of the query."""
        return self.query.get('action', '')


ROUTES: list[tuple[str, re.Pattern, Callable[[Call], Reply]]] = []


def route(method: str, path: str):
    """Register a handler; `{name}` is one part of the path, `{name*}` the rest."""
    names = re.sub(r'\{(\w+)\*\}', r'(?P<\1>.+?)', path.replace('$', r'\$'))
    pattern = re.compile('^' + re.sub(r'(?<!\(\?P<)\{(\w+)\}', r'(?P<\1>[^/]+)', names) + '/?$')

    def register(handler: Callable[[Call], Reply]):
        ROUTES.append((method, pattern, handler))
        return handler

    return register


def one(kind: str, title: str, fields: dict, **links: str) -> Reply:
    """A reply of one item."""
    return Reply((Item(kind, title, fields, links),), title)


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
    options = Reply((Item('sys-system', 'system', fields), Item('sys-option-li', 'options', {'option': '616-1 PC Interface'})), 'system')
    return one('sys-system', 'system', fields) if call.generation == 2 else options


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


# RAPID


@route('GET', '/rw/rapid/execution')
def _execution(call: Call) -> Reply:
    return one('rap-execution', 'execution', {'ctrlexecstate': execution_text(call.controller), 'cycle': call.controller.cycle})


def execution_text(controller: VirtualController) -> str:
    """Running or stopped."""
    return 'running' if controller.running else 'stopped'


@route('POST', '/rw/rapid/execution')
def _control_execution(call: Call) -> Reply:
    controller = call.controller
    actions = {
        'start': lambda: controller.start(call.session, call.form),
        'stop': controller.stop,
        'resetpp': lambda: controller.reset_pointer(call.session),
        'setcycle': lambda: controller.set_cycle(call.form.get('cycle', '')),
    }
    if call.action not in actions:
        raise refusals.invalid()
    actions[call.action]()
    return NOTHING


@route('GET', '/rw/rapid/tasks')
def _tasks(call: Call) -> Reply:
    controller = call.controller
    if controller.booting:  # RobotWare 6 answers with an empty list while it starts
        return Reply((), 'tasks')
    return Reply(
        tuple(
            Item(
                'rap-task-li',
                name,
                {
                    'name': name,
                    'type': 'norm',
                    'taskstate': 'linked',
                    'excstate': 'star' if controller.running else 'stop',
                    'active': 'On' if active else 'Off',
                    'motiontask': 'TRUE',
                },
                {'self': name},
            )
            for name, active in controller.active_tasks.items()
        ),
        'tasks',
    )


def _task(call: Call) -> str:
    name = call.parts.get('task') or call.form.get('task') or ''
    if name not in call.controller.active_tasks or call.controller.booting:
        raise refusals.no_resource()
    return name


@route('GET', '/rw/rapid/tasks/{task}')
def _one_task(call: Call) -> Reply:
    name = _task(call)
    return Reply(tuple(i for i in _tasks(call).items if i.title == name), name)


@route('POST', '/rw/rapid/tasks')
@route('POST', '/rw/rapid/tasks/{task}')
def _activate(call: Call) -> Reply:
    name = _task(call)
    if call.action not in ('activate', 'deactivate'):
        raise refusals.invalid()
    call.controller.active_tasks[name] = call.action == 'activate'
    return NOTHING


@route('GET', '/rw/rapid/tasks/{task}/motion')
def _task_motion(call: Call) -> Reply:
    _task(call)
    robot, what = call.controller.robot, call.query.get('resource')
    if what == 'jointtarget':
        return one('rap-jointtarget', 'jointtarget', robot.jointtarget('j') | {f'ej{i}': '9E+09' for i in range(1, 7)})
    if what == 'robtarget':
        return one('rap-robtarget', 'robtarget', robot.robtarget() | robot.configuration() | {f'ej{i}': '9E+09' for i in range(1, 7)})
    return one('rap-motion', 'motion', {'mechunit': 'ROB_1'})


@route('GET', '/rw/rapid/tasks/{task}/pcp')
def _pointers(call: Call) -> Reply:
    _task(call)  # "modulemame" is the controller's own spelling
    fields = {
        'modulemame': 'Module1',
        'routinename': 'main',
        'changecount': '1',
        'executiontype': 'normal',
        'beginposition': '4,5',
        'endposition': '4,20',
    }
    return Reply((Item('pcp-info', 'progpointer', fields), Item('pcp-info', 'motionpointer', fields)), 'pcp')


@route('GET', '/rw/rapid/modules')
@route('GET', '/rw/rapid/tasks/{task}/modules')
def _modules(call: Call) -> Reply:
    kind = 'rap-module-info-li'
    return Reply(tuple(Item(kind, name, {'name': name, 'type': sort}) for name, sort in cell.MODULES.items()), 'modules')


@route('GET', '/rw/rapid/symbol/data/RAPID/{symbol*}')
def _symbol(call: Call) -> Reply:
    path = call.controller.find_symbol(call.parts['symbol'].partition(';')[0])
    if path is None or call.controller.booting:
        raise refusals.no_symbol_read()
    return one('rap-data', f'RAPID/{call.parts["symbol"].partition(";")[0]}', {'value': call.controller.symbols[path]})


@route('POST', '/rw/rapid/symbol/data/RAPID/{symbol*}')
def _set_symbol(call: Call) -> Reply:
    if call.action != 'set':
        raise refusals.invalid()
    call.controller.set_symbol(call.session, call.parts['symbol'], call.form.get('value'))
    return NOTHING


@route('GET', '/rw/rapid/symbol/properties/RAPID/{symbol*}')
def _properties(call: Call) -> Reply:
    path = call.controller.find_symbol(call.parts['symbol'])
    if path is None:
        raise refusals.no_symbol_read()
    literal = call.controller.symbols[path]
    kind = (
        'string'
        if literal.startswith('"')
        else 'bool'
        if literal in ('TRUE', 'FALSE')
        else 'num'
        if not literal.startswith('[')
        else 'jointtarget'
    )
    return one(
        'rap-sympropper',
        f'RAPID/{path}',
        {'symburl': f'RAPID/{path}', 'symtyp': 'per', 'dattyp': kind, 'rdonly': 'FALSE', 'local': 'FALSE', 'named': 'TRUE'},
    )


# I/O


@route('GET', '/rw/iosystem/signals')
def _signals(call: Call) -> Reply:
    listed = list(call.controller.signals.values())
    start = int(call.query.get('start', '0')) if call.query.get('start', '0').isdigit() else 0
    links = {}
    if call.generation == 2:
        following = start + SIGNALS_A_PAGE
        links = {'next': f'signals?start={following}&limit={SIGNALS_A_PAGE}'} if following < len(listed) else {}
        listed = listed[start:following]
    return Reply(
        tuple(
            Item(
                'ios-signal-li',
                s.path,
                signal_fields(s) | {'lvalue': int(s.value) if s.value == int(s.value) else s.value},
                {'self': s.path},
            )
            for s in listed
        ),
        'signals',
        links=links,
    )


def signal_fields(signal: cell.SignalState) -> dict[str, str]:
    """Fields of a signal; in a list the value is a number, alone it is text."""
    return {
        'name': signal.name,
        'type': signal.kind,
        'category': signal.category,
        'lvalue': signal.text,
        'lstate': 'simulated' if signal.simulated else 'not simulated',
    }


@route('GET', '/rw/iosystem/signals/{signal*}')
def _signal(call: Call) -> Reply:
    signal = call.controller.find_signal(call.parts['signal'].partition(';')[0])
    if signal is None:
        raise refusals.no_signal()
    device = signal.path.split('/')[1]
    fields = signal_fields(signal) | {'unitnm': device, 'phstate': 'valid', 'pvalue': signal.text, 'quality': '1'}
    return one('ios-signal', signal.path, fields, device=f'devices/{device}')


@route('POST', '/rw/iosystem/signals/{signal*}')
def _set_signal(call: Call) -> Reply:
    if call.action != 'set':
        raise refusals.invalid()
    call.controller.set_signal(call.parts['signal'], call.form)
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
        return one(
            'ms-mechunit',
            'ROB_1',
            {
                'mode': 'Activated',
                'type': 'TCPRobot',
                'task-name': 'T_ROB1',
                'axes': '6',
                'axes-total': '6',
                'tool-name': 'tool0',
                'wobj-name': 'wobj0',
                'payload-name': 'load0',
                'coord-system': 'Base',
            },
        )
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
        return one('ms-mechunit-cartesian', 'cartesian', robot.robtarget() | quadrants)
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
