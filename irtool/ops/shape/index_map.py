"""`meta_schedule_layout_transform`, and the index maps that it takes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from ... import te
from ...deferred import np
from ...ir import TensorType, Type
from ...ir.dims import DimExpr, DimVar
from ...ir.meta import MetaNode
from ...trampoline import trampoline
from ..base import Operator, Pattern, RelationError, Reporter, operator
from ..shapes import tensor


class IndexMap:
    """A map from indices to indices: variables, and one expression on them for each axis of the result."""

    def __init__(self, node: Any) -> None:
        """Reads TVM's record. Raises RelationError for another record, or one with arithmetic that no index map needs."""
        if not isinstance(node, MetaNode) or node.type_key != "tir.IndexMap":
            raise RelationError("index_map must be an index map, which only a metadata section can hold")
        self.variables = tuple(node.fields.get("initial_indices") or ())
        self.results = tuple(node.fields.get("final_indices") or ())

    def apply(self, indices: Sequence[Any]) -> tuple[Any, ...]:
        """The result's indices of the element at `indices`: ints, arrays or index expressions."""
        known = dict(zip(self.variables, indices, strict=True))
        return tuple(trampoline(_value(r, known)) for r in self.results)

    def map_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The extents of the result's indices. RelationError where one may be negative."""
        if len(shape) != len(self.variables):
            raise RelationError(
                f"the index map is for rank {len(self.variables)}, but the tensor has rank {len(shape)}"
            )
        known = {v: Interval(0, d - 1) for v, d in zip(self.variables, shape, strict=True)}
        extents = []
        for i, r in enumerate(self.results):
            extent = trampoline(_value(r, known))
            low, high = (extent.low, extent.high) if isinstance(extent, Interval) else (extent, extent)
            if low < 0:
                raise RelationError(f"index {i} of the index map may be {low}")
            extents.append(high + 1)
        return tuple(extents)


@dataclass(frozen=True)
class Interval:
    """The numbers from `low` to `high`; arithmetic with ints and other intervals gives the interval of all results."""

    low: int
    high: int

    def __add__(self, other: Any) -> Interval:
        o = _interval(other)
        return Interval(self.low + o.low, self.high + o.high)

    def __sub__(self, other: Any) -> Interval:
        o = _interval(other)
        return Interval(self.low - o.high, self.high - o.low)

    def __mul__(self, other: Any) -> Interval:
        o = _interval(other)
        corners = [a * b for a in (self.low, self.high) for b in (o.low, o.high)]
        return Interval(min(corners), max(corners))

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other: Any) -> Interval:
        return _interval(other) - self

    def __floordiv__(self, by: int) -> Interval:
        return Interval(self.low // by, self.high // by)

    def __mod__(self, by: int) -> Interval:
        if self.low // by == self.high // by:
            return Interval(self.low % by, self.high % by)
        return Interval(0, by - 1)


def _interval(value: Any) -> Interval:
    return value if isinstance(value, Interval) else Interval(value, value)


def _value(e: Any, known: dict[Any, Any]) -> Any:
    """The value of index arithmetic, as a generator for `trampoline`."""
    if isinstance(e, int):
        return int(e)
    if isinstance(e, DimVar) and e in known:
        return known[e]
    if isinstance(e, DimExpr) and e.op == "Cast":
        return (yield _value(e.operands[0], known))
    if isinstance(e, DimExpr) and len(e.operands) == 2:
        a = yield _value(e.operands[0], known)
        b = yield _value(e.operands[1], known)
        if e.op in ("Add", "Sub", "Mul"):
            return a + b if e.op == "Add" else a - b if e.op == "Sub" else a * b
        if e.op in ("FloorDiv", "FloorMod", "Div", "Mod") and isinstance(b, int) and b > 0:
            return a // b if e.op.endswith("Div") else a % b
    raise RelationError(f"the index map contains {e!r}, which is no index arithmetic")


@operator(
    "meta_schedule_layout_transform",
    "data",
    pattern=Pattern.INJECTIVE,
    attrs="MetaScheduleLayoutTransformAttrs",
    level=5,
)
@dataclass(frozen=True)
class MetaScheduleLayoutTransform(Operator):
    """Each element moved to the index that `index_map` gives; unused places are zero."""

    no_gradient = "a layout that a tuner chose for a kernel"

    index_map: Any

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype; the shape is the image of the data's under `index_map`."""
        data = tensor(types[0])
        if data is None:
            return None
        if not data.is_static:
            raise RelationError(f"the shape of the argument must be known, not {data}")
        return TensorType(IndexMap(self.index_map).map_shape(data.shape), data.dtype)  # type: ignore[arg-type]  # a static shape: its dimensions are numbers

    def evaluate(self, data: Any) -> Any:
        map = IndexMap(self.index_map)
        out = np.zeros(map.map_shape(data.shape), data.dtype)
        positions = map.apply(np.indices(data.shape, sparse=True))
        out[tuple(np.broadcast_to(p, data.shape) for p in positions)] = data
        return out

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (data,) = inputs
        map = IndexMap(self.index_map)

        def program(ib: Any, ins: Any, outs: Any) -> None:
            with ExitStack() as loops:
                i = tuple(loops.enter_context(ib.for_(d)) for d in out_type.shape)
                ib.store(outs[0], i, te.const(0, data.dtype))
            with ExitStack() as loops:
                i = tuple(loops.enter_context(ib.for_(d)) for d in data.shape)
                ib.store(outs[0], map.apply(i), ins[0][i])

        return te.extern(out_type.shape, inputs, program, dtype=data.dtype, name="meta_schedule_layout_transform")
