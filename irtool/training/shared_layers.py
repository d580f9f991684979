"""Gradients of weights that several layers share, such as the steps of a recurrent layer: one product in place of a sum of products."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..ir import Call, Expr, Tuple, post_order, rewrite, use_counts
from ..ops.base import attributes_of, call, is_call_to
from ..passes.core.arithmetic import add

_SUMMED: Mapping[str, int] = {"nn.dense": 1, "nn.conv2d_backward_weight": 0}
"""The axis of both operands that a product sums over and that several products can have one after the other."""


def with_joined_products(root: Expr) -> Expr:
    """The typed expression with one product for each sum of small products.

    ::

        add(nn.dense(a, b), nn.dense(c, d))   ⇒   nn.dense(concatenate((a, c), axis=1), concatenate((b, d), axis=1))

    That is where operands have fewer elements than products, whose sum would take more memory and time than the copies.
    """
    counts = use_counts(root)
    inner: set[Expr] = {
        a
        for e in post_order(root)
        if is_call_to(e, "add")
        for a in e.args
        if is_call_to(a, "add") and counts[a] == 1 and a.checked_type == e.checked_type
    }
    memo: dict[Expr, Expr] = {}

    def leave(old: Expr, new: Expr) -> Expr:
        if not is_call_to(old, "add") or old in inner:
            return new
        terms = _terms(old, inner)
        groups: list[list[Call]] = []
        for t in terms:
            if isinstance(t, Call) and counts[t] == 1 and t.checked_type == old.checked_type and _is_small(t):
                siblings = next((g for g in groups if _are_joinable(g[0], t)), None)
                if siblings is None:
                    groups.append([t])
                else:
                    siblings.append(t)
        joined = [g for g in groups if len(g) > 1]
        if not joined:
            return new
        replaced = {t for g in joined for t in g}
        summands = [memo[t] for t in terms if t not in replaced] + [_joined(g, memo.__getitem__) for g in joined]
        result = summands[0]
        for s in summands[1:]:
            result = add(result, s)
        return result

    return rewrite(root, leave, memo=memo)


def _terms(root: Expr, inner: set[Expr]) -> list[Expr]:
    """The terms of a sum, from left to right."""
    terms: list[Expr] = []
    stack = [root]
    while stack:
        e = stack.pop()
        if e is root or e in inner:
            assert isinstance(e, Call)
            stack += reversed(e.args)
        else:
            terms.append(e)
    return terms


def _is_small(e: Call) -> bool:
    """True for a product whose operands have fewer elements than its result."""
    return is_call_to(e, *_SUMMED) and sum(_size(a) for a in e.args) <= _size(e)


def _size(e: Expr) -> int:
    count = 1
    for extent in e.known_type.static_shape:  # type: ignore[attr-defined]  # operands of products are tensors
        count *= extent
    return count


def _are_joinable(a: Call, b: Call) -> bool:
    """True for products of one kind whose operands differ in the extent of the summed axis at most."""
    if a.op != b.op or attributes_of(a.attrs) != attributes_of(b.attrs):
        return False
    axis = _SUMMED[a.op_name]
    return all(_signature(x, axis) == _signature(y, axis) for x, y in zip(a.args, b.args, strict=True))


def _signature(e: Expr, axis: int) -> tuple[object, ...]:
    t = e.known_type
    shape = t.static_shape  # type: ignore[attr-defined]  # operands of products are tensors
    return (t.dtype, *shape[:axis], *shape[axis + 1 :])  # type: ignore[attr-defined]  # as above


def _joined(products: Sequence[Call], rewritten: Callable[[Expr], Expr]) -> Expr:
    """The sum of the products, as one."""
    first = products[0]
    axis = _SUMMED[first.op_name]
    operands = [_concatenated([p.args[n] for p in products], axis, rewritten) for n in range(len(first.args))]
    return call(first.op_name, *operands, **attributes_of(first.attrs))


def _concatenated(parts: Sequence[Expr], axis: int, rewritten: Callable[[Expr], Expr]) -> Expr:
    """The parts one after the other: transposes of matrices as the transpose of one, whose rows are copied as they stand."""
    if all(is_call_to(p, "transpose") and len(p.known_type.static_shape) == 2 for p in parts):  # type: ignore[attr-defined]  # operands of products are tensors
        rows = Tuple(tuple(rewritten(p.args[0]) for p in parts))  # type: ignore[attr-defined]  # they are calls
        return call("transpose", call("concatenate", rows, axis=1 - axis), axes=(1, 0))
    return call("concatenate", Tuple(tuple(map(rewritten, parts))), axis=axis)
