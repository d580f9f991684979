"""Parallel branches: the same operator on the same data several times, combined into one wider operator.

A branch starts with a call of the operator and goes on through elementwise and broadcasting calls, as long as each value
has one user. Branches are grouped by their data and by what a `Combiner` takes to be compatible; those of a group become
one call, the calls behind them become wider too as far as they agree, and each branch takes its part of the result.

A call becomes wider only if it computes each element from those in the same place and keeps the shape of its branch, but for what it is
broadcast to: an attribute that names an axis or a shape would mean something else in the joined tensor.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import overload

from ...ir import Call, Dim, Expr, Function, Op, TensorType, Tuple, children, post_order, rebuild
from ...ir.scope import Scope, common_scope
from ...ops.base import Pattern, call, is_call_to
from .dependence import Dependence

Branch = list[Call]
Group = list[Branch]


class Combiner:
    """Rules for combining the branches of one operator. Subclasses define compatible calls, joining and splitting."""

    operator: str = ""

    def is_supported(self, e: Call) -> bool:
        """True if the call may start a branch: its second operand, the weights, must have a known shape, to be joined and to
        tell the parts of the result."""
        return tensor(e.args[1]).is_static

    def are_compatible(self, a: Call, b: Call) -> bool:
        """True if two calls of the operator on the same data can be combined."""
        raise NotImplementedError

    def combine(self, branches: Group) -> Call:
        """One call in place of the first calls of all branches."""
        raise NotImplementedError

    def is_arg_compatible(self, branches: Group, a: Call, b: Call, index: int) -> bool:
        """True if operand `index` of the later calls `a` and `b` can be combined."""
        raise NotImplementedError

    def combine_args(self, branches: Group, depth: int, index: int, parent: int) -> Expr:
        """One operand in place of operand `index` at `depth` of all branches; `parent` is the operand from the branch."""
        raise NotImplementedError

    def joined_axis(self, branches: Group) -> int | None:
        """The axis of a result along which the results are joined; None if they are stacked along a new one."""
        raise NotImplementedError

    def split(self, combined: Expr, branches: Group, depth: int) -> list[Expr]:
        """The part of the result that belongs to each branch."""
        raise NotImplementedError


@overload
def combine_parallel(root: Function, combiner: Combiner, min_num_branches: int) -> Function: ...
@overload
def combine_parallel(root: Expr, combiner: Combiner, min_num_branches: int) -> Expr: ...
def combine_parallel(root: Expr, combiner: Combiner, min_num_branches: int) -> Expr:
    """`root`, typed, with groups of at least `min_num_branches` parallel branches combined."""
    replaced: dict[Expr, Expr] = {}
    dependence = Dependence(root)
    for group in find_groups(root, combiner, dependence):
        if len(group) >= min_num_branches:
            _combine(group, combiner, replaced, dependence)
    return replace_nodes(root, replaced) if replaced else root


def find_groups(root: Expr, combiner: Combiner, dependence: Dependence) -> list[Group]:
    """Groups of compatible branches with the same data, none of which needs the result of another."""
    users: dict[Expr, list[Call]] = {}
    shared: dict[Expr, None] = {}
    for e in post_order(root):
        if not isinstance(e, Call):
            continue
        if is_call_to(e, combiner.operator) and combiner.is_supported(e):
            shared[e.args[0]] = None
            users.setdefault(e.args[0], []).append(e)
        else:
            for arg in e.args:
                users.setdefault(arg, []).append(e)
    groups: list[Group] = []
    for data in shared:
        here: list[_Gathered] = []
        for e in users[data]:
            if not is_call_to(e, combiner.operator):
                continue
            group = next((g for g in here if g.takes(e)), None)
            if group is None:
                group = _Gathered(combiner, dependence)
                here.append(group)
            group.add(_branch(e, users))
        groups += [g.branches for g in here]
    return groups


class _Gathered:
    """A group that grows: branches whose first operands are all known before any of them is computed."""

    def __init__(self, combiner: Combiner, dependence: Dependence) -> None:
        self.combiner = combiner
        self.dependence = dependence
        self.branches: Group = []
        self.starts: set[Expr] = set()
        self.scope: Scope | None = None

    def takes(self, e: Call) -> bool:
        """True if the call can be one with those that begin the branches. Calls come in the order of computation."""
        if not self.branches:
            return True
        first = self.branches[0][0]
        if not self.combiner.are_compatible(e, first):
            return False
        known = self.dependence
        if any(known.reaches(a, self.starts, known.place[first]) for a in e.args[1:]):
            return False
        scope = self._scope_with(e)
        # What is bound around a scope is bound in it, too: of those that are in, it matters only where that changes.
        others = [] if scope is self.scope else [b[0] for b in self.branches]
        return all(known.is_bound(a, scope) for start in (*others, e) for a in start.args[1:])

    def add(self, branch: Branch) -> None:
        self.scope = self._scope_with(branch[0])
        self.branches.append(branch)
        self.starts.add(branch[0])

    def _scope_with(self, e: Call) -> Scope | None:
        own = self.dependence.around(e)
        return own if self.scope is None or own is None else common_scope(self.scope, own)


def _branch(start: Call, users: Mapping[Expr, list[Call]]) -> Branch:
    branch = [start]
    while True:
        following = users.get(branch[-1], [])
        if len(following) != 1 or not isinstance(following[0].op, Op):
            return branch
        pattern = following[0].op.operator.pattern
        if pattern is None or pattern > Pattern.BROADCAST:
            return branch
        branch.append(following[0])


def _combine(branches: Group, combiner: Combiner, replaced: dict[Expr, Expr], dependence: Dependence) -> None:
    combined = combiner.combine(branches)
    depth = 1
    while depth < min(map(len, branches)):
        first = branches[0][depth]
        parent = first.args.index(branches[0][depth - 1])
        if not _agree(branches, depth, parent, combiner) or not _are_known(branches, depth, parent, dependence):
            break
        args = tuple(
            combined if i == parent else combiner.combine_args(branches, depth, i, parent)
            for i in range(len(first.args))
        )
        combined = Call(first.op, args, first.attrs)
        depth += 1
    for branch, part in zip(branches, combiner.split(combined, branches, depth - 1), strict=True):
        replaced.setdefault(branch[depth - 1], part)


def _agree(branches: Group, depth: int, parent: int, combiner: Combiner) -> bool:
    """True if the calls at `depth` of all branches can be combined."""
    first = branches[0][depth]
    if not all(_keeps_places(b[depth], b[depth].args[parent], combiner.joined_axis(branches)) for b in branches):
        return False
    for branch in branches[1:]:
        e = branch[depth]
        if e.op is not first.op or e.attrs != first.attrs or len(e.args) != len(first.args):
            return False
        if e.args[parent] is not branch[depth - 1]:
            return False
        for i in range(len(first.args)):
            if i != parent and not combiner.is_arg_compatible(branches, first, e, i):
                return False
    return True


def _keeps_places(e: Call, value: Expr, joined: int | None) -> bool:
    """True if each element of `e` depends only on the element of `value` in the same place, with any operands joined along an axis."""
    assert isinstance(e.op, Op)
    operator, shape = e.op.operator, tensor(value).shape
    if tensor(e).shape != shape:
        # Broadcast to more rows, or to more axes in front, an axis that is counted from the end stays where it is.
        stays = joined is not None and joined < 0 and tensor(e).shape[joined:] == shape[joined:]
        return stays and not operator.vector_axis and operator.shared_layout_rule() == "broadcast"
    if operator.vector_axis and value is e.args[0]:
        return joined is not None and getattr(e.attrs, operator.vector_axis) % len(shape) == joined % len(shape)
    return operator.shared_layout_rule() in ("elementwise", "broadcast")


def _are_known(branches: Group, depth: int, parent: int, dependence: Dependence) -> bool:
    """True if the other operands of the calls at `depth` of all branches are known before all of these."""
    calls = [b[depth] for b in branches]
    operands = [a for e in calls for i, a in enumerate(e.args) if i != parent]
    targets, first = {*calls}, min(dependence.place[e] for e in calls)
    scope = dependence.around(*calls)
    return all(dependence.is_bound(a, scope) and not dependence.reaches(a, targets, first) for a in operands)


def tensor(e: Expr) -> TensorType:
    """The type of `e`, which is a tensor."""
    assert isinstance(e.checked_type, TensorType)
    return e.checked_type


def extent(e: Expr, axis: int) -> int:
    """The number of elements of the tensor `e` along an axis of known extent."""
    result = tensor(e).shape[axis]
    assert isinstance(result, int)
    return result


def concatenate(parts: list[Expr], axis: int) -> Call:
    """The parts one after the other along an axis."""
    return call("concatenate", Tuple(tuple(parts)), axis=axis)


def take_slice(data: Expr, begin: list[int], extents: list[Dim]) -> Call:
    """`extents` elements from `begin` on; an extent of -1 takes all following elements."""
    return call("strided_slice", data, begin=begin, end=extents, strides=[1] * len(begin), slice_mode="size", axes=None)


def replace_nodes(root: Expr, replaced: Mapping[Expr, Expr]) -> Expr:
    """`root` with nodes replaced, inside the replacements as well."""
    memo: dict[Expr, Expr] = {}
    root = replaced.get(root, root)
    stack: list[tuple[Expr, bool]] = [(root, False)]
    while stack:
        e, ready = stack.pop()
        if e in memo:
            continue
        kids = tuple(replaced.get(k, k) for k in children(e))
        if ready:
            memo[e] = rebuild(e, [memo[k] for k in kids])
        else:
            stack.append((e, True))
            stack.extend((k, False) for k in reversed(kids))
    return memo[root]
