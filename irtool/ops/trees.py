"""Ensembles of decision trees, whose nodes are tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import te
from ..deferred import np
from ..ir import TensorType, Type
from ..ir.dims import Dim
from ..te.guard import clip_index
from .base import Operator, Pattern, RelationError, Reporter, operator
from .dtypes import bits, is_float
from .extremes import larger, larger_expression, smaller, smaller_expression
from .indexing.bounds import clip_indices
from .shapes import require_compatible, require_rank, tensor

_COMBINED = ("sum", "min", "max")


@operator("tree_ensemble", "data", "roots", "feature", "threshold", "low", "high", "weights", pattern=Pattern.OPAQUE)
@dataclass(frozen=True)
class TreeEnsemble(Operator):
    """The result of an ensemble of decision trees for each row: the weights of the leaf that each tree reaches, combined.

    From node `n` a row `x` goes to `low[n]` if `x[feature[n]] <= threshold[n]`, else, and if the number is NaN, to `high[n]`. A
    number that is not negative is a node, `-1 - l` is leaf `l`; `roots` has such a number for each tree. `combine` is `sum`, added
    up tree by tree in the dtype of the weights, `min` or `max`.

    `depth` is the largest number of nodes that a row passes in one tree; a tree that is deeper gives leaf 0. Indices out of range
    are clipped.
    """

    differentiable = False

    precision = "never"

    layout_rule = ""

    one_dtype = ("data", "threshold")

    depth: int
    combine: str = "sum"

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """Data `(rows, features)` of the dtype of the thresholds, vectors of integers, weights `(leaves, targets)`: `(rows, targets)`."""
        if self.combine not in _COMBINED:
            raise RelationError(f"combine is {self.combine!r}; there are {', '.join(_COMBINED)}")
        if self.depth < 0:
            raise RelationError(f"depth is {self.depth}, and must not be negative")
        known = [tensor(t, what) for t, what in zip(types, self.arguments, strict=True)]
        data, roots, feature, threshold, low, high, weights = known
        if (
            data is None or roots is None or feature is None or threshold is None
            or low is None or high is None or weights is None
        ):  # fmt: skip
            return None
        self._check_dtypes(data, threshold, weights, {"roots": roots, "feature": feature, "low": low, "high": high})
        require_rank(data, 2, "data")
        require_rank(weights, 2, "weights")
        for t, what in ((threshold, "threshold"), (roots, "roots"), (feature, "feature"), (low, "low"), (high, "high")):
            require_rank(t, 1, what)
            if what != "roots":
                require_compatible(t.shape[0], feature.shape[0], f"{what} and feature")
        _require_some(data.shape[1], "data has no features")
        _require_some(weights.shape[0], "weights have no leaves")
        return TensorType((data.shape[0], weights.shape[1]), weights.dtype)

    def _check_dtypes(self, data: TensorType, threshold: TensorType, weights: TensorType, tables: Any) -> None:
        for t, what in ((data, "data"), (weights, "weights")):
            if not is_float(t.dtype) or t.dtype == "bfloat16":
                raise RelationError(f"{what} must be floating point, not {t.dtype}")
        if data.dtype != threshold.dtype:
            raise RelationError(f"data are {data.dtype}, and thresholds {threshold.dtype}")
        for what, t in tables.items():
            if not t.dtype.startswith("int"):
                raise RelationError(f"{what} must be signed integers, not {t.dtype}")

    def evaluate(
        self, data: Any, roots: Any, feature: Any, threshold: Any, low: Any, high: Any, weights: Any
    ) -> np.ndarray:
        rows = np.arange(len(data))[:, None]
        place = np.broadcast_to(roots.astype(np.int64), (len(data), len(roots)))
        features = clip_indices(feature, data.shape[1])
        for _ in range(self.depth if len(feature) else 0):
            if (place < 0).all():
                break
            node = clip_indices(place, len(feature))
            goes_low = data[rows, features[node]] <= threshold[node]
            place = np.where(place < 0, place, np.where(goes_low, low[node], high[node]))
        leaves = clip_indices(np.where(place < 0, -1 - place, 0), len(weights))
        total = np.full((len(data), weights.shape[1]), self._identity, weights.dtype)
        join: Any = {"sum": np.add, "min": smaller, "max": larger}[self.combine]
        with np.errstate(all="ignore"):
            for tree in range(len(roots)):
                total = join(total, weights[leaves[:, tree]])
        return total

    @property
    def _identity(self) -> float:
        return {"sum": 0.0, "min": float("inf"), "max": -float("inf")}[self.combine]

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        data, roots, feature, _, _, _, weights = inputs
        nodes, leaves = feature.shape[0], weights.shape[0]
        join = {"sum": lambda a, b: a + b, "min": smaller_expression, "max": larger_expression}[self.combine]

        def place_of(number: Any) -> Any:
            """A number of a table as int32: int64 may hold nodes and leaves that are far beyond the last one."""
            if bits(number.dtype) > 32:
                number = te.minimum(number, te.const(max(nodes - 1, 0), number.dtype))
                number = te.maximum(number, te.const(-leaves, number.dtype))
            return te.cast(number, "int32")

        def fill(ib: Any, ins: Sequence[Any], outs: Sequence[Any]) -> None:
            x, root, features, bound, low, high, weight = ins
            with ib.for_(data.shape[0], name="row") as row:
                with ib.for_(weights.shape[1]) as k:
                    ib.store(outs[0], (row, k), te.const(self._identity, out_type.dtype))
                with ib.for_(roots.shape[0], name="tree") as tree:
                    place = ib.local("int32", place_of(root[tree]))
                    if nodes and self.depth:
                        steps = ib.local("int32", 0)
                        with ib.while_(te.all(place.get() >= 0, steps.get() < self.depth)):
                            node = ib.let(te.minimum(place.get(), nodes - 1))
                            value = x[row, clip_index(features[node], data.shape[1])]
                            place.set(te.if_then_else(value <= bound[node], place_of(low[node]), place_of(high[node])))
                            steps.set(steps.get() + 1)
                    # of a node, where the tree is deeper, a negative number, which is clipped to leaf 0
                    leaf = ib.let(clip_index(te.const(-1, "int32") - place.get(), leaves))
                    with ib.for_(weights.shape[1]) as k:
                        ib.store(outs[0], (row, k), join(outs[0][row, k], weight[leaf, k]))

        return te.extern(out_type.shape, list(inputs), fill, dtype=out_type.dtype, name="tree_ensemble")


def _require_some(extent: Dim, message: str) -> None:
    if isinstance(extent, int) and not extent:
        raise RelationError(message)
