"""Elements written where indices say."""

from __future__ import annotations

from ....deferred import np
from ....diagnostics import IrError
from ..arithmetic import cast
from ..memory_limit import counted
from ..mistakes import DamagedModel
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..value import Value, apply
from .gathering import from_front, index_tuples

REDUCTIONS = {"none": "update", "add": "add", "mul": "mul", "max": "max", "min": "min"}


def _reduction(name: str) -> str:
    if name not in REDUCTIONS:
        raise IrError(f"reduction is {name}; it can be {', '.join(REDUCTIONS)}", code=DamagedModel)
    return REDUCTIONS[name]


@onnx_operator("Scatter", "ScatterElements")
class ScatterElements(OnnxOperator):
    """Each update at its place, with the index in place of the one along the axis."""

    @since(9, 11, 13, 16, 18, added={"reduction": 16})
    def combine(self, x: Value, indices: Value, updates: Value, *, axis: int = 0, reduction: str = "none") -> Result:
        positive_axis = x.axis(axis)
        if 0 in indices.shape:
            return x
        indices = from_front(indices, x, positive_axis)
        return x.call("scatter_elements", indices, updates, axis=positive_axis, reduction=_reduction(reduction))


@onnx_operator("ScatterND")
class ScatterND(OnnxOperator):
    """Slices of the updates where tuples of indices say."""

    @since(11, 13, 16, 18, added={"reduction": 16})
    def combine(self, x: Value, indices: Value, updates: Value, *, reduction: str = "none") -> Result:
        if 0 in indices.shape[:-1] or 0 in updates.shape:
            return x
        return x.call("scatter_nd", index_tuples(indices, x), updates, mode=_reduction(reduction))


@onnx_operator("TensorScatter")
class TensorScatter(OnnxOperator):
    """New entries of a cache: each sample's from its own index on, past the end from the front with `circular`."""

    @since(24)
    def append(
        self,
        cache: Value,
        update: Value,
        write_indices: Value | None = None,
        *,
        axis: int = -2,
        mode: str = "linear",
    ) -> Result:
        if mode not in ("linear", "circular"):
            raise IrError(f"mode is {mode}; it can be linear or circular", code=DamagedModel)
        positive_axis = cache.axis(axis)
        update.require_rank(cache.rank, "the update")
        extents, longest = update.extents("the update"), cache.extents("the cache")[positive_axis]
        steps = counted(extents[positive_axis], "the places of the update").reshape(
            [-1 if i == positive_axis else 1 for i in range(update.rank)]
        )
        positions = Value.constant(steps.astype("int64"))
        if write_indices is not None:
            write_indices.require_rank(1, "the first places")
            first = cast(write_indices, "int64").call("reshape", newshape=[-1, *(1 for _ in extents[1:])])
            positions = positions.call("add", first)
        if mode == "circular":
            positions = positions.call("floor_mod", Value.constant(np.int64(longest)))
        positions = positions.call("broadcast_to", shape=list(extents))
        return apply("scatter_elements", cache, positions, update, axis=positive_axis, reduction="update")
