"""RAPID modules and programs: list, load, save, text, in RWS 1.0 form."""

import re
import urllib.parse

from abb_rws_emulator import refusals
from abb_rws_emulator.controller.file_store import normal_path
from abb_rws_emulator.controller.program import Module
from abb_rws_emulator.controller.program_memory import MOST_MODULES
from abb_rws_emulator.http.rendering import NOTHING, Item, Reply
from abb_rws_emulator.http.routing import Call, one, route
from abb_rws_emulator.request_numbers import whole
from abb_rws_emulator.resources.rapid import task_of
from abb_rws_emulator.worker_thread import in_worker_thread


@route('GET', '/rw/rapid/modules')
@route('GET', '/rw/rapid/tasks/{task}/modules')
def _modules(call: Call) -> Reply:
    if call.controller.booting:
        return Reply((), 'modules')
    modules = call.controller.memory.modules.values()
    return Reply(
        tuple(
            Item('rap-module-info-li', m.name, {'name': m.name, 'type': m.kind}) for m in modules
        ),
        'modules',
    )


def _module(call: Call) -> Module:
    task_of(call)
    found = call.controller.memory.find_module(call.parts['module'])
    if found is None:
        raise refusals.no_module(call.generation)
    return found


@route('GET', '/rw/rapid/modules/{module}')
async def _read(call: Call) -> Reply:
    module, resource = _module(call), call.query.get('resource')
    if resource == 'module-text':
        return await _text(module, module.text)
    if resource == 'change-count':
        return one('rap-module-changecount', module.name, {'change-count': str(module.changes)})
    if resource == 'module-extension':
        return one(
            'rap-module-extension',
            module.name,
            {'module-extension': '.mod' if module.kind == 'ProgMod' else '.sys'},
        )
    if resource == 'syncper-status':
        return one('rap-syncper-status', module.name, {'status': 'TRUE'})
    if {'startrow', 'startcol', 'endrow', 'endcol'} <= set(call.query):
        return await _text(module, module.text[_range(module, call.query)])
    fields = {
        'modname': module.name,
        'name': module.name,
        'type': module.kind,
        'filename': module.file,
        'attribute': '',
    }
    return one('rap-module', module.name, fields)


async def _text(module: Module, text: str) -> Reply:
    quoted = await in_worker_thread(urllib.parse.quote, text)
    fields = {
        'change-count': str(module.changes),
        'module-text': quoted,
        'module-length': str(len(text)),
    }
    return one('rap-module-text', module.name, fields)


def _range(module: Module, values: dict[str, str]) -> slice:
    texts = [values.get(name) for name in ('startrow', 'startcol', 'endrow', 'endcol')]
    numbers = [-1 if text == '-1' else whole(text) for text in texts]
    places = [number for number in numbers if number is not None]
    if len(places) < len(texts):
        raise refusals.invalid()
    start_row, start_column, end_row, end_column = places
    return module.text_range((start_row, start_column), (end_row, end_column))


@route('GET', '/rw/rapid/tasks/{task}/modules/{module}/text/range')
async def _read_range(call: Call) -> Reply:
    module = _module(call)
    return await _text(module, module.text[_range(module, call.query)])


@route('GET', '/rw/rapid/tasks/{task}/modules/{module}/text/search')
def _search(call: Call) -> Reply:
    module, wanted = _module(call), call.query.get('text', '')
    if not wanted:
        raise refusals.invalid()
    places = [
        (row, line.find(wanted) + 1)
        for row, line in enumerate(module.text.splitlines(), start=1)
        if wanted in line
    ]
    if not places:
        return NOTHING
    return one(
        'rap-text-position', module.name, {'row': str(places[0][0]), 'column': str(places[0][1])}
    )


@route('GET', '/rw/rapid/modules/{module}/routine')
@route('GET', '/rw/rapid/modules/{task}/{module}/routines')
def _routines(call: Call) -> Reply:
    return Reply(
        tuple(
            Item('rap-routine', name, {'name': name, 'type': kind})
            for name, kind, _ in _module(call).routines
        ),
        'routines',
    )


@route('POST', '/rw/rapid/modules/{module}')
async def _act(call: Call) -> Reply:
    module, form, controller = _module(call), call.form, call.controller
    if call.action == 'save' and form.get('name') and form.get('path'):
        extension = '.mod' if call.generation == 1 else '.modx'
        controller.store.write(
            f'{normal_path(form["path"])}/{form["name"]}{extension}', module.text.encode()
        )
    elif call.action == 'set-module-text' and 'text' in form:
        controller.edit_module(call.session, module, await controller.compiled(form['text']))
    elif (
        call.action == 'set-text-range'
        and 'text' in form
        and form.get('replace-mode') in ('After', 'Before', 'Replace')
    ):
        where = _range(module, form)
        first = where.stop if form['replace-mode'] == 'After' else where.start
        last = where.stop if form['replace-mode'] == 'Replace' else first
        text = module.text[:first] + form['text'] + module.text[last:]
        controller.edit_module(call.session, module, await controller.compiled(text))
    else:
        raise refusals.invalid()
    return NOTHING


@route('POST', '/rw/rapid/tasks/{task}')
async def _act_on_task(call: Call) -> Reply:
    task, form, controller = task_of(call), call.form, call.controller
    if call.action in ('activate', 'deactivate'):
        controller.activate_task(call.session, task, call.action == 'activate')
    elif call.action == 'loadmod' and form.get('modulepath'):
        return await _load(call, form['modulepath'], form.get('replace', 'false').lower() == 'true')
    elif call.action == 'unloadmod' and form.get('module'):
        controller.unload_module(call.session, form['module'])
    elif call.action == 'build':
        controller.access.require_edit(call.session)
    elif call.action == 'holdtorun':
        controller.require_manual()
    else:
        raise refusals.invalid()
    return NOTHING


async def _load(call: Call, path_text: str, replace: bool) -> Reply:
    path = normal_path(path_text)
    if path not in call.controller.store.files:
        raise refusals.no_module_file()
    text = call.controller.store.read(path).decode('utf-8', errors='replace')
    module = await call.controller.compiled(text, path)
    call.controller.load_module(call.session, module, replace)
    return (
        NOTHING if call.generation == 1 else one('rap-module', module.name, {'name': module.name})
    )


# programs


@route('GET', '/rw/rapid/tasks/{task}/program')
def _program(call: Call) -> Reply:
    task_of(call)
    return one(
        'rap-program',
        'program',
        {'name': call.controller.settings['program'], 'entrypoint': 'main'},
    )


@route('GET', '/rw/rapid/tasks/{task}/program/{what}')
def _program_part(call: Call) -> Reply:
    task_of(call)
    if call.parts['what'] not in ('breakpoint', 'breakpoints', 'builderror'):
        raise refusals.no_resource()
    return Reply((), call.parts['what'])


@route('POST', '/rw/rapid/tasks/{task}/program')
async def _act_on_program(call: Call) -> Reply:
    task_of(call)
    controller, form, store = call.controller, call.form, call.controller.store
    if call.action == 'loadprog' and form.get('progpath'):
        path = normal_path(form['progpath'])
        listed = re.findall(
            r'<Module>([^<]*+)</Module>', store.read(path).decode('utf-8', errors='replace')
        )
        if len(listed) > MOST_MODULES:
            raise refusals.limit_reached('Too many modules')
        contents = [store.read(f'{path.rpartition("/")[0]}/{name.strip()}') for name in listed]
        modules = [
            await controller.compiled(content.decode('utf-8', errors='replace'))
            for content in contents
        ]
        controller.load_program(call.session, modules, form.get('loadmode', 'replace') == 'replace')
        controller.settings['program'] = path.rpartition('/')[2].removesuffix('.pgf')
    elif call.action == 'unloadprog':
        controller.load_program(call.session, [], replace_old=True)
    elif call.action == 'save' and form.get('path'):
        _save(call, normal_path(form['path']))
    elif call.action == 'setname' and form.get('name'):
        controller.settings['program'] = form['name']
    elif call.action == 'set-entrypoint' and form.get('routine'):
        controller.set_pointer(call.session, '', form['routine'])
    else:
        raise refusals.invalid()
    return NOTHING


def _save(call: Call, folder: str) -> None:
    name = folder.rpartition('/')[2]
    modules = [m for m in call.controller.memory.modules.values() if m.kind == 'ProgMod']
    for module in modules:
        call.controller.store.write(f'{folder}/{module.name}.mod', module.text.encode())
    listed = ''.join(f'\t<Module>{module.name}.mod</Module>\r\n' for module in modules)
    text = f'<?xml version="1.0" encoding="ISO-8859-1" ?>\r\n<Program>\r\n{listed}</Program>\r\n'
    call.controller.store.write(f'{folder}/{name}.pgf', text.encode())
