"""Steps of the compiled solver for `LANES` actuations at once: small dense systems, written out for the compiler.

A loop over the entries of a 6 x 6 matrix costs more than its arithmetic. So the source of one loop
over the lanes is made for each number n of coordinates and each number of rows of the task, with
every entry a variable of its own; the compiler makes vector instructions of it. The solver calls
these functions by their addresses. Its own code, which takes most of the time to compile, then
holds for every arm.
"""

import functools
import math
from collections.abc import Callable

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from soft_arm_kinematics.backends.compiled_lanes import COMPILED, LANES, row_of
from soft_arm_kinematics.backends.machine_code import callback

STEP_DAMPING = 0.1  # least curvature of the score by shares of the ranges
TO_LIMIT, LONGEST_STEP = (
    0.95,
    0.35,
)  # shares of the room left and of the ranges that one step may take
_NUMBERS = types.CPointer(types.float64)


_kept = []  # compiled functions live as long as their addresses are used


@functools.cache
def steps_for(n: int, rows: int) -> tuple[int, int]:
    """Addresses that `least_norm_steps` and `interior_point_steps` take, for n coordinates and 3 or 6 rows of the task."""
    steps = (
        callback(
            types.int64(_NUMBERS, _NUMBERS, _NUMBERS), _least_norm_source(n, rows), **COMPILED
        ),
        callback(types.int64(types.float64, _NUMBERS), _interior_point_source(n, rows), **COMPILED),
    )
    _kept.append(steps)
    return tuple(step.address for step in steps)


@intrinsic
def least_norm_steps(_context, address, low, high, memory):
    """Damped least-norm steps from `here` towards zero error, as shares of the ranges; coordinates that would leave are held from now on.

    Args:
        address: The first of `steps_for`.
        low, high: (n,) limits.
        memory: Of `Lanes`; error, jacobian, here, damping and free are read, step and free written.

    Returns:
        Number of coordinates that were free and are held now.
    """
    return types.int64(address, low, high, memory), _call


@intrinsic
def interior_point_steps(_context, address, barrier, memory):
    """One step of a primal-dual interior-point method towards the least score under the task.

    Args:
        address: The second of `steps_for`.
        barrier: Its weight, in units of the score.
        memory: Of `Lanes`; error, jacobian, gradient, hessian, share, below and above are read, the last three written.
    """
    return types.int64(address, barrier, memory), _call


def _call(context, builder, signature, arguments):
    """Call the function at an address with numbers and with the data of arrays."""
    kinds = zip(signature.args[1:], arguments[1:], strict=True)
    values = [
        context.make_array(t)(context, builder, v).data if isinstance(t, types.Array) else v
        for t, v in kinds
    ]
    function = ir.FunctionType(ir.IntType(64), [value.type for value in values])
    return builder.call(builder.inttoptr(arguments[0], function.as_pointer()), values)


def _less(terms: list[str]) -> str:
    return ''.join(f' - {t}' for t in terms)


def _factor(matrix: str, factor: str, size: int) -> list[str]:
    """Cholesky factor {factor}r_c of {matrix}r_c; {factor}r_r is the inverse of its diagonal."""
    lines = []
    for r in range(size):
        for c in range(r):
            lines.append(
                f'{factor}{r}_{c} = ({matrix}{r}_{c}{_less([f"{factor}{r}_{m} * {factor}{c}_{m}" for m in range(c)])}) * {factor}{c}_{c}'
            )
        square = f'{matrix}{r}_{r}{_less([f"{factor}{r}_{m} * {factor}{r}_{m}" for m in range(r)])}'
        lines.append(f'{factor}{r}_{r} = 1.0 / sqrt(max({square}, 1e-300))')
    return lines


def _forward(factor: str, rhs: str, size: int) -> list[str]:
    """{rhs}r = L^-1 {rhs}r."""
    return [
        f'{rhs}{r} = ({rhs}{r}{_less([f"{factor}{r}_{m} * {rhs}{m}" for m in range(r)])}) * {factor}{r}_{r}'
        for r in range(size)
    ]


def _backward(factor: str, rhs: str, size: int) -> list[str]:
    """{rhs}r = L^-T {rhs}r."""
    return [
        f'{rhs}{r} = ({rhs}{r}{_less([f"{factor}{m}_{r} * {rhs}{m}" for m in range(r + 1, size)])}) * {factor}{r}_{r}'
        for r in reversed(range(size))
    ]


def _place(n: int):
    """Source of an entry of `Lanes.memory` in lane k."""

    def entry(name: str, row: int = 0) -> str:
        return f'memory[{(row_of(name, n) + row) * LANES} + k]'

    return entry


def _function(name: str, arguments: str, before: list[str], body: list[str]) -> Callable:
    lines = [
        f'def {name}({arguments}):',
        '    held = 0',
        *(f'    {line}' for line in before),
        f'    for k in range({LANES}):',
        *(f'        {line}' for line in body),
        '    return held',
    ]
    scope = {'sqrt': math.sqrt, '__name__': __name__}
    exec(compile('\n'.join(lines), __file__, 'exec'), scope)  # noqa: S102
    return scope[name]


def _least_norm_source(n: int, rows: int) -> Callable:
    at = _place(n)
    limits = [f'low{j}, high{j} = low[{j}], high[{j}]' for j in range(n)]
    body = [f'J{j}_{r} = {at("jacobian", 6 * j + r)}' for j in range(n) for r in range(rows)]
    body += [f'f{j} = {at("free", j)}' for j in range(n)] + [
        f'y{r} = {at("error", r)}' for r in range(rows)
    ]
    for r in range(rows):
        body += [
            f'g{r}_{c} = ' + ' + '.join(f'f{j} * J{j}_{r} * J{j}_{c}' for j in range(n))
            for c in range(r + 1)
        ]
    body.append(
        f'damp = {at("damping")} * ({" + ".join(f"g{r}_{r}" for r in range(rows))}) / {rows}.0 + 1e-14'
    )
    body += [f'g{r}_{r} += damp' for r in range(rows)]
    body += _factor('g', 'L', rows) + _forward('L', 'y', rows) + _backward('L', 'y', rows)
    for j in range(n):
        body += [
            f's = f{j} * ({" + ".join(f"J{j}_{r} * y{r}" for r in range(rows))})',
            f'x = {at("here", j)}',
            f'leaves = ((x <= low{j}) & (s < 0.0)) | ((x >= high{j}) & (s > 0.0))',
            f'{at("step", j)} = 0.0 if leaves else s',
            f'{at("free", j)} = 0.0 if leaves else f{j}',
            'held += leaves',
        ]
    return _function(f'least_norm_steps_{n}_{rows}', 'low, high, memory', limits, body)


def _interior_point_source(n: int, rows: int) -> Callable:
    at = _place(n)
    body = []
    for j in range(n):
        body += [
            f'y{j} = {at("share", j)}',
            f'low{j} = 1.0 / y{j}',
            f'high{j} = 1.0 / (1.0 - y{j})',
        ]
        body += [f'b{j} = {at("below", j)}', f'a{j} = {at("above", j)}']
        body += [f'H{j}_{c} = {at("hessian", j * n + c)}' for c in range(j + 1)]
        body += [f'H{j}_{j} += {STEP_DAMPING} + b{j} * low{j} + a{j} * high{j}']
        body += [f'g{j} = {at("gradient", j)} + barrier * (high{j} - low{j})']
        body += [f'J{r}_{j} = {at("jacobian", 6 * j + r)}' for r in range(rows)]
    body += _factor('H', 'L', n) + _forward('L', 'g', n)
    for r in range(rows):
        body += _forward('L', f'J{r}_', n)
    for r in range(rows):  # multipliers m of the task: J H^-1 J' m = error + J H^-1 g
        body += [
            f'S{r}_{c} = ' + ' + '.join(f'J{r}_{j} * J{c}_{j}' for j in range(n))
            for c in range(r + 1)
        ]
        body.append(f'S{r}_{r} *= 1.0 + 1e-9')  # position and axis are five conditions in six rows
        body.append(
            f'm{r} = {at("error", r)} + ' + ' + '.join(f'J{r}_{j} * g{j}' for j in range(n))
        )
    body += _factor('S', 'K', rows) + _forward('K', 'm', rows) + _backward('K', 'm', rows)
    body += [
        f'd{j} = {" + ".join(f"J{r}_{j} * m{r}" for r in range(rows))} - g{j}' for j in range(n)
    ]
    body += _backward('L', 'd', n)
    body += ['most = 1e-9', 'part = 1.0']
    for j in range(n):
        body += [f'size = abs(d{j})', 'most = max(most, size)']
        body.append(
            f'part = min(part, {TO_LIMIT} * ((1.0 - y{j}) if d{j} > 0.0 else y{j}) / max(size, 1e-12))'
        )
    body.append(f'part = min(part, {LONGEST_STEP} / most)')
    for j in range(n):
        body += [
            f'{at("share", j)} = y{j} + part * d{j}',
            f'{at("below", j)} = max((barrier - b{j} * d{j}) * low{j}, 0.1 * b{j})',
            f'{at("above", j)} = max((barrier + a{j} * d{j}) * high{j}, 0.1 * a{j})',
        ]
    return _function(f'interior_point_steps_{n}_{rows}', 'barrier, memory', [], body)
