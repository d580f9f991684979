"""Ensembles of decision trees, in the operators of ONNX itself: all trees of all rows go down a level at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ....deferred import np
from ..form import Form, form
from ..graph import Value
from ..site import OnnxSite


@form("tree_ensemble")
@dataclass(frozen=True)
class TreeEnsemble(Form):
    """for each level `Gather` of the tables, `GatherElements`, `LessOrEqual`, `Where`; then a reduction"""

    differs: ClassVar[str] = "leaves that are NaN: ONNX Runtime's `ReduceMax` and `ReduceMin` lose some of them"

    def emit(self, s: OnnxSite) -> Value:
        return _levels(s)


def _levels(s: OnnxSite) -> Value:
    data, roots, feature, threshold, low, high, weights = s.inputs
    nodes, features, leaves = s.known(s.tensor(2), 0), s.known(s.tensor(0), 1), s.known(s.tensor(6), 0)
    low, high = (s.cast(v, "int64") for v in (low, high))
    feature = s.node("Clip", s.cast(feature, "int64"), s.constant(0, "int64"), s.constant(features - 1, "int64"))
    # a row for each row of the data, a column for each tree
    column = s.slice(s.shape(data), [0], [1], [0])
    trees = s.known(s.tensor(1), 0)
    place = s.node("Expand", s.cast(roots, "int64"), s.concat([column, s.ints(trees)], 0))
    zero = s.constant(0, "int64")
    for _ in range(s.attrs.depth if nodes else 0):
        node = s.node("Clip", place, zero, s.constant(nodes - 1, "int64"))
        number = s.node("GatherElements", data, s.node("Gather", feature, node), axis=1)
        goes_low = s.compare("LessOrEqual", number, s.node("Gather", threshold, node))
        below = s.where(goes_low, s.node("Gather", low, node), s.node("Gather", high, node))
        place = s.where(s.compare("Less", place, zero), place, below)
    leaf = s.where(s.compare("Less", place, zero), s.sub(s.constant(-1, "int64"), place), zero)
    leaf = s.node("Clip", leaf, zero, s.constant(leaves - 1, "int64"))
    reached = s.node("Gather", weights, leaf)
    if not trees and s.attrs.combine != "sum":
        far = np.inf if s.attrs.combine == "min" else -np.inf
        shape = s.concat([column, s.ints(s.known(s.out, 1))], 0)
        return s.node("Expand", s.constant(far, weights.dtype), shape)
    return s.reduce({"sum": "ReduceSum", "min": "ReduceMin", "max": "ReduceMax"}[s.attrs.combine], reached, [1], False)
