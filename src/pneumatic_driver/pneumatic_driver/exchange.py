"""Result of one cycle with a device."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Exchange:
    """Result of one cycle; pressures are gauge.

    Attributes:
        at_s: Time of the answer [s] on the device's clock.
        round_trip_s: Time from request to answer [s].
        pressures_pa: Measured pressures, shape (channels,) [Pa].
        targets_pa: Written set points, rounded to the device's resolution, shape (channels,) [Pa];
            None if none were written.
        running: True if the device drives its outputs as commanded; False if it is vented, holds
            its pressures, or is commanded by another client.
        vented: True if the device reports all outputs at ambient pressure.
        faults: Faults latched by the device, by their names in the register map, and by the driver.
        halted: Reason why the device does not run or must stop; '' without one.
    """

    at_s: float
    round_trip_s: float
    pressures_pa: np.ndarray
    targets_pa: np.ndarray | None
    running: bool
    vented: bool
    faults: tuple[str, ...]
    halted: str
