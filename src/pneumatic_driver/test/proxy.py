"""A TCP proxy between driver and device that can misbehave.

Freeze, cut, and drop, delay, repeat or split answers.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable

HEADER = 6  # of a Modbus TCP frame: transaction id, protocol, length of the rest


class Proxy:
    """Forwards whole frames to `port`; listens on `self.port`.

    Faults are set from the test's thread and hold until changed.

    `answers` makes of every answer what is sent instead: (delay [s], bytes) one after the other;
    None sends it as it is.
    """

    def __init__(self, port: int):
        self._target = port
        self.frozen = False
        self.answers: Callable[[bytes], list[tuple[float, bytes]]] | None = None
        self.requests = []  # every request PDU that passed, without its transaction id
        self._writers = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name='proxy')
        self._thread.start()
        self._server = self._call(asyncio.start_server(self._accept, '127.0.0.1', 0))
        self.port = self._server.sockets[0].getsockname()[1]
        self.link = {'host': '127.0.0.1', 'port': self.port}

    def _call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(3.0)

    def cut(self) -> None:
        """Reset every connection."""

        async def abort():
            for writer in self._writers:
                writer.transport.abort()
            self._writers.clear()

        self._call(abort())

    def stop(self) -> None:
        async def close():
            self._server.close()
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()

        self.cut()
        self._call(close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(3.0)
        self._loop.close()

    async def _accept(self, reader, writer):
        try:
            device_reader, device_writer = await asyncio.open_connection('127.0.0.1', self._target)
        except OSError:
            writer.close()
            return
        self._writers += [writer, device_writer]
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(
                self._pump(reader, device_writer, False), self._pump(device_reader, writer, True)
            )

    async def _pump(self, reader, writer, answers: bool):
        try:
            while True:
                header = await reader.readexactly(HEADER)
                frame = header + await reader.readexactly(int.from_bytes(header[4:]))
                if self.frozen:
                    continue
                if not answers:
                    self.requests.append(frame[HEADER:])
                for delay_s, data in (
                    self.answers(frame) if answers and self.answers else [(0.0, frame)]
                ):
                    await asyncio.sleep(delay_s)
                    writer.write(data)
        except (ConnectionError, asyncio.CancelledError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
