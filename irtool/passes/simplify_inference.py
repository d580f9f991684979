"""SimplifyInference: normalisations become arithmetic, dropout disappears."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..ir import Call, Expr, Function, Module, Op, TensorType, TupleGetItem, rewrite
from ..ops.base import call
from ..tir.dtypes import accumulator_dtype
from .core.axes import expand_to_axis
from .core.base import FunctionPass, register_pass
from .core.constants import scalar_constant
from .core.context import PassContext
from .core.reshaping import reshape_to
from .core.rule_table import RuleTable


@register_pass("SimplifyInference", level=0, required=("InferType",))
@dataclass(frozen=True)
class SimplifyInference(FunctionPass):
    """Replaces normalisations and dropout by basic arithmetic that is equivalent at inference.

    ::

        nn.batch_norm(x, gamma, beta, mean, var).0
            ⇒  scale = 1 / sqrt(var + epsilon) * gamma
               x * expand_dims(scale) + expand_dims(-mean * scale + beta)
        nn.layer_norm(x, gamma, beta)
            ⇒  (x - mean(x)) / sqrt(variance(x) + epsilon) * gamma + beta
        nn.group_norm, nn.instance_norm   ⇒  the same over their groups or images
        nn.l2_normalize(x)                ⇒  x / sqrt(max(sum(x * x), eps))
        nn.dropout(x).0                   ⇒  x

    Only the first result of batch_norm is rewritten; calls whose other results are used stay. The last digits may
    change, since the operations are reordered. `epsilon` is rounded once, to the dtype that is computed in: the data's, and
    float32 where that has 16 bits, since squares of float16 overflow; the result is cast back.
    """

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        return rewrite(function, _leave)


def _leave(old: Expr, new: Expr) -> Expr:
    if isinstance(old, TupleGetItem) and isinstance(new, TupleGetItem):
        return _first_result(old, new)
    if isinstance(new, Call) and isinstance(new.op, Op):
        unpack = _UNPACKED.find(new.op.name)
        if unpack is not None:
            assert isinstance(old, Call)
            data_type = old.args[0].checked_type
            assert isinstance(data_type, TensorType)
            return _widened(new, data_type, unpack)
    return new


def _first_result(old: TupleGetItem, new: TupleGetItem) -> Expr:
    call_, was = new.tuple, old.tuple
    if new.index != 0 or not isinstance(call_, Call) or not isinstance(call_.op, Op) or not isinstance(was, Call):
        return new
    if call_.op.name == "nn.dropout":
        return call_.args[0]
    if call_.op.name == "nn.batch_norm":
        data_type = was.args[0].known_type
        assert isinstance(data_type, TensorType)
        return _widened(call_, data_type, _batch_norm)
    return new


Unpack = Callable[[Call, TensorType], Expr]
"""`unpack(call, data_type)`: the replacement of a call whose first argument was of that type."""

_UNPACKED: RuleTable[str, Unpack] = RuleTable(__name__, "the inference form of")


def unpacked(*operators: str) -> Callable[[Unpack], Unpack]:
    """Decorator: files the replacement of calls of operators with one result."""
    return _UNPACKED.file(*operators)


def _widened(e: Call, data_type: TensorType, unpack: Unpack) -> Expr:
    """The replacement of `e`, computed in the dtype that the operator itself computes in."""
    wide = accumulator_dtype(data_type.dtype)
    if wide == data_type.dtype:
        return unpack(e, data_type)
    args = tuple(call("cast", a, dtype=wide) for a in e.args)
    inner = Call(e.op, args, e.attrs, e.type_args, e.span)
    out = unpack(inner, TensorType(data_type.shape, wide))
    return e if out is inner else call("cast", out, dtype=data_type.dtype)


def _batch_norm(e: Call, data_type: TensorType) -> Expr:
    data, gamma, beta, mean, variance = e.args
    attrs, dtype, rank = e.attrs, data_type.dtype, len(data_type.shape)
    deviation = call("sqrt", call("add", variance, scalar_constant(attrs.epsilon, dtype)))
    scale: Expr = call("divide", scalar_constant(1.0, dtype), deviation)
    if attrs.scale:
        scale = call("multiply", scale, gamma)
    shift: Expr = call("multiply", call("negative", mean), scale)
    if attrs.center:
        shift = call("add", shift, beta)
    axis = attrs.axis % rank
    scaled = call("multiply", data, expand_to_axis(scale, rank, [axis]))
    return call("add", scaled, expand_to_axis(shift, rank, [axis]))


def _normalised(data: Expr, axes: tuple[int, ...], epsilon: float, dtype: str) -> Expr:
    """`(data - mean) / sqrt(variance + epsilon)`, both taken over `axes`; without axes each element is its own mean."""
    if not axes:  # a reduction takes none for all of them
        return call("zeros_like", data)
    mean = call("mean", data, axis=axes, keepdims=True, exclude=False)
    variance = call("variance", data, mean, axis=axes, keepdims=True, exclude=False, unbiased=False)
    deviation = call("sqrt", call("add", variance, scalar_constant(epsilon, dtype)))
    return call("divide", call("subtract", data, mean), deviation)


def _scale_and_shift(out: Expr, e: Call, rank: int, axis: int) -> Expr:
    _, gamma, beta = e.args
    if e.attrs.scale:
        out = call("multiply", out, expand_to_axis(gamma, rank, [axis]))
    if e.attrs.center:
        out = call("add", out, expand_to_axis(beta, rank, [axis]))
    return out


@unpacked("nn.layer_norm")
def _layer_norm(e: Call, data_type: TensorType) -> Expr:
    rank = len(data_type.shape)
    out = _normalised(e.args[0], (e.attrs.axis,), e.attrs.epsilon, data_type.dtype)
    return _scale_and_shift(out, e, rank, e.attrs.axis % rank)


@unpacked("nn.instance_norm")
def _instance_norm(e: Call, data_type: TensorType) -> Expr:
    rank = len(data_type.shape)
    axis = e.attrs.axis % rank
    axes = tuple(i for i in range(1, rank) if i != axis)
    return _scale_and_shift(_normalised(e.args[0], axes, e.attrs.epsilon, data_type.dtype), e, rank, axis)


@unpacked("nn.group_norm")
def _group_norm(e: Call, data_type: TensorType) -> Expr:
    if not data_type.is_static:
        return e
    if 0 in data_type.shape:  # nothing to normalise
        return e.args[0]
    shape, rank = data_type.shape, len(data_type.shape)
    axis, groups = e.attrs.axis % rank, e.attrs.num_groups
    grouped = (*shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :])
    axes = tuple(range(axis + 1, rank + 1))
    out = _normalised(reshape_to(e.args[0], grouped), axes, e.attrs.epsilon, data_type.dtype)
    return _scale_and_shift(reshape_to(out, shape), e, rank, axis)


@unpacked("nn.l2_normalize")
def _l2_normalize(e: Call, data_type: TensorType) -> Expr:
    data = e.args[0]
    total = call("sum", call("multiply", data, data), axis=e.attrs.axis, keepdims=True, exclude=False)
    clamped = call("maximum", total, scalar_constant(e.attrs.eps, data_type.dtype))
    return call("divide", data, call("sqrt", clamped))
