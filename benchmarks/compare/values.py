"""Quantized values beside those that the file says: `python -m benchmarks.compare.values MODEL`.

The reference is ONNX Runtime without its optimizations (`ORT_DISABLE_ALL`): it computes one operator after the other, in float32,
what stands in the file. Its optimized graph computes other operators, in integers, and rounds otherwise; where it computes an operator
wrongly, agreement with it would be a mistake.

Errors grow from layer to layer: a value next to a half is rounded to the other neighbour, and all layers after that have other inputs. So
networks are compared layer by layer as well: `parted` cuts a network wherever a tensor is quantized, and each layer gets the reference's
own values as its inputs.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .exact_sums import exact_session

MADE = "_made"
"""What a parted network calls a quantized tensor that it computes, after the name of the one that it is given."""


@dataclass(frozen=True)
class Agreement:
    """How many quantized values are those of the reference.

    Attributes:
        tensors: how many quantized tensors there are.
        values: how many values they have together.
        unequal: how many of these are others than the reference's.
        steps: how many steps these are away at most.
        worst: the tensor with the most of them, and its share of unequal values; empty where all are equal.
    """

    tensors: int
    values: int
    unequal: int
    steps: int
    worst: str = ""

    @property
    def equal(self) -> float:
        """The share of equal values."""
        return 1 - self.unequal / self.values


def literal_output(path: Path) -> Any:
    """The first output of a model on the inputs beside it."""
    session = exact_session(path, optimized=False)
    return session.run([session.get_outputs()[0].name], dict(np.load(path.with_suffix(".npz"))))[0]


def quantized_values(model: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """The results of all QuantizeLinear of a model, by their names, in order."""
    import onnx

    names = [n.output[0] for n in model.graph.node if n.op_type == "QuantizeLinear"]
    types = {v.name: v for v in onnx.shape_inference.infer_shapes(model).graph.value_info}
    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    del shown.graph.output[:]
    shown.graph.output.extend(types[n] for n in names)
    return dict(zip(names, exact_session(shown.SerializeToString(), optimized=False).run(names, inputs), strict=True))


def parted(model: Any, values: dict[str, Any]) -> Any:
    """A model cut at each of these quantized tensors: its own is an output, with `MADE` behind its name; what reads it reads an input."""
    import onnx

    parted_model = onnx.ModelProto()
    parted_model.CopyFrom(model)
    graph = parted_model.graph
    del graph.output[:]
    for n in graph.node:
        if n.output[0] in values:
            value, name = values[n.output[0]], n.output[0]
            dtype = onnx.helper.np_dtype_to_tensor_dtype(value.dtype)
            n.output[0] = name + MADE
            graph.input.append(onnx.helper.make_tensor_value_info(name, dtype, value.shape))
            graph.output.append(onnx.helper.make_tensor_value_info(name + MADE, dtype, value.shape))
    needed = {o.name for o in graph.output}
    nodes: list[Any] = []
    for n in reversed(graph.node):
        if needed.intersection(n.output):
            nodes.append(n)
            needed.update(n.input)
    inputs = [i for i in graph.input if i.name in needed]
    del graph.node[:], graph.input[:]
    graph.node.extend(reversed(nodes))
    graph.input.extend(inputs)
    return parted_model


def agreement(outputs: list[Any], expected: dict[str, Any]) -> Agreement:
    """How far quantized tensors are from those of the reference, in the same order."""
    unequal, steps, worst = 0, 0, (0.0, "")
    for (name, w), f in zip(expected.items(), outputs, strict=True):
        away = np.abs(np.asarray(f).astype("int64") - w)
        count = int(np.count_nonzero(away))
        unequal, steps = unequal + count, max(steps, int(away.max(initial=0)))
        worst = max(worst, (count / away.size, f"{name}: {100 * count / away.size:.3f} %" if count else ""))
    return Agreement(len(expected), sum(w.size for w in expected.values()), unequal, steps, worst[1])


def compare_layers(path: Path, mcpu: str = "native") -> dict[str, Agreement]:
    """irtool and ONNX Runtime with its optimizations, layer by layer: each layer on the reference's own inputs."""
    import onnx

    import irtool

    model, inputs = onnx.load(path), dict(np.load(path.with_suffix(".npz")))
    values = quantized_values(model, inputs)
    cut = parted(model, values)
    graph_inputs = {i.name: values[i.name] if i.name in values else inputs[i.name] for i in cut.graph.input}
    by_engine = {}
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "parted.onnx"
        onnx.save(cut, file)
        module, params = irtool.from_onnx(file)
        names = [p.name for p in module["main"].params if p.name not in params]
        result = irtool.build(module, params, mcpu=mcpu).run(dict(zip(names, graph_inputs.values(), strict=True)))
        by_engine["irtool"] = list(result) if isinstance(result, tuple | list) else [result]
        session = exact_session(file)
        by_engine["onnxruntime"] = session.run([n + MADE for n in values], graph_inputs)
    return {engine: agreement(outputs, values) for engine, outputs in by_engine.items()}


if __name__ == "__main__":
    print(json.dumps({e: asdict(a) for e, a in compare_layers(Path(sys.argv[1]), sys.argv[2]).items()}))
