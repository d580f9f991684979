"""Integers in place of simulated rounding: shifts and fixed-point products between one scale and another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...deferred import np
from ...diagnostics import IrError
from ...ir import Call, Constant, Expr, Function, TensorType, Tuple
from ...ops.base import attributes_of, call, is_call_to
from ..core.constants import scalar_constant, single_value
from ..legalization.quantities import fixed_point, to_nearest
from .annotation import INPUT, SIMULATED
from .forward import Forward, Rule, Undecided, Value, forwarded, realized


@dataclass(frozen=True)
class Integers:
    """The options of TVM's `qconfig` that decide about integers, which are those of the pass."""

    dtype_input: str = "int8"
    dtype_weight: str = "int8"
    dtype_activation: str = "int32"
    nbit_activation: int = 32
    global_scale: float = 8.0
    round_for_shift: bool = True
    rounding: str = "UPWARD"


class RealizedInt(Undecided):
    """Integers of a dtype (as far as rules keep track of it) that stand for themselves times a scale."""

    def __init__(self, data: Expr, scale: np.float32, dtype: str) -> None:
        super().__init__()
        self.data = data
        self.scale = scale
        self.dtype = dtype

    def make(self) -> Expr:
        return call("multiply", _cast(self.data, "float32"), scalar_constant(float(self.scale), "float32"))


def realize(function: Function, options: Integers) -> Function:
    """The function, typed, with integers wherever rules carry them."""
    return _Realizer(options).run(function)


class _Realizer:
    def __init__(self, options: Integers) -> None:
        self.o = options

    def run(self, function: Function) -> Function:
        rules: dict[str, Rule] = {
            SIMULATED: self._round,
            "nn.conv2d": self._product,
            "nn.conv1d": self._product,
            "nn.dense": self._product,
            "nn.batch_matmul": self._product,
            "multiply": self._multiply,
            "add": self._add,
            "clip": self._clip,
            "concatenate": self._concatenate,
            "annotation.cast_hint": self._cast_hint,
            **dict.fromkeys(
                ("nn.relu", "reshape", "strided_slice", "nn.batch_flatten", "transpose", "annotation.stop_fusion"),
                self._same,
            ),
            **dict.fromkeys(("nn.max_pool2d", "nn.max_pool1d"), self._on_input),
            **dict.fromkeys(("nn.avg_pool2d", "nn.global_avg_pool2d"), self._on_activation),
        }
        self.forward = Forward(rules)
        return self.forward.run(function)

    def _round(self, old: Call, args: Sequence[Value]) -> Value:
        scale, low, high = (_number(a, old) for a in args[1:])
        x = args[0]
        if not isinstance(x, RealizedInt):
            scaled = call("multiply", realized(x), scalar_constant(float(np.float32(1) / scale), "float32"))
            return RealizedInt(_clip(call("round", scaled), low, high), scale, "float32")
        if x.scale == scale:
            return RealizedInt(_clip(x.data, low, high), scale, x.dtype)
        shift = np.log2(scale / x.scale)
        if shift == np.trunc(shift):
            return RealizedInt(_clip(self._shifted(x.data, int(shift)), low, high), scale, x.dtype)
        data = self._multiplied(_cast(x.data, "int64"), float(x.scale / scale), old)
        return RealizedInt(_cast(_clip(data, low, high), x.dtype), scale, x.dtype)

    def _shifted(self, data: Expr, shift: int) -> Expr:
        """To the right, rounded if wanted, or to the left."""
        dtype = self.o.dtype_activation
        if shift < 0:
            return call("left_shift", data, scalar_constant(-shift, dtype))
        if self.o.round_for_shift:
            data = call("add", data, scalar_constant(1 << (shift - 1), dtype))
        return call("right_shift", data, scalar_constant(shift, dtype))

    def _multiplied(self, data: Expr, factor: float, old: Expr) -> Expr:
        if self.o.rounding == "UPWARD":
            return fixed_point(data, factor)
        t = old.known_type
        assert isinstance(t, TensorType)
        return to_nearest(data, factor, t.shape)

    def _product(self, old: Call, args: Sequence[Value]) -> Value | None:
        x, w = args
        if not isinstance(x, RealizedInt) or not isinstance(w, RealizedInt):
            return None
        left = x.data if x.dtype == self.o.dtype_input else _cast(x.data, self.o.dtype_input)
        as_is = is_call_to(old, "nn.batch_matmul") and w.dtype == self.o.dtype_weight
        right = w.data if as_is else _cast(w.data, self.o.dtype_weight)
        attrs = replace(old.attrs, out_dtype=self.o.dtype_activation)
        product = Call(old.op, (left, right), attrs, old.type_args, old.span)
        return RealizedInt(product, x.scale * w.scale, self.o.dtype_activation)

    def _multiply(self, old: Call, args: Sequence[Value]) -> Value | None:
        x, y = args
        if not isinstance(x, RealizedInt) or not isinstance(y, RealizedInt):
            return None
        dtype = self.o.dtype_activation
        product = forwarded(old, [v.data if v.dtype == dtype else _cast(v.data, dtype) for v in (x, y)])
        return RealizedInt(product, x.scale * y.scale, dtype)

    def _add(self, old: Call, args: Sequence[Value]) -> Value | None:
        quantized = [a for a in args if isinstance(a, RealizedInt)]
        if len(quantized) < 2:
            _require_none(quantized, old)
            return None
        dtype = self.o.dtype_activation
        operands, scale = self._unified(old.args, quantized, dtype)
        stopped = [
            call("annotation.stop_fusion", e) if v.dtype == "float32" else e for e, v in zip(operands, quantized)
        ]
        return RealizedInt(forwarded(old, stopped), scale, dtype)

    def _concatenate(self, old: Call, args: Sequence[Value]) -> Value | None:
        if not isinstance(old.args[0], Tuple):
            return None
        fields = self.forward.fields(old.args[0])
        quantized = [f for f in fields if isinstance(f, RealizedInt)]
        if len(quantized) < len(fields):
            _require_none(quantized, old)
            return None
        narrow = len(quantized) == 2 and quantized[1].dtype == self.o.dtype_input
        dtype = self.o.dtype_input if narrow else self.o.dtype_activation
        operands, scale = self._unified(old.args[0].fields, quantized, dtype)
        return RealizedInt(forwarded(old, [Tuple(tuple(operands))]), scale, dtype)

    def _unified(
        self, old: Sequence[Expr], quantized: Sequence[RealizedInt], dtype: str
    ) -> tuple[list[Expr], np.float32]:
        """Operands of one dtype and one scale."""
        if len(quantized) == 2:
            scale = min(quantized[0].scale, quantized[1].scale)
        else:
            scale = np.float32(self.o.global_scale / 2.0 ** (self.o.nbit_activation - 1))
        operands = []
        for was, v in zip(old, quantized):
            data = v.data
            if v.dtype != dtype:
                data = _cast(data, dtype)
            elif is_call_to(was, SIMULATED) and was.attrs.kind == INPUT:
                data = _cast(call("annotation.stop_fusion", _cast(data, self.o.dtype_input)), dtype)
            operands.append(self._scaled(data, v.scale, scale, dtype, was))
        return operands, scale

    def _scaled(self, data: Expr, now: np.float32, target: np.float32, dtype: str, old: Expr) -> Expr:
        """`data * now / wanted`, by a shift if that is one."""
        if now == target:
            return data
        factor = now / target
        shift = np.log2(factor)
        if shift <= 0:
            raise IrError(
                f"QuantizeRealize: an operand's scale {now} is less than that of the result, {target}", old.span
            )
        if shift == np.trunc(shift):
            return call("left_shift", data, scalar_constant(int(shift), dtype))
        if factor == np.trunc(factor) and factor < 2**31:
            return call("multiply", data, scalar_constant(int(factor), dtype))
        return _cast(self._multiplied(data, float(factor), old), dtype)

    def _clip(self, old: Call, args: Sequence[Value]) -> Value | None:
        x = args[0]
        if not isinstance(x, RealizedInt):
            return None
        bounds = [float(b) / float(x.scale) for b in (old.attrs.a_min, old.attrs.a_max)]
        clipped = call("clip", x.data, **attributes_of(old.attrs, a_min=bounds[0], a_max=bounds[1]))
        return RealizedInt(clipped, x.scale, x.dtype)

    def _same(self, old: Call, args: Sequence[Value]) -> Value | None:
        x = args[0]
        return RealizedInt(forwarded(old, [x.data]), x.scale, x.dtype) if isinstance(x, RealizedInt) else None

    def _on_input(self, old: Call, args: Sequence[Value]) -> Value | None:
        x, dtype = args[0], self.o.dtype_input
        if not isinstance(x, RealizedInt):
            return None
        return RealizedInt(forwarded(old, [_cast(x.data, dtype)]), x.scale, dtype)

    def _on_activation(self, old: Call, args: Sequence[Value]) -> Value | None:
        x, dtype = args[0], self.o.dtype_activation
        if not isinstance(x, RealizedInt):
            return None
        data = x.data if x.dtype == dtype else _cast(x.data, dtype)
        return RealizedInt(forwarded(old, [data]), x.scale, dtype)

    def _cast_hint(self, old: Call, args: Sequence[Value]) -> Value | None:
        x = args[0]
        if not isinstance(x, RealizedInt):
            return None
        return RealizedInt(_cast(x.data, old.attrs.dtype), x.scale, old.attrs.dtype)


def _require_none(quantized: Sequence[RealizedInt], old: Call) -> None:
    """Raises IrError if some operands are integers and others are not."""
    if quantized:
        raise IrError("QuantizeRealize: some of the operands are integers, and others are not", old.span)


def _number(v: Value, old: Call) -> np.float32:
    number = single_value(v) if isinstance(v, Constant) else None
    if number is None:
        raise IrError(
            "QuantizeRealize: a scale is no constant", old.span, help="QuantizeCalibrate gives scales their values"
        )
    return np.float32(number)


def _cast(e: Expr, dtype: str) -> Expr:
    return call("cast", e, dtype=dtype)


def _clip(e: Expr, low: np.float32, high: np.float32) -> Expr:
    return call("clip", e, a_min=float(low), a_max=float(high))
