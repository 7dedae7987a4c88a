"""Result of one cycle with a device."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Exchange:
    """Result of one cycle; pressures are gauge.

    Attributes:
        at_s: Time of the answer on the device's `clock` [s].
        round_trip_s: Time from request to answer [s].
        pressures_pa: Measured pressures, shape (channels,) [Pa].
        targets_pa: Written set points, rounded to the device's steps, shape (channels,) [Pa]; None
            if none were written.
        running: Whether the device drives its outputs as commanded; False if it is vented, held, or
            commanded by another client.
        vented: Whether the device reports that every output is at ambient pressure.
        faults: Latched faults: the device's own by their names in the register map, and those found
            by the driver.
        halted: Reason why the device does not run or must not go on, in words; '' if there is none.
    """

    at_s: float
    round_trip_s: float
    pressures_pa: np.ndarray
    targets_pa: np.ndarray | None
    running: bool
    vented: bool
    faults: tuple[str, ...]
    halted: str
