"""RAPID: execution, tasks, pointers, symbols, in RWS 1.0 form."""

import time

from abb_rws_emulator import refusals
from abb_rws_emulator.controller import rapid_literals
from abb_rws_emulator.controller.program import Declaration
from abb_rws_emulator.controller.symbol_pattern import InvalidPattern, SymbolPattern
from abb_rws_emulator.controller.virtual_controller import VirtualController
from abb_rws_emulator.http.rendering import NOTHING, Item, Reply
from abb_rws_emulator.http.routing import Call, one, route
from abb_rws_emulator.request_numbers import whole
from abb_rws_emulator.worker_thread import in_worker_thread

LONGEST_SEARCH_S = 2.0


@route('GET', '/rw/rapid/execution')
def _execution(call: Call) -> Reply:
    return one(
        'rap-execution',
        'execution',
        {'ctrlexecstate': execution_text(call.controller), 'cycle': call.controller.cycle},
    )


def execution_text(controller: VirtualController) -> str:
    """Return the text of the execution state, running or stopped."""
    return 'running' if controller.running else 'stopped'


@route('POST', '/rw/rapid/execution')
def _control_execution(call: Call) -> Reply:
    controller = call.controller
    actions = {
        'start': lambda: controller.start(call.session, call.form),
        'stop': controller.stop,
        'resetpp': lambda: controller.reset_pointer(call.session),
        'setcycle': lambda: controller.set_cycle(call.form.get('cycle', '')),
        'startprodentry': lambda: controller.start_from_main(call.session),
        'holdtorun': lambda: controller.require_manual(),
    }
    if call.action not in actions:
        raise refusals.invalid()
    actions[call.action]()
    return NOTHING


@route('GET', '/rw/rapid')
def _services(call: Call) -> Reply:
    names = ('execution', 'tasks', 'modules', 'symbols', 'uiinstr', 'aliasio', 'taskselection')
    return Reply(
        tuple(Item('rap-resource-li', name, {}, {'self': f'rapid/{name}'}) for name in names),
        'rapid',
    )


@route('GET', '/rw/rapid/aliasio')
@route('GET', '/rw/rapid/uiinstr')
def _nothing_there(call: Call) -> Reply:
    return Reply((), 'rapid')


@route('GET', '/rw/rapid/uiinstr/active')
def _no_ui_instruction(call: Call) -> Reply:
    return NOTHING


@route('POST', '/rw/rapid/uiinstr/active/param/{rest*}')
def _answer_ui_instruction(call: Call) -> Reply:
    raise refusals.ui_instruction_not_active()


# tasks


@route('GET', '/rw/rapid/tasks')
def _tasks(call: Call) -> Reply:
    if call.controller.booting:  # RobotWare 6 answers with an empty list while it starts
        return Reply((), 'tasks')
    return Reply(
        tuple(_task_item(call, name, 'rap-task-li') for name in call.controller.active_tasks),
        'tasks',
    )


def _task_item(call: Call, name: str, kind: str) -> Item:
    controller = call.controller
    fields = {
        'name': name,
        'type': 'norm' if call.generation == 1 else 'normal',
        'taskstate': 'linked',
        'excstate': 'star' if controller.running else 'stop',
        'active': 'On' if controller.active_tasks[name] else 'Off',
        'motiontask': 'TRUE',
    }
    return Item(kind, name, fields, {'self': f'tasks/{name}'})


def task_of(call: Call) -> str:
    """Return the task that a call names.

    Raises:
        Refused: If there is no such task.
    """
    name = call.parts.get('task') or call.query.get('task') or call.form.get('task') or ''
    if name not in call.controller.active_tasks or call.controller.booting:
        raise refusals.no_resource()
    return name


@route('GET', '/rw/rapid/tasks/spy')
def _spy(call: Call) -> Reply:
    return one('rap-spy-status', 'spy', {'status': 'STOPPED', 'spy-status': 'STOPPED'})


@route('GET', '/rw/rapid/tasks/syncstate/{what}')
def _sync_state(call: Call) -> Reply:
    return one(
        'rap-sync-state',
        call.parts['what'],
        {f'{call.parts["what"]}-state': 'InSync', 'state': 'InSync'},
    )


@route('GET', '/rw/rapid/tasks/{task}')
def _one_task(call: Call) -> Reply:
    return Reply((_task_item(call, task_of(call), 'rap-task'),), call.parts['task'])


@route('GET', '/rw/rapid/taskselection')
def _selection(call: Call) -> Reply:
    items = (
        Item('rap-taskselection', name, {'task': name, 'selected': str(on).upper()})
        for name, on in call.controller.active_tasks.items()
    )
    return Reply(tuple(items), 'taskselection')


@route('POST', '/rw/rapid/tasks')
def _activate(call: Call) -> Reply:
    tasks = [task_of(call)] if call.form.get('task') else list(call.controller.active_tasks)
    if call.action not in ('activate', 'deactivate'):
        raise refusals.invalid()
    for task in tasks:
        call.controller.activate_task(call.session, task, call.action == 'activate')
    return NOTHING


@route('GET', '/rw/rapid/tasks/{task}/motion')
def _task_motion(call: Call) -> Reply:
    task_of(call)
    robot, what = call.controller.robot, call.query.get('resource')
    external = {f'ej{i}': '9E+09' for i in range(1, 7)}
    if what == 'jointtarget':
        return one('rap-jointtarget', 'jointtarget', robot.jointtarget('j') | external)
    if what == 'robtarget':
        return one(
            'rap-robtarget', 'robtarget', robot.robtarget() | robot.configuration() | external
        )
    if what == 'mechunit':
        return one('rap-mechunit', 'mechunit', {'mechunit': 'ROB_1'})
    names = ('robtarget', 'jointtarget', 'mechunit', 'extjointstate')
    return Reply(
        tuple(Item(f'rapid-{n}-li', n, {}, {'self': f'motion?resource={n}'}) for n in names),
        'motion',
    )


@route('GET', '/rw/rapid/tasks/{task}/{what}')
def _task_part(call: Call) -> Reply:
    task, controller, what = task_of(call), call.controller, call.parts['what']
    if what == 'serviceroutine':
        return Reply((), what)
    if what == 'structural-changecount':
        count = str(controller.structure_changes)
        return one(
            'rap-task-struc-change-count',
            task,
            {'struc-change-count': count, 'change-count': count},
        )
    if what == 'activation-record' and not controller.running:
        raise refusals.invalid('No such stack frame')
    if what in ('activation-record', 'execution'):
        return one(f'rap-{what}', task, _pointer_fields(call))
    if what == 'pcp':
        items = (
            Item('pcp-info', name, _pointer_fields(call))
            for name in ('progpointer', 'motionpointer')
        )
        return Reply(tuple(items), what)
    if what == 'breakpoints':
        return Reply((), what)
    raise refusals.no_resource()


def _pointer_fields(call: Call) -> dict[str, str]:
    module, routine, line = call.controller.pointer_at
    return {
        'modulemame': module,  # the controller's own spelling
        'routinename': routine,
        'changecount': '1',
        'executiontype': 'normal',
        'beginposition': f'{line},5',
        'endposition': f'{line},20',
    }


@route('GET', '/rw/rapid/tasks/{task}/syncstate/{what}')
def _task_sync_state(call: Call) -> Reply:
    task_of(call)
    return one(
        'rap-task-sync-state',
        call.parts['what'],
        {f'{call.parts["what"]}-state': 'InSync', 'state': 'InSync'} | _pointer_fields(call),
    )


@route('POST', '/rw/rapid/tasks/{task}/pcp')
def _set_pointer(call: Call) -> Reply:
    task_of(call)
    form = call.form
    if call.action == 'set-pp-routine' and form.get('routine'):
        call.controller.set_pointer(call.session, form.get('module', ''), form['routine'])
    elif call.action == 'set-pp-routine-from-url' and (
        form.get('routineurl') or form.get('routine')
    ):
        *_, module, routine = [
            '',
            '',
            *(form.get('routineurl') or f'{form.get("module", "")}/{form["routine"]}').split('/'),
        ]
        call.controller.set_pointer(call.session, module, routine)
    elif call.action == 'set-pp-cursor' and form.get('module'):
        line = whole(form.get('line') or form.get('begin-position-row')) or 0
        call.controller.set_pointer(call.session, form['module'], '', line)
    elif call.action in ('set-pp-prev-inst', 'set-pp-next-inst'):
        call.controller.require_manual()
    else:
        raise refusals.invalid()
    return NOTHING


# symbols


@route('GET', '/rw/rapid/symbol/data/RAPID/{symbol*}')
def _symbol(call: Call) -> Reply:
    asked = call.parts['symbol'].partition(';')[0]
    return one('rap-data', f'RAPID/{asked}', {'value': call.controller.symbol(asked)})


@route('POST', '/rw/rapid/symbol/data/RAPID/{symbol*}')
def _set_symbol(call: Call) -> Reply:
    if call.query.get('action') == 'validate':
        return _validate(call)
    if call.action not in ('set', 'setInitValue'):
        raise refusals.invalid()
    call.controller.set_symbol(call.session, call.parts['symbol'], call.form.get('value'))
    return NOTHING


@route('POST', '/rw/rapid/symbol/data')
def _validate(call: Call) -> Reply:
    literal = call.form.get('value', '')
    kind = (call.form.get('datatype') or call.form.get('dattyp') or '').lower()
    try:
        rapid_literals.parse(literal, rapid_literals.shape_of(kind, (), literal))
    except rapid_literals.InvalidLiteral as error:
        raise refusals.invalid(f'Value does not match the type: {error}') from None
    return NOTHING


@route('GET', '/rw/rapid/symbol/properties/RAPID/{symbol*}')
def _properties(call: Call) -> Reply:
    path = call.controller.memory.find_symbol(call.parts['symbol'])
    if path is None:
        raise refusals.no_symbol_read(call.generation)
    return Reply((_property_item(path, call.controller.memory.declarations[path], ''),), path)


def _property_item(path: str, declared: Declaration, ending: str) -> Item:
    fields = {
        'symburl': f'RAPID/{path}',
        'name': declared.name,
        'symtyp': declared.symbol_type,
        'named': 'true',
        'dattyp': declared.data_type,
        'ndim': str(len(declared.dimensions)),
        'dim': ' '.join(map(str, declared.dimensions)),
        'heap': 'false',
        'linked': 'true',
        'local': 'false',
        'rdonly': str(declared.symbol_type == 'con').lower(),
        'taskvar': 'false',
        'taskpers': 'false',
        'storage': 'normal',
        'typurl': f'RAPID/{declared.data_type}',
    }
    kind = {'per': 'pers', 'var': 'var', 'con': 'const'}[declared.symbol_type]
    return Item(f'rap-symprop{kind}{ending}', f'RAPID/{path}', fields)


@route('POST', '/rw/rapid/symbols')
async def _search_symbols(call: Call) -> Reply:
    if call.action not in ('search-symbol', 'search-symbols') or not call.form:
        raise refusals.invalid()
    try:
        pattern = SymbolPattern(call.form.get('regexp', ''))
    except InvalidPattern as error:
        raise refusals.invalid(f'regexp: {error}') from None
    items = await in_worker_thread(
        _found, dict(call.controller.memory.declarations), call.form, pattern
    )
    return Reply(items, 'symbols')


def _found(
    declarations: dict[str, Declaration], form: dict[str, str], pattern: SymbolPattern
) -> tuple[Item, ...]:
    """Return what a search finds.

    The search runs in a thread beside the event loop, because there may be thousands of names.
    """
    block = (form.get('blockurl') or form.get('task') or 'RAPID').removeprefix('RAPID').strip('/')
    wanted, end_s, items = {'any', 'undef', '', None}, time.monotonic() + LONGEST_SEARCH_S, []
    for path, declared in declarations.items():
        if time.monotonic() > end_s:
            raise refusals.invalid('regexp: the search takes too long')
        if (
            (not block or path == block or path.startswith(f'{block}/'))
            and (form.get('symtyp') in wanted or declared.symbol_type in form['symtyp'])
            and (form.get('dattyp') in wanted or declared.data_type == form['dattyp'].lower())
            and pattern.found_in(declared.name)
        ):
            items.append(_property_item(path, declared, '-li'))
    return tuple(items)
