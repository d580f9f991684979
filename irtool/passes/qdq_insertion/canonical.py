"""Forms that quantized layers have: biases as `nn.bias_add`, dense layers of matrices."""

from __future__ import annotations

from math import prod

from ...deferred import np
from ...ir import Call, Constant, Expr, Function, TensorType, rewrite
from ...ops.base import attributes_of, call, is_call_to
from ...ops.layout import Layout
from ..constants import has_data
from .kinds import CONVOLUTIONS


def canonicalize(function: Function) -> Function:
    """The function with constant summands of products as biases, and with dense layers of higher rank on matrices.

    ::

        add(nn.conv2d(%x, %w), %b)            ⇒  nn.bias_add(nn.conv2d(%x, %w), %b')      where %b varies by channel only
        add(nn.dense(%x, %w), %b)             ⇒  nn.bias_add(nn.dense(%x, %w), %b')
        nn.dense(%x, %w)   with a 3-D %x      ⇒  reshape(nn.dense(reshape(%x, [-1, K]), %w), …)
    """
    return rewrite(function, _Canonical().leave)


def channel_axis(e: Call) -> int:
    """The axis of a product's result along which its weights' output channels lie."""
    if is_call_to(e, *CONVOLUTIONS):
        return Layout.parse(e.attrs.out_layout or e.attrs.data_layout).index("C")
    return len(_shape(e)) - 1


def _shape(e: Expr) -> tuple[int, ...]:
    t = e.known_type
    return t.static_shape if isinstance(t, TensorType) and t.is_static else ()


class _Canonical:
    def __init__(self) -> None:
        self.axes: dict[Expr, tuple[int, int]] = {}
        """Products with the axis of their channels and its extent."""
        self.flat: dict[Expr, Expr] = {}
        """Reshaped results of dense layers with the layer on matrices."""

    def leave(self, old: Expr, new: Expr) -> Expr:
        if not isinstance(old, Call) or not isinstance(new, Call) or old.checked_type is None:
            return new
        if is_call_to(new, "nn.dense") and len(_shape(old)) > 2:
            return self._flatten(old, new)
        if is_call_to(new, *CONVOLUTIONS, "nn.dense") and _shape(old):
            axis = channel_axis(old)
            self.axes[new] = axis, _shape(old)[axis]
        if is_call_to(new, "add"):
            for product, summand in (new.args, new.args[::-1]):
                if product in self.axes and has_data(summand):
                    return self._bias(product, summand, _shape(old)) or new
        if is_call_to(new, "nn.bias_add") and new.args[0] in self.flat:
            return self._bias(new.args[0], new.args[1], _shape(old)) or new
        return new

    def _flatten(self, old: Call, new: Call) -> Expr:
        shape = _shape(old)
        x, w = new.args
        data = call("reshape", x, newshape=[prod(shape[:-1]), _shape(old.args[0])[-1]])
        flat = call("nn.dense", data, w, span=new.span, **attributes_of(new.attrs))
        return self._unflatten(flat, shape)

    def _unflatten(self, flat: Expr, shape: tuple[int, ...]) -> Expr:
        result = call("reshape", flat, newshape=list(shape))
        self.flat[result] = flat
        self.axes[result] = len(shape) - 1, shape[-1]
        return result

    def _bias(self, product: Expr, summand: Expr, shape: tuple[int, ...]) -> Expr | None:
        """The sum as a biased layer; None where the summand does not vary by channel alone."""
        axis, extent = self.axes[product]
        if not isinstance(summand, Constant) or not shape:
            return None
        values = np.asarray(summand.data)
        given = values.shape
        padded = (1,) * (len(shape) - len(given)) + given
        if padded != tuple(extent if n == axis else 1 for n in range(len(shape))):
            return None
        bias = Constant(values.reshape(extent), summand.dtype, None, summand.span)
        if product in self.flat:
            return self._unflatten(call("nn.bias_add", self.flat[product], bias, axis=1), shape)
        return call("nn.bias_add", product, bias, axis=axis)
