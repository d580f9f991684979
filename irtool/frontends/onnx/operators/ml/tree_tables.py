"""Ensembles of decision trees of ai.onnx.ml as the tables of Relay's `tree_ensemble`, which asks `x <= threshold` at every node.

A question of another kind becomes that one on another form of the number: `x < t` is no to `-x <= -t`, `x == t` is yes to both
`x <= t` and `-x <= -t`. What a node does with NaN, for which a comparison is false, is that of a form with minus infinity in its
place. So `x > t` is no to `x <= t`, and where NaN is to be no to it as well, the form without NaN is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from .....deferred import np
from .....diagnostics import IrError
from ...arithmetic import cast
from ...memory_limit import counted, filled, require_room
from ...mistakes import DamagedModel
from ...tuples import concatenate
from ...value import Value, apply

LEQ, LT, GTE, GT, EQ, NEQ, MEMBER, LEAF = range(8)
MODES = {f"BRANCH_{name}": i for i, name in enumerate(("LEQ", "LT", "GTE", "GT", "EQ", "NEQ", "MEMBER"))} | {
    "LEAF": LEAF
}

_NEGATED, _FILLED = 1, 2
"""Forms of a number: its negative; with minus infinity in the place of NaN."""


@dataclass(frozen=True, eq=False)
class Trees:
    """An ensemble as a model says it. Arrays with an element for each inner node; leaf `l` is written as `-1 - l`.

    Attributes:
        roots: the first node of each tree, which may be a leaf.
        feature, split, mode, missing: the index of the tested number, the threshold, the comparison, and whether NaN means yes.
        yes, no: the nodes behind.
        weights: the contribution of each leaf to each target, `(leaves, targets)`.
        present: which of the weights a leaf has; for the others 0 stands there.
    """

    roots: Any
    feature: Any
    split: Any
    mode: Any
    missing: Any
    yes: Any
    no: Any
    weights: Any
    present: Any

    def __post_init__(self) -> None:
        nodes, leaves = len(self.feature), len(self.weights)
        for what in ("split", "mode", "missing", "yes", "no"):
            if len(getattr(self, what)) != nodes:
                raise IrError("the lists of the nodes of trees differ in length", code=DamagedModel)
        for targets in (self.roots, self.yes, self.no):
            if len(targets) and (targets.max() >= nodes or targets.min() < -leaves):
                raise IrError("a tree has a node that is not there", code=DamagedModel)
        if not len(self.roots) or not leaves:
            raise IrError("the ensemble has no trees", code=DamagedModel)


def with_members(trees: Trees, members: Any) -> Trees:
    """The ensemble with a chain of equalities in the place of each question whether a number is one of several.

    `members` has the numbers of all these questions in order, with NaN behind those of each.
    """
    nodes = np.flatnonzero(trees.mode == MEMBER)
    if not len(nodes):
        return trees
    ends = np.flatnonzero(np.isnan(members))
    if len(ends) != len(nodes):
        raise IrError("membership_values do not have one set for each question", code=DamagedModel)
    what = "the questions whether a number is one of several"
    parts: dict[str, list[Any]] = {k: [getattr(trees, k).copy()] for k in ("feature", "split", "missing", "yes", "no")}
    mode, count, start = np.where(trees.mode == MEMBER, EQ, trees.mode), len(trees.mode), 0
    for node, end in zip(nodes.tolist(), ends.tolist(), strict=True):
        values = members[start:end]
        start = end + 1
        if not len(values):
            raise IrError("a set of membership_values is empty", code=DamagedModel)
        more = len(values) - 1
        parts["split"][0][node] = values[0]
        added = {
            "feature": filled(more, trees.feature[node], what),
            "split": values[1:],
            "missing": filled(more, trees.missing[node], what),
            "yes": filled(more, trees.yes[node], what),
            "no": np.append(count + 1 + counted(more - 1, what), trees.no[node]) if more else np.empty(0, "int64"),
        }
        if more:
            parts["no"][0][node] = count
        for k, v in added.items():
            parts[k].append(v)
        count += more
    joined = {k: np.concatenate(v) for k, v in parts.items()}
    return replace(trees, mode=np.append(mode, filled(count - len(mode), EQ, what)), **joined)


@dataclass(frozen=True, eq=False)
class Tables:
    """An ensemble whose nodes all ask `x <= threshold`, of one of the forms of a number."""

    form: Any
    feature: Any
    threshold: Any
    low: Any
    high: Any
    depth: int


def tables_of(trees: Trees, dtype: str) -> Tables:
    """The ensemble in questions of the one kind, on numbers of that dtype. MEMBER must be gone."""
    mode, missing = trees.mode, trees.missing.astype(bool)
    equal = (mode == EQ) | (mode == NEQ)
    # no to the question about -x, or to the opposite one about x
    swapped = (mode == LT) | (mode == GT)
    split = trees.split.astype(dtype)
    split = np.where(swapped & np.isnan(split), np.where(mode == LT, -np.inf, np.inf).astype(dtype), split)
    negated = (mode == LT) | (mode == GTE)
    yes = np.where(mode == NEQ, trees.no, trees.yes)
    no = np.where(mode == NEQ, trees.yes, trees.no)
    filled = np.where(swapped, ~missing, missing) & (mode != NEQ)
    form = negated * _NEGATED + filled * _FILLED
    low, high = np.where(swapped, no, yes), np.where(swapped, yes, no)
    nodes = np.flatnonzero(equal)
    seconds = len(mode) + counted(len(nodes), "the questions of equality")
    low[nodes] = seconds
    return Tables(
        np.append(form, form[nodes] | _NEGATED),
        np.append(trees.feature, trees.feature[nodes]),
        np.append(np.where(negated, -split, split), -split[nodes]),
        np.append(low, yes[nodes]),
        np.append(high, no[nodes]),
        _depth(trees.roots, np.append(low, yes[nodes]), np.append(high, no[nodes])),
    )


def _depth(roots: Any, low: Any, high: Any) -> int:
    """The largest number of nodes from a root to a leaf. Raises IrError if there is no end to them."""
    depth, level = 0, np.unique(roots[roots >= 0])
    while len(level):
        depth += 1
        if depth > len(low):
            raise IrError("the nodes of a tree lead back to each other", code=DamagedModel)
        below = np.concatenate([low[level], high[level]])
        level = np.unique(below[below >= 0])
    return depth


def combined(x: Value, trees: Trees, weights: Any, combine: str) -> Value:
    """The weights of the leaves that each row of `x`, `(rows, features)` of floating point, reaches, combined over the trees."""
    t = tables_of(trees, x.dtype)
    features = x.extent(1, "the data of the trees")
    if len(t.feature) and not 0 <= t.feature.min() <= t.feature.max() < features:
        raise IrError(f"a tree asks for feature {t.feature.max()}, and there are {features}", code=DamagedModel)
    forms = np.unique(t.form) if len(t.form) else np.zeros(1, "int64")
    require_room((len(t.feature) + len(weights), 1), "the nodes of the trees")
    data = concatenate([_in_form(x, int(f)) for f in forms], 1) if len(forms) > 1 else _in_form(x, int(forms[0]))
    column = t.feature + np.searchsorted(forms, t.form) * features
    tables = [np.asarray(p, _narrow(len(t.feature), len(weights))) for p in (trees.roots, t.low, t.high)]
    roots, low, high = (Value.constant(p) for p in tables)
    return apply(
        "tree_ensemble",
        data,
        roots,
        Value.constant(column.astype(_narrow(features * len(forms)))),
        Value.constant(t.threshold),
        low,
        high,
        Value.constant(weights),
        depth=t.depth,
        combine=combine,
    )


def _narrow(*counts: int) -> str:
    """The integers that tables hold: trees of a microcontroller fit into 16 bits."""
    return "int16" if max(counts) < 1 << 15 else "int32"


def _in_form(x: Value, form: int) -> Value:
    numbers = x.call("negative") if form & _NEGATED else x
    if not form & _FILLED:
        return numbers
    least = Value.constant(np.asarray(-np.inf, x.dtype))
    return apply("where", numbers.call("isnan"), least, numbers)


def combined_present(x: Value, trees: Trees) -> Any:
    """The targets with a weight: an array if they are the same for every row, else truth values `(rows, targets)`."""
    from_leaf = trees.present
    if from_leaf.all():
        return filled(from_leaf.shape[1], True, "the targets")
    never = ~from_leaf.any(axis=0)
    if (never | from_leaf.all(axis=0)).all():
        return ~never
    return cast(combined(x, trees, from_leaf.astype("float32"), "max"), "bool")


def no_weights(leaves: int, targets: int, dtype: Any) -> tuple[Any, Any]:
    """Weights of leaves that give nothing to a target yet, and which of them there are. Raises IrError if these are too many."""
    what = "the weights of the leaves"
    return filled((leaves, targets), 0, what, dtype), filled((leaves, targets), False, what)


class _Numbered:
    """Nodes that are told by the numbers of a tree and of a node in it. Forests have millions of them: all is done with arrays."""

    def __init__(self, tree: np.ndarray, node: np.ndarray) -> None:
        self.trees, first = np.unique(tree, return_inverse=True)
        self.nodes, second = np.unique(node, return_inverse=True)
        key = first * len(self.nodes) + second
        self.order = np.argsort(key, kind="stable")
        self.keys = key[self.order]
        if (self.keys[1:] == self.keys[:-1]).any():
            raise IrError("a node of a tree is there twice", code=DamagedModel)

    def places(self, tree: np.ndarray, node: np.ndarray) -> np.ndarray:
        """Positions of these among all nodes. Raises IrError for one that is not there."""
        first, second = np.searchsorted(self.trees, tree), np.searchsorted(self.nodes, node)
        positions = np.searchsorted(self.keys, first * len(self.nodes) + second)
        known = (first < len(self.trees)) & (second < len(self.nodes)) & (positions < len(self.keys))
        first, second, positions = (np.where(known, v, 0) for v in (first, second, positions))
        if len(self.keys):
            known &= (self.trees[first] == tree) & (self.nodes[second] == node)
            known &= self.keys[positions] == first * len(self.nodes) + second
        if not known.all():
            wrong = int(np.flatnonzero(~known)[0])
            raise IrError(f"tree {tree[wrong]} has no node {node[wrong]}", code=DamagedModel)
        return self.order[positions]


def ensemble_of(
    treeids: Sequence[int],
    nodeids: Sequence[int],
    modes: Sequence[str],
    features: Sequence[int],
    splits: Any,
    yes: Sequence[int],
    no: Sequence[int],
    missing: Sequence[int],
    targets: tuple[Sequence[int], Sequence[int], Sequence[int], Any],
    count: int,
) -> Trees:
    """The ensemble of the lists that the operators have up to version 3; `targets` are trees, nodes, targets and weights."""
    total = len(treeids)
    lists = (nodeids, modes, features, yes, no)
    if any(len(v) != total for v in lists) or len(splits) != total or len(missing) not in (0, total):
        raise IrError("the lists of the nodes of trees differ in length", code=DamagedModel)
    unknown = set(modes) - MODES.keys()
    if unknown or "BRANCH_MEMBER" in modes:
        raise IrError(f"a node asks {min(unknown, default='BRANCH_MEMBER')}, which is no mode here", code=DamagedModel)
    mode = np.array([MODES[m] for m in modes], "int64")
    tree, inner = np.asarray(treeids, "int64"), mode != LEAF
    place = np.where(inner, np.cumsum(inner) - 1, -np.cumsum(~inner))
    nodes = _Numbered(tree, np.asarray(nodeids, "int64"))
    inner_nodes = np.flatnonzero(inner)
    below = [place[nodes.places(tree[inner_nodes], np.asarray(v, "int64")[inner_nodes])] for v in (yes, no)]
    firsts = np.flatnonzero(np.append(True, tree[1:] != tree[:-1])) if total else np.empty(0, "int64")
    leaves = int((~inner).sum())
    weights, present = no_weights(leaves, count, splits.dtype)
    owned, of = (np.asarray(v, "int64") for v in targets[:2])
    if len(owned) != len(of):
        raise IrError("the lists of the weights of trees differ in length", code=DamagedModel)
    owners = place[nodes.places(owned, of)]
    ids = np.asarray(targets[2], "int64")
    if len(ids) != len(owners) or len(targets[3]) != len(owners):
        raise IrError("the lists of the weights of trees differ in length", code=DamagedModel)
    if len(owners) and (owners.max() >= 0 or not 0 <= ids.min() <= ids.max() < count):
        raise IrError("a weight is not that of a leaf, or of no target", code=DamagedModel)
    np.add.at(weights, (-1 - owners, ids), targets[3])
    present[-1 - owners, ids] = True
    tracks = (
        np.asarray(missing, "int64")[inner_nodes] == 1
        if len(missing)
        else filled(len(inner_nodes), False, "the nodes of the trees")
    )
    return Trees(
        place[firsts],
        np.asarray(features, "int64")[inner_nodes],
        splits[inner_nodes],
        mode[inner_nodes],
        tracks,
        below[0],
        below[1],
        weights,
        present,
    )
