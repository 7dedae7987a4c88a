"""One host's hold on a device.

Who commands is part of the protocol
(docs/explanation/adr/0016-who-commands-is-part-of-the-protocol.md).

A host claims the device with a random key, which nobody can read back, and its name, which
everybody can read. From then on every write of it carries the next code of that key as its
heartbeat. Another client cannot do that by accident: neither by counting the heartbeat up nor by
copying or replaying what it sees. The device takes any of the next few codes, so a request that is
lost does no harm. The hold ends when no code has come for the device's watchdog time.
"""

import os
import secrets
import socket
from collections.abc import Sequence

_LONGEST_HOST = 12


def own_name() -> str:
    """Return this process's name for other hosts on the bus: host name and process id."""
    return f'{socket.gethostname()[:_LONGEST_HOST]} {os.getpid()}'


def name_words(name: str, count: int) -> list[int]:
    """Encode a name in `count` registers: two ASCII characters each, the rest zeros."""
    data = name.encode('ascii', 'replace')[: 2 * count].ljust(2 * count, b'\0')
    return [int.from_bytes(data[i : i + 2], 'big') for i in range(0, len(data), 2)]


def name_text(words: Sequence[float]) -> str:
    """Decode a name from such registers."""
    data = b''.join(int(word).to_bytes(2, 'big') for word in words).rstrip(b'\0')
    return ''.join(chr(c) if 32 <= c < 127 else '?' for c in data)


class Hold:
    """A random key and the codes that follow from it.

    `code` is the last code that was sent; it begins at 0, like the device's.
    """

    def __init__(self) -> None:
        self.key = [secrets.randbits(16), secrets.randbits(16)]
        self.code = 0

    def next_code(self) -> int:
        """Return the next code, of a linear congruential generator.

        Its period contains every 16-bit number once (Hull and Dobell's theorem).
        """
        multiplier, increment = self.key[0] & 0xFFF8 | 5, self.key[1] | 1
        self.code = (self.code * multiplier + increment) & 0xFFFF
        return self.code
