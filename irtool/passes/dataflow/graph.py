"""The graph that patterns are matched in: users and post-dominators of nodes."""

from __future__ import annotations

from functools import cached_property

from ...ir import Call, Expr, Function, Let, Match, bound_vars, children
from ..fusion.dominators import PostDominators


class ExprGraph:
    """Every node below an expression, operators and bound variables among them, in post-order.

    A variable that a `let` binds comes after the value, which is its operand; so is the data of a `match` an operand of the
    variables of its patterns. A recursive function is no operand of its own name inside itself: edges lead upwards only.

    Attributes:
        nodes: the nodes. `index` is the number of each.
    """

    def __init__(self, root: Expr) -> None:
        self.root = root
        self.nodes = _order(root)
        self.index = {e: i for i, e in enumerate(self.nodes)}

    @cached_property
    def inputs(self) -> list[list[int]]:
        """The numbers of the operands of each node, in order."""
        result: list[list[int]] = [[] for _ in self.nodes]
        index = self.index
        for node_index, e in enumerate(self.nodes):
            if isinstance(e, Let):
                self._feed(result, index[e.value], index[e.var])
                self._feed(result, index[e.body], node_index)
            elif isinstance(e, Match):
                for clause in e.clauses:
                    for v in bound_vars(clause.pattern):
                        self._feed(result, index[e.data], index[v])
                    self._feed(result, index[clause.body], node_index)
            else:
                for child in children(e):
                    if child in index:
                        self._feed(result, index[child], node_index)
        return result

    @staticmethod
    def _feed(users: list[list[int]], source: int, user: int) -> None:
        if source < user:
            users[user].append(source)

    @cached_property
    def outputs(self) -> list[list[tuple[int, int]]]:
        """The users of each node, as `(number, 0)`."""
        result: list[list[tuple[int, int]]] = [[] for _ in self.nodes]
        for user, sources in enumerate(self.inputs):
            for source in sources:
                result[source].append((user, 0))
        return result

    @cached_property
    def external(self) -> list[bool]:
        """For each node, whether something outside uses it: the root only."""
        return [e is self.root for e in self.nodes]

    @cached_property
    def dominators(self) -> PostDominators:
        """The tree of post-dominators."""
        return PostDominators(self)

    @cached_property
    def dominated(self) -> list[list[int]]:
        """The nodes whose immediate post-dominator each node is, highest number first."""
        result: list[list[int]] = [[] for _ in range(len(self.nodes) + 1)]
        for i in range(len(self.nodes) - 1, -1, -1):
            result[self.dominators.parent[i]].append(i)
        return result


def _order(root: Expr) -> list[Expr]:
    order: list[Expr] = []
    seen: set[Expr] = set()
    bound_now: list[Expr] = []
    stack: list[tuple[str, Expr]] = [("see", root)]
    while stack:
        step, e = stack.pop()
        if step == "leave":
            order.append(e)
        elif step == "bind":
            bound_now.append(e)
        elif step == "bound":
            bound_now.pop()
        elif e in seen or (bound_now and e is bound_now[-1]):
            continue
        else:
            seen.add(e)
            stack.append(("leave", e))
            stack.extend(reversed(_steps(e)))
    return order


def _steps(e: Expr) -> list[tuple[str, Expr]]:
    if isinstance(e, Let):
        return [("bind", e.var), ("see", e.value), ("bound", e.var), ("see", e.var), ("see", e.body)]
    if isinstance(e, Function):
        return [*(("see", p) for p in e.params), ("see", e.body)]
    if isinstance(e, Match):
        steps: list[tuple[str, Expr]] = [("see", e.data)]
        for clause in e.clauses:
            steps += [*(("see", v) for v in bound_vars(clause.pattern)), ("see", clause.body)]
        return steps
    return [("see", c) for c in children(e)]


def is_call_position(e: Expr, source: Expr) -> bool:
    """True if `source` is the callee of `e` rather than one of its operands."""
    return isinstance(e, Call) and e.op is source
