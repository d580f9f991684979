"""Tensor expressions: the computation of an operator, element by element. This docstring is the manual.

An operator's `compute(self, inputs, out_type)` gets `te.Tensor`s (tuple arguments flattened, in order) and returns a
tensor, or a list of tensors for a tuple result::

    def compute(self, inputs, out_type):                                        # nn.dense
        data, weight = inputs
        k = te.reduce_axis(data.shape[1], name="k")
        return te.compute(out_type.shape, lambda i, j: te.sum(data[i, k] * weight[j, k], axis=k), name="dense")

Tensors
    `x.shape` (a tuple of ints: shapes are static here), `x.dtype`, `x.ndim`, `x[i, j]`, `x(i, j)`, `x[idx]` with a tuple or
    list of indices. `x[()]` is the element of a scalar.

Making tensors
    `te.compute(shape, f, name=, tag=, attrs=)`     element = f(*indices); shape `()` calls f(). A tuple from f makes several
                                                    tensors. `lambda *i: x[i]` works. f may contain reductions anywhere.
    `te.extern(shape(s), inputs, f, dtype=, name=)` filled by loops: f(ib, ins, outs); for what is no formula (sort, NMS,
                                                    cumulative sums, random). `ib` is a `tir.builder.Builder`:
                                                    `with ib.for_(n) as i:`, `with ib.for_(lo, hi) as i:`,
                                                    `with ib.if_(c):`, `with ib.else_():`, `with ib.while_(c):`,
                                                    `ib.store(out, (i, j), v)`, `v = ib.local("float32", 0)` with `v.get()`
                                                    and `v.set(x)`, `ib.let(x)` (the value now), `ib.allocate(shape, dtype)`.
    `te.placeholder(shape, dtype, name=)`           an input (tests).

Reductions over `k = te.reduce_axis(n)` or `te.reduce_axis((lo, hi))`
    `te.reduce_axis(n, window=True)` runs over the elements of a window, as a kernel's rows: schedules for windows ask for it.
    `te.sum/prod/max/min(e, axis=k or [k, l], where=cond)`, `te.reduce_all/reduce_any`, `te.bit_and/bit_or/bit_xor`;
    `te.max` and `te.min` of NaN and anything are NaN;
    `te.argmax((index, value), axis=k, select_last_index=False)` and `te.argmin` give a pair of expressions;
    `te.comm_reducer(fcombine, fidentity)` makes others, on tuples too. An empty list of axes gives the operand itself.
    The accumulator has the operand's dtype: cast the operand first to accumulate wider.

Expressions
    Python's `+ - * / // % << >> & | ^ ~ < <= > >= == !=`; a Python number takes the dtype of the other operand (a float
    beside an integer makes both float32). Mixed dtypes are joined: float over integer, wide over narrow. `/` is for floats.
    `te.floordiv floormod truncdiv truncmod` (by zero: 0), `te.minimum/maximum` (also `min2`/`max2`), `te.cast(e, dtype)` or
    `e.astype(dtype)`, `te.const(v, dtype)`, `te.select(c, a, b)` (both may be evaluated), `te.if_then_else(c, a, b)` (only
    the one taken is: use it to guard reads, as in padding), `te.all(*conds)`, `te.any(*conds)`, `te.logical_not(c)`,
    `te.bitwise_and/or/xor/not`, `te.shift_left/right`, `te.max_value/min_value/infinity(dtype)`.
    Indices are int32; `te.cast(i, "float32")` makes data of one. An index may be any integer expression, such as another
    tensor's element; it must be within bounds wherever it is evaluated.
    Integers wrap; float to integer truncates towards zero. Arithmetic of float16/bfloat16 rounds after each operation.

Functions
    `te.exp exp2 exp10 expm1 log log2 log10 log1p sqrt rsqrt sigmoid erf sin cos tan asin acos atan sinh cosh tanh asinh
    acosh atanh floor ceil trunc round nearbyint power/pow atan2 fmod hypot copysign nextafter isnan isinf isfinite abs sign
    popcount clz reinterpret`; `te.call(name, dtype, *args)` for one by name.

Do not put a condition in Python (`if i == 0`) on an expression; it has no truth value. Shapes and attributes are plain
Python, so loops and conditions over them are fine.
"""

from ..namespace import submodules
from ..tir.builder import Builder
from ..tir.expr import (
    Axis,
    Expr,
    Var,
    as_bool,
    as_expr,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    cast,
    const,
    div,
    equal,
    floordiv,
    floormod,
    if_then_else,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    nan_maximum,
    nan_minimum,
    not_equal,
    select,
    shift_left,
    shift_right,
    truncdiv,
    truncmod,
)
from ..tir.expr import all_of as _all_of
from ..tir.expr import any_of as _any_of
from ..tir.intrinsics import (
    abs,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    call,
    ceil,
    clz,
    copysign,
    cos,
    cosh,
    erf,
    exp,
    exp2,
    exp10,
    expm1,
    floor,
    fma,
    fmod,
    hypot,
    infinity,
    isfinite,
    isinf,
    isnan,
    likely,
    log,
    log1p,
    log2,
    log10,
    max_value,
    min_value,
    nearbyint,
    nextafter,
    popcount,
    pow,
    power,
    product,
    reinterpret,
    round,
    rsqrt,
    sigmoid,
    sign,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    trunc,
)
from ..tir.stmt import Buffer
from .build import compute, extern, placeholder, reduce_axis
from .guard import clip_index, wrap_index
from .reduction import (
    Reducer,
    argmax,
    argmin,
    bit_and,
    bit_or,
    bit_xor,
    comm_reducer,
    largest_number,
    max,
    min,
    prod,
    reduce,
    reduce_all,
    reduce_any,
    sum,
)
from .tensor import Compute, Extern, Operation, Placeholder, Tensor

__all__ = [
    "Axis",
    "Buffer",
    "Builder",
    "Compute",
    "Expr",
    "Extern",
    "Operation",
    "Placeholder",
    "Reducer",
    "Tensor",
    "Var",
    "abs",
    "acos",
    "acosh",
    "all",
    "any",
    "argmax",
    "argmin",
    "as_bool",
    "as_expr",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bit_and",
    "bit_or",
    "bit_xor",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "call",
    "cast",
    "ceil",
    "clip_index",
    "clz",
    "comm_reducer",
    "compute",
    "const",
    "copysign",
    "cos",
    "cosh",
    "div",
    "equal",
    "erf",
    "exp",
    "exp2",
    "exp10",
    "expm1",
    "extern",
    "floor",
    "floordiv",
    "floormod",
    "fma",
    "fmod",
    "hypot",
    "if_then_else",
    "infinity",
    "isfinite",
    "isinf",
    "isnan",
    "largest_number",
    "less",
    "less_equal",
    "likely",
    "log",
    "log1p",
    "log2",
    "log10",
    "logical_and",
    "logical_not",
    "logical_or",
    "max",
    "max2",
    "max_value",
    "maximum",
    "min",
    "min2",
    "min_value",
    "minimum",
    "nan_maximum",
    "nan_minimum",
    "nearbyint",
    "nextafter",
    "not_equal",
    "placeholder",
    "popcount",
    "pow",
    "power",
    "prod",
    "product",
    "reduce",
    "reduce_all",
    "reduce_any",
    "reduce_axis",
    "reinterpret",
    "round",
    "rsqrt",
    "select",
    "shift_left",
    "shift_right",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "sum",
    "tan",
    "tanh",
    "trunc",
    "truncdiv",
    "truncmod",
    "wrap_index",
]

min2, max2 = minimum, maximum


def all(*conditions):
    """Logical and of its arguments (of none: true). Over an axis: `reduce_all`."""
    return _all_of(conditions)


def any(*conditions):
    """Logical or of its arguments (of none: false). Over an axis: `reduce_any`."""
    return _any_of(conditions)


__getattr__ = submodules(__name__)
