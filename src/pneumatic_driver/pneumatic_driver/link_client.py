"""Modbus client of a link, as pymodbus makes it; another transport brings a client of its own."""

import logging
from collections.abc import Callable
from typing import Any, Protocol

from pymodbus.client import AsyncModbusSerialClient, AsyncModbusTcpClient

from pneumatic_driver.register_map import Link

# Its errors reach the core as exceptions, and are reported once.
logging.getLogger('pymodbus').setLevel(logging.CRITICAL)

Trace = Callable[[bool, bytes], bytes]  # whether it is sent, and the frame; returns the frame


class Client(Protocol):
    """What a device needs of a client, beside pymodbus' coroutines for its requests."""

    @property
    def connected(self) -> bool:
        """Whether the connection is open."""

    async def connect(self) -> bool:
        """Open the connection; return whether it is open."""

    def close(self) -> None:
        """Close the connection."""


def client_for(link: Link, trace: Trace) -> Client:
    """Return a client for a link, not yet connected; `trace` sees every frame."""
    options: dict[str, Any] = {
        'timeout': link.timeout_s,
        'retries': 0,
        'reconnect_delay': 0,
        'trace_packet': trace,
    }
    if link.kind == 'tcp':
        return AsyncModbusTcpClient(link.host, port=link.port, **options)
    return AsyncModbusSerialClient(
        link.device,
        baudrate=link.baudrate,
        parity=link.parity,
        stopbits=link.stopbits,
        **options,
    )
