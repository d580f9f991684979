"""Forms that quantized layers have: biases as `nn.bias_add`, dense layers of matrices."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from ...deferred import np
from ...ir import Call, Constant, Expr, Function, rewrite
from ...ops.base import attributes_of, call, is_call_to
from ...ops.layout import Layout
from ..core.constants import has_data
from .operator_roles import CONVOLUTIONS
from .same_layers import ALONG_ONE, along_two, as_dense, static_shape


def canonicalize(function: Function) -> Function:
    """The function with constant summands of products as biases, and with dense layers of higher rank on matrices.

    ::

        add(nn.conv2d(%x, %w), %b)            ⇒  nn.bias_add(nn.conv2d(%x, %w), %b')      where %b varies by channel only
        add(nn.dense(%x, %w), %b)             ⇒  nn.bias_add(nn.dense(%x, %w), %b')
        nn.dense(%x, %w)   with a 3-D %x      ⇒  reshape(nn.dense(reshape(%x, [-1, K]), %w), …)
        nn.matmul(%x, %w)                     ⇒  nn.dense(%x, transpose(%w))
        nn.conv1d(%x, %w)                     ⇒  squeeze(nn.conv2d(expand_dims(%x), expand_dims(%w)))
    """
    return rewrite(function, _Canonical().leave)


def channel_axis(e: Call) -> int:
    """The axis of a product's result along which its weights' output channels lie."""
    if is_call_to(e, *CONVOLUTIONS, *ALONG_ONE):
        return Layout.parse(e.attrs.out_layout or e.attrs.data_layout).index("C")
    return len(static_shape(e)) - 1


class _Canonical:
    def __init__(self) -> None:
        self.axes: dict[Expr, tuple[int, int]] = {}
        """Products with the axis of their channels and its extent."""
        self.inner: dict[Expr, tuple[Expr, int, Callable[[Expr], Expr]]] = {}
        """Reshaped results of layers: the layer itself, the axis of its channels, and the reshape of its result."""

    def leave(self, old: Expr, new: Expr) -> Expr:
        if not isinstance(old, Call) or not isinstance(new, Call) or old.checked_type is None:
            return new
        if is_call_to(new, "nn.matmul") and static_shape(old):
            new = as_dense(old, new)
        if is_call_to(new, *ALONG_ONE) and static_shape(old) and (wider := along_two(new)) is not None:
            return self._on_a_line(old, *wider)
        if is_call_to(new, "nn.dense") and len(static_shape(old)) > 2:
            return self._flatten(old, new)
        if is_call_to(new, *CONVOLUTIONS, "nn.dense") and static_shape(old):
            axis = channel_axis(old)
            self.axes[new] = axis, static_shape(old)[axis]
        if is_call_to(new, "add"):
            for product, summand in (new.args, new.args[::-1]):
                if product in self.axes and has_data(summand):
                    return self._bias(product, summand, static_shape(old)) or new
        if is_call_to(new, "nn.bias_add") and new.args[0] in self.inner:
            return self._bias(new.args[0], new.args[1], static_shape(old), is_vector=True) or new
        return new

    def _flatten(self, old: Call, new: Call) -> Expr:
        shape = static_shape(old)
        x, w = new.args
        size = prod(shape[:-1])
        data = call("reshape", x, newshape=[size, prod(static_shape(old.args[0])) // size])
        flat = call("nn.dense", data, w, span=new.span, **attributes_of(new.attrs))
        return self._unflatten(flat, shape)

    def _unflatten(self, flat: Expr, shape: tuple[int, ...]) -> Expr:
        result = call("reshape", flat, newshape=list(shape))
        self.inner[result] = flat, 1, lambda e: self._unflatten(e, shape)
        self.axes[result] = len(shape) - 1, shape[-1]
        return result

    def _on_a_line(self, old: Call, line: Expr, dropped: int) -> Expr:
        """The result of a convolution of images of one line, without that axis."""
        axis = channel_axis(old)
        result = call("squeeze", line, axis=[dropped])
        self.inner[result] = line, axis + (dropped <= axis), lambda e: self._on_a_line(old, e, dropped)
        self.axes[result] = axis, static_shape(old)[axis]
        return result

    def _bias(self, product: Expr, summand: Expr, shape: tuple[int, ...], is_vector: bool = False) -> Expr | None:
        """The sum as a biased layer; None if the summand does not vary by channel alone."""
        axis, extent = self.axes[product]
        if not isinstance(summand, Constant) or not shape:
            return None
        values = np.asarray(summand.data)
        extents = values.shape
        padded = (1,) * (len(shape) - len(extents)) + extents
        if not (is_vector and extents == (extent,)) and padded != tuple(
            extent if n == axis else 1 for n in range(len(shape))
        ):
            return None
        bias = Constant(values.reshape(extent), summand.dtype, None, summand.span)
        if product in self.inner:
            layer, channels, reshaped = self.inner[product]
            return reshaped(call("nn.bias_add", layer, bias, axis=channels))
        return call("nn.bias_add", product, bias, axis=axis)
