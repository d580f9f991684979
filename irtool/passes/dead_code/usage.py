"""Numbers of necessary uses of each variable of a `let`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from ...ir import Expr, Function, Let, Var, children


def needed_uses(root: Function, is_pure: Callable[[Var], bool]) -> Counter[Var]:
    """Uses of the variables that `let`s below the root bind, counted up to two.

    A use counts only if it is evaluated: the value of a pure variable is looked at when the first use of the variable is
    met, and never if there is none. A use inside a function that the variable was bound outside of counts twice, since the
    function may be called twice. Of a `let` that is shared, and met twice, the more uses count: the second time, what was
    met twice already is left out.
    """
    use_counts: Counter[Var] = Counter()
    before: Counter[Var] = Counter()
    values: dict[Var, Expr] = {}
    bound_at: dict[Var, int] = {}
    visits: Counter[Expr] = Counter()
    level = 0
    stack: list[tuple[str, Expr]] = [("see", root)]
    while stack:
        step, e = stack.pop()
        if step == "leave":
            level -= 1
            continue
        if step == "used":
            use_counts[e] += 1  # type: ignore[index]  # a variable, by its step
            continue
        visits[e] += 1
        if visits[e] > 2:
            continue
        if isinstance(e, Var):
            if e not in values:
                continue
            use_counts[e] += 1
            if bound_at[e] < level:
                stack.append(("used", e))
            if use_counts[e] == 1 and is_pure(e):
                stack.append(("see", values[e]))
        elif isinstance(e, Let):
            chain: list[tuple[str, Expr]] = []
            rest: Expr = e
            while isinstance(rest, Let):
                if rest is not e:
                    visits[rest] += 1
                values[rest.var] = rest.value
                before[rest.var] = max(before[rest.var], use_counts[rest.var])
                use_counts[rest.var] = 0
                bound_at[rest.var] = level
                if not is_pure(rest.var):
                    chain.append(("see", rest.value))
                rest = rest.body
            chain.append(("see", rest))
            stack.extend(reversed(chain))
        elif isinstance(e, Function):
            level += 1
            stack.append(("leave", e))
            stack.append(("see", e.body))
        else:
            stack.extend(("see", c) for c in reversed(children(e)))
    return use_counts | before
