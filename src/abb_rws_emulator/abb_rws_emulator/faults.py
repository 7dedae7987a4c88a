"""Faults injected into the responses while clients are connected."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, fields

from aiohttp import web


@dataclass
class Faults:
    """Faults that are switched on; every field can be set over the control port.

    Attributes:
        latency_s: Delay before every response [s].
        silent: Accept requests and never respond (half-open), WebSockets included.
        websocket_silent: Silence WebSockets only.
        truncate: Send half of every body, then close.
        stall: Send half of every body, then nothing.
        html_500: Respond with an HTML page and status 500.
        wrong_type: Declare the body as text/plain and drop its last characters.
        busy: Respond with status 503.
        maximum_rate_hz: Respond with status 503 above this request rate; 0 for no limit.
        only: Prefix of the affected paths; empty for all.
    """

    latency_s: float = 0.0
    silent: bool = False
    websocket_silent: bool = False
    truncate: bool = False
    stall: bool = False
    html_500: bool = False
    wrong_type: bool = False
    busy: bool = False
    maximum_rate_hz: float = 0.0
    only: str = ''
    starts_s: deque[float] = field(default_factory=deque, repr=False)

    def clear(self) -> None:
        """Switch all faults off; hanging requests stay unanswered."""
        for spec in fields(self):
            if spec.name != 'starts_s':
                setattr(self, spec.name, spec.default)

    async def apply(
        self, request: web.Request, handle: Callable[[], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """Respond to a request, with the faults applied."""
        now_s = asyncio.get_running_loop().time()
        self.starts_s.append(now_s)
        while now_s - self.starts_s[0] >= 1.0:
            self.starts_s.popleft()
        if not request.path.startswith(self.only):
            return await handle()
        if self.latency_s:
            await asyncio.sleep(self.latency_s)
        if self.silent:
            await asyncio.get_running_loop().create_future()  # until the client disconnects
        if self.busy or (self.maximum_rate_hz and len(self.starts_s) > self.maximum_rate_hz):
            return web.Response(status=503)
        if self.html_500:
            return web.Response(
                status=500,
                text='<html><body><h1>Internal Server Error</h1>',
                content_type='text/html',
            )
        answer = await handle()
        if not (self.truncate or self.stall or self.wrong_type):
            return answer
        body = answer.body if isinstance(answer, web.Response) else None
        return await self._spoil(request, answer, body) if isinstance(body, bytes) else answer

    async def _spoil(
        self, request: web.Request, answer: web.StreamResponse, body: bytes
    ) -> web.StreamResponse:
        cookies = [('Set-Cookie', cookie) for cookie in answer.headers.getall('Set-Cookie', [])]
        if self.wrong_type:
            return web.Response(
                status=answer.status,
                body=body[:-3],
                headers=[('Content-Type', 'text/plain'), *cookies],
            )
        headers = [
            ('Content-Type', answer.headers['Content-Type']),
            ('Content-Length', str(len(body))),
            *cookies,
        ]
        spoiled = web.StreamResponse(status=answer.status, headers=headers)
        await spoiled.prepare(request)
        await spoiled.write(body[: len(body) // 2])
        if self.stall:
            await asyncio.get_running_loop().create_future()
        if request.transport is not None:
            request.transport.close()
        return spoiled
