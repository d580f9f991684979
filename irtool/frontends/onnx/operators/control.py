"""Branches and loops: nodes with graphs inside."""

from __future__ import annotations

from collections.abc import Sequence

from ....deferred import np
from ....diagnostics import IrError
from ....ir import Expr, If, TensorType, Tuple, TupleGetItem
from ....ops.onnx_node import show_result
from ..loops import LoopSpec, Turn, build_loop, joined_type, widened
from ..mistakes import DamagedModel, UnknownExtent, UnsupportedNode
from ..model import Graph
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..subgraphs import body_of, input_in_rank, outputs_of
from ..value import Value, apply


@onnx_operator("If")
class Branch(OnnxOperator):
    """`if`; the branch alone where the condition is known. Values of the branches that differ in extents get `?` for these.

    A branch that is impossible with the shapes at hand fails if it is taken: models choose among networks by a number that says which
    shapes there are.
    """

    @since(1, 11, 13, 16, 19, 21, 23, 24, 25)
    def branch(self, condition: Value) -> Result:
        arms = [body_of(self.node, name) for name in ("then_branch", "else_branch")]
        if condition.known is not None and not condition.parameter:
            if condition.known.size != 1:
                raise IrError(
                    f"the condition of If has the shape {condition.shape}, not one element", code=DamagedModel
                )
            return outputs_of(self.graph, arms[0] if condition.known.reshape(-1)[0] else arms[1], ())
        then, other = self._both(arms)
        if len(then) != len(other):
            raise IrError(f"one branch of If gives {len(then)} values, the other {len(other)}", code=DamagedModel)
        types = [_common(a, b) for a, b in zip(then, other, strict=True)]
        test = condition if not condition.shape else condition.call("reshape", newshape=[])
        branch = If(test.expr, _together(then, types), _together(other, types))
        whole = Value.of(branch)
        if len(types) == 1:
            return whole
        return [TupleGetItem(whole.expr, i) for i in range(len(types))]

    def _both(self, arms: Sequence[Graph]) -> list[list[Value]]:
        """The values of both branches; one of them fails if it is taken, where its shapes are impossible.

        Raises IrError if a branch cannot be converted for another reason, or none can.
        """
        results: list[list[Value] | IrError] = []
        for arm in arms:
            try:
                results.append(outputs_of(self.graph, arm, ()))
            except IrError as error:
                results.append(error)
        values = [m for m in results if not isinstance(m, IrError)]
        errors = [m for m in results if isinstance(m, IrError)]
        if errors and (not values or not _is_of_shapes(errors[0])):
            raise errors[0]
        if errors:
            self.graph.functions.impossible[self.node] = errors[0]
        return [_impossible(m, values[0]) if isinstance(m, IrError) else m for m in results]


def _impossible(error: IrError, like: Sequence[Value]) -> list[Value]:
    """Values of these types, whose evaluation fails."""
    results = [show_result(v.tensor) for v in like]
    reason = error.diagnostics[0].message
    whole = apply("onnx.impossible", results=results, reason=reason)
    return [whole] if len(results) == 1 else [Value.of(TupleGetItem(whole.expr, i)) for i in range(len(results))]


def _is_of_shapes(error: IrError) -> bool:
    """True where no graph of that form can be computed with such shapes: not for want of an operator, or of a number."""
    return not {d.code for d in error.diagnostics} & {UnsupportedNode, UnknownExtent}


def _common(a: Value, b: Value) -> TensorType:
    tensor_type = joined_type(a.tensor, b.tensor)
    if tensor_type is None:
        code = DamagedModel if a.dtype != b.dtype else UnknownExtent
        raise IrError(f"one branch of If gives {a.tensor}, the other {b.tensor}", code=code)
    return tensor_type


def _together(values: Sequence[Value], types: Sequence[TensorType]) -> Expr:
    """The values of a branch. Extents given later may make types differ that agree now, so open ones stay so in both."""
    fields = tuple(widened(v, t, always=not t.is_static).expr for v, t in zip(values, types, strict=True))
    return fields[0] if len(fields) == 1 else Tuple(fields)


@onnx_operator("Loop")
class Loop(OnnxOperator):
    """A function that calls itself as its last step; see `loops`."""

    @since(1, 11, 13, 16, 19, 21, 23, 24, 25)
    def loop(self, count: Value | None = None, condition: Value | None = None, *initial: Value) -> Result:
        graph = body_of(self.node, "body")
        if len(graph.inputs) != len(initial) + 2:
            raise IrError(
                f"the body of Loop has {len(graph.inputs)} inputs, and is handed {len(initial) + 2} values",
                code=DamagedModel,
            )
        if len(graph.outputs) < len(initial) + 1:
            raise IrError(f"the body of Loop gives {len(graph.outputs)} values, too few", code=DamagedModel)
        state_count = len(initial)

        def turn(number: Value, go_on: Value | None, handed: Sequence[Value]) -> Turn:
            first = input_in_rank(number, graph.inputs[0])
            second = input_in_rank(go_on or Value.constant(np.array(True)), graph.inputs[1])
            results = outputs_of(self.graph, graph, [first, second, *handed])
            leads_on = go_on if results[0].expr is second.expr else results[0]
            return Turn(results[1 : 1 + state_count], results[1 + state_count :], leads_on)

        limit = _number(count)
        names = [i.name for i in graph.inputs[2:]]
        return build_loop(self.graph.functions, LoopSpec(limit, condition, initial, turn, names=names))


def _number(count: Value | None) -> Value | None:
    """The trip count as a scalar."""
    if count is None or not count.shape:
        return count
    if count.known is not None:
        return Value.constant(np.array(count.number("the trip count")), count.dtype)
    return count.call("reshape", newshape=[])
