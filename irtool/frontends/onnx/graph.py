"""Converts the nodes of a graph, in order, to values of Relay."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...diagnostics import Diagnostic, IrError, Span
from ...ir import TensorType
from ...symbolic_int import Undecided
from .attributes import attribute_value
from .element_types import check_element_types
from .elements import with_element_types
from .folding import folded
from .functions import find_function
from .initializers import initializer_array, initializer_dtype, initializer_narrow
from .length_values import with_lengths
from .memory_limit import require_tensors
from .mistakes import DamagedModel, UnknownExtent, UnsupportedNode
from .model import FunctionBody, Graph, Model, Node
from .operator import OnnxOperator, onnx_operators
from .order import in_order, used_names
from .partial import sampled
from .places import mark_place
from .program import Functions
from .schema_check import check_kinds, find_schema, mistake_in
from .subgraphs import DEEPEST, body_of, noted, without_names
from .value import Value
from .waiting import (
    can_wait,
    has_open_extents,
    inferred_results,
    joined_types,
    reason_of,
    sampled_results,
    waiting_call,
    waits,
)


@dataclass(eq=False)
class Scope:
    """Values by name, those of the scopes around it among them."""

    parent: Scope | None = None
    values: dict[str, Value | None] = field(default_factory=dict)
    """None for a value without a conversion: its users are left out without a message, since the reason was noted."""

    def find(self, name: str) -> Value | None:
        """The value of that name. Raises KeyError for an unknown name."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.parent
        raise KeyError(name)


@dataclass(eq=False)
class _Frame:
    """Nodes that are being converted: those of a graph, or of a function that one of its nodes calls."""

    nodes: Iterator[Node]
    scope: Scope
    opsets: Mapping[str, int]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """Attributes of the call, for the nodes of a function that refer to them."""
    place: Span | None = None
    """That of the call in the model, for nodes of a function."""
    finish: Callable[[], None] = lambda: None


@dataclass(frozen=True, eq=False)
class _Site:
    """A node that is an operator, with the inputs of its conversion."""

    operator: type[OnnxOperator]
    node: Node
    frame: _Frame
    opset: int
    inputs: Sequence[Value | None]
    attributes: Mapping[str, Any]


_DEEPEST = 1000
"""Functions that call functions; more of them is taken for functions that call themselves."""


class GraphImporter:
    """Converts graphs of one model. One object for each graph or subgraph; `scope` has the values around it.

    Attributes:
        failures: errors of conversion, with their nodes, shared with all subgraphs.
        functions: the functions beside `@main`, shared in the same way.
        may_wait: True if nodes that need extents which are open become calls of `onnx.node`.
    """

    def __init__(
        self,
        model: Model,
        scope: Scope,
        opsets: Mapping[str, int],
        failures: list[tuple[Diagnostic, Node]],
        *,
        progress: Callable[[], None] = lambda: None,
        attributes: Mapping[str, Any] | None = None,
        place: Span | None = None,
        functions: Functions | None = None,
        depth: int = 0,
        may_wait: bool = False,
    ) -> None:
        self.model = model
        self.scope = scope
        self.opsets = opsets
        self.failures = failures
        self.progress = progress
        self.attributes = attributes or {}
        self.place = place
        self.functions = functions if functions is not None else Functions()
        self.depth = depth
        self.may_wait = may_wait

    def convert(self, graph: Graph, bound: Sequence[Value | None] = ()) -> list[Value | None]:
        """The outputs of a graph whose inputs are `bound`. A subgraph sees the values of this importer's scope.

        An output that could not be made is None, and `failures` says why.
        """
        if self.depth > DEEPEST:
            raise IrError(f"graphs are nested deeper than {DEEPEST} levels", self.place, code=UnsupportedNode)
        inner = Scope(self.scope)
        inner.values.update(zip((i.name for i in graph.inputs), bound, strict=False))
        for name, proto in graph.initializers.items():
            if name not in inner.values:
                inner.values[name] = self.initializer(proto)
        outputs = [o.name for o in graph.outputs]
        return self.convert_nodes(graph.nodes, inner, outputs)

    def initializer(self, proto: Any) -> Value:
        """The constant that an initializer is."""
        constant = Value.constant(initializer_array(proto, self.model), initializer_dtype(proto))
        return replace(constant, narrow=initializer_narrow(proto))

    def convert_nodes(self, nodes: Iterable[Node], scope: Scope, outputs: Sequence[str]) -> list[Value | None]:
        """Converts the nodes that the outputs need. Raises IrError for a damaged graph."""
        ordered = in_order(nodes, outputs, self.model.name)
        stack = [_Frame(iter(ordered), scope, self.opsets, self.attributes, self.place)]
        while stack:
            frame = stack[-1]
            node = next(frame.nodes, None)
            if node is None:
                stack.pop()
                frame.finish()
                continue
            called = self._convert_node(node, frame)
            if called is not None:
                stack.append(called)
                if len(stack) > _DEEPEST:
                    raise IrError(f"{node.op_type} is a function that calls itself", node.place, code=DamagedModel)
        return [self._find(scope, name, None) for name in outputs]

    def _find(self, scope: Scope, name: str, node: Node | None) -> Value | None:
        try:
            return scope.find(name)
        except KeyError:
            where = node.place if node is not None else None
            what = f"the input {name} of {node.op_type}" if node is not None else f"the output {name}"
            raise IrError(f"{what} is made by no node before it", where, code=DamagedModel) from None

    def _convert_node(self, node: Node, frame: _Frame) -> _Frame | None:
        """Converts a node; a call of a function gives the frame of its nodes instead."""
        self.progress()
        place = frame.place or node.place
        inputs = [self._find(frame.scope, name, node) if name else None for name in node.inputs]
        if any(v is None and name for v, name in zip(inputs, node.inputs, strict=True)):
            frame.scope.values.update(dict.fromkeys(filter(None, node.outputs)))
            return None
        try:
            opset = frame.opsets.get(node.key.domain, 1)
            attributes = _resolved(node, frame.attributes)
            own = (node.op_type, node.overload) in self.model.functions
            if not own:
                check_kinds(node, opset, attributes)
                check_element_types(node, opset, inputs)
            cls = None if own else onnx_operators.find(node.op_type)
            if cls is None or not cls.converts(node, inputs):
                body = find_function(self.model, node, opset, inputs, attributes)
                return self._call(node, body, inputs, attributes, frame, place)
            results = self._outputs_of(_Site(cls, node, frame, opset, inputs, attributes))
        except IrError as error:
            self.failures += noted(error, node)
            frame.scope.values.update(dict.fromkeys(filter(None, node.outputs)))
            return None
        for name, value in zip(node.outputs, results, strict=False):
            if name:
                frame.scope.values[name] = value
                if value is not None and place is not None:
                    mark_place(value.expr, place)
        return None

    def _outputs_of(self, site: _Site) -> list[Value | None]:
        """The outputs of a node that is an operator; calls that stand for it where extents are missing. Raises IrError."""
        may_wait = self.may_wait and site.node.op_type == "If"
        inner = self._inside(site.frame, self.failures, self.functions, may_wait)
        if not self.may_wait:
            return self._converted(inner, site)
        around = self._around(site.node, site.frame.scope)
        if any(v.guessed for v in around.values()):
            return self._waiting(site, around, None)
        before = len(self.failures)
        try:
            return self._converted(inner, site)
        except IrError as error:
            del self.failures[before:]
            return self._waiting(site, around, error)

    def _inside(
        self,
        frame: _Frame,
        failures: list[tuple[Diagnostic, Node]],
        functions: Functions,
        may_wait: bool,
        scope: Scope | None = None,
    ) -> GraphImporter:
        """An importer for the graphs inside a node."""
        return GraphImporter(
            self.model,
            scope or frame.scope,
            frame.opsets,
            failures,
            attributes=frame.attributes,  # and no progress: nodes of graphs inside nodes are not counted
            place=frame.place,
            functions=functions,
            depth=self.depth + 1,
            may_wait=may_wait,
        )

    def _converted(self, inner: GraphImporter, site: _Site) -> list[Value | None]:
        cls, node, inputs = site.operator, site.node, site.inputs
        result = _converted(cls(node, inner, site.opset), inputs, site.attributes)
        for v in result:
            if v is not None:
                require_tensors(v.type, f"a result of {node.op_type}")
        if cls.folds and not node.subgraphs:
            budget = self.functions.budget
            constants = [v if v is None else folded(v, inputs, budget) for v in result]
            result = [sampled(node.op_type, with_lengths(v, inputs), inputs) for v in constants]
            for v in result:
                if v is not None:
                    inner.functions.symbols.follow(v, inputs)
        result = with_element_types(find_schema(node, site.opset), inputs, result)
        if cls.folds and not node.subgraphs and all(i is None or i.is_weight for i in inputs):
            result = [replace(v, settled=True) if v is not None else None for v in result]
        return result

    def _around(self, node: Node, scope: Scope) -> dict[str, Value]:
        """The values that a node reads, by name, those of graphs inside it among them."""
        values = {name: self._find(scope, name, node) for name in dict.fromkeys(used_names(node))}
        return {name: v for name, v in values.items() if v is not None}

    def _waiting(self, site: _Site, around: Mapping[str, Value], error: IrError | None) -> list[Value | None]:
        """The outputs of calls that stand for a node; raises `error` where it fails for another reason than open extents."""
        node, frame, inputs = site.node, site.frame, site.inputs
        unknown = error or IrError(f"the rank of the input of {node.op_type} must be known", code=UnknownExtent)
        is_open = error is None or waits(error) or has_open_extents(list(around.values()))
        if not is_open or not can_wait(node, around):
            raise unknown

        def convert(pinned: Sequence[Value | None], values: Mapping[str, Value]) -> list[Value | None]:
            scope, failures = Scope(frame.scope, dict(values)), list[tuple[Diagnostic, Node]]()
            inner = self._inside(frame, failures, Functions(), False, scope)
            return self._converted(inner, replace(site, inputs=pinned))

        types = inferred_results(node, site.opset, inputs, site.attributes) if error is None or waits(error) else None
        is_guess = False
        if types is None:
            types, is_guess = sampled_results(node, convert, around)
            if node.op_type == "If":
                types, is_guess = self._types_of_arms(node, frame, types)
            else:
                supposed = [replace(v, guessed=False) if v is not None else None for v in inputs]
                types = types or inferred_results(node, site.opset, supposed, site.attributes)
                is_guess = is_guess or error is None
        if types is None:
            raise unknown
        reason = reason_of(error.diagnostics) if error is not None else ""
        self.functions.waiting.setdefault(node, reason)
        return waiting_call(node, frame.opsets, site.attributes, around, types, reason, is_guess)

    def _types_of_arms(
        self, node: Node, frame: _Frame, sampled: list[TensorType] | None
    ) -> tuple[list[TensorType] | None, bool]:
        """The types of the results of an `If`, and whether they are a guess.

        Arms that agree in ranks and element types leave open the extents in which they differ. Otherwise the types are a guess:
        `sampled`, which is of the arm that numbers in the place of open extents choose, or those of the first arm that has any.
        """
        arms, known = [], True
        for name in ("then_branch", "else_branch"):
            results = self._inside(frame, [], Functions(), True).convert(body_of(node, name))
            values = [v for v in results if v is not None and isinstance(v.type, TensorType)]
            if values and len(values) == len(results):
                arms.append([v.tensor for v in values])
                known &= not any(v.guessed for v in values)
        joined = joined_types(*arms) if known and len(arms) == 2 else None
        if joined is not None:
            return joined, False
        return sampled or (arms[0] if arms else None), True

    def _call(
        self,
        node: Node,
        body: FunctionBody,
        inputs: Sequence[Value | None],
        attributes: Mapping[str, Any],
        frame: _Frame,
        place: Span | None,
    ) -> _Frame:
        inner = Scope()
        # An input that is left out has no value: nodes of the function that name it leave theirs out.
        left_out = {name for name, v in zip(body.inputs, inputs, strict=False) if v is None}
        left_out |= set(body.inputs[len(inputs) :])
        inner.values.update({n: v for n, v in zip(body.inputs, inputs, strict=False) if v is not None})
        bindings = {**body.defaults, **attributes}
        nodes = in_order([without_names(n, left_out) for n in body.nodes], body.outputs, self.model.name)

        def finish() -> None:
            for name, inner_name in zip(node.outputs, body.outputs, strict=False):
                if name:
                    frame.scope.values[name] = self._find(inner, inner_name, node)

        return _Frame(iter(nodes), inner, body.opsets, bindings, place, finish)


def _converted(
    operator: OnnxOperator, inputs: Sequence[Value | None], attributes: Mapping[str, Any]
) -> list[Value | None]:
    """The outputs of a node. Where converting it fails in an unforeseen way, ONNX is asked whether the node is at fault."""
    node = operator.node
    values = {name: attribute_value(a) for name, a in attributes.items()}
    try:
        return operator.convert(inputs, values)
    except Undecided as error:
        raise IrError(
            f"it depends on a comparison that holds for some lengths only: {error}",
            help="bound the lengths so that the comparison has one outcome",
            code=UnknownExtent,
        ) from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        mistake = mistake_in(node, operator.opset, inputs, attributes)
        if not mistake:
            raise
        raise IrError(f"{node.op_type} is not as ONNX has it: {mistake}", code=DamagedModel) from None


def _resolved(node: Node, bindings: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a node; those that refer to an attribute of the function around it have that one's value."""
    result = {}
    for name, a in node.attributes.items():
        if a.ref_attr_name:
            if a.ref_attr_name not in bindings:
                continue  # without a value at the call: the operator's default
            a = bindings[a.ref_attr_name]
        result[name] = a
    return result
