"""Connection to one page."""

import asyncio
import time
from collections import deque

from aiohttp import web

from soft_arm_twin.server import encoding
from soft_arm_twin.server.messages import MAX_PER_SECOND
from soft_arm_twin.server.newest import Newest

MAX_UNSENT_NOTES = 400


class Page:
    """Send the newest data whenever the page is ready, without a queue.

    A round is all new data, frames last. The next round waits until the page has acknowledged
    these frames: a slow page receives fewer rounds, but never stale data. Only answers and changes
    of the owner do not wait.

    Attributes:
        name: Name displayed on all pages.
        received_s: Time of its last message, monotonic [s].
        commands: Number of its running commands.
    """

    def __init__(self, name: str, socket: web.WebSocketResponse) -> None:
        self.name = name
        self.received_s = time.monotonic()
        self.commands = 0
        self._socket = socket
        self._notes: deque[str] = deque()
        self._wake = asyncio.Event()
        self._newest = Newest()
        self._sent = Newest()
        self._last_event = -1
        self._unshown: int | None = None
        self._recent_s: deque[float] = deque(maxlen=MAX_PER_SECOND)

    def floods(self) -> bool:
        """Count a received message; return whether there are too many within a second."""
        self.received_s = time.monotonic()
        full = len(self._recent_s) == MAX_PER_SECOND
        too_many = full and self.received_s - self._recent_s[0] < 1.0
        self._recent_s.append(self.received_s)
        return too_many

    def note(self, text: str) -> None:
        """Send a message as soon as possible."""
        self._notes.append(text)
        self._wake.set()

    @property
    def deaf(self) -> bool:
        """True if the page sends without reading the answers."""
        return len(self._notes) > MAX_UNSENT_NOTES

    def offer(self, newest: Newest) -> None:
        """Set the data of the next round."""
        self._newest = newest
        self._wake.set()

    def shown(self, number: int) -> bool:
        """Allow the next round; return False if these frames are not in flight."""
        if number != self._unshown:
            return False
        self._unshown = None
        self._wake.set()
        return True

    async def send(self) -> None:
        """Send until cancelled or disconnected."""
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
