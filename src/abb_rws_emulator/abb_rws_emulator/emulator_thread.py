"""Emulated controller in a thread, for callers without an event loop."""

import asyncio
import threading
from contextlib import AsyncExitStack

from abb_rws_emulator.control_port import ControlPort
from abb_rws_emulator.http.server import Emulator, Options


class EmulatorThread:
    """Emulator in a thread; `start` and `stop` may be called from any thread.

    Args:
        options: Options of the emulator.
        control_port: TCP port of the control port on 127.0.0.1; None for no control port.
    """

    def __init__(self, options: Options, control_port: int | None = None):
        self._options, self._control_port = options, control_port
        self._devices = AsyncExitStack()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name='rws emulator', daemon=True
        )
        self.emulator: Emulator | None = None

    def start(self, timeout_s: float = 5.0) -> None:
        """Start the emulator and return when its ports are open.

        Raises:
            OSError: If a port cannot be opened.
        """
        self._thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self._open(), self._loop).result(timeout_s)
        except OSError:
            self.stop()
            raise

    def stop(self, timeout_s: float = 5.0) -> None:
        """Close the ports and every connection, and end the thread."""
        if not self._thread.is_alive():
            return
        asyncio.run_coroutine_threadsafe(self._devices.aclose(), self._loop).result(timeout_s)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout_s)
        self._loop.close()

    async def _open(self) -> None:
        self.emulator = await self._devices.enter_async_context(Emulator(self._options))
        if self._control_port is not None:
            await self._devices.enter_async_context(
                ControlPort(self.emulator, '127.0.0.1', self._control_port)
            )
