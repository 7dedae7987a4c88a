"""ROS parameters as frozen dataclasses: declared, range-checked and described in one place.

A parameter is a dataclass field made by `parameter`; its unit stands in its name:

    @dataclass(frozen=True)
    class DriverParameters:
        host: str = parameter('127.0.0.1', 'address of the valve board')
        rate_hz: float = parameter(50.0, 'exchanges per second [Hz]', minimum=1.0, maximum=200.0)
        port: int = parameter(description='TCP port of the valve board', minimum=1)
"""

import math
from dataclasses import MISSING, Field, field, fields
from typing import Any, TypeVar

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, ParameterType
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException

from soft_arm_node_kit.node import Node

_TYPES = {
    bool: ParameterType.PARAMETER_BOOL,
    int: ParameterType.PARAMETER_INTEGER,
    float: ParameterType.PARAMETER_DOUBLE,
    str: ParameterType.PARAMETER_STRING,
    list[float]: ParameterType.PARAMETER_DOUBLE_ARRAY,
    list[int]: ParameterType.PARAMETER_INTEGER_ARRAY,
    list[str]: ParameterType.PARAMETER_STRING_ARRAY,
}

# parameters that rclpy declares in every node
_FOREIGN = ('use_sim_time', 'start_type_description_service', 'qos_overrides.')

Parameters = TypeVar('Parameters')


class ParameterError(ValueError):
    """A parameter that is missing, unknown, of the wrong type or outside its limits."""


def parameter(
    default: Any = MISSING,
    description: str = '',
    minimum: float | None = None,
    maximum: float | None = None,
) -> Any:
    """Make the dataclass field of one parameter; without a default the user must set it."""
    return field(
        default=default,
        metadata={'description': description, 'minimum': minimum, 'maximum': maximum},
    )


def declare(node: Node, parameters_type: type[Parameters]) -> Parameters:
    """Declare every field of a dataclass as a read-only parameter; return the values.

    Raises:
        ParameterError: If one is missing, unknown, of another type, not finite or outside its
            limits.
    """
    specifications = fields(parameters_type)  # type: ignore[arg-type]
    known = sorted(spec.name for spec in specifications)
    unknown = sorted(set(node.get_parameters_by_prefix('')) - set(known))
    unknown = [name for name in unknown if not name.startswith(_FOREIGN)]
    if unknown:
        raise ParameterError(
            f'{node.get_name()}: unknown parameter {unknown[0]!r}; known: {", ".join(known)}'
        )
    return parameters_type(**{f.name: _declare_one(node, f) for f in specifications})


def _declare_one(node: Node, spec: Field) -> Any:
    name = f'{node.get_name()}: parameter {spec.name!r}'
    initial = spec.default
    if node.has_parameter(spec.name):  # given at start; declared again with its description
        initial = node.get_parameter(spec.name).value
        node.undeclare_parameter(spec.name)
    if initial is MISSING:
        raise ParameterError(
            f'{name} is missing ({spec.metadata["description"]}): '
            f'set it in the parameter file or with -p {spec.name}:=..'
        )
    if spec.type is float and type(initial) is int:
        initial = float(initial)  # YAML writes 50 for 50.0
    descriptor = ParameterDescriptor(
        type=_TYPES[spec.type],  # type: ignore[index]
        description=spec.metadata['description'],
        read_only=True,
        **_ranges(spec),
    )
    _check(name, initial, spec)
    try:
        value = node.declare_parameter(spec.name, initial, descriptor, ignore_override=True).value
    except (InvalidParameterTypeException, InvalidParameterValueException) as error:
        raise ParameterError(f'{name} = {initial!r}: {error}') from error
    return list(value) if spec.type in (list[float], list[int], list[str]) else value


def _ranges(spec: Field) -> dict[str, list]:
    low, high = spec.metadata['minimum'], spec.metadata['maximum']
    if low is None and high is None:
        return {}
    if spec.type is int:
        low = -(2**63) if low is None else int(low)
        high = 2**63 - 1 if high is None else int(high)
        return {'integer_range': [IntegerRange(from_value=low, to_value=high)]}
    low = -math.inf if low is None else float(low)
    high = math.inf if high is None else float(high)
    return {'floating_point_range': [FloatingPointRange(from_value=low, to_value=high)]}


def _check(name: str, value: Any, spec: Field) -> None:
    expected: Any = getattr(spec.type, '__origin__', spec.type)
    if not isinstance(value, expected) and not (
        expected is list and not isinstance(value, (str, bytes)) and hasattr(value, '__iter__')
    ):
        raise ParameterError(f'{name} = {value!r} must be of type {expected.__name__}')
    low, high = spec.metadata['minimum'], spec.metadata['maximum']
    numbers = [
        v
        for v in (value if expected is list else [value])
        if isinstance(v, (int, float)) and not isinstance(v, bool)
    ]
    for number in numbers:
        if not math.isfinite(number):
            raise ParameterError(f'{name} = {number} must be finite')
        if (low is not None and number < low) or (high is not None and number > high):
            raise ParameterError(
                f'{name} = {number} is outside [{low}, {high}]: {spec.metadata["description"]}'
            )
