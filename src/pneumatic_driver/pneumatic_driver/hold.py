"""Exclusive hold of one host on a device (ADR 0016).

A host claims the device with a random key, which cannot be read back, and its name, which can. From
then on each of its writes carries the next code of that key as heartbeat. Another client cannot
produce it by accident, neither by counting the heartbeat up nor by copying or replaying traffic.
The device accepts any of the next few codes, so that lost requests do no harm. The hold ends when
no code has arrived for the device's watchdog time.
"""

import os
import secrets
import socket
from collections.abc import Sequence

_MAX_HOST_CHARACTERS = 12


def own_name() -> str:
    """Return the name of this process on the bus: host name and process id."""
    return f'{socket.gethostname()[:_MAX_HOST_CHARACTERS]} {os.getpid()}'


def name_words(name: str, count: int) -> list[int]:
    """Encode a name in `count` registers, two ASCII characters each, padded with zeros."""
    data = name.encode('ascii', 'replace')[: 2 * count].ljust(2 * count, b'\0')
    return [int.from_bytes(data[i : i + 2], 'big') for i in range(0, len(data), 2)]


def name_text(words: Sequence[float]) -> str:
    """Decode a name from registers; see `name_words`."""
    data = b''.join(int(word).to_bytes(2, 'big') for word in words).rstrip(b'\0')
    return ''.join(chr(c) if 32 <= c < 127 else '?' for c in data)


class Hold:
    """Random key and its sequence of codes.

    Attributes:
        key: Two 16-bit words.
        code: Last code that was sent; starts at 0, as in the device.
    """

    def __init__(self) -> None:
        self.key = [secrets.randbits(16), secrets.randbits(16)]
        self.code = 0

    def next_code(self) -> int:
        """Return the next code of a linear congruential generator with full period 2^16.

        T. E. Hull, A. R. Dobell, Random number generators, SIAM Review 4(3), 1962, Theorem 1.
        """
        multiplier, increment = self.key[0] & 0xFFF8 | 5, self.key[1] | 1
        self.code = (self.code * multiplier + increment) & 0xFFFF
        return self.code
