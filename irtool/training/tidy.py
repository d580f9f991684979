"""Terms of gradients that have no effect."""

from __future__ import annotations

from ..ir import Call, Expr, Tuple, TupleGetItem, rewrite
from ..ops.base import is_call_to

_LIKE = ("collapse_sum_like", "broadcast_to_like", "collapse_sum_to", "broadcast_to", "reshape_like", "reshape")


def without_neutral_terms(root: Expr) -> Expr:
    """The typed expression without sums with zeros, products with ones, and changes of a shape to itself.

    ::

        add(zeros_like(x), g)         ⇒  g
        multiply(ones_like(x), g)     ⇒  g
        collapse_sum_like(g, x)       ⇒  g       if both have one shape
        (a, b).1                      ⇒  b
    """

    def leave(old: Expr, new: Expr) -> Expr:
        if isinstance(new, TupleGetItem) and isinstance(new.tuple, Tuple):
            return new.tuple.fields[new.index]
        if not isinstance(new, Call) or not isinstance(old, Call):
            return new
        if is_call_to(new, "add", "multiply"):
            neutral = ("zeros_like", "zeros") if is_call_to(new, "add") else ("ones_like", "ones")
            for term, other, was in ((0, 1, old.args[1]), (1, 0, old.args[0])):
                if is_call_to(new.args[term], *neutral) and was.checked_type == old.checked_type:
                    return new.args[other]
        if is_call_to(new, *_LIKE) and old.args[0].checked_type == old.checked_type:
            return new.args[0]
        return new

    return rewrite(root, leave)
