"""Arbitration of `pressure_command`: the driver obeys one source at a time.

The first source whose command is accepted holds the driver until it has been silent for `hold_s`,
the command time-out of the driver. Commands of other sources are refused meanwhile, so that two
programs never drive the valves in turns.
"""

import math

from pneumatic_driver.errors import CommandError

# Covers a busy machine and clocks slightly apart; excludes the replay of a recording.
MAX_COMMAND_AGE_S = 2.0


def check_age(age_s: float | None) -> None:
    """Raise CommandError if a command may come from a recording.

    Args:
        age_s: Age by the stamp of the command [s]; None: it has no stamp.
    """
    if age_s is None:
        raise CommandError(
            'it has no stamp, so it may be a replay: stamp it with the time at which it is sent '
            "(`ros2 topic pub` does with 'header: auto')"
        )
    if abs(age_s) > MAX_COMMAND_AGE_S:
        raise CommandError(
            f'its stamp is {abs(age_s):.1f} s {"old" if age_s > 0.0 else "ahead"}, limit '
            f'{MAX_COMMAND_AGE_S:g} s: it is a replay, or the clocks of sender and driver differ; '
            'nothing moves'
        )


class CommandArbiter:
    """Arbiter between sources of commands; all times are on one clock [s].

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
                f'or wait until the other has been silent for {self._hold_s:g} s'
            )

    def accepted(self, source: str, now_s: float) -> None:
        """Record that a command of this source was accepted."""
        self._source, self._heard_s = source, now_s


def _named(source: str) -> str:
    return repr(source[:80]) if source else 'a source without a name'
