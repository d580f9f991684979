"""`Scan`: a loop over the slices of tensors."""

from __future__ import annotations

from collections.abc import Sequence

from ....deferred import np
from ....diagnostics import IrError
from ..length_values import extent_of_axis
from ..loops import LoopSpec, Turn, build_loop
from ..mistakes import DamagedModel
from ..model import Graph
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..subgraphs import body_of, outputs_of
from ..value import Value


@onnx_operator("Scan")
class Scan(OnnxOperator):
    """A function that calls itself as its last step, and takes a slice of each scanned input in each turn."""

    @since(8)
    def in_batches(
        self,
        sequence_lens: Value | None = None,
        *inputs: Value,
        num_scan_inputs: int,
        directions: Sequence[int] = (),
    ) -> Result:
        graph = self._graph(inputs, num_scan_inputs)
        states = len(inputs) - num_scan_inputs
        flags = self._flags(directions, num_scan_inputs, "directions")
        inputs[0].extents("the first input of Scan", least=1)

        def item(number: Value, _: Value | None, __: Sequence[Value]) -> Turn:
            own = [x.call("take", number, axis=0) for x in inputs]
            length = sequence_lens.call("take", number, axis=0).call("cast", dtype="int64") if sequence_lens else None
            results = self._loop(graph, own[:states], own[states:], flags, [False] * len(graph.outputs), length)
            return Turn([], results)

        return build_loop(self.graph.functions, LoopSpec(extent_of_axis(inputs[0], 0), None, [], item))

    @since(9, 11, 16, 19, 21, 23, 24, 25)
    def along_axes(
        self,
        *inputs: Value,
        num_scan_inputs: int,
        scan_input_axes: Sequence[int] = (),
        scan_input_directions: Sequence[int] = (),
        scan_output_axes: Sequence[int] = (),
        scan_output_directions: Sequence[int] = (),
    ) -> Result:
        graph = self._graph(inputs, num_scan_inputs)
        states = len(inputs) - num_scan_inputs
        results = len(graph.outputs) - states
        axes = self._flags(scan_input_axes, num_scan_inputs, "scan_input_axes")
        scanned = [
            _moved(x, x.axis(a, "an axis of scan_input_axes"), 0) for x, a in zip(inputs[states:], axes, strict=True)
        ]
        outputs = self._loop(
            graph,
            inputs[:states],
            scanned,
            self._flags(scan_input_directions, num_scan_inputs, "scan_input_directions"),
            self._flags(scan_output_directions, results, "scan_output_directions"),
        )
        output_axes = self._flags(scan_output_axes, results, "scan_output_axes")
        stacked = [
            _moved(x, 0, x.axis(a, "an axis of scan_output_axes"))
            for x, a in zip(outputs[states:], output_axes, strict=True)
        ]
        return [*outputs[:states], *stacked]

    def _graph(self, inputs: Sequence[Value], scanned: int) -> Graph:
        graph = body_of(self.node, "body")
        if not 0 < scanned <= len(inputs):
            raise IrError(f"num_scan_inputs is {scanned}, and Scan has {len(inputs)} inputs", code=DamagedModel)
        if len(graph.inputs) != len(inputs):
            raise IrError(
                f"the body of Scan has {len(graph.inputs)} inputs, and is handed {len(inputs)} values",
                code=DamagedModel,
            )
        if len(graph.outputs) < len(inputs) - scanned:
            raise IrError(f"the body of Scan gives {len(graph.outputs)} values, too few", code=DamagedModel)
        return graph

    def _flags(self, flags: Sequence[int], count: int, name: str) -> list[int]:
        """An attribute that has a number for each tensor; zeros where it is left out."""
        if flags and len(flags) != count:
            raise IrError(f"{name} has {len(flags)} numbers, not {count}", code=DamagedModel)
        return list(flags) or [0] * count

    def _loop(
        self,
        graph: Graph,
        states: Sequence[Value],
        scanned: Sequence[Value],
        backward: Sequence[int],
        placed_backward: Sequence[int],
        length: Value | None = None,
    ) -> list[Value]:
        """The last states, and the results of all turns along axis 0. Turns from `length` on give zeros."""
        count = extent_of_axis(scanned[_counting(scanned)], 0)

        def turn(number: Value, _: Value | None, handed: Sequence[Value]) -> Turn:
            last = count.call("subtract", Value.constant(np.int64(1)))
            positions = [last.call("subtract", number) if flag else number for flag in backward]
            slices = [x.call("take", p, axis=0) for x, p in zip(scanned, positions, strict=True)]
            results = outputs_of(self.graph, graph, [*handed, *slices])
            after, scanned_values = results[: len(states)], results[len(states) :]
            if length is not None:
                within = number.call("less", length)
                after = [within.call("where", a, h) for a, h in zip(after, handed, strict=True)]
                scanned_values = [within.call("where", k, k.call("zeros_like")) for k in scanned_values]
            return Turn(after, scanned_values)

        names = [i.name for i in graph.inputs]
        flags = [bool(f) for f in placed_backward]
        return build_loop(self.graph.functions, LoopSpec(count, None, states, turn, flags, names))


def _counting(scanned: Sequence[Value]) -> int:
    """The tensor whose slices are counted, one of known extent if there is any. Raises IrError if tensors have different numbers of them."""
    for x in scanned:
        x.require_rank(1, "what Scan goes over", or_more=True)
    known = [k for k, x in enumerate(scanned) if isinstance(x.shape[0], int)]
    extents = list(dict.fromkeys(scanned[k].shape[0] for k in known))
    if len(extents) > 1:
        raise IrError(f"Scan goes over tensors with {extents} slices at once", code=DamagedModel)
    return known[0] if known else 0


def _moved(x: Value, source: int, target: int) -> Value:
    """The tensor with an axis at another place."""
    if source == target:
        return x
    axes = [a for a in range(x.rank) if a != source]
    axes.insert(target, source)
    return x.call("transpose", axes=axes)
