"""The plan of a quantization: layers, and the tensors between them that are rounded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from ...ir import Call, Constant, Expr, Function, Op, TensorType, Tuple, TupleGetItem, children
from ...ops.base import is_call_to, operator_name
from ...ops.dtypes import dtype_of
from ...ops.layout import Layout
from ..core.constants import has_data
from .layers import Layer, aliases_of, matches, name_calls, top_level
from .operator_roles import FOLLOWERS, JOINS, PRODUCTS, is_mover


@dataclass
class Plan:
    """The layers and points of a quantized function.

    Attributes:
        layers: in the order of evaluation.
        points: the tensors that are rounded, in order; each has the range that calibration finds, or shares one.
        shared: points whose integers have the scale of another one, since a layer between them moves elements.
        second: points that are the second operand of a product, which is signed.
        computed: points that an integer layer gives, so that there are no real numbers but those rounded.
        left: products that stay in floating point, by name, each with the reason.
    """

    layers: list[Layer] = field(default_factory=list)
    points: list[Expr] = field(default_factory=list)
    shared: dict[Expr, Expr] = field(default_factory=dict)
    second: set[Expr] = field(default_factory=set)
    computed: set[Expr] = field(default_factory=set)
    left: dict[str, str] = field(default_factory=dict)

    def root(self, e: Expr) -> Expr:
        """The point whose range a point has."""
        while e in self.shared:
            e = self.shared[e]
        return e

    @property
    def observed(self) -> list[Expr]:
        """The points with a range of their own, in order: those that are calibrated."""
        return [e for e in self.points if e not in self.shared and not isinstance(e, Constant)]


def plan_quantization(function: Function, keep: Sequence[str] = ()) -> Plan:
    """The plan for a typed function. `keep`: regular expressions for names of layers that stay in floating point."""
    return _Planner(function, keep).run()


class _Planner:
    def __init__(self, function: Function, keep: Sequence[str]) -> None:
        self.body = function.body
        self.keep = keep
        self.order = top_level(function.body)
        self.names = name_calls(self.order)
        self.uses: Counter[Expr] = Counter([function.body])
        for e in self.order:
            self.uses.update(children(e))
        self.ending: dict[Expr, Layer] = {}
        self.plan = Plan()

    def run(self) -> Plan:
        for e in self.order:
            layer = self._begin(e)
            if layer is not None:
                self.ending[e] = layer
                self.plan.layers.append(layer)
        self._prune()
        for layer in self.plan.layers:
            for operand in layer.operands:
                if operand not in self.plan.points:
                    self.plan.points.append(operand)
            if is_call_to(layer.head, "nn.batch_matmul", "nn.dense") and layer.weight is None:
                self.plan.second.add(layer.operands[1])
        self._share()
        return self.plan

    def _begin(self, e: Expr) -> Layer | None:
        """The layer that a node begins; None for one that begins none, but may have lengthened another."""
        if isinstance(e, TupleGetItem) and is_call_to(e.tuple, "split"):
            return self._layer(e.tuple, (e.tuple.args[0],), e, moves=True) if self._is_ready(e.tuple.args[0]) else None
        if not isinstance(e, Call) or dtype_of(e) != "float32":
            return None
        name = operator_name(e)
        if name in PRODUCTS:
            return self._product(e)
        if isinstance(e.op, Op) and e.op.operator.sums_products():
            self.plan.left[self.names[e]] = f"there is no integer form for {name}"
            return None
        if name in FOLLOWERS and self._follow(e):
            return None
        if name in FOLLOWERS and name != "nn.bias_add":
            return self._layer(e, (e.args[0],)) if self._is_ready(e.args[0]) else None
        if name in JOINS:
            first = e.args[0] if e.args else e
            operands = first.fields if isinstance(first, Tuple) else e.args
            varying = [a for a in operands if not has_data(a)]
            ready = (
                varying and all(self._is_ready(a) for a in varying) and all(dtype_of(a) == "float32" for a in operands)
            )
            return self._layer(e, tuple(operands)) if ready else None
        if is_mover(e) and self._is_ready(e.args[0]):
            return self._layer(e, (e.args[0],), moves=True)
        return None

    def _is_ready(self, e: Expr) -> bool:
        return e in self.ending

    def _layer(
        self, head: Call, operands: tuple[Expr, ...], end: Expr | None = None, moves: bool = False
    ) -> Layer | None:
        name, aliases = self.names[head], aliases_of(head)
        if not moves and matches(self.keep, name, aliases):
            return None
        return Layer(name, head, end or head, operands, moves=moves, aliases=aliases)

    def _product(self, e: Call) -> Layer | None:
        name, aliases = self.names[e], aliases_of(e)
        reason = "asked for" if matches(self.keep, name, aliases) else _obstacle(e)
        if reason:
            self.plan.left[name] = reason
            return None
        x, w = e.args
        if has_data(w) and not is_call_to(e, "nn.batch_matmul"):
            assert isinstance(w, Constant)
            return Layer(name, e, e, (x,), w, aliases=aliases)
        return Layer(name, e, e, (x, w), aliases=aliases)

    def _follow(self, e: Call) -> bool:
        """Makes a node part of the layer whose value it is the only user of; False where it is not."""
        x = e.args[0]
        layer = self.ending.get(x)
        if layer is None or layer.moves or self.uses[x] != 1:
            return False
        if is_call_to(e, "nn.bias_add"):
            if layer.weight is None or layer.end is not layer.head or not has_data(e.args[1]):
                return False
            assert isinstance(e.args[1], Constant)
            layer.bias = e.args[1]
        del self.ending[x]
        layer.end = e
        self.ending[e] = layer
        return True

    def _prune(self) -> None:
        """Drops layers other than products whose value no quantized layer takes: rounding it would gain nothing."""
        live: set[Expr] = set()
        layers = []
        for layer in reversed(self.plan.layers):
            if layer.op in PRODUCTS or layer.end in live:
                layers.append(layer)
                live.update(layer.operands)
        self.plan.layers = layers[::-1]

    def _share(self) -> None:
        plan = self.plan
        points = set(plan.points)
        for layer in plan.layers:
            if layer.end in points:
                plan.computed.add(layer.end)
                if layer.moves:
                    plan.shared[layer.end] = layer.operands[0]
        plan.second = {plan.root(e) for e in plan.second}


def _obstacle(e: Call) -> str:
    """Why a product cannot be computed in integers; empty where it can."""
    if not all(dtype_of(a) == "float32" for a in e.args):
        return "its operands are not float32"
    if not all(isinstance(a.checked_type, TensorType) and a.checked_type.is_static for a in (*e.args, e)):
        return "its shapes are not known"
    if is_call_to(e, "nn.conv2d", "nn.conv2d_transpose"):
        if not has_data(e.args[1]):
            return "its weights are not constant"
        return _layout_obstacle(e)
    if is_call_to(e, "nn.dense") and len(e.known_type.shape) != 2:  # type: ignore[attr-defined]  # a tensor: see above
        return "it is no product of matrices"
    return ""


def _layout_obstacle(e: Call) -> str:
    data, kernel = e.attrs.data_layout, e.attrs.kernel_layout
    if data not in ("NCHW", "NHWC"):
        return f"there is no integer form for data in {data}"
    known = ("OIHW", "HWIO", "HWOI") if is_call_to(e, "nn.conv2d") else ("IOHW", "OIHW", "HWOI")
    if kernel not in known:
        return f"there is no integer form for weights in {kernel}"
    return ""


def weight_axis(e: Call) -> int:
    """The axis of a layer's weights with an element for each output channel; -1 if no axis has, as with groups."""
    if is_call_to(e, "nn.dense"):
        return 0
    axis = Layout.parse(e.attrs.kernel_layout).index("O")
    shape = e.args[1].known_type.shape  # type: ignore[attr-defined]  # a tensor
    out = e.known_type.shape[Layout.parse(e.attrs.out_layout or e.attrs.data_layout).index("C")]  # type: ignore[attr-defined]  # a tensor
    return axis if shape[axis] == out else -1
