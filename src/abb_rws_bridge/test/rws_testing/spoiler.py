"""Proxy that replaces HTTP responses with malformed ones."""

import asyncio
import re
from contextlib import asynccontextmanager

_LENGTH = re.compile(rb'\r\ncontent-length: *(\d+)', re.IGNORECASE)


class Spoiler:
    """Relay requests to a controller on 127.0.0.1, or send malformed responses.

    Attributes:
        port: Port for the client.
        garbage: Sent instead of a response, then the connection is closed; None relays. A callable
            maps the response of the controller to the response to send.
        only: Part of the affected request lines; others are relayed.
        spoilt: Number of malformed responses.
    """

    def __init__(self, target_port: int):
        self.port, self.spoilt = 0, 0
        self.garbage, self.only = None, b''
        self._target_port = target_port
        self._websockets: list[asyncio.StreamWriter] = []
        self._tasks: set[asyncio.Task] = set()

    def inject(self, frames: bytes) -> None:
        """Send bytes to the client on every open WebSocket."""
        for writer in self._websockets:
            writer.write(frames)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        task = asyncio.current_task()
        self._tasks.add(task)
        upstream = None
        try:
            while True:
                request = await _message(reader)
                if upstream is None:
                    upstream = await asyncio.open_connection('127.0.0.1', self._target_port)
                spoils = self.garbage is not None and self.only in request.partition(b'\r\n')[0]
                self.spoilt += spoils
                if spoils and isinstance(self.garbage, bytes):
                    writer.write(self.garbage)
                    await writer.drain()
                    return
                upstream[1].write(request)
                answer = await _message(upstream[0])
                writer.write(self.garbage(answer) if spoils else answer)
                if answer.startswith(b'HTTP/1.1 101'):
                    await self._relay(reader, writer, *upstream)
                    return
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()
            if upstream is not None:
                upstream[1].close()

    async def _relay(self, reader, writer, upstream_reader, upstream_writer) -> None:
        self._websockets.append(writer)
        ways = [
            asyncio.create_task(_copy(reader, upstream_writer)),
            asyncio.create_task(_copy(upstream_reader, writer)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._websockets.remove(writer)
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)

    async def end(self) -> None:
        """End every connection."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@asynccontextmanager
async def spoiler(target_port: int, port: int = 0):
    """Running Spoiler."""
    made = Spoiler(target_port)
    server = await asyncio.start_server(made.serve, '127.0.0.1', port)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
        await made.end()


async def _message(reader: asyncio.StreamReader) -> bytes:
    """Return a complete request or response."""
    head = await reader.readuntil(b'\r\n\r\n')
    length = _LENGTH.search(head)
    return head + (await reader.readexactly(int(length[1])) if length else b'')


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1 << 16):
        writer.write(data)
