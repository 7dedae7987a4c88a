"""Parser of the numbers in a request: ASCII digits of limited length."""

import re

from abb_rws_emulator import refusals
from abb_rws_emulator.controller import rapid_literals

_WHOLE = re.compile(r'[0-9]{1,10}')


def whole(text: str | None) -> int | None:
    """Return an integer of at most ten digits; None for any other text."""
    return int(text) if text is not None and _WHOLE.fullmatch(text) else None


def decimal(text: str | None) -> float:
    """Return a finite number.

    Raises:
        Refused: If the text is not a finite number.
    """
    try:
        return rapid_literals.number(text or '')
    except rapid_literals.InvalidLiteral as error:
        raise refusals.invalid(str(error)) from None
