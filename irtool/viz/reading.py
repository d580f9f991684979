"""Modules to drawings.

Each value is a node of the graph of the function, branch or clause that it is computed in (`ir.scope`). A value from further
out enters such a graph as one more of its inputs. Projections of tuples are on the edges, `let` variables are their values,
and constants and weights are in the node that reads them.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..ir import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Module,
    Op,
    Tuple,
    TupleGetItem,
    Var,
    children,
    post_order,
)
from ..ir.scope import Scope, Scopes
from ..ir.show import show_type
from ..visible import visible
from .drawing import FUNCTION, INPUT, OPERATOR, OUTPUT, Drawing, Edge, Graph, Node
from .families import family_of
from .short_text import brief_type, cut, type_size
from .titles import details_of, main_calls, title_of
from .weights import weights_of

_LONGEST_NAME = 60
_LONGEST_TYPE = 2000
_ORDER = ("product", "norm", "pool", "quantized", "reduce", "other", "elementwise", "shape")
"""Families by the most costly operator of a kernel."""


def read_drawing(module: Module, text: str = "", name: str = "") -> Drawing:
    """The drawing of a module, with types where they are known; its spans are places in `text`."""
    graphs = []
    for function, f in module.functions.items():
        if isinstance(f, Function):
            graphs.append(_Reader(f).read(f"@{function}"))
        else:
            node = Node("loop nest" if hasattr(f, "body") else "extern", family="other")
            graphs.append(Graph(f"@{function}", [node]))
    return Drawing(graphs, text, name)


class _Reader:
    """Reads one function of a module."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.scopes = Scopes(function)
        self.weights = weights_of(function)
        self.graphs: dict[Scope, Graph] = {}
        self.around: dict[Graph, tuple[Graph, Node]] = {}
        """The graph that one lies in, and the node."""
        self.home: dict[Node, Graph] = {}
        self.values: dict[Expr, Node] = {}
        self.entered: dict[tuple[Node, Graph], Node] = {}
        self.lets: dict[Var, Expr] = {}

    def read(self, name: str) -> Graph:
        """The graph of the function."""
        order = post_order(self.function)
        self.lets = {e.var: e.value for e in order if isinstance(e, Let)}
        kernels: dict[Function, Call] = {}
        for e in order:
            if isinstance(e, Call) and isinstance(e.op, Function):
                kernels.setdefault(e.op, e)
        # Nodes first, from the outside in: graphs come before their inner graphs.
        whole = Graph(name)
        for e in reversed(order):
            self._open(e, whole, kernels)
        for e in order:
            if e in self.values:
                self.home[self.values[e]].nodes.append(self.values[e])
        for e in order:
            self._connect(e)
        for graph in [whole, *self.around]:
            _inputs_first(graph)
        return whole

    def _open(self, e: Expr, whole: Graph, kernels: dict[Function, Call]) -> None:
        """Makes the node of an expression, if it gets one, and the graphs inside of it."""
        here = whole if e is self.function else self.graphs[self.scopes.of[e]]
        inner = self.scopes.inner.get(e, ())
        if isinstance(e, Let):
            self.graphs[inner[0]] = here
            return
        if e is self.function:
            self.graphs[inner[0]] = whole
            return
        if isinstance(e, Function) and e in kernels:  # it lies in its call, which has been met
            node = self.values[kernels[e]]
            self._nest(node, inner, ["fn"])
            return
        if not self._is_drawn(e):
            return
        node = self.values[e] = self._node(e)
        self.home[node] = here
        if isinstance(e, Function):
            self._nest(node, inner, ["fn"])
        elif isinstance(e, If):
            self._nest(node, inner, ["true", "false"])
        elif isinstance(e, Match):
            self._nest(node, inner, [cut(_pattern(c.pattern), 40) for c in e.clauses])

    def _nest(self, node: Node, scopes: tuple[Scope, ...], names: list[str]) -> None:
        node.kind = FUNCTION
        for scope, name in zip(scopes, names, strict=True):
            graph = self.graphs[scope] = Graph(name)
            node.inside.append(graph)
            self.around[graph] = (self.home[node], node)

    def _is_drawn(self, e: Expr) -> bool:
        if isinstance(e, Var):
            return e not in self.lets and e not in self.weights
        return not isinstance(e, Constant | Op | Constructor | TupleGetItem | GlobalVar)

    def _node(self, e: Expr) -> Node:
        kind, family = OPERATOR, "function"
        if isinstance(e, Var):
            kind = family = INPUT
        elif isinstance(e, Call) and isinstance(e.op, Op):
            family = family_of(e.op_class)
        elif isinstance(e, Call) and isinstance(e.op, Function) and e.op.attrs.get("Primitive"):
            family = min((family_of(c.op_class) for c in main_calls(e.op)), key=_ORDER.index, default="function")
        elif isinstance(e, Tuple):
            family = "other"
        t = e.checked_type
        named = (cut(visible(e.span.node), _LONGEST_NAME),) if e.span is not None and e.span.node else ()
        node = Node(title_of(e), kind, family, named + details_of(e, self._folded(e)))
        node.type = cut(show_type(t), _LONGEST_TYPE) if t is not None else ""
        node.shape, node.size = brief_type(t), type_size(t)
        if e.span is not None:
            node.lines = (e.span.line, e.span.source.position(max(e.span.start, e.span.end - 1))[0])
        return node

    def _folded(self, e: Expr) -> Iterator[tuple[str, Expr]]:
        """Operands that stand in the node, each with the name of its place."""
        if not isinstance(e, Call | Tuple):
            return
        operands = e.args if isinstance(e, Call) else e.fields
        is_operator = isinstance(e, Call) and isinstance(e.op, Op)
        names = e.op_class.names_of_arguments(len(operands)) if is_operator else ()  # type: ignore[union-attr]  # a call, then
        for n, a in enumerate(operands):
            if isinstance(a, Constant) or (isinstance(a, Var) and a in self.weights):
                yield names[n] if n < len(names) else "weight" if isinstance(a, Var) else "", a

    def _connect(self, e: Expr) -> None:
        """Draws the edges into an expression."""
        if e is self.function:
            self._outputs(self.function.body, self.graphs[self.scopes.inner[e][0]])
            return
        if isinstance(e, Function):
            self._outputs(e.body, self.graphs[self.scopes.inner[e][0]])
            return
        if isinstance(e, If | Match):
            bodies = [e.true_branch, e.false_branch] if isinstance(e, If) else [c.body for c in e.clauses]
            for body, scope in zip(bodies, self.scopes.inner[e], strict=True):
                self._outputs(body, self.graphs[scope])
            self._edge(e.cond if isinstance(e, If) else e.data, self.values[e], self.home[self.values[e]])
            return
        if e not in self.values:
            return
        for below in children(e):
            self._edge(below, self.values[e], self.home[self.values[e]])

    def _outputs(self, body: Expr, graph: Graph) -> None:
        """The result of a graph, as a node of its own."""
        while isinstance(body, Let):
            body = body.body
        t = body.checked_type
        label = "result" if self._source(body)[0] is not None else title_of(body)
        node = Node(label, OUTPUT, "input", type=show_type(t) if t is not None else "", shape=brief_type(t))
        node.size = type_size(t)
        if body.span is not None:
            node.lines = (body.span.line, body.span.line)
        if isinstance(body, Constant):
            node.details = details_of(Tuple((body,)), iter([("", body)]))
        graph.nodes.append(node)
        self.home[node] = graph
        self._edge(body, node, graph)

    def _edge(self, e: Expr, target: Node, graph: Graph) -> None:
        source, field = self._source(e)
        if source is None:
            return
        t = e.checked_type
        source = self._enter(source, graph)
        if source is None or source is target:
            return
        shown = cut(show_type(t), _LONGEST_TYPE) if t is not None else ""
        graph.edges.append(Edge(source, target, shown, brief_type(t), type_size(t), field))

    def _source(self, e: Expr) -> tuple[Node | None, str]:
        """The node that makes a value, and the field of its result; None for a value that stands where it is read."""
        field = ""
        seen: set[Expr] = set()
        while e not in self.values:
            if isinstance(e, TupleGetItem):
                field = f".{e.index}{field}"
                e = e.tuple
            elif isinstance(e, Let):
                e = e.body
            elif isinstance(e, Var) and e in self.lets and e not in seen:
                seen.add(e)
                e = self.lets[e]
            else:
                return None, ""
        return self.values[e], field

    def _enter(self, source: Node, graph: Graph) -> Node | None:
        """The replacement of a node in a graph further inside; None for the node that the graph lies in, as in a recursion."""
        home = self.home[source]
        path: list[Graph] = []
        while graph is not home:
            if (source, graph) in self.entered:
                break
            if graph not in self.around:
                return None
            path.append(graph)
            graph = self.around[graph][0]
        here = source if graph is home else self.entered[source, graph]
        for inner in reversed(path):
            outer, node = self.around[inner]
            if here is node or node is source:
                return None
            if not any(x.source is here and x.target is node for x in outer.edges[-64:]):
                outer.edges.append(Edge(here, node, source.type, source.shape, source.size))
            entry = Node(source.label, INPUT, "input", type=source.type, shape=source.shape, size=source.size)
            entry.lines = source.lines
            inner.nodes.append(entry)
            self.home[entry] = inner
            here = self.entered[source, inner] = entry
        return here


def _inputs_first(graph: Graph) -> None:
    """Orders the nodes: inputs, operators in order of evaluation, the result. A place for each edge to come from above."""
    last = {INPUT: 0, OUTPUT: 2}
    graph.nodes.sort(key=lambda n: last.get(n.kind, 1))


def _pattern(p: object) -> str:
    """The head of a clause's pattern."""
    constructor = getattr(p, "constructor", None)
    if constructor is not None:
        return f"{constructor.name}(…)" if getattr(p, "patterns", ()) else str(constructor.name)
    var = getattr(p, "var", None)
    return f"%{var.name}" if var is not None else "_" if "Wildcard" in type(p).__name__ else "(…)"
