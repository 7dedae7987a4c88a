"""Convert units and orders of the controller (deg, mm, quaternion w x y z) to those of ROS."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from abb_rws_bridge.errors import BadResponse, ConfigurationError

_NUMBER = re.compile(r'\s*[-+]?(\d+\.?\d*|\.\d+)(E[-+]?\d+)?\s*', re.ASCII | re.IGNORECASE)
UNUSED = 9e9  # RAPID's "not connected"; the controller echoes it as 9E+09


def number(text: str) -> float:
    """Return a finite number that the controller wrote.

    Raises:
        BadResponse: If the text is not a finite number.
    """
    value = float(text) if _NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(value):
        raise BadResponse(f'{text[:60]!r} is not a finite number')
    return value


def _field(fields: Mapping[str, str], *names: str) -> float:
    for name in names:
        if name in fields:
            return number(fields[name])
    raise BadResponse(f'response has none of the fields {names}; it has {sorted(fields)}')


def joints_rad(fields: Mapping[str, str]) -> np.ndarray:
    """Return the joint angles [rad], shape (6,), from a jointtarget (`rax_1` or `j1`, degrees)."""
    degrees = np.array([_field(fields, f'rax_{i}', f'j{i}') for i in range(1, 7)])
    if np.any(np.abs(degrees) >= UNUSED):
        raise BadResponse(
            'jointtarget names an axis that is not connected: this is no six-axis robot'
        )
    return np.deg2rad(degrees)


def pose(fields: Mapping[str, str]) -> np.ndarray:
    """Return the pose, shape (4, 4) [m], of a robtarget or cartesian (mm, q1..q4)."""
    result = np.eye(4)
    result[:3, :3] = rotation([_field(fields, f'q{i}') for i in (1, 2, 3, 4)])
    result[:3, 3] = [_field(fields, axis) / 1000.0 for axis in 'xyz']
    return result


def rotation(q_wxyz: Sequence[float]) -> np.ndarray:
    """Return the rotation matrix, shape (3, 3), of a quaternion w x y z.

    Raises:
        BadResponse: If the quaternion's length is further than 1e-3 from one.
    """
    norm = float(np.linalg.norm(q_wxyz))
    if abs(norm - 1.0) > 1e-3:
        raise BadResponse(f'quaternion {list(q_wxyz)} has length {norm:.4f}, not 1')
    w, x, y, z = np.asarray(q_wxyz, dtype=float) / norm
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def q_xyzw(rotation_matrix: np.ndarray) -> np.ndarray:
    """Return the quaternion x y z w with w >= 0, shape (4,)."""
    m = np.asarray(rotation_matrix, dtype=float)
    # the eigenvector of Shepperd's symmetric matrix has no branch that loses digits
    k = np.array(
        [
            [m[0, 0] - m[1, 1] - m[2, 2], 0, 0, 0],
            [m[0, 1] + m[1, 0], m[1, 1] - m[0, 0] - m[2, 2], 0, 0],
            [m[0, 2] + m[2, 0], m[1, 2] + m[2, 1], m[2, 2] - m[0, 0] - m[1, 1], 0],
            [m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1], np.trace(m)],
        ]
    )
    values, vectors = np.linalg.eigh(k)
    q = vectors[:, np.argmax(values)]
    return -q if q[3] < 0 else q


def q_wxyz(rotation_matrix: np.ndarray) -> np.ndarray:
    """Return the quaternion w x y z with w >= 0, shape (4,)."""
    return np.roll(q_xyzw(rotation_matrix), 1)


def ratio(percent_text: str) -> float:
    """Return the speed ratio, 0..1, of a controller's percentage.

    Raises:
        BadResponse: If the percentage is not within 0..100.
    """
    percentage = number(percent_text)
    if not 0.0 <= percentage <= 100.0:
        raise BadResponse(f'speed ratio {percentage:g} % is outside 0..100 %')
    return percentage / 100.0


def percent(speed_ratio: float) -> str:
    """Return the controller's percentage of a speed ratio.

    Raises:
        ConfigurationError: If the ratio is not within 0..1.
    """
    if not 0.0 <= speed_ratio <= 1.0:
        raise ConfigurationError(f'speed ratio {speed_ratio} is outside [0, 1]: nothing was sent')
    return str(round(speed_ratio * 100))


def jointtarget_literal(
    joints: Sequence[float] | np.ndarray, *, connected_zero: bool = True
) -> str:
    """Return the RAPID literal of a jointtarget from joint angles [rad].

    Args:
        joints: Joint angles [rad], shape (6,).
        connected_zero: External axes as zero, as the gripper paper's program has them; False writes
            "not connected".
    """
    degrees = ','.join(f'{math.degrees(q):.6f}'.rstrip('0').rstrip('.') for q in joints)
    external = '0,0,0,0,0,0' if connected_zero else '9E9,9E9,9E9,9E9,9E9,9E9'
    return f'[[{degrees}],[{external}]]'


_LITERAL = re.compile(
    r'\s*(?:(\[)|(\])|(,)|("(?:[^"]|"")*")|(TRUE|FALSE)|([-+]?(?:\d+\.?\d*|\.\d+)(?:E[-+]?\d+)?))',
    re.IGNORECASE,
)


def parse_literal(text: str) -> Any:
    """Parse a RAPID literal into numbers, booleans, texts and nested lists.

    Raises:
        ConfigurationError: If the text is not a RAPID literal.
    """
    stack: list[list[Any]] = [[]]
    done, position, expect_value = False, 0, True
    text = text.strip()
    while position < len(text):
        match = _LITERAL.match(text, position)
        if match is None or done:
            raise ConfigurationError(f'{text[:60]!r} is no RAPID literal (at character {position})')
        opening, closing, comma, quoted, boolean, numeral = match.groups()
        position = match.end()
        if comma:
            if expect_value or len(stack) == 1:
                raise ConfigurationError(
                    f'{text[:60]!r} is no RAPID literal: comma at character {position - 1}'
                )
            expect_value = True
            continue
        if closing:
            if len(stack) == 1 or expect_value:
                raise ConfigurationError(
                    f'{text[:60]!r} is no RAPID literal: bracket at character {position - 1}'
                )
            stack.pop()
        elif not expect_value:
            raise ConfigurationError(
                f'{text[:60]!r} is no RAPID literal: comma missing at character {position - 1}'
            )
        elif opening:
            stack[-1].append([])
            stack.append(stack[-1][-1])
            continue
        elif quoted:
            stack[-1].append(quoted[1:-1].replace('""', '"'))
        elif boolean:
            stack[-1].append(boolean.upper() == 'TRUE')
        else:
            stack[-1].append(float(numeral))
            if not math.isfinite(stack[-1][-1]):
                raise ConfigurationError(f'{numeral[:20]} is too large for a RAPID number')
        expect_value, done = False, len(stack) == 1
    if not done:
        raise ConfigurationError(f'{text[:60]!r} is no whole RAPID literal')
    return stack[0][0]
