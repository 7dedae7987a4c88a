"""Values read from a controller, with their age."""

import time
from dataclasses import dataclass
from typing import Generic, TypeVar

from abb_rws_bridge.errors import BadResponse

OPERATION_MODES = ('INIT', 'AUTO_CH', 'MANF_CH', 'MANR', 'MANF', 'AUTO', 'UNDEF')
CONTROL_STATES = (
    'init',
    'motoroff',
    'motoron',
    'guardstop',
    'emergencystop',
    'emergencystopreset',
    'sysfail',
)
T = TypeVar('T')


@dataclass(frozen=True)
class Aged(Generic[T]):
    """Value with the start time of its request, so that its age is never understated.

    Attributes:
        value: The value.
        asked_s: Start of the request, or arrival of the event, on the monotonic clock [s].
    """

    value: T
    asked_s: float

    @property
    def age_s(self) -> float:
        """Age now [s]."""
        return time.monotonic() - self.asked_s


@dataclass(frozen=True)
class Execution:
    """RAPID execution state and cycle mode (forever, once, asis, oncedone)."""

    running: bool
    cycle: str


@dataclass(frozen=True)
class Task:
    """RAPID task."""

    name: str
    active: bool
    running: bool
    motion: bool


@dataclass(frozen=True)
class Signal:
    """I/O signal; `path` is the full name (network/device/name)."""

    name: str
    path: str
    kind: str
    value: float
    simulated: bool


@dataclass(frozen=True)
class LogEntry:
    """Entry of the event log; `kind` is info, warning or error, `stamp` the raw text."""

    sequence: int
    kind: str
    code: int
    stamp: str
    title: str


@dataclass(frozen=True)
class System:
    """Name, version and identifier of a controller."""

    name: str
    version: str
    identifier: str


def control_state(text: str) -> str:
    """Return the controller state in lower case.

    Raises:
        BadResponse: If the state is not one of CONTROL_STATES.
    """
    if text.lower() not in CONTROL_STATES:
        raise BadResponse(f'controller state {text[:40]!r} is not one of {CONTROL_STATES}')
    return text.lower()


def operation_mode(text: str) -> str:
    """Return the operation mode in upper case: AUTO, MANR (reduced speed), MANF (full speed), ...

    Raises:
        BadResponse: If the mode is not one of OPERATION_MODES.
    """
    if text.upper() not in OPERATION_MODES:
        raise BadResponse(f'operation mode {text[:40]!r} is not one of {OPERATION_MODES}')
    return text.upper()


def running(text: str) -> bool:
    """Return whether the execution state is running.

    Raises:
        BadResponse: If the state is neither running nor stopped.
    """
    if text not in ('running', 'stopped'):
        raise BadResponse(f'execution state {text[:40]!r} is neither running nor stopped')
    return text == 'running'
