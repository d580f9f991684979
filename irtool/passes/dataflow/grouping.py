"""All matches of a pattern in an expression, as groups that do not overlap and can each become one node."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ...ir import (
    Call,
    Constant,
    Expr,
    Function,
    If,
    Let,
    Op,
    Tuple,
    TupleGetItem,
    Var,
    rewrite,
)
from ...ir import (
    Match as MatchExpr,
)
from ...ir import (
    post_order as expr_post_order,
)
from .graph import ExprGraph
from .matching import Matcher, PatternMatch
from .patterns import (
    AltPattern,
    CallPattern,
    ConstantPattern,
    DFPattern,
    DominatorPattern,
    ExprPattern,
    FunctionPattern,
    TuplePattern,
    post_order,
)
from .screening import Screen


@dataclass
class Group:
    """One match.

    Attributes:
        root: the node that the pattern as a whole matched.
        match: the nodes that each part of the pattern matched.
        args: the operands of the group from outside, one for each parameter.
        function: the group as a function of its inputs.
        name: the names of the group's operators, in order, each followed by `_`.
    """

    root: Expr
    match: PatternMatch
    args: list[Expr] = field(default_factory=list)
    function: Function = field(default=None)  # type: ignore[assignment]  # given once the inputs of the group are known
    name: str = ""


def find_groups(pattern: DFPattern, root: Expr) -> dict[Expr, Group]:
    """The groups by their roots. Of overlapping matches the one nearer to the result wins.

    A match is left out where a node inside it is used outside, unless that use leads back to the match's root.
    """
    screen = Screen(pattern)
    if not screen.may_match(root):
        return {}
    return _Grouper(pattern, root, screen).run()


class _Grouper:
    def __init__(self, pattern: DFPattern, root: Expr, screen: Screen) -> None:
        self.pattern = pattern
        self.parts = post_order(pattern)
        self.graph = ExprGraph(root)
        self.matcher = Matcher(self.graph)
        self.screen = screen
        self.taken: set[Expr] = set()
        self.groups: dict[Expr, Group] = {}
        self.count = 0

    def run(self) -> dict[Expr, Group]:
        finished: set[Expr] = set()
        may_start = self.screen.may_start
        for e in reversed(self.graph.nodes):
            if e in self.taken:
                continue
            if isinstance(e, Function) and "PartitionedFromPattern" in e.attrs:
                finished.update(expr_post_order(e))
            if e not in finished and may_start(e) and self.matcher.match(self.pattern, e):
                self._add(e)
        return self.groups

    def _add(self, root: Expr) -> None:
        matches = self.matcher.matches
        group = Group(root, PatternMatch(matches))
        inputs: dict[Expr, Var] = {}
        params: list[Var] = []
        inner = self._inner(matches)
        for part in self.parts:
            for node in _border(part, matches.get(part, ())):
                if node in inner or isinstance(node, Op | Function) or self._is_embedded(node, part):
                    continue
                inputs[node] = Var(f"FunctionVar_{self.count}_{len(params)}", node.checked_type, node.span)
                params.append(inputs[node])
                group.args.append(node)
        self.count += 1
        extracted, group.name = _extract(root, inputs)
        group.function = Function(tuple(params), extracted[root])
        if self._may_take(root, extracted, inputs):
            self.taken.update(e for e in extracted if e not in inputs)
            self.groups[root] = group

    def _inner(self, matches: dict[DFPattern, list[Expr]]) -> set[Expr]:
        """Nodes that matched the ends and paths of dominators, or lie in a matched function: no inputs."""
        inner: set[Expr] = set()
        for part in self.parts:
            if isinstance(part, DominatorPattern):
                inner.update(matches.get(part.parent, ()), matches.get(part.path, ()))
            elif isinstance(part, FunctionPattern):
                for e in matches.get(part, ()):
                    if isinstance(e, Function):
                        inner.update(ExprGraph(e.body).nodes)
        return inner

    def _is_embedded(self, e: Expr, part: DFPattern) -> bool:
        """A constant that the pattern asks for as a constant stays inside the function."""
        if not isinstance(e, Constant):
            return False
        while isinstance(part, AltPattern):
            part = part.left if Matcher(self.graph).match(part.left, e) else part.right
        return isinstance(part, ConstantPattern) or (isinstance(part, ExprPattern) and isinstance(part.expr, Constant))

    def _may_take(self, root: Expr, rewritten: dict[Expr, Expr], inputs: dict[Expr, Var]) -> bool:
        graph = self.graph
        for e in rewritten:
            if e in inputs or isinstance(e, Op | Function | Constant):
                continue
            if e in self.taken:
                return False
            if rewritten[e] is rewritten[root]:
                continue
            for user, _ in graph.outputs[graph.index[e]]:
                outside = graph.nodes[user]
                inside = outside in rewritten and outside not in inputs
                if not inside and not graph.dominators.dominates(graph.index[root], user):
                    return False
        return True


def _border(part: DFPattern, nodes: Iterable[Expr]) -> Iterable[Expr]:
    """The nodes just outside the match of this part of the pattern."""
    if isinstance(part, TuplePattern) and part.fields is None:
        return [f for e in nodes if isinstance(e, Tuple) for f in e.fields]
    if isinstance(part, CallPattern) and part.args is None:
        return [a for e in nodes if isinstance(e, Call) for a in e.args]
    return () if part.parts() else nodes


def _extract(root: Expr, inputs: dict[Expr, Var]) -> tuple[dict[Expr, Expr], str]:
    """Everything from the root up to the inputs, over variables instead of those; and the names of the computing nodes."""
    names: list[str] = []

    def leave(old: Expr, new: Expr) -> Expr:
        names.append(_name(old))
        return new

    memo: dict[Expr, Expr] = dict(inputs)
    rewrite(root, leave, memo=memo)
    return memo, "".join(names)


def _name(e: Expr) -> str:
    if isinstance(e, Call):
        return f"{e.op.name}_" if isinstance(e.op, Op) else "Call_"
    if isinstance(e, TupleGetItem):
        return f"TupleGetItem{e.index}_"
    return _NAMES.get(e.__class__, "")


_NAMES: dict[type, str] = {Tuple: "Tuple_", Function: "Function", Let: "Let_", If: "If_", MatchExpr: "Match_"}
