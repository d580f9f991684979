"""Annotation of rounded values: `relay.op.annotation.simulated_quantize` around operators, by rules for each of these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ...diagnostics import IrError
from ...ir import Call, Expr, Function, Op, TensorType, Tuple, Var, with_function
from ...ir.walk import free_variables
from ...ops.base import call, is_call_to
from .forward import Forward, Rule, Undecided, Value, forwarded, is_constant, realized

INPUT, WEIGHT, ACTIVATION = 1, 2, 3
"""Kinds of rounded values: operands of an operator, constants, and accumulators."""

SIMULATED = "relay.op.annotation.simulated_quantize"

_UNCHANGED = (
    "reshape",
    "clip",
    "nn.relu",
    "strided_slice",
    "nn.avg_pool2d",
    "nn.batch_flatten",
    "transpose",
    "annotation.stop_fusion",
)


class Annotated(Undecided):
    """A value of one of the kinds."""

    def __init__(self, expr: Expr, kind: int) -> None:
        super().__init__()
        self.expr = expr
        self.kind = kind

    def make(self) -> Expr:
        return self.expr


class Annotator:
    """The rules and their counters: TVM's `QuantizeContext`."""

    def __init__(
        self,
        skip_dense_layer: bool,
        skip_conv_layers: Sequence[int] | None,
        debug_enabled_ops: Sequence[str] | None,
    ) -> None:
        self.skip_dense = skip_dense_layer
        self.skip_convolutions = skip_conv_layers
        self.enabled = debug_enabled_ops
        self.convolutions = 0
        self.stopped = False
        self.simulated: dict[tuple[Expr, int], Expr] = {}

    def run(self, function: Function) -> Function:
        """The function with scales and limits of the rounding as further parameters."""
        rules: dict[str, Callable[..., Value | None]] = {
            "nn.conv2d": self._product,
            "nn.conv1d": self._product,
            "nn.dense": self._dense,
            "nn.batch_matmul": self._batch_matmul,
            "multiply": self._multiply,
            "add": self._add,
            "nn.max_pool2d": self._pool,
            "nn.max_pool1d": self._pool,
            "annotation.cast_hint": self._cast_hint,
            "concatenate": self._concatenate,
            "nn.global_avg_pool2d": self._global_average,
            **dict.fromkeys(_UNCHANGED, self._unchanged),
        }
        guarded: dict[str, Rule] = {name: partial(self._guarded, rule) for name, rule in rules.items()}
        self.forward = Forward(guarded, lambda v: Annotated(self.attach(_expr(v), INPUT), INPUT))
        result = self.forward.run(function)
        if result is function:
            return function
        return with_function(result, params=(*result.params, *free_variables(result)))

    def attach(self, e: Expr, kind: int) -> Expr:
        """Rounds a value as one of that kind, with parameters for its scale and limits; keeps one that is rounded so already."""
        if is_call_to(e, SIMULATED) and (e.attrs.kind, e.attrs.sign, e.attrs.rounding) == (kind, True, "round"):
            return e
        if isinstance(e.checked_type, TensorType) and not e.checked_type.shape:
            raise IrError("QuantizeAnnotate: a scalar cannot be rounded", e.span, help="expand_dims gives it an axis")
        if (e, kind) not in self.simulated:
            limits = [Var(n) for n in ("dom_scale", "clip_min", "clip_max")]
            self.simulated[e, kind] = call(SIMULATED, e, *limits, kind=kind, sign=True, rounding="round")
        return self.simulated[e, kind]

    def _guarded(
        self, rule: Callable[[Call, Sequence[Value]], Value | None], old: Call, args: Sequence[Value]
    ) -> Value | None:
        assert isinstance(old.op, Op)
        if self.enabled is not None and old.op.name not in self.enabled:
            return forwarded(old, [_expr(a) for a in args])
        return rule(old, args)

    def _is_skipped(self, old: Call) -> bool:
        """True if a call is left as it is; counts convolutions."""
        if self.stopped:
            return True
        if self.skip_convolutions is None or not is_call_to(old, "nn.conv2d"):
            return False
        number, self.convolutions = self.convolutions, self.convolutions + 1
        return number in self.skip_convolutions

    def _product(self, old: Call, args: Sequence[Value]) -> Value | None:
        if self._is_skipped(old):
            return None
        x, w = args
        if isinstance(w, Annotated):
            raise IrError("QuantizeAnnotate: the weights are quantized data", old.span)
        left = self.attach(_expr(x), INPUT) if _kind(x) in (None, ACTIVATION) else _expr(x)
        return Annotated(forwarded(old, [left, self.attach(_expr(w), WEIGHT)]), ACTIVATION)

    def _dense(self, old: Call, args: Sequence[Value]) -> Value | None:
        return None if self.skip_dense else self._product(old, args)

    def _batch_matmul(self, old: Call, args: Sequence[Value]) -> Value | None:
        if self._is_skipped(old):
            return None
        operands = [self._operand(a) if _kind(a) in (None, ACTIVATION) else _expr(a) for a in args]
        return Annotated(forwarded(old, operands), ACTIVATION)

    def _operand(self, v: Value) -> Expr:
        e = _expr(v)
        return self.attach(e, WEIGHT if is_constant(e) else INPUT)

    def _multiply(self, old: Call, args: Sequence[Value]) -> Value | None:
        if self._is_skipped(old):
            return None
        left, right = args
        if _kind(left) is None and _kind(right) is None:
            return None
        if _kind(left) not in (ACTIVATION, INPUT) or _kind(right) is not None:
            raise IrError(
                "QuantizeAnnotate: of the factors, the first must be quantized data, and only the first", old.span
            )
        first = self.attach(_expr(left), INPUT) if _kind(left) == ACTIVATION else _expr(left)
        return Annotated(forwarded(old, [first, self._operand(right)]), ACTIVATION)

    def _add(self, old: Call, args: Sequence[Value]) -> Value | None:
        if self._is_skipped(old):
            return None
        left, right = (_expr(a) for a in args)
        levels = (_kind(args[0]), _kind(args[1]))
        if levels == (None, None):
            return None
        if levels[0] is None:
            return Annotated(forwarded(old, [self.attach(left, INPUT), right]), INPUT)
        if levels[1] is None:
            return Annotated(forwarded(old, [left, self._operand(args[1])]), ACTIVATION)
        if levels == (ACTIVATION, ACTIVATION):
            right = self.attach(right, INPUT)
        return Annotated(forwarded(old, [left, right]), INPUT if levels == (INPUT, INPUT) else ACTIVATION)

    def _unchanged(self, old: Call, args: Sequence[Value]) -> Value | None:
        x = args[0]
        if self._is_skipped(old) or not isinstance(x, Annotated):
            return None
        return Annotated(forwarded(old, [x.expr]), x.kind)

    def _pool(self, old: Call, args: Sequence[Value]) -> Value | None:
        x = args[0]
        if self._is_skipped(old) or not isinstance(x, Annotated):
            return None
        e = self.attach(x.expr, INPUT) if x.kind == ACTIVATION else x.expr
        return Annotated(forwarded(old, [e]), INPUT)

    def _cast_hint(self, old: Call, args: Sequence[Value]) -> Value | None:
        x = args[0]
        if self._is_skipped(old):
            return _expr(x)
        return self._pool(old, args) if isinstance(x, Annotated) else x

    def _concatenate(self, old: Call, args: Sequence[Value]) -> Value | None:
        if self._is_skipped(old) or not isinstance(old.args[0], Tuple):
            return None
        fields = self.forward.fields(old.args[0])
        if all(_kind(f) is None for f in fields):
            return None
        operands = [self.attach(_expr(f), ACTIVATION) if _kind(f) is None else _expr(f) for f in fields]
        return Annotated(forwarded(old, [Tuple(tuple(operands), old.args[0].span)]), ACTIVATION)

    def _global_average(self, old: Call, args: Sequence[Value]) -> Value | None:
        if self._is_skipped(old) or not isinstance(args[0], Annotated):
            return None
        self.stopped = True
        return forwarded(old, [args[0].realize()])


def _expr(v: Value) -> Expr:
    return v.expr if isinstance(v, Annotated) else realized(v)


def _kind(v: Value) -> int | None:
    return v.kind if isinstance(v, Annotated) else None
