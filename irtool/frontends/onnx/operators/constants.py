"""Tensors that stand in the model, or that a shape and a few numbers make."""

from __future__ import annotations

import math

from ....deferred import np
from ....diagnostics import IrError
from ....ir.attributes import formulas
from ....ir.dims import is_number
from ....symbolic_int import maximum
from ..arithmetic import cast
from ..length_values import numbers_below
from ..memory_limit import MOST_MADE, counted, diagonal, require_shape
from ..mistakes import DamagedModel, UnknownExtent, UnsupportedNode
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..partial import known_parts, refined
from ..tensors import dtype_of
from ..value import Value, apply

_SMALL = 4096
"""Elements up to which a tensor of one number is a constant: it is most likely a shape."""


@onnx_operator("Constant")
class Constant(OnnxOperator):
    """A tensor, dense or sparse, a number, or a list of numbers."""

    @since(1, 9)
    def dense(self, *, value: Value) -> Result:
        return value

    @since(
        11,
        12,
        13,
        19,
        21,
        23,
        24,
        25,
        added={
            "value_float": 12,
            "value_floats": 12,
            "value_int": 12,
            "value_ints": 12,
            "value_string": 12,
            "value_strings": 12,
        },
    )
    def any_form(
        self,
        *,
        value: Value | None = None,
        sparse_value: Value | None = None,
        value_float: float | None = None,
        value_floats: tuple[float, ...] | None = None,
        value_int: int | None = None,
        value_ints: tuple[int, ...] | None = None,
        value_string: str | None = None,
        value_strings: tuple[str, ...] | None = None,
    ) -> Result:
        forms = [f for f in (value, sparse_value) if f is not None]
        forms += [Value.constant(np.array(n, "float32")) for n in (value_float, value_floats) if n is not None]
        forms += [Value.constant(np.array(n, "int64")) for n in (value_int, value_ints) if n is not None]
        if value_string is not None or value_strings is not None:
            raise IrError("it holds strings, which Relay does not have", code=UnsupportedNode)
        if len(forms) != 1:
            raise IrError(f"it has {len(forms)} values, and must have one", code=DamagedModel)
        return forms[0]


@onnx_operator("ConstantOfShape")
class ConstantOfShape(OnnxOperator):
    """A tensor of one number, in the shape that the input says."""

    folds = False

    @since(9, 20, 21, 23, 24, 25)
    def filled(self, shape: Value, *, value: Value | None = None) -> Result:
        number = Value.constant(np.zeros((), "float32")) if value is None else value
        if number.known is None or number.known.size != 1:
            raise IrError(f"value has the type {number.type}, and must have one element", code=DamagedModel)
        number = Value.constant(number.known.reshape(()), number.dtype)
        if not shape.is_determined("the shape of ConstantOfShape"):
            return refined(number.call("dyn.full", shape, dtype=number.dtype, shape=None), known_parts(shape))
        extents = shape.ints("the shape of ConstantOfShape")
        if any(d < 0 for d in extents):
            raise IrError(f"the shape {list(extents)} has a negative extent", code=DamagedModel)
        require_shape(extents, "the result of ConstantOfShape")
        whole = number.call("full", shape=list(extents), dtype=number.dtype)
        if formulas(extents) or math.prod(extents) > MOST_MADE:
            return whole  # operators that need its elements refuse it
        known = np.broadcast_to(number.array("value"), extents)
        if math.prod(extents) <= _SMALL:
            return Value.constant(np.array(known), number.dtype)
        return Value(whole.expr, known)


@onnx_operator("EyeLike")
class EyeLike(OnnxOperator):
    """1 on a diagonal, `k` above the main one, and 0 elsewhere, in the shape of the input."""

    @since(9, 22)
    def diagonal(self, x: Value, *, dtype: int | None = None, k: int = 0) -> Result:
        result_dtype = x.dtype if dtype is None else dtype_of(dtype, "the result of EyeLike")
        extents = x.extents("the input of EyeLike")
        if len(extents) != 2:
            raise IrError(f"the input is of rank {len(extents)}, and must be a matrix", code=DamagedModel)
        rows, columns = extents
        k = max(min(k, columns), -rows)
        return Value.constant(diagonal(rows, columns, k, "the result of EyeLike"), result_dtype)


def _scalar(v: Value) -> np.ndarray:
    """A known bound. Raises IrError if it is not one number."""
    bound = v.array("a bound of Range")
    if bound.size != 1:
        raise IrError(f"a bound of Range is {v.tensor}, not one number", code=DamagedModel)
    return bound.reshape(())


def _of_length(start: Value, limit: Value, delta: Value) -> Value:
    """A range whose length only the run knows: the first numbers of the longest one, from 0, and the start."""
    first, last, step = (v.number("a bound of Range") for v in (start, limit, delta))
    if not is_number(step) or not step:
        raise IrError(f"the step of Range is {step}: a number other than 0 is needed", code=UnknownExtent)
    count = maximum(-((first - last) // step), 0)
    numbers = numbers_below(count, "the result of Range", start.dtype, step)
    if is_number(first) and not first:
        return numbers
    return numbers.call("add", start.call("reshape", newshape=[]) if start.shape else start)


@onnx_operator("Range")
class Range(OnnxOperator):
    """The numbers from `start` to `limit`, without it, in steps of `delta`."""

    @since(11)
    def numbers(self, start: Value, limit: Value, delta: Value) -> Result:
        dtype = start.dtype
        bounds = {"the start of Range": start, "the limit of Range": limit, "the step of Range": delta}
        is_determined = [v.is_determined(what) for what, v in bounds.items()]
        if all(is_determined) and any(v.lengths is not None for v in bounds.values()):
            return _of_length(start, limit, delta)
        if not all(is_determined):
            start, limit, delta = (v if not v.shape else v.call("reshape", newshape=[]) for v in (start, limit, delta))
            ends = {"start": start.expr, "stop": limit.expr, "step": delta.expr}
            return apply("arange", start, limit, delta, **ends, dtype=dtype)
        first, last, step = (_scalar(v) for v in (start, limit, delta))
        if not step:
            raise IrError("the step of Range is 0", code=DamagedModel)
        number = int if first.dtype.kind in "iu" else float
        difference = (number(last) - number(first)) / number(step)
        if not math.isfinite(difference):
            raise IrError(f"the range from {first} to {last} has no end", code=UnknownExtent)
        count = max(math.ceil(difference), 0)
        number_type = first.dtype.type if first.dtype.kind in "iu" else np.float64
        return Value.constant(
            number_type(first) + counted(count, "the result of Range").astype(number_type) * number_type(step), dtype
        )

    @since(27)
    def stashed(self, start: Value, limit: Value, delta: Value, *, stash_type: int = 1) -> Result:
        wide = dtype_of(stash_type, "what Range computes with")
        if start.dtype not in ("float16", "bfloat16") or start.dtype == wide:
            return self.numbers(start, limit, delta)
        numbers = self.numbers(*(cast(v, wide) for v in (start, limit, delta)))
        assert isinstance(numbers, Value)
        return cast(numbers, start.dtype)
