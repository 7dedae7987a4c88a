"""A message queue between RAPID programs (DIPC)."""

from collections import deque
from dataclasses import dataclass, field


@dataclass
class MessageQueue:
    """A queue with its limits and the messages that wait in it.

    Attributes:
        slot: Number that the controller gave the queue.
        size: Largest count of messages.
        message_size: Largest length of a message [characters].
    """

    name: str
    slot: int
    size: int
    message_size: int
    messages: deque[dict[str, str]] = field(default_factory=deque)
