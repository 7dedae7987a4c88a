"""A TCP proxy between driver and device that can freeze and cut their connections."""

import asyncio
import contextlib
import threading


class Proxy:
    """Forwards to `port`; listens on `self.port`. While `frozen` it forwards nothing."""

    def __init__(self, port: int):
        self._target = port
        self.frozen = False
        self._writers = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name='proxy')
        self._thread.start()
        self._server = self._call(asyncio.start_server(self._accept, '127.0.0.1', 0))
        self.link = {'host': '127.0.0.1', 'port': self._server.sockets[0].getsockname()[1]}

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
                self._forward(reader, device_writer), self._forward(device_reader, writer)
            )

    async def _forward(self, reader, writer):
        try:
            while data := await reader.read(4096):
                if not self.frozen:
                    writer.write(data)
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
