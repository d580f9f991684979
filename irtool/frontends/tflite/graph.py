"""Converts the operators of a subgraph, in order, to values of Relay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ...deferred import np
from ...diagnostics import Diagnostic, IrError, Span
from ...ir import TensorType
from ..onnx.folding import folded
from ..onnx.memory_limit import require_tensors
from ..onnx.mistakes import DamagedModel
from ..onnx.places import mark_place
from ..onnx.program import Functions
from ..onnx.value import Value
from .constants import constant_array
from .model import Model, Operator, Subgraph
from .operator import Operand, Site, TfliteOperator, tflite_operators
from .states import Handle, States

DEEPEST = 32
"""Subgraphs in operators of subgraphs."""

Failures = list[tuple[Diagnostic, Operator]]


class GraphImporter:
    """Converts one subgraph.

    Attributes:
        failures: errors of conversion, with their operators, shared with the graphs inside.
        functions: the functions beside `@main`.
        states: the variables of the model.
        weight: the value of a constant tensor.
    """

    def __init__(
        self,
        model: Model,
        graph: Subgraph,
        failures: Failures,
        functions: Functions,
        states: States,
        progress: Callable[[], None] = lambda: None,
        depth: int = 0,
        place: Span | None = None,
    ) -> None:
        self.model, self.graph = model, graph
        self.failures, self.functions, self.states = failures, functions, states
        self.progress, self.depth, self.place = progress, depth, place
        self.values: dict[int, Value | None] = {}

    def convert(self, bound: dict[int, Value]) -> list[Value | None]:
        """The outputs, for these values of the inputs and constants by number. None for one that has no conversion."""
        self.values.update(bound)
        for operator in self.graph.operators:
            self._convert(operator)
        return [self._find(i, None) for i in self.graph.outputs]

    def converted(self, number: int, bound: Sequence[Value], place: Any) -> list[Value]:
        """The outputs of another subgraph, for these inputs. Raises IrError if one has no conversion."""
        if not 0 < number < len(self.model.subgraphs):
            raise IrError(f"there is no subgraph {number}", place, code=DamagedModel)
        if self.depth >= DEEPEST:
            raise IrError(f"subgraphs call each other more than {DEEPEST} deep", place, code=DamagedModel)
        graph = self.model.subgraphs[number]
        if len(graph.inputs) != len(bound):
            message = f"the subgraph {graph.name} has {len(graph.inputs)} inputs, and is given {len(bound)}"
            raise IrError(message, place, code=DamagedModel)
        self.states.charge(len(graph.operators), place)
        failures: Failures = []
        inner = GraphImporter(
            self.model, graph, failures, self.functions, self.states, depth=self.depth + 1, place=place
        )
        self.states.depth += not self.states.is_beginning
        try:
            results = inner.convert(dict(zip(graph.inputs, bound, strict=True)))
        finally:
            self.states.depth -= not self.states.is_beginning
        if failures:
            raise IrError([replace(d, span=d.span or o.place) for d, o in failures])
        return [v for v in results if v is not None]

    def _find(self, number: int, operator: Operator | None) -> Value | None:
        """The value of a tensor; a constant is made when it is first asked for."""
        if number in self.values:
            return self.values[number]
        tensor = self.graph.tensors[number]
        if tensor.data is not None:
            self.values[number] = Value.constant(*constant_array(tensor))
        elif tensor.is_variable and operator is not None:
            t = TensorType(tensor.shape, tensor.dtype)
            return self.states.read(tensor.name, t)
        elif 0 in tensor.shape:
            self.values[number] = Value.constant(np.zeros(tensor.shape, tensor.dtype))
        else:
            place = operator.place if operator is not None else self.place
            what = f"the input {tensor.name} of {operator.op_type}" if operator else f"the output {tensor.name}"
            raise IrError(
                f"{what} is made by no operator before it", place, filename=self.model.name, code=DamagedModel
            )
        return self.values[number]

    def _convert(self, operator: Operator) -> None:
        self.progress()
        tensors = self.graph.tensors
        place = operator.place
        try:
            values = [self._find(i, operator) if i >= 0 else None for i in operator.inputs]
            if any(v is None and i >= 0 for v, i in zip(values, operator.inputs, strict=True)):
                self.values.update(dict.fromkeys(operator.outputs))
                return
            inputs = [
                Operand(v, tensors[i]) if v is not None else None for v, i in zip(values, operator.inputs, strict=True)
            ]
            site = Site(
                operator,
                [tensors[i] for i in operator.outputs],
                [tensors[i] if i >= 0 else None for i in operator.intermediates],
                self,
            )
            cls = tflite_operators.get(operator.op_type)
            results = self._results(cls(site), inputs)
        except IrError as error:
            self.failures += [(d, operator) for d in error.diagnostics]
            self.values.update(dict.fromkeys(operator.outputs))
            return
        for number, value in zip(operator.outputs, results, strict=True):
            self.values[number] = value
            if place is not None:
                mark_place(value.expr, place)

    def _results(self, operator: TfliteOperator, inputs: Sequence[Operand | None]) -> list[Value]:
        try:
            with np.errstate(all="ignore"):  # scales and constants of a damaged file may be any numbers, too
                results = operator.results(inputs)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            # Attributes and constants of a damaged file may be any numbers.
            reason = " ".join(str(error).split())[:200] or type(error).__name__
            raise IrError(f"{operator.node.op_type} contradicts itself: {reason}", code=DamagedModel) from error
        for v in results:
            require_tensors(v.type, f"a result of {operator.node.op_type}")
        if operator.folds:
            values = [i.value for i in inputs if i is not None]
            budget = self.functions.budget
            results = [v if isinstance(v, Handle) else folded(v, values, budget) for v in results]
        return results
