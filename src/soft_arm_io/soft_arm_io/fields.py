"""Types of the fields of YAML and JSON files: numbers with limits, and the base of their groups."""

from numbers import Integral, Real
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

Word = Annotated[str, Field(max_length=80, pattern=r'^[\w .:/+-]*$')]
"""A name that a message may repeat."""

Number = Annotated[float, Field(ge=-1e12, le=1e12, allow_inf_nan=False)]
"""A number in SI units with which formulas do not overflow."""

Positive = Annotated[Number, Field(gt=0)]
NonNegative = Annotated[Number, Field(ge=0)]


class Strict(BaseModel):
    """Base of every group of fields: frozen, finite, no unknown keys."""

    model_config = ConfigDict(extra='forbid', frozen=True, allow_inf_nan=False)


def number(low: float, high: float, unit: str, kind: type = float) -> BeforeValidator:
    """Make the validator of a number in [low, high] of a unit; it refuses text, true and false."""
    limits, wanted = f'{low:g}..{high:g} {unit}'.strip(), Integral if kind is int else Real

    def check(value: object) -> int | float:
        if isinstance(value, bool) or not isinstance(value, wanted):
            raise ValueError(f'must be a {"whole " if kind is int else ""}number of {limits}')
        if not low <= value <= high:  # type: ignore[operator]  # a number by now
            raise ValueError(f'must be in {limits}')
        return kind(value)

    return BeforeValidator(check)
