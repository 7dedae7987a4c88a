"""Verification of a device against its register map."""

import asyncio
import time

import numpy as np

from pneumatic_driver.errors import LinkError
from pneumatic_driver.modbus_link import ModbusLink
from pneumatic_driver.register import SI_PER_UNIT
from pneumatic_driver.register_map import RegisterMap, State


async def verify(register_map: RegisterMap, modbus: ModbusLink) -> None:
    """Verify a device after connecting; a serial one may still be booting.

    Raises:
        LinkError: If it does not answer or does not match the map.
        RefusedError: If it answers with a Modbus exception.
    """
    identity, link = register_map.identity, register_map.link
    deadline_s = time.monotonic() + (link.boot_s if link.kind == 'rtu' else 0.0)
    if identity is None:
        poll = register_map.polls[0]
        words = await _first_answer(register_map, modbus, poll.start, poll.count, deadline_s)
        _check_plausible(register_map, register_map.decode(poll.start, words))
        return
    register = register_map.registers[identity.id_register]
    words = await _first_answer(register_map, modbus, register.addr, register.words, deadline_s)
    found = register_map.decode(register.addr, words)[identity.id_register]
    if found != identity.value:
        raise LinkError(
            f'{link}: the device reports map id {found:g}, map {register_map.device.name!r} is for '
            f'{identity.value:g}: use the map of this device, or flash the firmware of this map'
        )


async def _first_answer(
    register_map: RegisterMap, modbus: ModbusLink, address: int, count: int, deadline_s: float
) -> list[int]:
    while True:
        try:
            return await modbus.read(address, count)
        except LinkError:
            if time.monotonic() >= deadline_s or not modbus.connected:
                raise
            await asyncio.sleep(register_map.link.timeout_s)


def _check_plausible(register_map: RegisterMap, state: State) -> None:
    """Check that the set points of a device without an identity are within their ranges."""
    for name, register in register_map.registers.items():
        if name not in state or register.range is None:
            continue
        low, high = (limit * SI_PER_UNIT[register.unit] for limit in register.range)
        values = np.atleast_1d(state[name])
        if not np.all((low <= values) & (values <= high)):
            raise LinkError(
                f'{register_map.link}: register {name!r} holds {values}, outside its range '
                f'[{low:g}, {high:g}] in SI units: map {register_map.device.name!r} is not the map '
                'of this device'
            )
