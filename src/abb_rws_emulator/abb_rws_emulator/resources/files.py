"""File service: list a folder, read, write and delete a file."""

from abb_rws_emulator.controller.file_store import normal_path
from abb_rws_emulator.http.rendering import NO_CONTENT, Item, Reply
from abb_rws_emulator.http.routing import Call, route


@route('GET', '/fileservice/{path*}')
def _read(call: Call) -> Reply:
    store, path = call.controller.store, normal_path(call.parts['path'])
    if path in store.files:
        return Reply(content=store.files[path])
    items = []
    for name in store.inside(path):
        content = store.files.get(f'{path}/{name}')
        fields = {} if content is None else {'fs-size': len(content), 'fs-readonly': 'false'}
        kind = 'fs-dir' if content is None else 'fs-file'
        items.append(Item(kind, name, fields, {'self': name}))
    return Reply(tuple(items), 'fileservice')


@route('PUT', '/fileservice/{path*}')
def _write(call: Call) -> Reply:
    created = call.controller.store.write(normal_path(call.parts['path']), call.content)
    return Reply((), 'fileservice', status=201 if created else 200)


@route('DELETE', '/fileservice/{path*}')
def _delete(call: Call) -> Reply:
    call.controller.store.delete(normal_path(call.parts['path']))
    return NO_CONTENT
