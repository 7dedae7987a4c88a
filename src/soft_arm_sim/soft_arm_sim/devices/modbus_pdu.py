"""Answers to Modbus requests on registers (application protocol V1.1b3): PDU in, PDU out."""

import struct
from collections.abc import Collection
from typing import Protocol

ILLEGAL_FUNCTION, ILLEGAL_ADDRESS, ILLEGAL_VALUE = 1, 2, 3
DEVICE_FAILURE, BUSY, NO_SUCH_UNIT = 4, 6, 11
_MOST_READ, _MOST_WRITTEN, _MOST_WRITTEN_AND_READ = 125, 123, 121


class Registers(Protocol):
    """A device's registers; addresses on the wire."""

    def read(self, address: int, count: int) -> list[int] | int:
        """Return the words at an address, or the Modbus exception code."""

    def write(self, address: int, values: list[int]) -> int:
        """Write words at an address; return the Modbus exception code, 0 for success.

        A refused write changes nothing.
        """

    def refused_write(self, address: int, values: list[int]) -> None:
        """Take note of a write that is refused before it reaches a register.

        Its function code does not exist here (no values), or what it shall also read does not.
        """


def answer(registers: Registers, functions: Collection[int], pdu: bytes) -> bytes:
    """Return the response of a device with these registers and function codes to a request."""
    if pdu[0] in functions:
        result = _FUNCTIONS[pdu[0]](registers, pdu[1:])
    else:
        result = ILLEGAL_FUNCTION
        if pdu[0] in _OTHER_WRITES:
            registers.refused_write(0, [])
    return refusal(pdu, result) if isinstance(result, int) else pdu[:1] + result


def refusal(pdu: bytes, code: int) -> bytes:
    """Return the exception `code` as the answer to a request."""
    return bytes([pdu[0] | 0x80, code])


def _words(data: bytes) -> list[int]:
    return list(struct.unpack(f'>{len(data) // 2}H', data))


def _block(registers: Registers, address: int, count: int) -> bytes | int:
    if not 1 <= count <= _MOST_READ:
        return ILLEGAL_VALUE
    words = registers.read(address, count)
    return words if isinstance(words, int) else struct.pack(f'>B{count}H', 2 * count, *words)


def _read(registers: Registers, data: bytes) -> bytes | int:
    return _block(registers, *_words(data)) if len(data) == 4 else ILLEGAL_VALUE


def _write_one(registers: Registers, data: bytes) -> bytes | int:
    if len(data) != 4:
        return ILLEGAL_VALUE
    address, value = _words(data)
    return registers.write(address, [value]) or data


def _write(registers: Registers, data: bytes) -> bytes | int:
    if len(data) < 5 or not _counted(data[2:], _MOST_WRITTEN):
        return ILLEGAL_VALUE
    return registers.write(_words(data[:2])[0], _words(data[5:])) or data[:4]


def _write_and_read(registers: Registers, data: bytes) -> bytes | int:
    """Write, then read; nothing is written if the registers to read do not exist."""
    if len(data) < 9 or not _counted(data[6:], _MOST_WRITTEN_AND_READ):
        return ILLEGAL_VALUE
    address, count, write_address = _words(data[:6])
    before, values = _block(registers, address, count), _words(data[9:])
    if isinstance(before, int):
        registers.refused_write(write_address, values)
        return before
    return registers.write(write_address, values) or _block(registers, address, count)


def _counted(data: bytes, most: int) -> bool:
    """Whether a count of words, a count of bytes and the bytes that follow agree."""
    count = _words(data[:2])[0]
    return 1 <= count <= most and data[2] == len(data) - 3 == 2 * count


_OTHER_WRITES = 5, 15, 22  # of coils, and of single bits
_FUNCTIONS = {3: _read, 4: _read, 6: _write_one, 16: _write, 23: _write_and_read}
