"""Serving a source, in an asyncio program or in a thread."""

import asyncio
import errno
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from importlib.resources import files
from pathlib import Path

from aiohttp import web

from soft_arm_twin.errors import AddressError
from soft_arm_twin.server.access import Access, token_for
from soft_arm_twin.server.twin_server import TwinServer
from soft_arm_twin.source import Source

DEFAULT_HOST, DEFAULT_PORT = '127.0.0.1', 8765
PAGE = Path(str(files('soft_arm_twin'))) / 'web'


async def serve(
    source: Source,
    host: str = DEFAULT_HOST,
    port: int = DEFAULT_PORT,
    token: str | None = None,
    ready: Callable[[str], None] = lambda url: None,
    further_hosts: Sequence[str] = (),
) -> None:
    """Serve a source until cancelled; an error of the source also ends the server.

    Args:
        source: Displayed source.
        host: 'localhost' or one IP address of this machine.
        port: TCP port; 0: any free one.
        token: Required token. At an address that other machines can reach, one is created if none
            is given.
        ready: Called with the URL to open as soon as the server listens; it holds the token.
        further_hosts: Further addresses HOST:PORT of the page, as browsers see them.

    Raises:
        AddressError: If the address is not of this machine, or the port is taken.
    """
    token = token_for(host, token)
    listener = _listen(host, port)
    access = Access(host, listener.getsockname()[1], token, tuple(further_hosts))
    server = TwinServer(source)
    app = web.Application(middlewares=[access.middleware])
    app.on_response_prepare.append(access.set_headers)
    app.router.add_get('/', _index)
    app.router.add_get('/socket', server.socket)
    app.router.add_static('/', PAGE)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.SockSite(runner, listener).start()
        ready(access.url)
        await server.draw()
    finally:
        await server.close()
        await runner.cleanup()


@contextmanager
def serving(
    source: Source,
    host: str = DEFAULT_HOST,
    port: int = DEFAULT_PORT,
    token: str | None = None,
    further_hosts: Sequence[str] = (),
) -> Iterator[str]:
    """Serve a source from a thread while the context is open; yield the URL.

    The source is called from that thread. Arguments and errors as in `serve`.
    """
    url: Future[str] = Future()
    stop: Future[Callable[[], object]] = Future()

    async def run() -> None:
        served = serve(source, host, port, token, url.set_result, further_hosts=further_hosts)
        task = asyncio.create_task(served)
        loop = asyncio.get_running_loop()
        stop.set_result(lambda: loop.call_soon_threadsafe(task.cancel))
        try:
            await task
        except asyncio.CancelledError:
            return
        except BaseException as error:
            if url.done():
                raise
            url.set_exception(error)

    thread = threading.Thread(target=lambda: asyncio.run(run()), name='twin server')
    thread.start()
    try:
        yield url.result()
    finally:
        with suppress(RuntimeError):  # the loop is closed after an error of the source
            stop.result()()
        thread.join()


async def _index(request: web.Request) -> web.FileResponse:
    return web.FileResponse(PAGE / 'index.html')


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ':' in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OverflowError:
        raise AddressError(f'port {port}: give a number in 0..65535') from None
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise AddressError(
                f'port {port} of {host} is taken, perhaps by another twin: end it '
                f"(`ss -ltnp 'sport = :{port}'` names it), or give --port"
            ) from None
        raise AddressError(f'cannot listen at {host}:{port}: {error.strerror}') from None
