"""RAPID execution, tasks and symbols, in RWS 1.0 form."""

from abb_rws_emulator import refusals
from abb_rws_emulator.controller.program_memory import Declaration
from abb_rws_emulator.http.rendering import NO_CONTENT, Item, Reply
from abb_rws_emulator.http.routing import Call, one, route


@route('GET', '/rw/rapid/execution')
def _execution(call: Call) -> Reply:
    state = 'running' if call.controller.running else 'stopped'
    return one(
        'rap-execution', 'execution', {'ctrlexecstate': state, 'cycle': call.controller.cycle}
    )


@route('POST', '/rw/rapid/execution')
def _control_execution(call: Call) -> Reply:
    controller = call.controller
    if call.action == 'start':
        controller.start(call.session, call.form)
    elif call.action == 'stop':
        controller.stop()
    elif call.action == 'resetpp':
        controller.reset_pointer(call.session)
    else:
        raise refusals.invalid()
    return NO_CONTENT


@route('GET', '/rw/rapid/tasks')
def _tasks(call: Call) -> Reply:
    controller = call.controller
    tasks = {} if controller.booting else controller.active_tasks  # RobotWare 6 while booting
    fields = {
        'type': 'norm' if call.generation == 1 else 'normal',
        'taskstate': 'linked',
        'excstate': 'star' if controller.running else 'stop',
        'motiontask': 'TRUE',
    }
    items = (
        Item(
            'rap-task-li',
            name,
            {'name': name, 'active': 'On' if active else 'Off'} | fields,
            {'self': f'tasks/{name}'},
        )
        for name, active in tasks.items()
    )
    return Reply(tuple(items), 'tasks')


@route('POST', '/rw/rapid/tasks/{task}')
def _activate(call: Call) -> Reply:
    task, controller = call.parts['task'], call.controller
    if task not in controller.active_tasks or controller.booting:
        raise refusals.no_resource()
    if call.action not in ('activate', 'deactivate'):
        raise refusals.invalid()
    controller.activate_task(call.session, task, call.action == 'activate')
    return NO_CONTENT


@route('GET', '/rw/rapid/symbol/data/RAPID/{symbol*}')
def _symbol(call: Call) -> Reply:
    symbol = call.parts['symbol']
    return one('rap-data', f'RAPID/{symbol}', {'value': call.controller.symbol(symbol)})


@route('POST', '/rw/rapid/symbol/data/RAPID/{symbol*}')
def _set_symbol(call: Call) -> Reply:
    if call.action != 'set':
        raise refusals.invalid()
    call.controller.set_symbol(call.session, call.parts['symbol'], call.form.get('value'))
    return NO_CONTENT


@route('POST', '/rw/rapid/symbols')
def _search_symbols(call: Call) -> Reply:
    """Return the symbols of a block and a symbol type; regular expressions are not supported."""
    form = call.form
    if call.action != 'search-symbols' or not form or form.get('regexp'):
        raise refusals.invalid()
    block = form.get('blockurl', 'RAPID').removeprefix('RAPID').strip('/')
    symbol_type = form.get('symtyp', 'any')
    found = (
        _property_item(path, declared)
        for path, declared in call.controller.memory.declarations.items()
        if (not block or path.startswith(f'{block}/'))
        and (symbol_type == 'any' or declared.symbol_type in symbol_type)
    )
    return Reply(tuple(found), 'symbols')


def _property_item(path: str, declared: Declaration) -> Item:
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
        'rdonly': 'false',
        'taskvar': 'false',
        'taskpers': 'false',
        'storage': 'normal',
        'typurl': f'RAPID/{declared.data_type}',
    }
    kind = {'per': 'pers', 'var': 'var'}[declared.symbol_type]
    return Item(f'rap-symprop{kind}-li', f'RAPID/{path}', fields)
