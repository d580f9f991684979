"""Matching of a pattern at a node, with the node that each part of the pattern matched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...ir import Call, Constant, Expr, Function, If, Let, Op, TensorType, Tuple, TupleGetItem, Type, Var
from ...ops.base import is_call_to
from .graph import ExprGraph, is_call_position
from .patterns import (
    AltPattern,
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DataTypePattern,
    DFPattern,
    DominatorPattern,
    ExprPattern,
    FunctionPattern,
    IfPattern,
    LetPattern,
    ShapePattern,
    TupleGetItemPattern,
    TuplePattern,
    TypePattern,
    VarPattern,
    WildcardPattern,
)


def matches(pattern: DFPattern, e: Expr) -> bool:
    """True if the pattern matches at `e`."""
    return Matcher(ExprGraph(e)).match(pattern, e)


class PatternMatch(Mapping[DFPattern, Expr]):
    """The node that each part of a pattern matched: `match[p]`; `match.all(p)` lists the nodes if `p` is a path."""

    def __init__(self, matches: Mapping[DFPattern, list[Expr]], before: PatternMatch | None = None) -> None:
        self._nodes = matches
        self._before = before

    def __getitem__(self, pattern: DFPattern) -> Expr:
        return self._nodes[pattern][0]

    def __iter__(self) -> Iterator[DFPattern]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)

    def all(self, pattern: DFPattern) -> list[Expr]:
        """Every node that the part matched."""
        return self._nodes.get(pattern, [])

    def items_of(self) -> Iterator[tuple[DFPattern, list[Expr]]]:
        """Every part with the nodes that it matched."""
        return iter(self._nodes.items())

    def type_of(self, pattern: DFPattern) -> Type | None:
        """The type of the node that the part matched, before any rewriting."""
        return (self._before or self)[pattern].checked_type


class Matcher:
    """Matches patterns in one graph. Recurses over the pattern, never over the graph."""

    def __init__(self, graph: ExprGraph) -> None:
        self.graph = graph
        self.matches: dict[DFPattern, list[Expr]] = {}
        self._trail: list[DFPattern] = []
        self._once = True

    def match(self, pattern: DFPattern, e: Expr) -> bool:
        """True if the pattern matches at `e`; `matches` then holds the nodes of its parts."""
        self.matches = {}
        self._trail = []
        self._once = True
        return self._visit(pattern, e)

    def _visit(self, pattern: DFPattern, e: Expr) -> bool:
        if self._once:
            bound = self.matches.get(pattern)
            if bound is not None:
                return e is bound[0]
        mark = len(self._trail)
        if _RULES[pattern.__class__](self, pattern, e):
            self.matches.setdefault(pattern, []).append(e)
            self._trail.append(pattern)
            return True
        self._undo(mark)
        return False

    def _undo(self, mark: int) -> None:
        for pattern in self._trail[mark:]:
            self.matches.pop(pattern, None)
        del self._trail[mark:]

    def _all(self, patterns: tuple[DFPattern, ...], nodes: tuple[Expr, ...]) -> bool:
        if len(patterns) != len(nodes):
            return False
        mark = len(self._trail)
        for p, e in zip(patterns, nodes, strict=True):
            if not self._visit(p, e):
                self._undo(mark)
                return False
        return True

    def _alternative(self, p: AltPattern, e: Expr) -> bool:
        return self._visit(p.left, e) or self._visit(p.right, e)

    def _attributes(self, p: AttrPattern, e: Expr) -> bool:
        return self._visit(p.pattern, e) and all(has_attribute(e, k, v) for k, v in p.attrs.items())

    def _call(self, p: CallPattern, e: Expr) -> bool:
        if not isinstance(e, Call):
            return False
        mark = len(self._trail)
        if not self._visit(p.op, e.op):
            self._undo(mark)
            return self._regrouped(p, e, mark)
        if p.args is None or self._all(p.args, e.args):
            return True
        return _op_of(p) in ("add", "multiply") and self._all(p.args[::-1], e.args)

    def _regrouped(self, p: CallPattern, e: Call, mark: int) -> bool:
        """`(a * b) / c` also matches `a * (b / c)`, and `a * (b / c)` also matches `(a * b) / c`."""
        name, args = _op_of(p), p.args
        if args is None or len(args) != 2:
            return False
        if name == "divide" and is_call_to(e, "multiply") and any(is_call_to(a, "divide") for a in e.args):
            product = args[0]
            if isinstance(product, CallPattern) and _op_of(product) == "multiply" and product.args is not None:
                for i in range(2):
                    quotient = CallPattern(p.op, (product.args[i], args[1]))
                    if self._visit(CallPattern(product.op, (product.args[1 - i], quotient)), e):
                        return True
                    self._undo(mark)
        if name == "multiply" and is_call_to(e, "divide") and any(is_call_to(a, "multiply") for a in e.args):
            for i in range(2):
                quotient_ = args[i]
                if isinstance(quotient_, CallPattern) and _op_of(quotient_) == "divide" and quotient_.args is not None:
                    product_ = CallPattern(p.op, (quotient_.args[0], args[1 - i]))
                    return self._visit(CallPattern(quotient_.op, (product_, quotient_.args[1])), e)
        return False

    def _dominator(self, p: DominatorPattern, e: Expr) -> bool:
        if not self._visit(p.child, e):
            return False
        reached = self._all_paths(p, e)
        self._once = True
        return reached and self._parent_is_dominated(p, e)

    def _all_paths(self, p: DominatorPattern, e: Expr) -> bool:
        """True if every way up from `e` stays on nodes that match `path` until it meets one that matches `parent`."""
        graph = self.graph
        start = graph.index[e]
        seen = {start}
        stack = [(start, iter(graph.inputs[start]))]
        while stack:
            node_index, inputs = stack[-1]
            for source in inputs:
                node = graph.nodes[source]
                if is_call_position(graph.nodes[node_index], node):
                    continue
                self._once = True
                if self._visit(p.parent, node):
                    stack.pop()
                    break
                self._once = False
                if not self._visit(p.path, node):
                    return False
                if source not in seen:
                    seen.add(source)
                    stack.append((source, iter(graph.inputs[source])))
                    break
            else:
                stack.pop()
        return True

    def _parent_is_dominated(self, p: DominatorPattern, e: Expr) -> bool:
        graph = self.graph
        stack = [graph.index[e]]
        while stack:
            for node in graph.dominated[stack.pop()]:
                if self._visit(p.parent, graph.nodes[node]):
                    return True
                stack.append(node)
        return False

    def _expr(self, p: ExprPattern, e: Expr) -> bool:
        if p.expr is e:
            return True
        if isinstance(p.expr, Op) or isinstance(e, Op):
            return isinstance(e, Op) and isinstance(p.expr, Op) and p.expr.name == e.name
        from ...ir.structural import structural_equal

        return p.expr.__class__ is e.__class__ and structural_equal(p.expr, e)

    def _function(self, p: FunctionPattern, e: Expr) -> bool:
        if not isinstance(e, Function):
            return False
        return (p.params is None or self._all(p.params, e.params)) and self._visit(p.body, e.body)

    def _tuple(self, p: TuplePattern, e: Expr) -> bool:
        return isinstance(e, Tuple) and (p.fields is None or self._all(p.fields, e.fields))

    def _item(self, p: TupleGetItemPattern, e: Expr) -> bool:
        return isinstance(e, TupleGetItem) and p.index in (None, e.index) and self._visit(p.tuple, e.tuple)

    def _if(self, p: IfPattern, e: Expr) -> bool:
        return isinstance(e, If) and self._all(p.parts(), (e.cond, e.true_branch, e.false_branch))

    def _let(self, p: LetPattern, e: Expr) -> bool:
        return isinstance(e, Let) and self._all(p.parts(), (e.var, e.value, e.body))

    def _type(self, p: TypePattern, e: Expr) -> bool:
        return p.type == _type_of(e) and self._visit(p.pattern, e)

    def _shape(self, p: ShapePattern, e: Expr) -> bool:
        t = _type_of(e)
        return isinstance(t, TensorType) and t.shape == p.shape and self._visit(p.pattern, e)

    def _dtype(self, p: DataTypePattern, e: Expr) -> bool:
        t = _type_of(e)
        return isinstance(t, TensorType) and t.dtype == p.dtype and self._visit(p.pattern, e)

    def _var(self, p: VarPattern, e: Expr) -> bool:
        return isinstance(e, Var) and p.name in ("", e.name)

    def _constant(self, p: ConstantPattern, e: Expr) -> bool:
        return isinstance(e, Constant)

    def _anything(self, p: WildcardPattern, e: Expr) -> bool:
        return True


_RULES: dict[type, Any] = {
    AltPattern: Matcher._alternative,
    AttrPattern: Matcher._attributes,
    CallPattern: Matcher._call,
    ConstantPattern: Matcher._constant,
    DataTypePattern: Matcher._dtype,
    DominatorPattern: Matcher._dominator,
    ExprPattern: Matcher._expr,
    FunctionPattern: Matcher._function,
    IfPattern: Matcher._if,
    LetPattern: Matcher._let,
    ShapePattern: Matcher._shape,
    TupleGetItemPattern: Matcher._item,
    TuplePattern: Matcher._tuple,
    TypePattern: Matcher._type,
    VarPattern: Matcher._var,
    WildcardPattern: Matcher._anything,
}


def _type_of(e: Expr) -> Type | None:
    if e.checked_type is not None:
        return e.checked_type
    from ...infer import infer_expr

    return infer_expr(e).checked_type


def _op_of(p: CallPattern) -> str:
    """The name of the operator that the pattern calls, or the empty string."""
    return p.op.expr.name if isinstance(p.op, ExprPattern) and isinstance(p.op.expr, Op) else ""


_OPERATOR_FACTS = {
    "TOpPattern": lambda o: o.pattern,
    "TOpIsStateful": lambda o: o.stateful,
    "TNonComputational": lambda o: o.noncomputational or None,
    "TReshapeOp": lambda o: o.reshapes or None,
}


def operator_fact(e: Op, name: str) -> Any:
    """An operator's fact under TVM's name for it; None if it has no such fact."""
    fact = _OPERATOR_FACTS.get(name)
    return fact(e.operator) if fact else None


def has_attribute(e: Expr, name: str, value: Any) -> bool:
    """True if a call, function or operator has the attribute, with that value."""
    if isinstance(e, Op):
        have = operator_fact(e, name)
    elif isinstance(e, Call):
        if e.attrs is None:
            return False
        have = e.attrs.get(name) if isinstance(e.attrs, dict) else getattr(e.attrs, name, None)
    elif isinstance(e, Function):
        have = e.attrs.get(name)
    else:
        return False
    return have is not None and _plain(have) == _plain(value)


def _plain(value: Any) -> Any:
    return tuple(map(_plain, value)) if isinstance(value, tuple | list) else value
