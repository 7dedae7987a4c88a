"""A page without a picture: what a browser's page says and hears."""

import asyncio
import json
import struct
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp

_HEADER = struct.Struct('<BdI')


@dataclass(frozen=True)
class Heard:
    """A message of the server.

    Attributes:
        kind: Its `type`, or 1, 2, 3 for frames, picture and cloud.
        at_s: When it was received (monotonic) [s].
        content: Of a JSON message; of a binary one `age_s`, `number` and `payload`.
        n_bytes: Length on the wire, without the header of the frame.
    """

    kind: str | int
    at_s: float
    content: dict[str, Any]
    n_bytes: int


class RawPage:
    """Reads and acknowledges in the background.

    Attributes:
        heard: Everything received; payloads of frames, pictures and clouds only if `keep` is true.
        reads: Clear it and the page stops reading.
        acknowledges: Whether frames are acknowledged.
        closed: Code and reason once the server has closed the socket.
    """

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, keep: bool) -> None:
        self.heard: list[Heard] = []
        self.reads = asyncio.Event()
        self.reads.set()
        self.acknowledges = True
        self.closed: tuple[int | None, str] | None = None
        self.socket = socket
        self._keep = keep
        self._news = asyncio.Condition()
        self._ids = iter(range(2**53))

    async def send(self, **message: object) -> None:
        """Send a JSON message."""
        await self.socket.send_str(json.dumps(message))

    async def command(self, control: str, value: object = None) -> dict[str, Any]:
        """Send a command and return the content of its answer."""
        number = next(self._ids)
        start = len(self.heard)
        await self.send(type='command', id=number, control=control, value=value)
        return (await self.hear('answer', lambda c: c['id'] == number, start)).content

    async def hear(
        self,
        kind: str | int,
        where: Callable[[dict[str, Any]], bool] = lambda content: True,
        start: int | None = None,
        timeout_s: float = 20.0,
    ) -> Heard:
        """Wait for the first message of a kind, from the message with index `start` on.

        Without `start`, messages already received do not count.
        """
        position = len(self.heard) if start is None else start
        async with asyncio.timeout(timeout_s), self._news:
            while True:
                while position < len(self.heard):
                    message = self.heard[position]
                    position += 1
                    if message.kind == kind and where(message.content):
                        return message
                await self._news.wait()

    async def end(self, timeout_s: float = 20.0) -> tuple[int | None, str]:
        """Wait until the server closes the socket; return code and reason."""
        async with asyncio.timeout(timeout_s), self._news:
            await self._news.wait_for(lambda: self.closed is not None)
        return self.closed or (None, '')

    async def read(self) -> None:
        """Read until the socket is closed."""
        while True:
            message = await self.socket.receive()
            await self.reads.wait()
            if message.type in (aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY):
                await self._note(message.data)
                continue
            async with self._news:
                reason = message.extra if isinstance(message.extra, str) else ''
                self.closed = (self.socket.close_code, reason)
                self._news.notify_all()
            return

    async def _note(self, data: str | bytes) -> None:
        if isinstance(data, str):
            content = json.loads(data)
            heard = Heard(content.pop('type'), time.monotonic(), content, len(data))
        else:
            kind, age_s, number = _HEADER.unpack(data[: _HEADER.size])
            payload = data[_HEADER.size :] if self._keep else b''
            content = {'age_s': age_s, 'number': number, 'payload': payload}
            heard = Heard(kind, time.monotonic(), content, len(data))
            if kind == 1 and self.acknowledges:
                await self.send(type='shown', number=number)
        async with self._news:
            self.heard.append(heard)
            self._news.notify_all()


@asynccontextmanager
async def raw_page(url: str, *, keep: bool = False) -> AsyncIterator[RawPage]:
    """Open a page at the URL that the server printed, token and all."""
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        await (await session.get(url)).read()  # the token becomes a cookie
        address = url.partition('?')[0]
        origin = {'Origin': address.rstrip('/')}
        async with session.ws_connect(address + 'socket', headers=origin, max_msg_size=0) as socket:
            page = RawPage(socket, keep)
            reading = asyncio.create_task(page.read())
            try:
                yield page
            finally:
                reading.cancel()
