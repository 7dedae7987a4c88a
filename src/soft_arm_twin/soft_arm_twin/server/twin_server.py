"""Server of one source for any number of pages."""

import asyncio
import secrets
import time

from aiohttp import WSCloseCode, WSMessage, WSMsgType, web

from soft_arm_twin.errors import TwinError
from soft_arm_twin.server import encoding
from soft_arm_twin.server.commands import carry_out, refusal
from soft_arm_twin.server.messages import (
    MAX_BYTES,
    MAX_PER_SECOND,
    Command,
    MessageError,
    Release,
    Take,
    parse,
)
from soft_arm_twin.server.newest import RATE_HZ, Taker
from soft_arm_twin.server.ownership import Ownership
from soft_arm_twin.server.page import Page
from soft_arm_twin.source import Answer, Source

MAX_PAGES = 16
OWNER_TIMEOUT_S = 5.0
_PING_TIMEOUT_S = 20.0


class TwinServer:
    """Pages, owner of the control, and the loop that sends data."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._session = secrets.token_hex(8)
        self._taker = Taker(source)
        self._ownership = Ownership()
        self._pages: dict[Page, web.WebSocketResponse] = {}
        self._count = 0
        self._someone = asyncio.Event()
        self._commands: set[asyncio.Task[None]] = set()

    async def draw(self) -> None:
        """Request and offer the newest data, 30 times a second while a page is open."""
        due_s = time.monotonic()
        while True:
            await self._someone.wait()
            self._taker.tick()
            for page in self._pages:
                page.offer(self._taker.newest)
            self._release_silent_owner()
            now_s = time.monotonic()
            due_s = max(due_s + 1 / RATE_HZ, now_s)
            await asyncio.sleep(due_s - now_s)

    async def close(self) -> None:
        """Notify all pages of the shutdown and cancel running commands."""
        for task in self._commands:
            task.cancel()
        closing = [
            socket.close(code=WSCloseCode.GOING_AWAY, message=b'the twin has ended')
            for socket in self._pages.values()
        ]
        await asyncio.gather(*closing, *self._commands, return_exceptions=True)

    async def socket(self, request: web.Request) -> web.StreamResponse:
        """Serve a page until it disconnects."""
        if len(self._pages) >= MAX_PAGES:
            raise web.HTTPServiceUnavailable(text=f'{MAX_PAGES} pages are open: close one')
        socket = web.WebSocketResponse(
            max_msg_size=MAX_BYTES, heartbeat=_PING_TIMEOUT_S, timeout=1.0, compress=False
        )
        await socket.prepare(request)
        self._count += 1
        page = Page(f'page {self._count}', socket)
        self._pages[page] = socket
        self._someone.set()
        hello = {'title': self._source.title, 'page': page.name, 'session': self._session}
        page.note(encoding.text('hello', **hello))
        page.note(self._owner_text(page))
        sender = asyncio.create_task(page.send())
        try:
            await self._listen(page, socket)
        finally:
            sender.cancel()
            del self._pages[page]
            if not self._pages:
                self._someone.clear()
            self._release(page)
        return socket

    async def _listen(self, page: Page, socket: web.WebSocketResponse) -> None:
        async for message in socket:
            if page.floods():
                why = f'more than {MAX_PER_SECOND} messages in 1 s'
            elif page.deaf:
                why = 'answers are not read'
            else:
                self._handle(page, message)
                await asyncio.sleep(0)  # lets the command and other pages run
                continue
            await socket.close(code=WSCloseCode.POLICY_VIOLATION, message=why.encode())
            return

    def _handle(self, page: Page, raw: WSMessage) -> None:
        try:
            if raw.type is not WSMsgType.TEXT:
                raise MessageError('not a message: text is expected')
            message = parse(raw.data)
            if isinstance(message, Command):
                self._command(page, message)
            elif isinstance(message, Take):
                if self._ownership.take(page.name, time.monotonic()):
                    self._tell_owner()
            elif isinstance(message, Release):
                self._release(page)
            elif not page.shown(message.number):
                raise MessageError(f'frames {message.number} are not waited for')
        except TwinError as error:
            _answer(page, None, '', Answer(accepted=False, text=str(error)))

    def _command(self, page: Page, command: Command) -> None:
        control = self._taker.controls.get(command.control)
        owner = self._ownership.owner
        why = refusal(control, command.control, page.name, owner, page.commands)
        if control is None or why:
            _answer(page, command.id, command.control, Answer(accepted=False, text=why))
            return

        async def act() -> None:
            page.commands += 1
            answer = await carry_out(self._source, control, command.value, owner == page.name)
            page.commands -= 1
            _answer(page, command.id, command.control, answer)

        task = asyncio.create_task(act())
        self._commands.add(task)
        task.add_done_callback(self._commands.discard)

    def _release(self, page: Page) -> None:
        if self._ownership.release(page.name, time.monotonic()):
            self._source.released()
            self._tell_owner()

    def _release_silent_owner(self) -> None:
        for page in self._pages:
            silent_s = time.monotonic() - page.received_s
            if page.name == self._ownership.owner and silent_s > OWNER_TIMEOUT_S:
                self._release(page)
                break

    def _tell_owner(self) -> None:
        for page in self._pages:
            page.note(self._owner_text(page))

    def _owner_text(self, page: Page) -> str:
        owner = self._ownership.owner
        age_s = time.monotonic() - self._ownership.since_s if owner else None
        return encoding.text('owner', owner=owner, age_s=age_s, you=owner == page.name)


def _answer(page: Page, number: int | None, control: str, answer: Answer) -> None:
    page.note(encoding.text('answer', id=number, control=control, **vars(answer)))
