"""RAPID and I/O: execution, tasks, symbols, signals, in RWS 1.0 form."""

from soft_arm_sim.rws import cell, refusals
from soft_arm_sim.rws.rendering import NOTHING, Item, Reply
from soft_arm_sim.rws.routing import Call, one, route
from soft_arm_sim.rws.virtual_controller import VirtualController

SIGNALS_A_PAGE = 100


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
@route('GET', '/rw/rapid/symbol/RAPID/{symbol*}/properties')
def _properties(call: Call) -> Reply:
    path = call.controller.find_symbol(call.parts['symbol'])
    if path is None:
        raise refusals.no_symbol_read()
    literal = call.controller.symbols[path]
    kind = _type_of(literal)
    fields = {
        'symburl': f'RAPID/{path}',
        'symtyp': 'per',
        'named': 'true',
        'dattyp': kind,
        'ndim': '1' if kind == 'num' and literal[0] == '[' else '0',
        'dim': str(literal.count(',') + 1) if kind == 'num' and literal[0] == '[' else '',
        'local': 'false',
        'rdonly': 'false',
        'taskpers': 'false',
        'typurl': f'RAPID/{kind}',
    }
    return one('rap-symproppers', f'RAPID/{path}', fields)


def _type_of(literal: str) -> str:
    """RAPID type of a literal, as far as it can be told from it; an array has the type of its elements."""
    if literal.startswith('['):
        return 'jointtarget' if literal.startswith('[[') else 'tooldata' if 'TRUE' in literal else 'num'
    return 'string' if literal.startswith('"') else 'bool' if literal in ('TRUE', 'FALSE') else 'num'


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


@route('GET', '/rw/iosystem/{what}')
def _io_units(call: Call) -> Reply:
    kind = {'networks': 'ios-network-li', 'devices': 'ios-device-li'}.get(call.parts['what'])
    if kind is None:
        raise refusals.no_resource()
    depth = 1 if kind == 'ios-network-li' else 2
    names = dict.fromkeys('/'.join(path.split('/')[:depth]) for path in call.controller.signals)
    fields = {'pstate': 'running', 'lstate': 'started' if depth == 1 else 'enabled'}
    return Reply(tuple(Item(kind, name, {'name': name.rpartition('/')[2]} | fields, {'self': name}) for name in names), call.parts['what'])


@route('GET', '/rw/iosystem/signals/{signal*}')
def _signal(call: Call) -> Reply:
    signal = call.controller.find_signal(call.parts['signal'].partition(';')[0])
    if signal is None:
        raise refusals.no_signal()
    device = signal.path.split('/')[1]
    fields = signal_fields(signal) | {'unitnm': device, 'phstate': 'valid', 'pvalue': signal.text, 'quality': '1'}
    return one('ios-signal' if call.generation == 1 else 'ios-signal-li', signal.path, fields, device=f'devices/{device}')


@route('POST', '/rw/iosystem/signals/{signal*}')
def _set_signal(call: Call) -> Reply:
    if call.action != 'set':
        raise refusals.invalid()
    call.controller.set_signal(call.parts['signal'], call.form)
    return NOTHING
