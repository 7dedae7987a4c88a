"""Conversion between controller units (deg, mm, percent, RAPID literals) and SI units."""

import math
import re
from collections.abc import Mapping, Sequence

import numpy as np

from abb_rws_bridge.errors import BadResponse, ConfigurationError

_NUMBER = re.compile(r'\s*[-+]?(\d+\.?\d*|\.\d+)(E[-+]?\d+)?\s*', re.ASCII | re.IGNORECASE)
_TOKEN = re.compile(
    r'\s*(?:(?P<open>\[)|(?P<close>\])|(?P<comma>,)|(?P<string>"(?:[^"]|"")*")|(?P<bool>TRUE|FALSE)'
    r'|(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:E[-+]?\d+)?))',
    re.ASCII | re.IGNORECASE,
)
UNUSED = 9e9
"""Value of a jointtarget axis that is not connected (9E+09 in RAPID)."""


def number(text: str) -> float:
    """Return a finite number from a response.

    Raises:
        BadResponse: If the text is not a finite number.
    """
    value = float(text) if _NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(value):
        raise BadResponse(f'{text[:60]!r} is not a finite number')
    return value


def joints_rad(fields: Mapping[str, str]) -> np.ndarray:
    """Return the joint angles [rad], shape (6,), read-only, of a jointtarget (`rax_1`.., deg)."""
    names = [f'rax_{i}' for i in range(1, 7)]
    if not set(names) <= set(fields):
        raise BadResponse(f'jointtarget without the fields {names}; it has {sorted(fields)}')
    degrees = np.array([number(fields[name]) for name in names])
    if np.any(np.abs(degrees) >= UNUSED):
        raise BadResponse('jointtarget with an unconnected axis: not a six-axis robot')
    joints = np.deg2rad(degrees)
    joints.setflags(write=False)
    return joints


def ratio(percent_text: str) -> float:
    """Return the speed ratio, 0..1, from a percentage.

    Raises:
        BadResponse: If the percentage is not within 0..100.
    """
    percentage = number(percent_text)
    if not 0.0 <= percentage <= 100.0:
        raise BadResponse(f'speed ratio {percentage:g} % is outside 0..100 %')
    return percentage / 100.0


def percent(speed_ratio: float) -> str:
    """Return the percentage of a speed ratio.

    Raises:
        ConfigurationError: If the ratio is not within 0..1.
    """
    if not 0.0 <= speed_ratio <= 1.0:
        raise ConfigurationError(f'speed ratio {speed_ratio} is outside [0, 1]: nothing was sent')
    return str(round(speed_ratio * 100))


def jointtarget_literal(joints: Sequence[float] | np.ndarray) -> str:
    """Return the RAPID literal of a jointtarget from joint angles [rad], shape (6,).

    External axes are 0, as in the program of the gripper paper.
    """
    degrees = ','.join(f'{math.degrees(q):.6f}'.rstrip('0').rstrip('.') for q in joints)
    return f'[[{degrees}],[0,0,0,0,0,0]]'


def check_literal(text: str) -> None:
    """Check the syntax of a RAPID literal: numbers, booleans, strings and nested arrays.

    Raises:
        ConfigurationError: If the text is not a RAPID literal.
    """
    text = text.strip()
    depth, position, needs_value = 0, 0, True
    while position < len(text):
        match = _TOKEN.match(text, position)
        kind = match.lastgroup if match is not None else None
        if kind in ('close', 'comma'):
            valid = depth > 0 and not needs_value
        else:
            valid = kind is not None and needs_value
        if match is None or not valid:
            raise ConfigurationError(
                f'{text[:60]!r} is not a RAPID literal (character {position}): nothing was sent'
            )
        if kind == 'number' and not math.isfinite(float(match.group('number'))):
            raise ConfigurationError(f'{match.group()[:20]} is too large for a RAPID number')
        depth += {'open': 1, 'close': -1}.get(kind or '', 0)
        position, needs_value = match.end(), kind in ('open', 'comma')
    if depth or needs_value:
        raise ConfigurationError(f'{text[:60]!r} is not a complete RAPID literal')
