"""What a controller tells, each value with its age."""

import time
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

T = TypeVar('T')


@dataclass(frozen=True)
class Aged(Generic[T]):
    """A value and when it was asked for.

    The age is never understated, because the controller answered later than that.

    Attributes:
        value: What was told.
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
    """RAPID execution.

    Does a program run, and in which cycle mode (forever, once, asis, oncedone).
    """

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
    """One I/O signal; `path` is what the controller calls it (network/device/name)."""

    name: str
    path: str
    kind: str
    value: float
    simulated: bool

    @property
    def is_input(self) -> bool:
        """Inputs cannot be written."""
        return self.kind in ('DI', 'AI', 'GI')


@dataclass(frozen=True)
class LogEntry:
    """One entry of the event log; `kind` is info, warning or error.

    `stamp` is the controller's own text.
    """

    sequence: int
    kind: str
    code: int
    stamp: str
    title: str


@dataclass(frozen=True)
class System:
    """Which controller this is."""

    name: str
    version: str
    identifier: str
