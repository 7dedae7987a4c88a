"""Arbitration of `pressure_command`: the driver obeys one source at a time.

The source whose command is accepted first holds the driver. It keeps it until it has been silent
for `hold_s`, the time after which the driver vents for want of a command. Until then commands of
every other source are refused, so that two programs never drive the valves in turns.
"""

import math

from pneumatic_driver.errors import CommandError


class CommandArbiter:
    """Records which source commands; all times are on one clock [s].

    Args:
        hold_s: Silence after which another source may command [s].
    """

    def __init__(self, hold_s: float):
        self._hold_s = hold_s
        self._source, self._heard_s = '', -math.inf

    def check(self, source: str, now_s: float) -> None:
        """Raise CommandError if another source holds the driver."""
        if source != self._source and now_s - self._heard_s <= self._hold_s:
            raise CommandError(
                f'{_named(source)} commands while {_named(self._source)} does: end one of them, '
                'or wait '
                f'until the other has been silent for {self._hold_s:g} s'
            )

    def accepted(self, source: str, now_s: float) -> None:
        """Record that a command of this source was accepted."""
        self._source, self._heard_s = source, now_s


def _named(source: str) -> str:
    return repr(source[:80]) if source else 'a source without a name'
