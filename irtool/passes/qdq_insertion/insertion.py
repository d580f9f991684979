"""Rounding at the points of a plan: `qnn.quantize` and `qnn.dequantize` around layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...deferred import np
from ...diagnostics import IrError, UsageError
from ...ir import Call, Constant, Expr, Function, Tuple, rewrite
from ...ops.base import call, is_call_to
from ...ops.qnn.fixed_point import EVEN, INT32_HIGH
from ...ops.qnn.fixed_point import quantize as round_to
from ...symbolic_int import bound
from ..core.constants import array_constant, scalar_constant
from ..core.mistakes import WrongPassOption
from .layers import Layer
from .operator_roles import MATRIX_PRODUCTS
from .plan import Plan, weight_axis
from .quantities import Quantity, quantity_of
from .weights import LARGEST, QuantizedWeights, largest_sums, quantize_weights

Range = tuple[float, float]


class Insertion:
    """A function with rounding inserted.

    Attributes:
        function: the result.
        rewritten: the replacement of each expression of the original.
        quantities: how each point is rounded.
    """

    def __init__(self, function: Function, plan: Plan, ranges: Sequence[Range], dtype: str = "uint8") -> None:
        """`ranges`: of each of `plan.observed`, in order; `dtype`: of activations, uint8 or int8."""
        if len(ranges) != len(plan.observed):
            raise UsageError(
                f"{len(plan.observed)} tensors are rounded, and there are {len(ranges)} ranges", code=WrongPassOption
            )
        self.plan = plan
        self.dtype = dtype
        self.ranges = dict(zip(plan.observed, ranges))
        self.quantities = {e: self._quantity(e) for e in plan.points}
        self.heads = {layer.head: layer for layer in plan.layers}
        self.weights = {layer: self._weights(layer) for layer in plan.layers if layer.weight is not None}
        self.rounded: dict[Expr, Expr] = {}
        self.rewritten: dict[Expr, Expr] = {}
        self.function = rewrite(function, self._leave, memo=self.rewritten)

    def alone(self, layer: Layer) -> Expr:
        """The value of a layer over real numbers of the original, with the layer's own rounding."""
        memo: dict[Expr, Expr] = {o: self._dequantize(o, self._quantize(o, o)) for o in layer.operands}
        if layer.weight is not None:
            memo[layer.weight] = self._weight(self.weights[layer], layer.weight)
        end = rewrite(layer.end, self._biased, memo=memo)
        if layer.end in self.quantities:
            end = self._dequantize(layer.end, self._quantize(layer.end, end))
        return end

    def _quantity(self, e: Expr) -> Quantity:
        root = self.plan.root(e)
        if isinstance(root, Constant):
            values = np.asarray(root.data)
            low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)
        else:
            low, high = self.ranges[root]
        signed = root in self.plan.second
        return quantity_of(low, high, "int8" if signed else self.dtype, symmetric=signed)

    def _weights(self, layer: Layer) -> QuantizedWeights:
        assert layer.weight is not None
        data = self.quantities[layer.operands[0]]
        low, high = data.reach
        return quantize_weights(layer.weight, weight_axis(layer.head), layer.bias, data.scale, low, high, layer.name)

    def _leave(self, old: Expr, new: Expr) -> Expr:
        layer = self.heads.get(old)  # type: ignore[call-overload]  # a head is looked up by identity
        if layer is not None:
            assert isinstance(new, Call)
            new = self._head(layer, new)
        new = self._biased(old, new)
        if old in self.plan.computed:
            return self._dequantize(old, self._quantize(old, new))
        return new

    def _head(self, layer: Layer, new: Call) -> Call:
        """The head over rounded operands."""
        old = layer.head
        _check_products(layer, self.quantities)
        if isinstance(old.args[0], Tuple):
            assert isinstance(new.args[0], Tuple)
            fields = [self._operand(o, n) for o, n in zip(old.args[0].fields, new.args[0].fields)]
            args: tuple[Expr, ...] = (Tuple(tuple(fields), new.args[0].span),)
        else:
            args = tuple(self._operand(o, n) if o in layer.operands else n for o, n in zip(old.args, new.args))
        if layer.weight is not None:
            if layer.weight not in self.rounded:
                self.rounded[layer.weight] = self._weight(self.weights[layer], layer.weight)
            args = (args[0], self.rounded[layer.weight])
        return Call(new.op, args, new.attrs, new.type_args, new.span)

    def _biased(self, old: Expr, new: Expr) -> Expr:
        """The addition of a layer's bias, with the bias in units of the products, so that it is added to them in int32."""
        if not (is_call_to(old, "nn.bias_add") and isinstance(old, Call) and isinstance(new, Call)):
            return new
        layer = self.heads.get(old.args[0])  # type: ignore[call-overload]  # a head is looked up by identity
        if layer is None or layer.bias is None:  # where it has one, nothing else reads its head
            return new
        scales = np.asarray(np.float32(self.quantities[layer.operands[0]].scale) * self.weights[layer].scales)
        integers = np.rint(np.asarray(layer.bias.data, np.float64) / scales).astype(np.int32)
        bias = _dequantized(Constant(integers, "int32", None, layer.bias.span), scales, 0 if scales.ndim else -1)
        return Call(new.op, (new.args[0], bias), new.attrs, new.type_args, new.span)

    def _operand(self, old: Expr, new: Expr) -> Expr:
        if old in self.plan.computed:
            return new
        if old not in self.rounded:
            self.rounded[old] = self._dequantize(old, self._quantize(old, new))
        return self.rounded[old]

    def _quantize(self, old: Expr, new: Expr) -> Expr:
        q = self.quantities[old]
        if isinstance(new, Constant):
            data = round_to(np.asarray(new.data), np.array(q.scale), np.array(q.zero_point), q.dtype, EVEN)
            return Constant(data, q.dtype, None, new.span)
        scale, zero = scalar_constant(q.scale, "float32"), scalar_constant(q.zero_point, "int32")
        return call("qnn.quantize", new, scale, zero, out_dtype=q.dtype, rounding=EVEN, span=old.span)

    def _dequantize(self, old: Expr, integers: Expr) -> Expr:
        q = self.quantities[old]
        scale, zero = scalar_constant(q.scale, "float32"), scalar_constant(q.zero_point, "int32")
        return call("qnn.dequantize", integers, scale, zero, span=old.span)

    def _weight(self, w: QuantizedWeights, original: Constant) -> Expr:
        return _dequantized(Constant(w.values, "int8", None, original.span), w.scales, w.axis)


def _dequantized(integers: Constant, scales: np.ndarray, axis: int) -> Expr:
    """Real numbers of integers with zero point 0, and a scale for each index along an axis, or one for all (rank 0)."""
    zero = scalar_constant(0, "int32")
    return call("qnn.dequantize", integers, array_constant(scales, "float32"), zero, axis=axis, span=integers.span)


def _check_products(layer: Layer, quantities: Mapping[Expr, Quantity]) -> None:
    """Raises IrError if sums of products of two activations may overflow int32."""
    if layer.op not in MATRIX_PRODUCTS or layer.weight is not None:
        return
    from ..core.mistakes import AccumulatorOverflow

    x = layer.operands[0]
    length = x.known_type.shape[-2 if getattr(layer.head.attrs, "transpose_a", False) else -1]  # type: ignore[attr-defined]  # a tensor
    low, high = quantities[x].reach
    largest = int(largest_sums(np.full((1, bound(length)), LARGEST + 1), low, high)[0])
    if largest > INT32_HIGH:
        raise IrError(
            f"{layer.name}: sums of {length} products may need {largest}, more than int32 has",
            layer.head.span,
            help=f"leave the layer in floating point: --keep {layer.name}",
            code=AccumulatorOverflow,
        )
