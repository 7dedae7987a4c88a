"""One connected page: what it has been sent, and what it has sent."""

import asyncio
import time
from collections import deque

from aiohttp import web

from soft_arm_twin.server import encoding
from soft_arm_twin.server.messages import MAX_PER_SECOND
from soft_arm_twin.server.newest import Newest

MAX_UNSENT = 400  # answers and notes of who has control


class Page:
    """Sends a page what is newest when the page is ready for it, so nothing queues up.

    A round is everything that is new, and frames last. The next round waits until the page has
    acknowledged these frames: a slow page gets fewer rounds, and never old data. Only answers, and
    who has control, do not wait.

    Attributes:
        name: Shown to all pages.
        heard_s: When the page last sent anything (monotonic) [s].
        commands: How many of its commands are under way.
    """

    def __init__(self, name: str, socket: web.WebSocketResponse) -> None:
        self.name = name
        self.heard_s = time.monotonic()
        self.commands = 0
        self._socket = socket
        self._notes: deque[str] = deque()
        self._wake = asyncio.Event()
        self._newest = Newest()
        self._sent = Newest()
        self._last_event = -1
        self._unshown: int | None = None
        self._received_s: deque[float] = deque(maxlen=MAX_PER_SECOND)

    def floods(self) -> bool:
        """Count one message received; tell whether there were too many within a second."""
        self.heard_s = time.monotonic()
        full = len(self._received_s) == MAX_PER_SECOND
        too_many = full and self.heard_s - self._received_s[0] < 1.0
        self._received_s.append(self.heard_s)
        return too_many

    def note(self, text: str) -> None:
        """Send a message as soon as possible."""
        self._notes.append(text)
        self._wake.set()

    @property
    def deaf(self) -> bool:
        """Whether the page sends without reading the answers."""
        return len(self._notes) > MAX_UNSENT

    def offer(self, newest: Newest) -> None:
        """Make this the next round."""
        self._newest = newest
        self._wake.set()

    def shown(self, number: int) -> bool:
        """Open the next round; return false if no such frames are on their way."""
        if number != self._unshown:
            return False
        self._unshown = None
        self._wake.set()
        return True

    async def send(self) -> None:
        """Send until cancelled, or until the page is gone."""
        try:
            while not self._socket.closed:
                await self._wake.wait()
                self._wake.clear()
                while self._notes:
                    await self._socket.send_str(self._notes.popleft())
                if self._unshown is None and self._newest.number != self._sent.number:
                    await self._send_round(self._newest)
        except ConnectionError:
            return

    async def _send_round(self, newest: Newest) -> None:
        sent, self._sent, self._unshown = self._sent, newest, newest.number % 2**32
        socket = self._socket
        if newest.scene_number != sent.scene_number:
            await socket.send_str(newest.scene)
        if newest.panel_number != sent.panel_number:
            await socket.send_str(newest.panel)
            if events := newest.events_after(self._last_event):
                await socket.send_str(events)
                self._last_event = newest.events[-1].number
        image, cloud = newest.image, newest.cloud
        if image and (sent.image is None or image.number != sent.image.number):
            await socket.send_bytes(
                encoding.binary(encoding.IMAGE, image.stamp_s, image.number, image.data)
            )
        if cloud and (sent.cloud is None or cloud[0] != sent.cloud[0]):
            number, stamp_s, payload = cloud
            await socket.send_bytes(encoding.binary(encoding.CLOUD, stamp_s, number, payload))
        await socket.send_bytes(
            encoding.binary(encoding.FRAMES, newest.stamp_s, newest.number, newest.frames)
        )
