"""Register map of a valve board for the chambers of a robot.

The shipped map `valve_board` describes a board with six channels. Boards with up to 14 channels
have the same registers in the same order: `pressure`, `drive` and `target` have one word per
channel, the following registers move up, and the faults of more than six channels take two words.
The identity contains the number of channels. firmware/board_logic.c implements the same in C.
"""

from typing import Any

from pneumatic_driver.errors import RegisterMapError
from pneumatic_driver.register import SI_PER_UNIT
from pneumatic_driver.register_map import RegisterMap, load_map
from soft_arm_description.robot import Robot

SHIPPED = 'valve_board'
MIN_CHANNELS, MAX_CHANNELS = 6, 14
IDENTITY = 0x5B00  # plus the number of channels
# Readings may exceed the robot's pressure limits by overshoot and sensor noise.
_MIN_MARGIN_PA, _RELATIVE_MARGIN = 10e3, 0.1
_CHANNEL_FAULTS = ('over_pressure', 'sensor')  # faults of the board follow


def map_for(name_or_path: str, robot: Robot) -> RegisterMap:
    """Load a register map for a robot.

    `valve_board` gets as many channels as the robot needs. Readings are valid within a margin
    around the robot's pressure limits.

    Raises:
        RegisterMapError: If the map cannot be loaded, or the robot needs too many channels.
    """
    loaded = load_map(name_or_path)
    if name_or_path == SHIPPED:
        loaded = with_channels(loaded, max(MIN_CHANNELS, robot.least_channels))
    return _plausible(loaded, robot)


def _plausible(register_map: RegisterMap, robot: Robot) -> RegisterMap:
    pressure, limits_pa = register_map.registers.get('pressure'), robot.pressure_limits_pa
    if pressure is None or not limits_pa.size:
        return register_map
    low_pa, high_pa = float(limits_pa.min()), float(limits_pa.max())
    margin_pa = max(_MIN_MARGIN_PA, _RELATIVE_MARGIN * (high_pa - low_pa))
    unit_pa = SI_PER_UNIT[pressure.unit]
    low, high = (low_pa - margin_pa) / unit_pa, (high_pa + margin_pa) / unit_pa
    if pressure.valid is not None:
        low, high = max(low, pressure.valid[0]), min(high, pressure.valid[1])
    valid = pressure.model_copy(update={'valid': (low, high)})
    return register_map.model_copy(
        update={'registers': register_map.registers | {'pressure': valid}}
    )


def with_channels(six: RegisterMap, channels: int) -> RegisterMap:
    """Return the shipped map, `six`, for a valve board with 6 to 14 channels.

    Raises:
        RegisterMapError: If the number of channels is outside this range.
    """
    if not MIN_CHANNELS <= channels <= MAX_CHANNELS:
        raise RegisterMapError(
            f'{channels} channels: a valve board has {MIN_CHANNELS} to {MAX_CHANNELS}; '
            'correct `channels` in the robot file, or give the map of another device'
        )
    content: dict[str, Any] = six.model_dump(exclude_unset=True)
    registers, faults = content['registers'], content['registers']['faults']
    board_faults = [name for name in faults['flags'] if not name.startswith(_CHANNEL_FAULTS)]
    faults['flags'] = {
        name: bit
        for bit, name in enumerate(
            [f'{fault}_{k}' for fault in _CHANNEL_FAULTS for k in range(channels)] + board_faults
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
    """Assign consecutive addresses to the registers; return the number of words."""
    address = start
    for register in sorted(block, key=lambda register: register['addr']):
        register['addr'] = address
        if register.get('count') == MIN_CHANNELS:
            register['count'] = channels
        address += register.get('count', 1) * (2 if register['type'] == 'uint32' else 1)
    return address - start
