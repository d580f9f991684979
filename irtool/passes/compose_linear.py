"""ComposeLinear: linear layers with nothing but data movement between them become one, at the lowest resolution."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from ..deferred import np
from ..ir import Call, Constant, Expr, Function, Module, Tuple, children, post_order, rewrite
from ..ops.base import call, is_call_to
from ..ops.dtypes import dtype_of
from .core.base import FunctionPass, register_pass
from .core.constants import array_constant, has_data, to_array
from .core.context import PassContext
from .core.extents import extents_of, is_smaller, known_extents
from .core.reshaping import reshape_to

_DTYPES = ("float32", "float64")

_MOST_GROWTH = 4
"""By how much a composition may widen a resized tensor: a resized element costs about as much as this many products less."""


@register_pass("ComposeLinear", level=3, required=("InferType",))
@dataclass(frozen=True)
class ComposeLinear(FunctionPass):
    """Moves 1x1 convolutions and dense layers with constant weights towards the inputs, where that takes fewer products.

    ::

        nn.conv2d(image.resize2d(%x, size=[64, 64]), W)        ⇒  image.resize2d(nn.conv2d(%x, W), size=[64, 64])
        nn.conv2d(concatenate((%x, image.resize2d(%y)), axis=1), W)
                                        ⇒  add(nn.conv2d(%x, W0), image.resize2d(nn.conv2d(%y, W1)))
        nn.dense(add(nn.dense(%x, V), b), W)                   ⇒  add(nn.dense(%x, W·V), W·b)       if V is not narrower

    A layer of this kind is a matrix applied along one axis. It commutes with reshapes and transposes that keep the axis, with
    constants added per channel, and with every resizing that is linear in the elements; a concatenation along the axis
    divides its columns. Products of matrices are computed in double precision. Only tensors without other users are moved. Infinite
    elements may give NaN, or none, where the layers one by one do otherwise.
    """

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        if not any(is_call_to(e, "nn.conv2d", "nn.dense") for e in post_order(function.body)):
            return function
        return _Composer(function).run()


@dataclass(frozen=True)
class _Moved:
    """An expression that stands for a matrix applied to another one, and whether products were saved."""

    expr: Expr
    saved: bool


class _Composer:
    """Rewrites one function. Analysis looks at typed nodes of the original; new nodes are built from their rewritten twins."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.users: Counter[Expr] = Counter()
        seen = post_order(function)
        for e in seen:
            self.users.update(children(e))
        self.composed: dict[Expr, Expr] = {}

    def run(self) -> Function:
        return rewrite(self.function, self._leave, memo=self.composed)

    def _leave(self, old: Expr, new: Expr) -> Expr:
        layer = _matrix_of(old)
        if layer is None:
            return new
        assert isinstance(old, Call)
        weight, axis = layer
        moved = self._push(old.args[0], weight, axis)
        return moved.expr if moved is not None and moved.saved else new

    def _push(self, e: Expr, weight: Any, axis: int) -> _Moved | None:
        """`weight`, (outputs, inputs), applied along an axis of `e` after the linear layers in `e`; None if it cannot move there."""
        if self.users[e] != 1 or not isinstance(e, Call) or extents_of(e) is None:
            return None
        if is_call_to(e, "image.resize2d"):
            return self._past_resizing(e, weight, axis)
        if is_call_to(e, "concatenate"):
            return self._past_concatenation(e, weight, axis)
        if is_call_to(e, "reshape"):
            return self._past_reshape(e, weight, axis)
        if is_call_to(e, "transpose"):
            rank = len(known_extents(e))
            axes = [a % rank for a in e.attrs.axes] if e.attrs.axes is not None else list(range(rank))[::-1]
            inner = self._push(e.args[0], weight, axes[axis])
            return inner and _Moved(call("transpose", inner.expr, axes=tuple(axes)), inner.saved)
        if is_call_to(e, "add"):
            return self._past_addition(e, weight, axis)
        return self._into_layer(e, weight, axis)

    def _applied(self, e: Expr, weight: Any, axis: int) -> Expr:
        """`weight` applied to `e`, as far behind as it goes, or as a layer in front of it."""
        moved = self._push(e, weight, axis)
        return (
            moved.expr if moved is not None else _layer(self.composed[e], weight, axis, known_extents(e), dtype_of(e))
        )

    def _past_resizing(self, e: Call, weight: Any, axis: int) -> _Moved | None:
        a = e.attrs
        if (
            a.layout not in ("NCHW", "NHWC")
            or a.layout.index("C") != axis
            or "crop" in a.coordinate_transformation_mode
        ):
            return None
        source = extents_of(e.args[0])
        if source is None or (a.out_dtype or dtype_of(e)) != dtype_of(e.args[0]):
            return None
        if not is_smaller(source, known_extents(e)) or weight.shape[0] > _MOST_GROWTH * weight.shape[1]:
            return None
        inner = self._applied(e.args[0], weight, axis)
        last = _channels_last(inner, source) if a.layout == "NCHW" else None
        if last is not None:
            resized = Call(e.op, (last,), replace(a, layout="NHWC"), (), e.span)
            return _Moved(call("transpose", resized, axes=_TO_CHANNELS_FIRST), True)
        return _Moved(Call(e.op, (inner,), a, (), e.span), True)

    def _past_concatenation(self, e: Call, weight: Any, axis: int) -> _Moved | None:
        rank = len(known_extents(e))
        fields = e.args[0].fields if isinstance(e.args[0], Tuple) else ()
        if e.attrs.axis % rank != axis or not fields or self.users[e.args[0]] != 1:
            return None
        composed: list[tuple[Expr, Any]] = []
        moved: list[Expr] = []
        begin = 0
        for f in fields:
            shape = extents_of(f)
            if shape is None:
                return None
            part = weight[:, begin : begin + shape[axis]]
            begin += shape[axis]
            inner = self._push(f, part, axis)
            if inner is not None and inner.saved:
                moved.append(inner.expr)
            else:
                composed.append((f, part))
        if not moved:
            return None
        shape = known_extents(e)
        if not composed:
            return _Moved(_sum(moved, shape), True)
        matrix = np.concatenate([w for _, w in composed], axis=1)
        parts = [self.composed[f] for f, _ in composed]
        rest = parts[0] if len(parts) == 1 else call("concatenate", Tuple(tuple(parts)), axis=axis)
        whole = list(known_extents(e))
        whole[axis] = matrix.shape[1]
        return _Moved(_sum([_layer(rest, matrix, axis, whole, dtype_of(e)), *moved], shape), True)

    def _past_reshape(self, e: Call, weight: Any, axis: int) -> _Moved | None:
        shape, source = list(known_extents(e)), extents_of(e.args[0])
        if source is None or 0 in shape:
            return None
        before = prod(shape[:axis])
        own_axis = next((n for n, d in enumerate(source) if prod(source[:n]) == before and d == shape[axis]), None)
        if own_axis is None:
            return None
        inner = self._push(e.args[0], weight, own_axis)
        shape[axis] = weight.shape[0]
        return inner and _Moved(reshape_to(inner.expr, shape), inner.saved)

    def _past_addition(self, e: Call, weight: Any, axis: int) -> _Moved | None:
        for data, bias in (e.args, e.args[::-1]):
            if not has_data(bias) or extents_of(data) != known_extents(e):
                continue
            assert isinstance(bias, Constant)
            values = _along(to_array(bias), known_extents(e), axis)
            if values is None:
                continue
            inner = self._push(data, weight, axis)
            if inner is None or not inner.saved:
                return None
            rest = len(known_extents(e)) - axis - 1
            shift = _product(weight, values).reshape([-1] + [1] * rest)
            return _Moved(call("add", inner.expr, array_constant(shift, bias.dtype)), True)
        return None

    def _into_layer(self, e: Call, weight: Any, axis: int) -> _Moved | None:
        """The product with the matrix of a layer before, if it takes fewer multiplications than both."""
        if is_call_to(e, "nn.conv2d") and _is_plain_convolution(e) and e.attrs.data_layout == "NCHW" and axis == 1:
            first = to_array(e.args[1])  # type: ignore[arg-type]  # a plain convolution has constant weights
            flat = first.reshape(first.shape[0], -1)
            if not _saves(weight, flat):
                return None
            product = _product(weight, flat).reshape(weight.shape[0], *first.shape[1:])
            weights = array_constant(product, dtype_of(e))
            attrs = replace(e.attrs, channels=weight.shape[0])
            return _Moved(Call(e.op, (self.composed[e.args[0]], weights), attrs, (), e.span), True)
        layer = _matrix_of(e)
        if layer is None or layer[1] != axis or not _saves(weight, layer[0]):
            return None
        source = extents_of(e.args[0])
        if source is None:
            return None
        product = _product(weight, layer[0])
        return _Moved(self._applied(e.args[0], product, axis), True)


_TO_CHANNELS_FIRST = (0, 3, 1, 2)


def _channels_last(e: Expr, shape: tuple[int, ...]) -> Expr | None:
    """An image with the channels behind, (N, H, W, C), of which `e` is the transpose to (N, C, H, W) = `shape` but for the number
    of channels; None if it is computed otherwise."""
    if is_call_to(e, "transpose") and e.attrs.axes == _TO_CHANNELS_FIRST:
        return e.args[0]
    if len(shape) != 4 or not is_call_to(e, "reshape"):
        return None
    tokens = e.args[0]
    if is_call_to(tokens, "transpose") and tokens.attrs.axes == (0, 2, 1):
        return call("reshape", tokens.args[0], newshape=(shape[0], *shape[2:], -1))
    return None


def _sum(terms: Sequence[Expr], shape: tuple[int, ...]) -> Expr:
    """The sum of images of one shape, the first added last (it may be the largest product, which adds the others as it is stored);
    channels stay behind where all terms have them there."""
    behind = [_channels_last(t, shape) for t in terms]
    convolutions = [t for t in behind if t is not None]
    addends = convolutions if len(convolutions) == len(terms) else list(terms)
    products = [t for t in addends if not is_call_to(t, "image.resize2d")]
    addends = [*(t for t in addends if t not in products), *products]
    total = addends[0]
    for t in addends[1:]:
        total = call("add", t, total)
    return call("transpose", total, axes=_TO_CHANNELS_FIRST) if len(convolutions) == len(terms) else total


def _product(a: Any, b: Any) -> Any:
    """The product in float64. Operands are widened here only: most layers are looked at, few are composed."""
    return a.astype("float64") @ b.astype("float64")


def _saves(second: Any, first: Any) -> bool:
    outputs, middle = second.shape
    inputs = first.shape[1]
    return outputs * inputs < middle * inputs + outputs * middle


def _is_plain_convolution(e: Call) -> bool:
    a = e.attrs
    return (
        a.groups == 1
        and a.kernel_layout == "OIHW"
        and a.out_layout in ("", a.data_layout)
        and has_data(e.args[1])
        and dtype_of(e) in _DTYPES
        and dtype_of(e) == dtype_of(e.args[0]) == dtype_of(e.args[1])
        and extents_of(e) is not None
    )


def _matrix_of(e: Expr) -> tuple[Any, int] | None:
    """The matrix, (outputs, inputs), that a layer applies along an axis of its input; None for anything else."""
    if not isinstance(e, Call):
        return None
    if is_call_to(e, "nn.conv2d"):
        a = e.attrs
        if not _is_plain_convolution(e) or a.data_layout != "NCHW":
            return None
        weight = to_array(e.args[1])  # type: ignore[arg-type]  # a plain convolution has constant weights
        if weight.shape[2:] != (1, 1) or tuple(a.strides) != (1, 1) or any(a.padding):
            return None
        return weight[:, :, 0, 0], 1
    if is_call_to(e, "nn.dense") and has_data(e.args[1]) and dtype_of(e) in _DTYPES:
        shape = extents_of(e)
        if shape is None or not dtype_of(e) == dtype_of(e.args[0]) == dtype_of(e.args[1]):
            return None
        return to_array(e.args[1]), len(shape) - 1  # type: ignore[arg-type]  # has_data
    return None


def _layer(e: Expr, weight: Any, axis: int, shape: Any, dtype: str) -> Expr:
    """The matrix applied along an axis of `e` of this shape."""
    outputs = weight.shape[0]
    if axis == len(shape) - 1:
        return call("nn.dense", e, array_constant(weight, dtype), units=outputs)
    if len(shape) == 4 and axis == 1:
        kernel = array_constant(weight[:, :, None, None], dtype)
        return call("nn.conv2d", e, kernel, kernel_size=(1, 1), channels=outputs, padding=(0, 0, 0, 0))
    # Any other axis is that of channels once the axes before and behind it are one each.
    before, behind = prod(shape[:axis]), prod(shape[axis + 1 :])
    image = reshape_to(e, (before, shape[axis], behind, 1))
    result_shape = [*shape[:axis], outputs, *shape[axis + 1 :]]
    return reshape_to(_layer(image, weight, 1, (before, shape[axis], behind, 1), dtype), result_shape)


def _along(values: Any, shape: tuple[int, ...], axis: int) -> Any:
    """A constant that is added to a tensor of that shape, as one value for each step of the axis; None if it varies otherwise."""
    full = (1,) * (len(shape) - values.ndim) + values.shape
    if len(full) != len(shape) or any(d != 1 for n, d in enumerate(full) if n != axis):
        return None
    return np.broadcast_to(values.reshape(-1), (shape[axis],))
