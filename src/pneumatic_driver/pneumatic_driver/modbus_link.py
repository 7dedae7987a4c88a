"""Modbus requests to one device: answers are checked against their requests, none is repeated."""

import logging
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from pymodbus.client import AsyncModbusSerialClient, AsyncModbusTcpClient
from pymodbus.exceptions import ModbusException

from pneumatic_driver.errors import LinkError, NoConnectionError, RefusedError
from pneumatic_driver.register_map import Conventions, Link

_log = logging.getLogger(__name__)
# Its errors reach this package as exceptions and are reported once.
logging.getLogger('pymodbus').setLevel(logging.CRITICAL)
_MAX_KEPT_FRAMES = 20
_DUMP_PERIOD_S = 5.0
_MAX_SHOWN_BYTES = 16
BUSY = 6  # Modbus exception code
_EXCEPTIONS = {
    1: 'illegal function',
    2: 'illegal address',
    3: 'illegal value',
    4: 'device failure',
    5: 'acknowledge',
    6: 'device busy',
    8: 'memory parity error',
    10: 'gateway path unavailable',
    11: 'gateway no response',
}


# Name and bytes of each field of a frame that an answer repeats from its request.
_REPEATED = {
    'tcp': (('transaction id', 0, 2), ('protocol id', 2, 4), ('unit id', 6, 7)),
    'rtu': (('unit id', 0, 1),),
}
Trace = Callable[[bool, bytes], bytes]  # (is sent, frame) -> frame


class Client(Protocol):
    """Modbus client: these methods and pymodbus' coroutines for requests."""

    @property
    def connected(self) -> bool:
        """True if the connection is open."""

    async def connect(self) -> bool:
        """Open the connection; return True if it is open."""

    def close(self) -> None:
        """Close the connection."""


def client_for(link: Link, trace: Trace) -> Client:
    """Return the pymodbus client of a link, not yet connected; `trace` receives every frame."""
    options: dict[str, Any] = {
        'timeout': link.timeout_s,
        'retries': 0,
        'reconnect_delay': 0,
        'trace_packet': trace,
    }
    if link.kind == 'tcp':
        client: Any = AsyncModbusTcpClient(link.host, port=link.port, **options)
    else:
        client = AsyncModbusSerialClient(
            link.device,
            baudrate=link.baudrate,
            parity=link.parity,
            stopbits=link.stopbits,
            **options,
        )
    _keep_open(client.ctx)
    return client


class _UndecodableError(ModbusException):
    """Answer that pymodbus cannot decode; `string` holds its first bytes."""


def _keep_open(connection: Any) -> None:
    """Let an answer that cannot be decoded fail its request only.

    pymodbus lets the error out of asyncio's protocol, which ends the connection.
    """
    decode = connection.callback_data

    def callback_data(data: bytes, addr: Any = None) -> int:
        try:
            used: int = decode(data, addr)
        except Exception:  # of pymodbus' decoders, not only its own
            answer = connection.response_future
            if not answer.done():
                answer.set_exception(_UndecodableError(data[:_MAX_SHOWN_BYTES].hex(' ')))
                answer.exception()  # asyncio would log it if no request were waiting
            used = len(data)
        return used

    connection.callback_data = callback_data


class ModbusLink:
    """Link and its connection. Its coroutines must not run concurrently.

    Args:
        link: Address of the device.
        conventions: Addressing and function codes of its map.
        clock: Time [s] by which answers age.
        new_client: Creates the client of a link.
    """

    def __init__(
        self,
        link: Link,
        conventions: Conventions,
        clock: Callable[[], float],
        new_client: Callable[[Link, Trace], Client],
    ):
        self._link, self._conventions = link, conventions
        self._clock, self._new_client = clock, new_client
        self._client: Client | None = None
        self._good_s: float | None = None
        self._dumped_s = -_DUMP_PERIOD_S
        self.frames: deque[str] = deque(maxlen=_MAX_KEPT_FRAMES)
        self._sent = self._received = b''

    @property
    def connected(self) -> bool:
        """True if the connection is open; `age_s` shows if the device answers."""
        return self._client is not None and self._client.connected

    @property
    def age_s(self) -> float | None:
        """Age of the last good answer [s]; None before the first on this connection."""
        return None if self._good_s is None else self._clock() - self._good_s

    def heard(self) -> None:
        """Record a good answer."""
        self._good_s = self._clock()

    async def open(self) -> None:
        """Open a new connection.

        Raises:
            NoConnectionError: If none can be opened.
        """
        self.close()
        self._client = self._new_client(self._link, self._record)
        if not await self._client.connect():
            self.close()
            raise NoConnectionError(
                f'{self._link}: no connection within {self._link.timeout_s:g} s: is the device '
                'powered, and is the address right?'
            )

    def close(self) -> None:
        """Close the connection."""
        self._good_s = None
        if self._client is not None:
            self._client.close()
            self._client = None

    async def read(self, address: int, count: int) -> list[int]:
        """Read words at an address of the map.

        Raises:
            LinkError: If the device does not answer, or answers another request.
            RefusedError: If the device answers with a Modbus exception.
        """
        fc = self._conventions.read_fc
        method = 'read_holding_registers' if fc == 3 else 'read_input_registers'
        return self._words(
            await self._request(fc, method, address=self._wire(address), count=count), count
        )

    async def write(self, address: int, words: list[int]) -> None:
        """Write words at an address of the map; see `read` for errors."""
        fc, wire = self._conventions.write_fc, self._wire(address)
        if fc == 6:
            answer = await self._request(fc, 'write_register', address=wire, value=words[0])
        else:
            answer = await self._request(fc, 'write_registers', address=wire, values=words)
        last = (
            ('value', words[0], answer.registers[0])
            if fc == 6
            else ('count', len(words), answer.count)
        )
        for name, expected, received in (('address', wire, answer.address), last):
            if received != expected:
                raise self.failed(
                    f'expected {name} {expected} in the answer to a write, received {received}'
                )

    async def write_and_read(
        self, write_address: int, words: list[int], address: int, count: int
    ) -> list[int]:
        """Write words and read others in one request; see `read` for errors."""
        answer = await self._request(
            23,
            'readwrite_registers',
            read_address=self._wire(address),
            read_count=count,
            write_address=self._wire(write_address),
            values=words,
        )
        return self._words(answer, count)

    def failed(self, what: str) -> LinkError:
        """Return a LinkError; log it with the last frames at most every `_DUMP_PERIOD_S`."""
        now_s = time.monotonic()
        # A device that was never reached has sent no frames.
        if self._good_s is not None and now_s - self._dumped_s > _DUMP_PERIOD_S:
            self._dumped_s = now_s
            _log.warning('%s: %s', self._link, what)
            _log.debug('last frames of %s: %s', self._link, ' | '.join(self.frames))
        age = 'none yet' if self.age_s is None else f'{1e3 * self.age_s:.0f} ms ago'
        return LinkError(f'{self._link}: {what} (last good answer {age})')

    def _words(self, answer: Any, count: int) -> list[int]:
        if len(answer.registers) != count:
            raise self.failed(
                f'the answer has {len(answer.registers)} registers, {count} were requested'
            )
        words: list[int] = answer.registers
        return words

    def _wire(self, address: int) -> int:
        return address - self._conventions.address_base

    async def _request(self, fc: int, method: str, **arguments: int | list[int]) -> Any:
        if not self.connected:
            raise self.failed('not connected')
        try:
            answer = await getattr(self._client, method)(device_id=self._link.unit_id, **arguments)
        except _UndecodableError as error:
            count = arguments.get('count', arguments.get('read_count'))
            awaited = f'{count} registers' if count else 'a confirmation'
            raise self.failed(
                f'expected {awaited} from function {fc}, received {error.string}: not decodable'
            ) from error
        except ModbusException as error:
            raise self.failed(self._difference() or ' '.join(str(error).split())) from error
        transaction = int.from_bytes(self._sent[:2]) if self._link.kind == 'tcp' else 0
        for name, expected, received in (
            ('unit id', self._link.unit_id, answer.dev_id),
            ('transaction id', transaction, answer.transaction_id),
            ('function', fc, answer.function_code & 0x7F),
        ):
            if received != expected:
                raise self.failed(f'expected {name} {expected}, received {received}')
        if answer.isError():
            code = answer.exception_code
            raise RefusedError(
                f'{self._link}: {method} {arguments}: the device answers exception {code} '
                f'({_EXCEPTIONS.get(code, "unknown")}); nothing was changed',
                code,
            )
        return answer

    def _difference(self) -> str:
        """Return why the newest bytes since the last request do not answer it; '' if none came."""
        received, fields = self._received, _REPEATED[self._link.kind]
        found = [
            (name, int.from_bytes(self._sent[start:end]), int.from_bytes(received[start:end]))
            for name, start, end in fields
            if len(received) >= end
        ]
        if self._link.kind == 'tcp' and len(received) >= 6:
            found.append(('length', len(received) - 6, int.from_bytes(received[4:6])))
        wrong = [
            f'expected {name} {one}, received {other}' for name, one, other in found if one != other
        ]
        if received and not wrong:
            wrong = [f'expected an answer, received {received[:_MAX_SHOWN_BYTES].hex(" ")}']
        return '; '.join(wrong)

    def _record(self, sending: bool, data: bytes) -> bytes:
        self._sent, self._received = (data, b'') if sending else (self._sent, data)
        self.frames.append(f'{time.monotonic():.3f} {"to" if sending else "from"} {data.hex(" ")}')
        return data
