"""The time of a step of networks with states, beside ONNX Runtime, which takes states and gives them.

    python -m benchmarks.steps

Both run in one process, in turns, in one thread. irtool's step is called from C's interface, and from Python; ONNX Runtime with inputs and outputs
bound once, and with arrays. The fastest of the rounds counts.
"""

from __future__ import annotations

import ctypes
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import irtool
from irtool.infer.named_extents import dim_names

ROUNDS, LONG_ROUNDS, SECONDS = 30, 5, 0.02
CLOSE = 1e-4
"""The largest difference of an output from ONNX Runtime's after `CHECKED` steps."""
CHECKED = 50


class Graph:
    """An ONNX model as it is made: nodes, and random weights."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self.random = np.random.RandomState(0)

    def node(self, op: str, inputs: list[str], outputs: list[str], **attributes: Any) -> str:
        """Adds a node; the name of its first output."""
        from onnx import helper

        self.nodes.append(helper.make_node(op, inputs, outputs, **attributes))
        return outputs[0]

    def constant(self, name: str, value: Any) -> str:
        """Adds a constant."""
        from onnx import numpy_helper

        self.weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def weight(self, name: str, *shape: int) -> str:
        """Adds random numbers that keep the size of what they are multiplied with."""
        scale = np.sqrt(np.prod(shape[1:]))
        return self.constant(name, (self.random.randn(*shape) / scale).astype("float32"))

    def lstm(self, name: str, x: str, size: int) -> str:
        """Adds a layer with states `NAME_h` and `NAME_c`; the name of its output."""
        w, r = self.weight(f"{name}_w", 1, 4 * size, size), self.weight(f"{name}_r", 1, 4 * size, size)
        inputs = [x, w, r, self.weight(f"{name}_b", 1, 8 * size), "", f"{name}_h_in", f"{name}_c_in"]
        return self.node("LSTM", inputs, [f"{name}_y", f"{name}_h_out", f"{name}_c_out"], hidden_size=size)

    def model(self, inputs: dict[str, list[Any]], outputs: dict[str, list[Any]]) -> bytes:
        """The file."""
        from onnx import TensorProto, helper

        ends = [
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in named.items()]
            for named in (inputs, outputs)
        ]
        graph = helper.make_graph(self.nodes, "steps", *ends, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        return bytes(model.SerializeToString())


def two_lstms(size: int = 128) -> bytes:
    """Two layers of LSTM."""
    g = Graph()
    first = g.node("Squeeze", [g.lstm("a", "x", size), g.constant("axis", [1])], ["between"])
    second = g.node("Squeeze", [g.lstm("b", first, size), "axis"], ["last"])
    g.node("Squeeze", [second, g.constant("front", [0])], ["y"])
    states = {f"{n}_{s}": [1, 1, size] for n in "ab" for s in "hc"}
    return g.model(
        {"x": [1, 1, size], **{f"{n}_in": s for n, s in states.items()}},
        {"y": [1, size], **{f"{n}_out": s for n, s in states.items()}},
    )


def voice_detector() -> bytes:
    """A detector of voice like silero-vad: a spectrogram by convolution, four convolutions, an LSTM; 512 samples a step, and 64 before."""
    g = Graph()
    g.node("Concat", ["context_in", "x"], ["samples"], axis=1)
    bounds = [g.constant("begin", [512]), g.constant("end", [576]), g.constant("along", [1])]
    g.node("Slice", ["samples", *bounds], ["context_out"])
    g.node("Unsqueeze", ["samples", "along"], ["channel"])
    g.node("Pad", ["channel", g.constant("pads", [0, 0, 0, 0, 0, 64])], ["padded"], mode="reflect")
    g.node("Conv", ["padded", g.weight("transform", 258, 1, 256)], ["spectrum"], strides=[128])
    g.node("Split", ["spectrum", g.constant("parts", [129, 129])], ["re", "im"], axis=1)
    squares = [g.node("Mul", [part, part], [f"{part}_2"]) for part in ("re", "im")]
    x = g.node("Sqrt", [g.node("Add", squares, ["power"])], ["size"])
    for n, (before, after, stride) in enumerate([(129, 128, 1), (128, 64, 2), (64, 64, 2), (64, 128, 1)]):
        weights = [g.weight(f"w{n}", after, before, 3), g.constant(f"b{n}", np.zeros(after, "float32"))]
        g.node("Conv", [x, *weights], [f"conv{n}"], strides=[stride], pads=[1, 1])
        x = g.node("Relu", [f"conv{n}"], [f"relu{n}"])
    g.lstm("a", g.node("Transpose", [x], ["frames"], perm=[2, 0, 1]), 128)
    g.node("Reshape", [g.node("Relu", ["a_h_out"], ["active"]), g.constant("row", [1, 128])], ["rows"])
    g.node("Gemm", ["rows", g.weight("w", 1, 128), g.constant("b", np.zeros(1, "float32"))], ["score"], transB=1)
    g.node("Sigmoid", ["score"], ["probability"])
    states = {"context": [1, 64], "a_h": [1, 1, 128], "a_c": [1, 1, 128]}
    return g.model(
        {"x": [1, 512], **{f"{n}_in": s for n, s in states.items()}},
        {"probability": [1, 1], **{f"{n}_out": s for n, s in states.items()}},
    )


LAYERS, HEADS, SIZE, CAPACITY = 4, 8, 64, 512
"""Of the decoder: its layers, the heads of each and their size, and the most words."""


def decoder() -> bytes:
    """A decoder of text like GPT-2, from the vector of a word to that of the next one, with caches of keys and values that grow."""
    g, width = Graph(), HEADS * SIZE
    g.constant("heads", [0, 0, HEADS, SIZE])
    g.constant("joined", [0, 0, width])
    g.constant("scale", np.float32(SIZE**-0.5))
    g.constant("half", np.float32(0.5))
    g.constant("one", np.float32(1))
    g.constant("root", np.float32(2**0.5))

    def weight(name: str, *shape: int) -> str:
        return g.constant(name, (g.random.randn(*shape) / np.sqrt(shape[0])).astype("float32"))

    def norm(x: str, name: str) -> str:
        scale = g.constant(f"{name}_s", np.ones(width, "float32"))
        return g.node("LayerNormalization", [x, scale, g.constant(f"{name}_b", np.zeros(width, "float32"))], [name])

    x = "x"
    for n in range(LAYERS):
        y = norm(x, f"n{n}")
        parts = {}
        for p in "qkv":
            flat = g.node("MatMul", [y, weight(f"w{p}{n}", width, width)], [f"{p}{n}"])
            split = g.node("Reshape", [flat, "heads"], [f"{p}s{n}"])
            parts[p] = g.node("Transpose", [split], [f"{p}h{n}"], perm=[0, 2, 1, 3])
        key = g.node("Concat", [f"{n}_key_in", parts["k"]], [f"{n}_key_out"], axis=2)
        value = g.node("Concat", [f"{n}_value_in", parts["v"]], [f"{n}_value_out"], axis=2)
        transposed = g.node("Transpose", [key], [f"kt{n}"], perm=[0, 1, 3, 2])
        scores = g.node("Mul", [g.node("MatMul", [parts["q"], transposed], [f"s{n}"]), "scale"], [f"c{n}"])
        mixed = g.node("MatMul", [g.node("Softmax", [scores], [f"p{n}"], axis=-1), value], [f"o{n}"])
        back = g.node("Reshape", [g.node("Transpose", [mixed], [f"t{n}"], perm=[0, 2, 1, 3]), "joined"], [f"j{n}"])
        x = g.node("Add", [x, g.node("MatMul", [back, weight(f"wo{n}", width, width)], [f"a{n}"])], [f"r{n}"])
        wide = g.node("MatMul", [norm(x, f"m{n}"), weight(f"up{n}", width, 4 * width)], [f"u{n}"])
        error = g.node("Erf", [g.node("Div", [wide, "root"], [f"d{n}"])], [f"e{n}"])
        gelu = g.node("Mul", [wide, g.node("Add", [error, "one"], [f"i{n}"])], [f"g{n}"])
        down = g.node(
            "MatMul", [g.node("Mul", [gelu, "half"], [f"h{n}"]), weight(f"down{n}", 4 * width, width)], [f"f{n}"]
        )
        x = g.node("Add", [x, down], [f"x{n}"])
    g.node("Identity", [norm(x, "last")], ["y"])
    caches = [f"{n}_{part}" for n in range(LAYERS) for part in ("key", "value")]
    return g.model(
        {"x": [1, 1, width], **{f"{c}_in": [1, HEADS, "past", SIZE] for c in caches}},
        {"y": [1, 1, width], **{f"{c}_out": [1, HEADS, "total", SIZE] for c in caches}},
    )


NETWORKS = {"two LSTMs of 128": two_lstms, "voice detector": voice_detector, "decoder of 4 layers": decoder}


def measure(model: bytes) -> dict[str, float]:
    """Microseconds of a step by way of calling; of caches that grow, on average from empty to full ones. Raises AssertionError for outputs that
    differ."""
    module, weights = irtool.from_onnx(model)
    grows = "past" in dim_names(module, "main")
    dims = {"past": f"<={CAPACITY}"} if grows else None
    most = CAPACITY if grows else 0
    with tempfile.TemporaryDirectory() as folder:
        artifact = irtool.build(module, weights, states="auto", dims=dims, name="net", weights="inline", out_dir=folder)
        inputs = [np.random.RandomState(n).randn(*t["shape"]).astype("float32") for n, t in enumerate(artifact.inputs)]
        instance = artifact.instance()
        step, begin = _from_c(artifact, Path(folder), inputs)
        peer = _Peer(model, inputs, grows)
        for _ in range(CHECKED):
            (got,), expected = [instance.step(inputs)], peer.step()
        np.testing.assert_allclose(got, expected, atol=CLOSE)
        ways: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
            "irtool, C": (step, begin),
            "irtool, Python": (lambda: instance.step(inputs), instance.reset),
            "ONNX Runtime, bound": (peer.bound_step, peer.begin),
            "ONNX Runtime, arrays": (peer.step, peer.begin),
        }
        best = dict.fromkeys(ways, np.inf)
        for _ in range(LONG_ROUNDS if grows else ROUNDS):
            for name, (run, again) in ways.items():
                best[name] = min(best[name], _round(run, again, most))
    return {name: 1e6 * t for name, t in best.items()}


def _from_c(artifact: Any, folder: Path, inputs: list[Any]) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """A step through the library's own function, on arrays that stay, and what begins anew."""
    library = ctypes.CDLL(str(folder / "net.so"))
    net = np.zeros(artifact.report["instance_bytes"], np.uint8)
    outputs = [np.zeros(t["shape"], t["dtype"]) for t in artifact.outputs]
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (net, *inputs, *outputs)]
    assert library.net_init(pointers[0]) == 0
    arrays = (net, inputs, outputs)

    def step(function: Any = library.net_step, memory: Any = arrays) -> None:
        function(*pointers)

    return step, lambda: library.net_init(pointers[0])


class _Peer:
    """ONNX Runtime's steps: with arrays, and with memory of its own that is bound once, or handed on where it grows."""

    def __init__(self, model: bytes, inputs: list[Any], grows: bool) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self._outputs = [o.name for o in self._session.get_outputs()]
        own = iter(inputs)
        self._first = {
            i.name: np.zeros([d if isinstance(d, int) else 0 for d in i.shape], "float32")
            if i.name.endswith("_in")
            else next(own)
            for i in self._session.get_inputs()
        }
        self._values = onnxruntime.OrtValue
        self._binding = None if grows else self._bound()
        self.begin()

    def _bound(self) -> Any:
        binding = self._session.io_binding()
        for name, array in self._first.items():
            binding.bind_ortvalue_input(name, self._values.ortvalue_from_numpy(array))
        for o in self._session.get_outputs():
            binding.bind_ortvalue_output(o.name, self._values.ortvalue_from_shape_and_type(o.shape, np.float32))
        return binding

    def begin(self) -> None:
        """Begins anew."""
        self._feed = dict(self._first)
        self._bound_feed = {n: self._values.ortvalue_from_numpy(a) for n, a in self._first.items()}

    def step(self) -> Any:
        """The first output of the next step."""
        values = self._session.run(None, self._feed)
        self._feed.update(self._next(values))
        return values[0]

    def bound_step(self) -> None:
        """A step without copies to and from arrays."""
        if self._binding is not None:
            self._session.run_with_iobinding(self._binding)
            return
        values = self._session.run_with_ort_values(self._outputs, self._bound_feed)
        self._bound_feed.update(self._next(values))

    def _next(self, values: list[Any]) -> dict[str, Any]:
        named = zip(self._outputs, values, strict=True)
        return {f"{n.removesuffix('_out')}_in": v for n, v in named if n.endswith("_out")}


def _round(run: Callable[[], Any], begin: Callable[[], Any], most: int) -> float:
    """Seconds of a call, on average over a round: of `most` calls from the beginning, if there are at most that many."""
    if most:
        begin()
    count, start = 0, time.perf_counter()
    while (passed := time.perf_counter() - start) < SECONDS and (not most or count < most):
        for _ in range(most or 20):
            run()
        count += most or 20
    return passed / count


def main() -> None:
    """Prints the table."""
    print(
        "| network | irtool, C | irtool, Python | ONNX Runtime, bound | ONNX Runtime, arrays | C / bound | Python / arrays |"
    )
    print("|---|---|---|---|---|---|---|")
    for name, build in NETWORKS.items():
        times = list(measure(build()).values())
        own, python, bound, arrays = times
        cells = [f"{t:.1f} µs" for t in times] + [f"{own / bound:.2f}", f"{python / arrays:.2f}"]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
