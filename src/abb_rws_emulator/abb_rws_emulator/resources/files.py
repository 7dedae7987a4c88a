"""The file service."""

import re

from abb_rws_emulator import refusals
from abb_rws_emulator.controller.file_store import ROOTS, normal_path
from abb_rws_emulator.http.rendering import NOTHING, Item, Reply
from abb_rws_emulator.http.routing import Call, route


@route('GET', '/fileservice')
def _volumes(call: Call) -> Reply:
    kind, sign = ('fs-device', '$') if call.generation == 1 else ('fs-dir', '')
    return Reply(
        tuple(Item(kind, f'{sign}{name}', {}, {'self': f'{sign}{name}'}) for name in ROOTS),
        'fileservice',
    )


@route('GET', '/fileservice/{path*}')
def _read(call: Call) -> Reply:
    store, path = call.controller.store, normal_path(call.parts['path'])
    if path in store.files:
        return Reply(content=store.files[path])
    stamp = {'fs-cdate': '2026-01-01 T 00:00:00', 'fs-mdate': '2026-01-01 T 00:00:00'}
    items = []
    for name in store.inside(path):
        inner = f'{path}/{name}'
        if inner in store.files:
            changed = store.changed[inner].strftime('%Y-%m-%d T %H:%M:%S')
            fields = {
                'fs-cdate': changed,
                'fs-mdate': changed,
                'fs-size': len(store.files[inner]),
                'fs-readonly': 'false',
            }
            items.append(Item('fs-file', name, fields, {'self': name}))
        else:
            items.append(Item('fs-dir', name, stamp, {'self': name}))
    return Reply(tuple(items), 'fileservice')


@route('PUT', '/fileservice/{path*}')
def _write(call: Call) -> Reply:
    created = call.controller.store.write(normal_path(call.parts['path']), call.content)
    return Reply((), 'fileservice', status=201 if created else 200)


@route('DELETE', '/fileservice/{path*}')
def _delete(call: Call) -> Reply:
    call.controller.store.delete(normal_path(call.parts['path']))
    return NOTHING


@route('POST', '/fileservice/{path*}')
def _act(call: Call) -> Reply:
    text, action = call.parts['path'], call.form.get('fs-action', '')
    if call.generation == 2:
        text, _, action = text.rpartition('/')
    store, path, name = call.controller.store, normal_path(text), call.form.get('fs-newname', '')
    if action not in ('create', 'copy', 'rename') or not re.fullmatch(r'[^/\\:*?"<>|]+', name):
        raise refusals.invalid()
    if action == 'create':
        store.inside(path)
        if f'{path}/{name}' in {*store.files, *store.folders}:
            raise refusals.name_taken()
        store.make_folder(f'{path}/{name}')
        return Reply((), 'fileservice', status=201)
    target = f'{path.rpartition("/")[0]}/{name}'
    if target in store.files and call.form.get('fs-overwrite', 'false').lower() not in (
        'true',
        '1',
    ):
        raise refusals.name_taken()
    store.write(target, store.read(path))
    if action == 'rename':
        store.delete(path)
        return NOTHING
    return Reply((), 'fileservice', status=201)
