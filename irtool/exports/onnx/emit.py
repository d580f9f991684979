"""From Relay to graphs: `let` becomes names, tuples are taken apart, `if` is `If`, loops are `Loop`, other calls are inlined.

Expressions are written on demand, each in the graph of the scope that it is evaluated in: what a branch alone uses stands in
the branch. The node that a branch belongs to follows when the branch is done, so what branches demand of the graph around them
stands in front of it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from ...deferred import np
from ...diagnostics import IrError, Span
from ...ir import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Module,
    Op,
    TensorType,
    Tuple,
    TupleGetItem,
    Type,
    Var,
)
from ...ir.expr import MissingData
from ...trampoline import trampoline
from ..mistakes import NoCounterpart
from ..unsupported import Unsupported
from .callees import Callees
from .form import NoForm, form_of
from .frames import Analysis, Closure, Frame
from .graph import Graph, Initializers, ModelNames, Value
from .site import OnnxSite, Writer, element_type
from .values import flatten, label_of, leaves_of, nested

DEEPEST = 30
"""Graphs in graphs that a reader of protobuf accepts: each is three messages deep, and 100 are allowed."""

MOST_CALLS = 200_000
"""Calls that are inlined: functions that call others twice, one below the other, would make ever more of them."""

Steps = Generator[Any, Any, Any]
LoopWriter = Callable[["Emitter", Closure, Sequence[Any], Call, Graph], Steps]
"""Writes the call of a function that reaches itself, on these arguments, to a graph."""


class Emitter:
    """Writes one model.

    Attributes:
        missing: operators without a form.
        callees: which functions reach which.
        active: functions whose bodies are being written, outermost first.
    """

    def __init__(
        self,
        module: Module,
        names: ModelNames,
        constants: Initializers,
        opset: int,
        missing: Unsupported,
        write_loop: LoopWriter,
    ) -> None:
        self.module = module
        self.names = names
        self.constants = constants
        self.opset = opset
        self.missing = missing
        self.write_loop = write_loop
        self.callees = Callees(module)
        self.active: list[Function] = []
        self._calls = 0
        self._analyses: dict[Function, Analysis] = {}
        self._hints: dict[Expr, str] = {}

    def write(self, f: Function, arguments: Sequence[Any], graph: Graph) -> Any:
        """The value of a function's body on these values of its parameters, its nodes added to the graph."""
        frame = Frame(f, self.analysis(f), None, graph)
        frame.variables.update(zip(f.params, arguments, strict=True))
        self.active.append(f)
        return trampoline(self.value(f.body, frame))

    def analysis(self, f: Function) -> Analysis:
        """The scopes of a global function."""
        if f not in self._analyses:
            self._analyses[f] = Analysis(f)
        return self._analyses[f]

    def writer(self, graph: Graph, span: Span | None = None, what: str = "", hint: str = "") -> Writer:
        """A writer that adds nodes to a graph, named after a place in the text."""
        return Writer(graph, self.constants, self.names, self.opset, label_of(span, what), hint or what)

    def value(self, e: Expr, frame: Frame) -> Steps:
        """The value of an expression: a `Value`, a tuple of values or a `Closure`; run by a trampoline."""
        if isinstance(e, Var):
            return frame.lookup(e)
        if isinstance(e, GlobalVar | Function):
            return self.closure(e, frame)
        if isinstance(e, Constant):
            return self.constant(e)
        home, graph = frame.home(e)
        if e in home.values:
            return home.values[e]
        first = e
        if isinstance(e, Let):
            e = yield self.lets(e, home)
            result = yield self.value(e, home)
        elif isinstance(e, Tuple):
            fields = []
            for f in e.fields:
                fields.append((yield self.value(f, home)))
            result = tuple(fields)
        elif isinstance(e, TupleGetItem):
            whole = yield self.value(e.tuple, home)
            result = whole[e.index] if isinstance(whole, tuple) else self.unknown(e.checked_type)
        elif isinstance(e, If):
            result = yield self.branches(e, home, graph)
        elif isinstance(e, Call):
            result = yield self.call(e, home, graph)
        else:
            what = "match" if isinstance(e, Match) else type(e).__name__
            self.missing.add(what, "ONNX has tensors only, and PartialEvaluate could not remove it", e.span)
            result = self.unknown(e.checked_type)
        home.values[first] = result
        return result

    def lets(self, e: Expr, frame: Frame) -> Steps:
        """Binds the variables at the head of an expression; gives the body below them."""
        while isinstance(e, Let):
            home, _ = frame.home(e)
            if isinstance(e.value, Function):
                home.variables[e.var] = Closure(e.value, home)
            else:
                self._hints.setdefault(e.value, e.var.name)
                home.variables[e.var] = yield self.value(e.value, home)
            e = e.body
        return e

    def closure(self, e: GlobalVar | Function, frame: Frame) -> Closure | None:
        """A function as a value; None if Relay has none of that name."""
        if isinstance(e, Function):
            return Closure(e, frame)
        function = self.module.functions.get(e.name)
        return Closure(function, None) if isinstance(function, Function) else None

    def constant(self, e: Constant) -> Any:
        """A constant as an initializer."""
        if isinstance(e.data, MissingData):
            self.missing.add("constant", "its value was in a metadata section that the text does not have", e.span)
            return self.unknown(e.checked_type)
        try:
            element_type(e.dtype)
            return self.constants.constant(e.data, e.dtype, self._hints.get(e, "const"))
        except NoForm as reason:
            self.missing.add("constant", str(reason), e.span)
            return self.unknown(e.checked_type)

    def call(self, e: Call, frame: Frame, graph: Graph) -> Steps:
        """The value of a call."""
        arguments = []
        for a in e.args:
            arguments.append((yield self.value(a, frame)))
        if isinstance(e.op, Op):
            return self.operator(e, tuple(arguments), graph)
        callee = yield self.value(e.op, frame)
        if not isinstance(callee, Closure):
            what = f"@{e.op.name}" if isinstance(e.op, GlobalVar) else "call of a value"
            self.missing.add(what, "which function is called is not known while exporting", e.span)
            return self.unknown(e.checked_type)
        f = callee.function
        if f in self.active:
            self.missing.add("recursion", "a function that goes on after it has called itself is no loop", e.span)
            return self.unknown(e.checked_type)
        if self.callees.is_recursive(f):
            return (yield self.write_loop(self, callee, arguments, e, graph))
        self._calls += 1
        if self._calls > MOST_CALLS:
            raise IrError(f"more than {MOST_CALLS} calls of functions are to be inlined", e.span, code=NoCounterpart)
        inner = self.instance(callee, graph)
        inner.variables.update(zip(f.params, arguments, strict=True))
        self.active.append(f)
        result = yield self.value(f.body, inner)
        self.active.pop()
        return result

    def instance(self, callee: Closure, graph: Graph) -> Frame:
        """A frame for a body that is written into a graph."""
        analysis = callee.frame.analysis if callee.frame is not None else self.analysis(callee.function)
        return Frame(callee.function, analysis, callee.frame, graph)

    def operator(self, e: Call, inputs: tuple[Any, ...], graph: Graph) -> Any:
        """The nodes of an operator."""
        assert isinstance(e.op, Op)
        name = e.op.name
        form = form_of(name)
        hint = self._hints.get(e) or name.rpartition(".")[2]
        types = tuple(a.checked_type for a in e.args)
        try:
            if form is None:
                raise NoForm("nobody has written one")
            for leaf in leaves_of(e.checked_type):
                if isinstance(leaf, TensorType):
                    element_type(leaf.dtype)
            site = OnnxSite(
                graph,
                self.constants,
                self.names,
                self.opset,
                label_of(e.span, name),
                hint,
                call=e,
                inputs=inputs,
                types=types,
                type=e.checked_type,
            )
            return form.emit(site)
        except NoForm as reason:
            self.missing.add(name, str(reason), e.span)
            return self.unknown(e.checked_type)

    def branches(self, e: If, frame: Frame, graph: Graph) -> Steps:
        """An `if` as an `If`."""
        condition = yield self.value(e.cond, frame)
        leaves = leaves_of(e.checked_type)
        if not all(isinstance(t, TensorType) for t in leaves):
            self.missing.add("if", "its value is no tensor, and no tuple of tensors", e.span)
            return self.unknown(e.checked_type)
        bodies, results = [], []
        for scope, branch in zip(frame.analysis.scopes.inner[e], (e.true_branch, e.false_branch), strict=True):
            body = self.subgraph(graph, e.span)
            if body is None:
                return self.unknown(e.checked_type)
            frame.graphs[scope] = body
            bodies.append(body)
            results.append(flatten((yield self.value(branch, frame))))
        outputs = self.choose(condition, bodies, results, leaves, graph, e.span, self._hints.get(e, "if"))
        return nested(outputs, e.checked_type)

    def subgraph(self, graph: Graph, span: Span | None) -> Graph | None:
        """A graph inside another; None, and a note, where that is nested too deeply."""
        if graph.depth >= DEEPEST:
            self.missing.add("if", f"nested more than {DEEPEST} deep, protobuf cannot be read again", span)
            return None
        return Graph(graph)

    def choose(
        self,
        condition: Value,
        bodies: Sequence[Graph],
        results: Sequence[Sequence[Value]],
        types: Sequence[Type | None],
        graph: Graph,
        span: Span | None,
        hint: str,
    ) -> list[Value]:
        """An `If` over two graphs: its outputs. What both give from outside is no output of it."""
        chosen: list[Value | None] = []
        for a, b, t in zip(*results, types, strict=True):
            same = a is not None and b is not None and a == b and not any(a.name in g.defined for g in bodies)
            chosen.append(a if same else None)
            if not same:
                for body, v in zip(bodies, (a, b), strict=True):
                    body.outputs.append((self.owned(body, v), t))
        missing = [a for a, same in zip(results[0], chosen, strict=True) if same is None]
        if not missing:
            return [v for v in chosen if v is not None]
        w = self.writer(graph, span, "if", hint)
        nodes = iter(
            w.nodes("If", len(missing), condition, dtypes=[v.dtype for v in missing], then_branch=bodies[0], else_branch=bodies[1])
        )  # fmt: skip
        return [next(nodes) if v is None else v for v in chosen]

    def owned(self, graph: Graph, v: Value) -> Value:
        """A value that a node of this very graph gives, and that is no output of it yet."""
        taken = {o.name for o, _ in graph.outputs}
        if v.name in graph.defined and v.name not in taken:
            return v
        return self.writer(graph, None, "Identity", v.name).node("Identity", v)

    def unknown(self, t: Type | None) -> Any:
        """A value in place of one without a form, so that other such values are found, too."""
        leaves = leaves_of(t)
        values = [Value(self.names.fresh("missing"), getattr(leaf, "dtype", "float32")) for leaf in leaves]
        return nested(values, t) if t is not None else None

    def zeros(self, t: TensorType) -> Value:
        """A tensor of zeros, empty where an extent is not known."""
        shape = tuple(int(d) if isinstance(d, int) else 0 for d in t.shape)
        dtype = "uint16" if t.dtype == "bfloat16" else t.dtype
        return self.constants.constant(np.zeros(shape, dtype), t.dtype, "zeros")
