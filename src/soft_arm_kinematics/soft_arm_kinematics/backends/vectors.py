"""A vector of `WIDTH` float64 as a number in compiled code.

numba vectorises only innermost loops over numbers that lie side by side. Here the vector is a type:
arithmetic on it is one processor instruction per register, anywhere in the code. So
`segments.formulas`, written for one number, works on `WIDTH` poses at once. This module is its
library `xp` in compiled code.

Arrays (..., WIDTH) of float64 become arrays (...) of vectors by `as_vectors`, in the same memory. A
plain number in an operation stands for a vector of equal numbers. Comparisons give masks.
"""

import math
import operator

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, lower_cast, models, register_model
from numba.np.arrayobj import make_array, populate_array

from soft_arm_kinematics.backends.machine_code import njit

WIDTH = 16  # a power of two; two registers of AVX-512 hide each other's latency
FAST = ('contract', 'nsz', 'arcp')  # reorderings that keep NaN and infinity
COMPILED = {'error_model': 'numpy', 'fastmath': set(FAST)}
INNER = COMPILED | {'no_cpython_wrapper': True}  # Python does not know vectors
INLINED = INNER | {'forceinline': True}


class _Vector(types.Type):
    def __init__(self):
        super().__init__(name=f'float64x{WIDTH}')

    def unify(self, _context, other):
        return self if isinstance(other, (types.Number, _Vector)) else None

    def can_convert_from(self, _context, other):
        return numba.core.typeconv.Conversion.safe if isinstance(other, types.Number) else None


class _Mask(types.Type):
    def __init__(self):
        super().__init__(name=f'boolx{WIDTH}')


VECTOR, MASK = _Vector(), _Mask()
_LLVM_VECTOR = ir.VectorType(ir.DoubleType(), WIDTH)
_LLVM_MASK = ir.VectorType(ir.IntType(1), WIDTH)


@register_model(_Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, _LLVM_VECTOR)


@register_model(_Mask)
class _MaskModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, _LLVM_MASK)


@lower_cast(types.Number, _Vector)
def _splat(context, builder, kind, _to, value):
    number = context.cast(builder, value, kind, types.float64)
    one = builder.insert_element(ir.Constant(_LLVM_VECTOR, ir.Undefined), number, ir.IntType(32)(0))
    first = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
    return builder.shuffle_vector(one, ir.Constant(_LLVM_VECTOR, ir.Undefined), first)


def _operator(function, result, instruction):
    """Give numba an operator of two vectors, or of a vector and a number."""

    @infer_global(function)
    class _Template(AbstractTemplate):
        def generic(self, arguments, _keywords):
            if VECTOR in arguments and all(
                a == VECTOR or isinstance(a, types.Number) for a in arguments
            ):
                return signature(result, *(VECTOR for _ in arguments))
            return None

    @lower_builtin(function, *(VECTOR,) * (1 if function is operator.neg else 2))
    def _lower(_context, builder, _signature, arguments):
        return instruction(builder, *arguments)


for _function, _name in (('add', 'fadd'), ('sub', 'fsub'), ('mul', 'fmul'), ('truediv', 'fdiv')):
    _operator(
        getattr(operator, _function),
        VECTOR,
        lambda builder, a, b, name=_name: getattr(builder, name)(a, b, flags=FAST),
    )
for _function, _name in (('lt', '<'), ('le', '<='), ('gt', '>'), ('ge', '>=')):
    _operator(
        getattr(operator, _function),
        MASK,
        lambda builder, a, b, name=_name: builder.fcmp_ordered(name, a, b),
    )
_operator(operator.neg, VECTOR, lambda builder, a: builder.fneg(a))


def _of_masks(function, instruction):
    @infer_global(function)
    class _Template(AbstractTemplate):
        def generic(self, arguments, _keywords):
            return signature(MASK, MASK, MASK) if arguments == (MASK, MASK) else None

    @lower_builtin(function, MASK, MASK)
    def _lower(_context, builder, _signature, arguments):
        return getattr(builder, instruction)(*arguments)


_of_masks(operator.and_, 'and_')
_of_masks(operator.or_, 'or_')


@intrinsic
def where(_context, mask, a, b):
    """Numbers of `a` where the mask is set, of `b` elsewhere."""

    def lower(_context, builder, _signature, arguments):
        return builder.select(*arguments)

    return VECTOR(MASK, VECTOR, VECTOR), lower


def _call(name, values):
    def lower(_context, builder, _signature, arguments):
        kind = ir.FunctionType(_LLVM_VECTOR, [_LLVM_VECTOR] * values)
        function = cgutils.get_or_insert_function(builder.module, kind, f'llvm.{name}.v{WIDTH}f64')
        return builder.call(function, arguments)

    return lower


@intrinsic
def sqrt(_context, x):
    """Square root."""
    return VECTOR(VECTOR), _call('sqrt', 1)


@intrinsic
def rounded(_context, x):
    """Nearest whole number."""
    return VECTOR(VECTOR), _call('rint', 1)


@intrinsic
def any_of(_context, mask):
    """Whether the mask is set anywhere."""

    def lower(_context, builder, _signature, arguments):
        bits = builder.bitcast(arguments[0], ir.IntType(WIDTH))
        return builder.icmp_unsigned('!=', bits, ir.IntType(WIDTH)(0))

    return types.boolean(MASK), lower


@intrinsic
def as_vectors(_context, array):
    """The same memory as an array of vectors: (..., WIDTH) contiguous float64 becomes (...)."""
    kind = types.Array(VECTOR, array.ndim - 1, 'C', aligned=False)

    def lower(context, builder, signature_, arguments):
        source = make_array(signature_.args[0])(context, builder, arguments[0])
        result = make_array(kind)(context, builder)
        populate_array(
            result,
            builder.bitcast(source.data, _LLVM_VECTOR.as_pointer()),
            cgutils.unpack_tuple(builder, source.shape)[:-1],
            cgutils.unpack_tuple(builder, source.strides)[:-1],
            context.get_constant(types.intp, 8 * WIDTH),
            source.meminfo,
            source.parent,
        )
        context.nrt.incref(builder, array, arguments[0])
        return result._getvalue()

    return kind(array), lower


_PI_HIGH = math.ldexp(round(math.ldexp(math.pi, 30)), -30)  # n times it is exact for whole n < 2^20
_PI_LOW = 1.2246467991473532e-16 + (math.pi - _PI_HIGH)
_SIN = tuple((-1.0) ** k / math.factorial(2 * k + 1) for k in reversed(range(11)))
_COS = tuple((-1.0) ** k / math.factorial(2 * k) for k in reversed(range(12)))


@njit(**INLINED)
def _sign_and_rest(x):
    n = rounded(x * (1.0 / math.pi))
    odd = n - 2.0 * rounded(0.5 * n)  # -1, 0 or 1
    return 1.0 - 2.0 * odd * odd, (x - n * _PI_HIGH) - n * _PI_LOW


@njit(**INLINED)
def sin(x):
    """Sine, to round-off for angles up to thousands of turns."""
    sign, r = _sign_and_rest(x)
    y = r * r
    total = 0.0 * y + _SIN[0]
    for k in range(1, len(_SIN)):
        total = total * y + _SIN[k]
    return sign * r * total


@njit(**INLINED)
def cos(x):
    """Cosine, to round-off for angles up to thousands of turns."""
    sign, r = _sign_and_rest(x)
    y = r * r
    total = 0.0 * y + _COS[0]
    for k in range(1, len(_COS)):
        total = total * y + _COS[k]
    return sign * total


@njit(**INLINED)
def least(a, b):
    """The smaller of two numbers."""
    return where(a < b, a, b)


@njit(**INLINED)
def greatest(a, b):
    """The greater of two numbers."""
    return where(a > b, a, b)
