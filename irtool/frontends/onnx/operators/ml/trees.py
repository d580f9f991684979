"""Ensembles of decision trees: random forests, gradient boosting, isolation forests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .....deferred import np
from .....diagnostics import IrError
from ...arithmetic import add, cast, divide, scalar
from ...memory_limit import counted, filled
from ...mistakes import DamagedModel
from ...operator import OnnxOperator, Result, onnx_operator, since
from ...scores import TRANSFORMS, chosen, column, either, labels_of, rows_of, second_class, transformed
from ...tuples import concatenate
from ...value import Value, apply
from .tree_tables import MEMBER, Trees, combined, combined_present, ensemble_of, no_weights, with_members

_COMBINED = ("AVERAGE", "SUM", "MIN", "MAX")
_SINCE_3 = {
    f"{name}_as_tensor": 3
    for name in ("base_values", "nodes_hitrates", "nodes_values", "class_weights", "target_weights")
}


@dataclass(frozen=True, eq=False)
class Lists:
    """The lists of nodes that both operators have up to version 3, as attributes."""

    nodes_treeids: tuple[int, ...]
    nodes_nodeids: tuple[int, ...]
    nodes_modes: tuple[str, ...]
    nodes_featureids: tuple[int, ...]
    nodes_truenodeids: tuple[int, ...]
    nodes_falsenodeids: tuple[int, ...]
    nodes_missing_value_tracks_true: tuple[int, ...]

    def ensemble(self, splits: Any, targets: Any, count: int) -> Trees:
        """The ensemble with these numbers to compare with, and the weights of `count` targets."""
        return ensemble_of(
            self.nodes_treeids,
            self.nodes_nodeids,
            self.nodes_modes,
            self.nodes_featureids,
            splits,
            self.nodes_truenodeids,
            self.nodes_falsenodeids,
            self.nodes_missing_value_tracks_true,
            targets,
            count,
        )


def _numbers(floats: tuple[float, ...], tensor: Value | None, dtype: str) -> Any:
    """Numbers of one of two attributes in the dtype that trees compute in."""
    if tensor is None:
        return np.asarray(floats, "float32").astype(dtype)
    if floats:
        raise IrError("numbers are given as floats and as a tensor", code=DamagedModel)
    return tensor.array("the numbers of trees").reshape(-1).astype(dtype)


def _data(x: Value) -> Value:
    """Rows in float64 if they are, else in float32."""
    return rows_of(x, "the data of the trees", x.dtype if x.dtype in ("float32", "float64") else "float32")


def regressed(x: Value, trees: Trees, function: str, base: Any, transform: str) -> Value:
    """The result of an ensemble for each target."""
    if function not in _COMBINED:
        raise IrError(f"the aggregate function is {function!r}; there are {', '.join(_COMBINED)}", code=DamagedModel)
    targets = trees.weights.shape[1]
    if function in ("AVERAGE", "SUM"):
        scores = combined(x, trees, trees.weights, "sum")
        if function == "AVERAGE":
            scores = divide(scores, len(trees.roots))
    else:
        far = np.inf if function == "MIN" else -np.inf
        scores = combined(x, trees, np.where(trees.present, trees.weights, far), function.lower())
        if not trees.present.all():  # a target that no leaf of the row has a weight for
            scores = apply("where", scores.call("isinf"), scalar(0, scores.dtype), scores)
    if len(base) == targets:
        scores = add(scores, Value.constant(base))
        has = combined_present(x, trees) if targets > 1 else np.ones(1, bool)
        if isinstance(has, Value) or not has.all():  # targets without a leaf stay 0
            mask = has if isinstance(has, Value) else Value.constant(has)
            scores = apply("where", mask, scores, scalar(0, scores.dtype))
    return transformed(scores, transform)


@onnx_operator("ai.onnx.ml.TreeEnsembleRegressor")
class TreeEnsembleRegressor(OnnxOperator):
    """The sum, mean, least or largest of the trees' values for each target."""

    @since(1, 3, 5, added=_SINCE_3)
    def regress(
        self,
        x: Value,
        *,
        nodes_treeids: tuple[int, ...] = (),
        nodes_nodeids: tuple[int, ...] = (),
        nodes_modes: tuple[str, ...] = (),
        nodes_featureids: tuple[int, ...] = (),
        nodes_values: tuple[float, ...] = (),
        nodes_values_as_tensor: Value | None = None,
        nodes_truenodeids: tuple[int, ...] = (),
        nodes_falsenodeids: tuple[int, ...] = (),
        nodes_missing_value_tracks_true: tuple[int, ...] = (),
        nodes_hitrates: tuple[float, ...] = (),
        nodes_hitrates_as_tensor: Value | None = None,
        target_treeids: tuple[int, ...] = (),
        target_nodeids: tuple[int, ...] = (),
        target_ids: tuple[int, ...] = (),
        target_weights: tuple[float, ...] = (),
        target_weights_as_tensor: Value | None = None,
        n_targets: int = 1,
        base_values: tuple[float, ...] = (),
        base_values_as_tensor: Value | None = None,
        aggregate_function: str = "SUM",
        post_transform: str = "NONE",
    ) -> Result:
        x = _data(x)
        lists = Lists(
            nodes_treeids,
            nodes_nodeids,
            nodes_modes,
            nodes_featureids,
            nodes_truenodeids,
            nodes_falsenodeids,
            nodes_missing_value_tracks_true,
        )
        weights = _numbers(target_weights, target_weights_as_tensor, x.dtype)
        trees = lists.ensemble(
            _numbers(nodes_values, nodes_values_as_tensor, x.dtype),
            (target_treeids, target_nodeids, target_ids, weights),
            n_targets,
        )
        base = _numbers(base_values, base_values_as_tensor, x.dtype)
        return cast(regressed(x, trees, aggregate_function, base, post_transform), "float32")


@onnx_operator("ai.onnx.ml.TreeEnsembleClassifier")
class TreeEnsembleClassifier(OnnxOperator):
    """The class of the largest sum of weights, and the sums, transformed."""

    @since(1, 3, 5, added=_SINCE_3)
    def classify(
        self,
        x: Value,
        *,
        nodes_treeids: tuple[int, ...] = (),
        nodes_nodeids: tuple[int, ...] = (),
        nodes_modes: tuple[str, ...] = (),
        nodes_featureids: tuple[int, ...] = (),
        nodes_values: tuple[float, ...] = (),
        nodes_values_as_tensor: Value | None = None,
        nodes_truenodeids: tuple[int, ...] = (),
        nodes_falsenodeids: tuple[int, ...] = (),
        nodes_missing_value_tracks_true: tuple[int, ...] = (),
        nodes_hitrates: tuple[float, ...] = (),
        nodes_hitrates_as_tensor: Value | None = None,
        class_treeids: tuple[int, ...] = (),
        class_nodeids: tuple[int, ...] = (),
        class_ids: tuple[int, ...] = (),
        class_weights: tuple[float, ...] = (),
        class_weights_as_tensor: Value | None = None,
        classlabels_int64s: tuple[int, ...] = (),
        classlabels_strings: tuple[str, ...] = (),
        base_values: tuple[float, ...] = (),
        base_values_as_tensor: Value | None = None,
        post_transform: str = "NONE",
    ) -> Result:
        x = _data(x)
        labels = labels_of(self, classlabels_int64s, classlabels_strings)
        lists = Lists(
            nodes_treeids,
            nodes_nodeids,
            nodes_modes,
            nodes_featureids,
            nodes_truenodeids,
            nodes_falsenodeids,
            nodes_missing_value_tracks_true,
        )
        weights = _numbers(class_weights, class_weights_as_tensor, x.dtype)
        splits = _numbers(nodes_values, nodes_values_as_tensor, x.dtype)
        trees = lists.ensemble(splits, (class_treeids, class_nodeids, class_ids, weights), len(labels))
        base = _numbers(base_values, base_values_as_tensor, x.dtype)
        if len(labels) == 2:
            label, scores = _of_two(x, trees, labels, base, bool((weights >= 0).all()), post_transform)
        else:
            label, scores = _of_many(x, trees, labels, base, post_transform)
        return [label, cast(scores, "float32")]


def _of_many(x: Value, trees: Trees, labels: list[int], base: Any, transform: str) -> tuple[Value, Value]:
    """Classes by the largest sum: the first of those that have one."""
    scores = combined(x, trees, trees.weights, "sum")
    if len(base) not in (0, len(labels)):
        raise IrError(f"there are {len(base)} base_values for {len(labels)} classes", code=DamagedModel)
    present: Any = filled(len(labels), True, "the classes")
    if len(base):
        scores = add(scores, Value.constant(base))
    else:
        present = combined_present(x, trees)
    ranked = scores
    if isinstance(present, Value) or not present.all():
        has = present if isinstance(present, Value) else Value.constant(present)
        ranked = apply("where", has, scores, scalar(-np.inf, scores.dtype))
    return chosen(labels, ranked.call("argmax", axis=[1])), transformed(scores, transform)


def _of_two(
    x: Value, trees: Trees, labels: list[int], base: Any, positive: bool, transform: str
) -> tuple[Value, Value]:
    """Two classes, as in ONNX Runtime, which decides row by row: where the leaves have no weight for the second class, the
    score of the first stands for the second one.

    If weights are those of one class throughout, that one is the second label from 0 on, or from a half on if no weight is
    negative; else the label is 1 or 0, whatever the labels are.
    """
    scores, has = combined(x, trees, trees.weights, "sum"), combined_present(x, trees)
    masks = [column(has, k) if isinstance(has, Value) else bool(has[k]) for k in (0, 1)]
    one = int(trees.present.any(axis=0).sum()) == 1
    first, second = column(scores, 0), column(scores, 1)
    zero = second.call("zeros_like")
    if len(base) == 2:
        moved = add(first, float(base[1]))
        first = _pick(masks[1], moved.call("negative"), add(first, float(base[0])))
        second = _pick(masks[1], moved, zero)
    elif len(base):
        first = add(first, float(base[0]))
    first = _pick(masks[0], first, zero)
    decides = _pick(masks[1], second, first)
    bound = scalar(0.5 if one and positive else 0, scores.dtype)
    label = either(decides.call("greater", bound), *((labels[1], labels[0]) if one else (1, 0)))
    both = transformed(concatenate([v.call("expand_dims", axis=1) for v in (first, second)], 1), transform)
    if len(base) == 2 or masks[1] is True:
        return label, both
    alone = second_class(first.call("expand_dims", axis=1), transform, one and positive)
    mask = masks[1].call("expand_dims", axis=1) if isinstance(masks[1], Value) else masks[1]
    return label, _pick(mask, both, alone)


def _pick(mask: Value | bool, yes: Value, no: Value) -> Value:
    """One or the other, row by row where that is not known before."""
    if isinstance(mask, Value):
        return apply("where", mask, yes, no)
    return yes if mask else no


@onnx_operator("ai.onnx.ml.TreeEnsemble")
class TreeEnsemble(OnnxOperator):
    """The sum, mean, least or largest of the trees' values for each target; leaves are listed apart from nodes."""

    @since(5)
    def combine(
        self,
        x: Value,
        *,
        aggregate_function: int = 1,
        leaf_targetids: tuple[int, ...],
        leaf_weights: Value,
        membership_values: Value | None = None,
        n_targets: int = 1,
        nodes_falseleafs: tuple[int, ...],
        nodes_falsenodeids: tuple[int, ...],
        nodes_featureids: tuple[int, ...],
        nodes_hitrates: Value | None = None,
        nodes_missing_value_tracks_true: tuple[int, ...] = (),
        nodes_modes: Value,
        nodes_splits: Value,
        nodes_trueleafs: tuple[int, ...],
        nodes_truenodeids: tuple[int, ...],
        post_transform: int = 0,
        tree_roots: tuple[int, ...],
    ) -> Result:
        if not 0 <= post_transform < len(TRANSFORMS) or not 0 <= aggregate_function < len(_COMBINED):
            raise IrError("post_transform or aggregate_function is no number of one", code=DamagedModel)
        x = rows_of(x, "the data of the trees", x.dtype)
        ids = np.asarray(leaf_targetids, "int64")
        weight = leaf_weights.array("the weights of leaves").reshape(-1)
        if len(ids) != len(weight) or (len(ids) and not 0 <= ids.min() <= ids.max() < n_targets):
            raise IrError("a leaf gives its weight to no target", code=DamagedModel)
        leaves = counted(len(ids), "the leaves of the trees")
        weights, present = no_weights(len(ids), n_targets, weight.dtype)
        weights[leaves, ids], present[leaves, ids] = weight, True
        mode = nodes_modes.array("the modes of nodes").reshape(-1).astype("int64")
        if len(mode) and not 0 <= mode.min() <= mode.max() <= MEMBER:
            raise IrError("a node has an unknown mode", code=DamagedModel)
        missing = np.asarray(nodes_missing_value_tracks_true or [0] * len(mode), "int64")
        trees = Trees(
            np.asarray(tree_roots, "int64"),
            np.asarray(nodes_featureids, "int64"),
            nodes_splits.array("the numbers of nodes").reshape(-1),
            mode,
            missing == 1,
            _behind(nodes_truenodeids, nodes_trueleafs),
            _behind(nodes_falsenodeids, nodes_falseleafs),
            weights,
            present,
        )
        members = membership_values.array("membership_values") if membership_values is not None else np.empty(0)
        trees = with_members(trees, members.reshape(-1))
        return regressed(x, trees, _COMBINED[aggregate_function], (), TRANSFORMS[post_transform])


def _behind(positions: tuple[int, ...], are_leaves: tuple[int, ...]) -> Any:
    """Places behind nodes: those in the list of leaves as negative numbers."""
    if len(positions) != len(are_leaves) or any(p < 0 for p in positions):
        raise IrError("the lists of nodes' successors do not fit", code=DamagedModel)
    return np.where(np.asarray(are_leaves, bool), -1 - np.asarray(positions, "int64"), np.asarray(positions, "int64"))
