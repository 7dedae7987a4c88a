"""Formulas of time, such as `50e3*sin(2*pi*0.5*t)`: parsed, checked and evaluated, never executed.

Only what is listed here is allowed; everything else is refused by name.
"""

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from soft_arm_physics.errors import PhysicsError

FUNCTIONS: dict[str, Callable[..., np.ndarray]] = {
    'sin': np.sin,
    'cos': np.cos,
    'tan': np.tan,
    'exp': np.exp,
    'log': np.log,
    'sqrt': np.sqrt,
    'abs': np.abs,
    'sign': np.sign,
    'floor': np.floor,
    'min': np.minimum,
    'max': np.maximum,
}
CONSTANTS = {'pi': np.pi}
ALLOWED = (
    '+ - * / % **, < <= > >= (1 or 0), parentheses, the functions '
    f'{", ".join(FUNCTIONS)}, numbers and t [s]'
)
MAX_CHARACTERS = 500
_TWO_ARGUMENTS = {'min', 'max'}
_OPERATORS: dict[type, Callable] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


@dataclass(frozen=True)
class Formula:
    """A checked formula of the time t [s]; made by `parse_formula`."""

    text: str
    tree: ast.expr
    constants: Mapping[str, float]

    def __call__(self, time_s: np.ndarray) -> np.ndarray:
        """Values at times [s], (n,).

        Raises:
            PhysicsError: If one is not finite; names the time.
        """
        with np.errstate(all='ignore'):
            values = np.broadcast_to(
                _value(self.tree, {'t': time_s, **self.constants}), time_s.shape
            ).astype(float)
        bad = ~np.isfinite(values)
        if bad.any():
            raise PhysicsError(
                f'{self.text!r} is {values[bad][0]} at t = {time_s[bad][0]:g} s: correct it'
            )
        return values


def parse_formula(text: str, constants: Mapping[str, float] = {}) -> Formula:
    """Parse a formula of t, in which further constants may stand.

    Raises:
        PhysicsError: If it cannot be parsed, or uses anything but `ALLOWED`.
    """
    if len(text) > MAX_CHARACTERS:
        raise PhysicsError(
            f'the formula {text[:20]!r}.. has {len(text)} characters, more than {MAX_CHARACTERS}: '
            'give a CSV file instead'
        )
    try:
        tree = ast.parse(text.strip(), mode='eval').body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise PhysicsError(f'{text!r} is not a formula; allowed are {ALLOWED}') from None
    constants = {**CONSTANTS, **constants}
    _check(tree, text, constants)
    return Formula(text, tree, constants)


def _check(node: ast.expr, text: str, constants: Mapping[str, float]) -> None:
    allowed, children = False, []
    if isinstance(node, ast.Constant):
        allowed = isinstance(node.value, (int, float)) and not isinstance(node.value, bool)
    elif isinstance(node, ast.Name):
        allowed = node.id == 't' or node.id in constants
    elif isinstance(node, ast.BinOp):
        allowed, children = type(node.op) in _OPERATORS, [node.left, node.right]
    elif isinstance(node, ast.UnaryOp):
        allowed, children = type(node.op) in _OPERATORS, [node.operand]
    elif isinstance(node, ast.Compare):
        allowed = len(node.ops) == 1 and type(node.ops[0]) in _OPERATORS
        children = [node.left, *node.comparators]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        wanted = 2 if node.func.id in _TWO_ARGUMENTS else 1
        allowed = node.func.id in FUNCTIONS and len(node.args) == wanted and not node.keywords
        children = node.args
    if not allowed:
        part = ast.unparse(node)
        named = ', '.join(constants)
        raise PhysicsError(f'{part!r} in {text!r} is not allowed; allowed are {ALLOWED}, {named}')
    for child in children:
        _check(child, text, constants)


def _value(node: ast.expr, values: Mapping[str, np.ndarray | float]) -> np.ndarray:
    if isinstance(node, ast.Constant):
        try:
            return np.float64(node.value)  # type: ignore[arg-type, return-value]  # a number
        except OverflowError:
            return np.float64(np.inf)  # type: ignore[return-value]
    if isinstance(node, ast.Name):
        return np.asarray(values[node.id], float)
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left, values), _value(node.right, values)
        return _OPERATORS[type(node.op)](left, right)
    if isinstance(node, ast.UnaryOp):
        return _OPERATORS[type(node.op)](_value(node.operand, values))
    if isinstance(node, ast.Compare):
        left, right = _value(node.left, values), _value(node.comparators[0], values)
        return np.asarray(_OPERATORS[type(node.ops[0])](left, right)) * 1.0
    assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name)  # `_check` has seen it
    return FUNCTIONS[node.func.id](*(_value(argument, values) for argument in node.args))
