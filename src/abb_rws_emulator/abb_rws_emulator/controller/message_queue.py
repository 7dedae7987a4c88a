"""Message queue between RAPID programs (DIPC)."""

from collections import deque
from dataclasses import dataclass, field


@dataclass
class MessageQueue:
    """Queue with limits on the number of messages and on their length [characters]."""

    name: str
    slot: int
    size: int
    message_size: int
    messages: deque[dict[str, str]] = field(default_factory=deque)
