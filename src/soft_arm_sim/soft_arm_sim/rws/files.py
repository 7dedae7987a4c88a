"""The controller's file service: just enough for a client to keep its modules there."""

from aiohttp import web

from soft_arm_sim.rws import refusals
from soft_arm_sim.rws.rendering import Format, Item, Reply, response

ROOTS = ('$HOME', '$TEMP', '$RAMDISK', 'HOME', 'TEMP')
LARGEST_BYTES = 8 << 20


def file_response(files: dict[str, bytes], method: str, path: str, content: bytes, style: Format) -> web.Response:
    """Answer to GET, PUT and DELETE of a file, and GET of a folder."""
    path = path.rstrip('/')
    if method == 'PUT':
        if len(content) > LARGEST_BYTES:
            raise refusals.limit_reached('File too large')
        created = path not in files
        files[path] = content
        return web.Response(status=201 if created else 200, headers={'Content-Type': style.content_type})
    if method == 'DELETE':
        if files.pop(path, None) is None:
            raise refusals.no_file()
        return web.Response(status=204)
    if method != 'GET':
        raise refusals.no_resource()
    if path in files:
        return web.Response(body=files[path], headers={'Content-Type': 'application/octet-stream'})
    inside = sorted(name[len(path) + 1 :] for name in files if name.startswith(f'{path}/'))
    if not inside and path not in ROOTS and not path.startswith('/'):
        raise refusals.no_file()
    names = dict.fromkeys(name.partition('/')[0] for name in inside)
    items = tuple(
        Item('fs-file' if f'{path}/{n}' in files else 'fs-dir', n, {'fs-size': len(files.get(f'{path}/{n}', b''))}) for n in names
    )
    return response(Reply(items, 'fileservice'), style)
