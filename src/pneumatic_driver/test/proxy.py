"""A TCP proxy between driver and board that can misbehave: freeze, delay answers, drop the connection."""

import asyncio
import threading


class Proxy:
    """Forwards to `port`; listens on `self.port`. Faults are set from the test's thread and hold until changed."""

    def __init__(self, port: int):
        self._target = port
        self.frozen = False
        self.answer_delay_s = 0.0
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
        board_reader, board_writer = await asyncio.open_connection('127.0.0.1', self._target)
        self._writers += [writer, board_writer]
        await asyncio.gather(self._pump(reader, board_writer, False), self._pump(board_reader, writer, True))

    async def _pump(self, reader, writer, answers: bool):
        try:
            while data := await reader.read(1024):
                if self.frozen:
                    continue
                if answers and self.answer_delay_s:
                    await asyncio.sleep(self.answer_delay_s)
                elif not answers:
                    self.requests.append(data[6:])
                writer.write(data)
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
