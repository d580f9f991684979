"""Branches and loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from ....diagnostics import IrError
from ....ir import Expr, If, Tuple, TupleGetItem
from ...onnx.loops import LoopSpec, Turn, build_loop
from ...onnx.value import Value
from ..operator import Operand, Result, TfliteOperator, tflite_operator


@tflite_operator("IF")
class Branch(TfliteOperator):
    """One of two subgraphs; that one alone where the condition is known."""

    folds = False
    types: ClassVar[tuple[str, ...]] = ("bool",)

    def convert(
        self, condition: Operand, *inputs: Operand, then_subgraph_index: int = 0, else_subgraph_index: int = 0
    ) -> Result:
        values = [x.value for x in inputs]
        arms = (then_subgraph_index, else_subgraph_index)
        if condition.value.known is not None and not condition.value.parameter:
            arm = arms[0] if condition.value.known.reshape(-1)[0] else arms[1]
            return self.graph.converted(arm, values, self.node.place)
        then, other = (self.graph.converted(arm, values, self.node.place) for arm in arms)
        if [v.type for v in then] != [v.type for v in other]:
            raise self.refuse("branches that give tensors of other types")
        test = condition.value if not condition.rank else condition.call("reshape", newshape=[])
        whole = Value.of(If(test.expr, _together(then), _together(other)))
        return whole if len(then) == 1 else [TupleGetItem(whole.expr, i) for i in range(len(then))]


def _together(values: Sequence[Value]) -> Expr:
    return values[0].expr if len(values) == 1 else Tuple(tuple(v.expr for v in values))


_MOST_TURNS = 1 << 9
"""Turns of a loop that is written out."""


@tflite_operator("WHILE")
class While(TfliteOperator):
    """A subgraph that runs as long as another gives true; its outputs are its inputs in the next turn."""

    folds = False

    def convert(self, *inputs: Operand, cond_subgraph_index: int = 0, body_subgraph_index: int = 0) -> Result:
        place = self.node.place
        first = [x.value for x in inputs]

        def asked(values: Sequence[Value]) -> Value:
            (test,) = self.graph.converted(cond_subgraph_index, values, place)
            return test if not test.rank else test.call("reshape", newshape=[])

        def turn(number: Value, go_on: Value | None, handed: Sequence[Value]) -> Turn:
            after = self.graph.converted(body_subgraph_index, handed, place)
            return Turn(after, (), asked(after))

        try:
            return build_loop(self.graph.functions, LoopSpec(None, asked(first), first, turn))
        except IrError:
            # Extents may change from turn to turn, as where a list of rows is cut at the number of the turn.
            written = self._written_out(first, asked)
            if written is None:
                raise
            return written

    def _written_out(self, first: Sequence[Value], asked: Callable[[Sequence[Value]], Value]) -> list[Value] | None:
        """The turns in a row, each with its numbers; None if the run decides how many there are."""
        values = list(first)
        for _ in range(_MOST_TURNS):
            test = asked(values)
            if test.known is None or test.parameter:
                return None
            if not test.known.reshape(-1)[0]:
                return values
            values = self.graph.converted(self.node.options.get("body_subgraph_index", 0), values, self.node.place)
        return None


@tflite_operator("CALL")
class Call(TfliteOperator):
    """Another subgraph."""

    folds = False

    def convert(self, *inputs: Operand, subgraph: int = 0) -> Result:
        return self.graph.converted(subgraph, [x.value for x in inputs], self.node.place)


@tflite_operator("DENSIFY")
class Densify(TfliteOperator):
    """A sparse constant, which is written out when the file is read."""

    def convert(self, x: Operand) -> Result:
        return x.value
