"""Register map of a valve board for the chambers of a robot.

The shipped map `valve_board` is the board's with six channels. A board with more of them, at most
14, has the same registers in the same order. `pressure`, `drive` and `target` take one word for
each channel, and what follows them moves up; the faults of more than six channels take two words.
The board's identity holds the number of its channels. firmware/board_logic.c is the same in C.
"""

from typing import Any

from pneumatic_driver.errors import RegisterMapError
from pneumatic_driver.register import SI_PER_UNIT
from pneumatic_driver.register_map import RegisterMap, load_map
from soft_arm_description.robot import Robot

SHIPPED = 'valve_board'
LEAST_CHANNELS, MOST_CHANNELS = 6, 14
IDENTITY = 0x5B00  # plus the number of channels
# beyond the robot's pressure limits: a regulator overshoots, and a sensor has noise
_LEAST_MARGIN_PA, _MARGIN = 10e3, 0.1  # the second of the range
_PER_CHANNEL = ('over_pressure', 'sensor')  # faults; those of the board itself follow


def map_for(name_or_path: str, robot: Robot) -> RegisterMap:
    """Load a register map for a robot.

    `valve_board` has as many channels as the robot needs. Readings are valid up to a margin beyond
    the robot's pressure limits.

    Raises:
        RegisterMapError: If the map cannot be loaded, or no valve board has so many channels.
    """
    loaded = load_map(name_or_path)
    if name_or_path == SHIPPED:
        loaded = with_channels(loaded, max(LEAST_CHANNELS, robot.least_channels))
    return _plausible(loaded, robot)


def _plausible(register_map: RegisterMap, robot: Robot) -> RegisterMap:
    pressure, limits_pa = register_map.registers.get('pressure'), robot.pressure_limits_pa
    if pressure is None or not limits_pa.size:
        return register_map
    low_pa, high_pa = float(limits_pa.min()), float(limits_pa.max())
    margin_pa = max(_LEAST_MARGIN_PA, _MARGIN * (high_pa - low_pa))
    unit_pa = SI_PER_UNIT[pressure.unit]
    low, high = (low_pa - margin_pa) / unit_pa, (high_pa + margin_pa) / unit_pa
    if pressure.valid is not None:
        low, high = max(low, pressure.valid[0]), min(high, pressure.valid[1])
    valid = pressure.model_copy(update={'valid': (low, high)})
    return register_map.model_copy(
        update={'registers': register_map.registers | {'pressure': valid}}
    )


def with_channels(six: RegisterMap, channels: int) -> RegisterMap:
    """Return the map of a valve board with another number of channels.

    Args:
        six: The shipped map.
        channels: 6 to 14.

    Raises:
        RegisterMapError: If there is no board with so many channels.
    """
    if not LEAST_CHANNELS <= channels <= MOST_CHANNELS:
        raise RegisterMapError(
            f'{channels} channels: a valve board has {LEAST_CHANNELS} to {MOST_CHANNELS}; '
            'correct `channels` in the robot file, or give the map of another device'
        )
    content: dict[str, Any] = six.model_dump(exclude_unset=True)
    registers, faults = content['registers'], content['registers']['faults']
    board_faults = [name for name in faults['flags'] if not name.startswith(_PER_CHANNEL)]
    faults['flags'] = {
        name: bit
        for bit, name in enumerate(
            [f'{fault}_{k}' for fault in _PER_CHANNEL for k in range(channels)] + board_faults
        )
    }
    if len(faults['flags']) > 16:
        faults['type'] = 'uint32'
    for poll in content['polls']:
        last = poll['start'] + poll['count']
        block = [r for r in registers.values() if poll['start'] <= r['addr'] < last]
        poll['count'] = _move_up(block, poll['start'], channels)
    registers['enable']['range'] = (0.0, 2.0**channels - 1)
    content['enable_sequence'][0]['enable'] = 2.0**channels - 1
    content['identity']['value'] = float(IDENTITY + channels)
    return RegisterMap.model_validate(content)


def _move_up(block: list[dict[str, Any]], start: int, channels: int) -> int:
    """Give registers without gaps between them new addresses; return the number of words."""
    address = start
    for register in sorted(block, key=lambda register: register['addr']):
        register['addr'] = address
        if register.get('count') == LEAST_CHANNELS:
            register['count'] = channels
        address += register.get('count', 1) * (2 if register['type'] == 'uint32' else 1)
    return address - start
