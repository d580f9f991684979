"""Models that ONNX Runtime has quantized give its quantized values: all but one in a thousand, and those are one step away."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irtool
from benchmarks.compare.exact_sums import exact_session
from benchmarks.compare.quantized import output_step
from benchmarks.compare.values import compare_layers, parted, quantized_values
from tests.peers.quantized_models import NETWORKS, WAYS, inputs_of, save

pytestmark = pytest.mark.promise("quantized networks")

SAMPLES, RUNS = 4, 24
LEAST_EQUAL = 0.999

OWN_KERNELS = {
    "softmax": "the runtime's table gives one in thirty another way than its own float operators do",
}
"""Where the runtime, optimized, leaves what the file says."""


@pytest.fixture(autouse=True)
def _peers(request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("--peers"):
        pytest.skip("needs --peers")
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")


CASES = [(n, w) for n in NETWORKS for w in WAYS if (n, w[:7]) != ("transposed convolution", "QLinear")]
"""There is no operator for transposed convolutions of quantized tensors: they stay in float32."""


@pytest.mark.parametrize(("name", "way"), CASES)
def test_quantized_values_are_those_of_the_runtime(name: str, way: str, tmp_path: Path) -> None:
    source, target = tmp_path / "net.onnx", tmp_path / "net8.onnx"
    save(name, source)
    WAYS[way](source, target, [inputs_of(name, seed) for seed in range(SAMPLES)])
    step = output_step(target)
    assert step is not None, "the result is quantized"
    literal, optimized = exact_session(target, optimized=False), exact_session(target)
    module, params = irtool.from_onnx(target)
    built = irtool.build(module, params, cflags="-O1")
    by_definition, by_runtime = [], []
    for seed in range(RUNS):
        inputs = inputs_of(name, seed)  # some that calibrated it, and others
        actual = np.asarray(built.run(inputs), "float64")
        for steps, s in ((by_definition, literal), (by_runtime, optimized)):
            steps.append(np.rint(np.abs(actual - s.run(None, inputs)[0]) / step).ravel())
    for steps, least in ((by_definition, LEAST_EQUAL), (by_runtime, 0 if name in OWN_KERNELS else LEAST_EQUAL)):
        off = np.concatenate(steps)
        assert off.max() <= 1, f"{int(off.max())} steps away"
        assert (off == 0).mean() >= least, f"{(off == 0).mean():.5f} of {off.size} are equal"


@pytest.mark.parametrize("way", [w for w in WAYS if w.startswith("QDQ")])
def test_layers_are_compared_on_the_reference_s_own_values(way: str, tmp_path: Path) -> None:
    source, target = tmp_path / "net.onnx", tmp_path / "net8.onnx"
    save("residual", source)
    WAYS[way](source, target, [inputs_of("residual", seed) for seed in range(SAMPLES)])
    inputs = inputs_of("residual", SAMPLES)
    np.savez(target.with_suffix(".npz"), **inputs)
    import onnx

    model = onnx.load(target)
    values = quantized_values(model, inputs)
    cut = parted(model, values)
    assert [o.name for o in cut.graph.output] == [f"{n}_made" for n in values]
    for n in cut.graph.node:  # each layer is by itself: what one makes, no other reads
        assert not any(i.endswith("_made") for i in n.input)
    assert {i.name for i in cut.graph.input} == {"x", *list(values)[:-1]}
    for a in compare_layers(target).values():
        assert a.tensors == len(values) >= 3 and a.values == sum(v.size for v in values.values())
        assert a.equal >= LEAST_EQUAL and a.steps <= 1
