"""Clients of services and actions that exist only while a node offers them."""

import threading
from collections.abc import Callable
from typing import Any

LOOKS_UNTIL_GONE = 2  # answers of a server that has just ended are still processed meanwhile


class Server:
    """A service or an action of another node.

    `ros2 action list` and `ros2 service list` also report names that only a client uses. The client
    therefore exists only while a node offers the server. It is used and replaced in the thread of
    the session.

    Args:
        name: Full name of the service or action.
        count: Returns the number of nodes that offer it.
        create: Creates the client.
        is_ready: Returns whether a client has found its server.
        destroy: Destroys a client.
        on_gone: Callback when the client has been destroyed.

    Attributes:
        client: The client; None while no node offers it.
    """

    def __init__(
        self,
        name: str,
        *,
        count: Callable[[], int],
        create: Callable[[], Any],
        is_ready: Callable[[Any], bool],
        destroy: Callable[[Any], Any],
        on_gone: Callable[[], None] = lambda: None,
    ):
        self.name, self.client = name, None
        self._count, self._create, self._is_ready = count, create, is_ready
        self._destroy, self._on_gone = destroy, on_gone
        self._missed, self._in_use = 0, threading.Lock()

    @property
    def offered(self) -> bool:
        """Whether the server can be called; in any thread."""
        with self._in_use:
            return self.client is not None and self._is_ready(self.client)

    def look(self) -> None:
        """Create the client of a new server; destroy that of a server that has ended."""
        if self._count() > 0:
            self._missed = 0
            if self.client is None:
                self.client = self._create()
            return
        self._missed += 1
        if self.client is None or self._missed < LOOKS_UNTIL_GONE:
            return
        with self._in_use:
            client, self.client = self.client, None
            self._destroy(client)
        self._on_gone()
