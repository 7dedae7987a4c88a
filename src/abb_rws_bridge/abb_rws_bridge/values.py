"""Values that are read from a controller, each with its age."""

import time
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

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
    """A value with the time of its request, so that its age is never understated.

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
class Joints:
    """Joint angles [rad], shape (6,)."""

    position_rad: np.ndarray

    def __post_init__(self) -> None:
        self.position_rad.setflags(write=False)


@dataclass(frozen=True)
class Execution:
    """RAPID execution: whether a program runs; cycle mode (forever, once, asis, oncedone)."""

    running: bool
    cycle: str


@dataclass(frozen=True)
class Task:
    """One RAPID task."""

    name: str
    active: bool
    running: bool
    motion: bool


@dataclass(frozen=True)
class Signal:
    """One I/O signal; `path` is its full name on the controller (network/device/name)."""

    name: str
    path: str
    kind: str
    value: float
    simulated: bool


@dataclass(frozen=True)
class LogEntry:
    """One entry of the event log; `kind` is info, warning or error, `stamp` the text as it came."""

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
    """Return the controller state in small letters.

    Raises:
        BadResponse: If the state is not one of CONTROL_STATES.
    """
    if text.lower() not in CONTROL_STATES:
        raise BadResponse(f'controller state {text[:40]!r} is none of {CONTROL_STATES}')
    return text.lower()


def operation_mode(text: str) -> str:
    """Return the operation mode in capitals: AUTO, MANR (reduced speed), MANF (full speed), ...

    Raises:
        BadResponse: If the mode is not one of OPERATION_MODES.
    """
    if text.upper() not in OPERATION_MODES:
        raise BadResponse(f'operation mode {text[:40]!r} is none of {OPERATION_MODES}')
    return text.upper()


def running(text: str) -> bool:
    """Return whether the execution state says that a program runs.

    Raises:
        BadResponse: If the state is neither running nor stopped.
    """
    if text not in ('running', 'stopped'):
        raise BadResponse(f'execution state {text[:40]!r} is neither running nor stopped')
    return text == 'running'
