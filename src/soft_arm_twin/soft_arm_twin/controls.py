"""Controls of a page and their accepted values.

The server checks each value that a page sends with `checked` of the control: type, range and
finiteness. Nothing is clamped: a value outside of the limits is refused.
"""

from dataclasses import dataclass
from typing import ClassVar, Protocol

from soft_arm_twin.errors import RefusedValueError


@dataclass(frozen=True, kw_only=True)
class Common:
    """Attributes of every control.

    Attributes:
        name: Unique name among the controls of a source.
        label: Label on the page.
        group: Heading on the page.
        reason: Reason for which it is disabled, and the remedy; empty if it is enabled.
        needs_control: Whether only the page that has taken control may use it.
        always: Whether every page may use it, regardless of the owner: vent.
    """

    name: str
    label: str
    group: str
    reason: str = ''
    needs_control: bool = True
    always: bool = False


class Control(Protocol):
    """Interface of a control for the server."""

    kind: ClassVar[str]

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def label(self) -> str: ...  # noqa: D102
    @property
    def reason(self) -> str: ...  # noqa: D102
    @property
    def needs_control(self) -> bool: ...  # noqa: D102
    @property
    def always(self) -> bool: ...  # noqa: D102

    def checked(self, value: object) -> object:
        """Return the value, or raise `RefusedValueError`."""


def _number(label: str, value: object, low: float, high: float, unit: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RefusedValueError(f'{label}: not a number')
    if not low <= value <= high:  # also false for NaN
        limits = f'{low:g}..{high:g} {unit}'
        raise RefusedValueError(f'{label}: {str(value)[:20]} {unit} is outside of {limits}')
    return float(value)


@dataclass(frozen=True, kw_only=True)
class Slider(Common):
    """A number between limits.

    Attributes:
        low: Lower limit [unit].
        high: Upper limit [unit].
        step: Step of an arrow key [unit]; the server accepts numbers between steps.
        value: Present value [unit].
        unit: Displayed unit: 'kPa', 'deg', 'mm'.
    """

    kind: ClassVar[str] = 'slider'
    low: float
    high: float
    step: float
    value: float
    unit: str

    def checked(self, value: object) -> float:
        """Accept a finite number between the limits."""
        return _number(self.label, value, self.low, self.high, self.unit)


@dataclass(frozen=True, kw_only=True)
class Switch(Common):
    """On or off."""

    kind: ClassVar[str] = 'switch'
    value: bool

    def checked(self, value: object) -> bool:
        """Accept true or false."""
        if not isinstance(value, bool):
            raise RefusedValueError(f'{self.label}: neither true nor false')
        return value


@dataclass(frozen=True, kw_only=True)
class Button(Common):
    """Trigger without a value."""

    kind: ClassVar[str] = 'button'

    def checked(self, value: object) -> None:
        """Accept null."""
        if value is not None:
            raise RefusedValueError(f'{self.label}: a button has no value')


@dataclass(frozen=True, kw_only=True)
class Choice(Common):
    """One of some options."""

    kind: ClassVar[str] = 'choice'
    options: tuple[str, ...]
    value: str

    def checked(self, value: object) -> str:
        """Accept one of the options."""
        if not isinstance(value, str) or value not in self.options:
            raise RefusedValueError(f'{self.label}: not one of {", ".join(self.options)}')
        return value


@dataclass(frozen=True, kw_only=True)
class Point(Common):
    """Three coordinates in the world [m]; the page draws it as a handle to drag, too."""

    kind: ClassVar[str] = 'point'
    low_m: tuple[float, float, float]
    high_m: tuple[float, float, float]
    value_m: tuple[float, float, float]

    def checked(self, value: object) -> tuple[float, float, float]:
        """Accept a list of three finite numbers between the limits."""
        if not isinstance(value, list) or len(value) != 3:
            raise RefusedValueError(f'{self.label}: not a list of three numbers [m]')
        x, y, z = (
            _number(f'{self.label} {axis}', number, low, high, 'm')
            for axis, number, low, high in zip('xyz', value, self.low_m, self.high_m, strict=True)
        )
        return x, y, z


@dataclass(frozen=True, kw_only=True)
class Text(Common):
    """One line of text."""

    kind: ClassVar[str] = 'text'
    value: str = ''
    max_length: int = 100

    def checked(self, value: object) -> str:
        """Accept printable text of one line, at most `max_length` characters."""
        if not isinstance(value, str) or not value.isprintable():
            raise RefusedValueError(f'{self.label}: not one line of printable text')
        if len(value) > self.max_length:
            raise RefusedValueError(
                f'{self.label}: {len(value)} characters are more than {self.max_length}'
            )
        return value
