"""Keys of functions, equal for equal functions, and the captured variables of each, in linear time."""

from __future__ import annotations

from ...ir import Expr, Function, Tuple, Var, children, free_variables, post_order, rewrite, with_function
from ...ir.structural import structural_hash


class FunctionKeys:
    """Of every function below an expression, the expression itself included.

    A function inside another one is looked at once: around it, its digest and the variables that it uses stand for it.

    Attributes:
        free: the variables that a function uses and does not bind, in order of first use.
        digest: the same number for functions that are equal up to the names of variables, in every run.
    """

    def __init__(self, root: Expr) -> None:
        self.free: dict[Function, tuple[Var, ...]] = {}
        self.digest: dict[Function, int] = {}
        self._stubs: dict[Expr, Function] = {}
        for e in post_order(root):
            if isinstance(e, Function):
                self._add(e)

    def _add(self, function: Function) -> None:
        body = rewrite(function.body, lambda old, new: new, self._stubs.get)
        own = function if body is function.body else with_function(function, body=body)
        free = tuple(free_variables(own))
        self.free[function] = free
        self.digest[function] = structural_hash(Function(free, own))
        self._stubs[function] = Function((), Tuple(free), attrs={"digest": self.digest[function]})


DEEPEST = 16
"""TVM's hash of a function looks at all that is inside it. Functions inside more than so many others get none, so that
the time stays linear."""


def nesting(root: Expr) -> dict[Function, int]:
    """Of every function below an expression, `root` included: how many functions are around it."""
    depths: dict[Function, int] = {}
    seen: set[Expr] = set()
    stack: list[tuple[Expr, int]] = [(root, 0)]
    while stack:
        e, depth = stack.pop()
        if e in seen:
            continue
        seen.add(e)
        if isinstance(e, Function):
            depths[e] = depth
            depth += 1
        stack.extend((c, depth) for c in children(e))
    return depths
