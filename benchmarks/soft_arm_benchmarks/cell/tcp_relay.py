"""Relay TCP connections so that they can fall silent, as if a network cable had been pulled."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

_T = TypeVar('_T')


class TcpRelay:
    """Relay a free port of 127.0.0.1 to another port while the context is open.

    Attributes:
        port: The free port, known once the context is open.
        silent: While true, no data passes in either direction, and no connection is closed.
    """

    def __init__(self, target_port: int):
        self.silent = False
        self.port = 0
        self._target_port = target_port
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name='tcp relay', daemon=True
        )
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task] = set()

    def __enter__(self) -> 'TcpRelay':
        self._thread.start()
        self._server = self._call(asyncio.start_server(self._connected, '127.0.0.1', 0))
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_exception: object) -> None:
        self._call(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _call(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(5.0)

    async def _close(self) -> None:
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            device_reader, device_writer = await asyncio.open_connection(
                '127.0.0.1', self._target_port
            )
        except OSError:
            writer.transport.abort()
            return
        self._writers.add(device_writer)
        for source, target in ((reader, device_writer), (device_reader, writer)):
            task = asyncio.create_task(self._pass_on(source, target))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pass_on(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(4096):
                if not self.silent:
                    target.write(data)
                    await target.drain()
        except ConnectionError:
            pass  # the other direction ends as well
        finally:
            target.close()
            self._writers.discard(target)
