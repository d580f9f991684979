"""Scales of TVM's quantizer against the definitions of its sources, written out in plain Python."""

import math

import numpy as np
import pytest

import irtool
from irtool.diagnostics import UsageError
from irtool.ir import Call, Op, post_order
from irtool.quantization import tvm_scales
from irtool.quantization.errors import Noise
from irtool.quantization.qconfig import QConfig
from irtool.quantization.tvm_scales import Divergence, Largest
from irtool.quantization.tvm_way import quantize_as_tvm

from .networks import network

RNG = np.random.default_rng(1)


@pytest.mark.parametrize("size", [10, 1000, 250_000])
def test_a_percentile_is_that_of_all_values(size: int) -> None:
    values = RNG.normal(size=size).astype("float32")
    calibrator = Largest(size)
    for part in np.array_split(values, 7):
        calibrator.add(part)
    place = int(size * 0.99999)
    assert calibrator.scale == np.partition(np.abs(values), place)[place]


def plain_threshold(hist: list[int], edges: np.ndarray, levels: int) -> float:
    """`MinimizeKL` of src/relay/quantize/calibrate.cc."""
    zero, half = len(hist) // 2, levels // 2
    best, threshold = math.inf, 0.0
    for i in range(half, zero + 1):
        start, stop = zero - i, zero + i + 1
        inside = [0, *hist[start + 1 : stop]]
        p = [float(c) for c in inside]
        p[0] = float(sum(hist[: start + 1]))
        p[-1] += float(sum(hist[stop:]))
        merged = len(inside) // levels
        q = [0.0] * len(p)
        for j in range(levels):
            end = len(p) if j == levels - 1 else (j + 1) * merged
            bins = range(j * merged, end)
            norm = sum(1 for k in bins if inside[k])
            for k in bins:
                if norm and p[k]:
                    q[k] = sum(inside[m] for m in bins) / norm
        smooth = [smoothed(p), smoothed(q)]
        loss = math.inf if not smooth[1] else entropy(*smooth)
        if loss < best:
            best, threshold = loss, float(edges[stop])
    return threshold


def smoothed(p: list[float]) -> list[float]:
    zeros = sum(1 for x in p if x == 0)
    if zeros == len(p):
        return []
    taken = 0.0001 * zeros / (len(p) - zeros)
    return [] if taken >= 1 else [0.0001 if x == 0 else x - taken for x in p]


def entropy(p: list[float], q: list[float]) -> float:
    return sum(a / sum(p) * math.log(a / sum(p) / (b / sum(q))) for a, b in zip(p, q))


@pytest.mark.parametrize("seed", range(3))
def test_a_threshold_of_least_divergence_is_that_of_the_definition(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tvm_scales, "BINS", 101)
    monkeypatch.setattr(tvm_scales, "LEVELS", 15)
    values = (np.random.default_rng(seed).normal(size=4000) ** 3).astype("float32")
    largest = float(np.abs(values).max())
    calibrator = Divergence(largest)
    for part in np.array_split(values, 3):
        calibrator.add(part)
    hist, edges = np.histogram(values, 101, (-np.float32(largest), np.float32(largest)))
    np.testing.assert_array_equal(calibrator.counts, hist)
    assert calibrator.scale == pytest.approx(plain_threshold(hist.tolist(), edges, 15), rel=1e-6)


@pytest.mark.parametrize("mode", ["global_scale", "kl_divergence", "percentile"])
@pytest.mark.parametrize("weights", ["power2", "max"])
def test_a_network_in_tvms_way_is_near(mode: str, weights: str) -> None:
    module, params, samples = network("residual")
    config = QConfig(calibrate_mode=mode, weight_scale=weights, global_scale=4.0)
    quantized, values, report = quantize_as_tvm(module, params, {"x": samples[:2]}, config)
    # Of two samples the first gives the ranges, and the error is that of the second, which gave none.
    noise = Noise()
    x = samples[1]
    noise.add(irtool.evaluate(module, {**params, "x": x}), irtool.evaluate(quantized, {**values, "x": x}))
    assert noise.decibels > 5 and report.snr == pytest.approx(noise.decibels, rel=1e-3)
    assert (report.samples, report.held_out) == (1, 1)
    kinds = {
        e.args[0].checked_type.dtype
        for e in post_order(quantized["main"])
        if isinstance(e, Call) and isinstance(e.op, Op) and e.op.name == "nn.conv2d"
    }
    assert kinds == {"float32", "int8"}  # the first convolution is skipped


def test_simulation_stays_in_float32() -> None:
    module, params, samples = network("residual")
    quantized = quantize_as_tvm(module, params, {"x": samples[:1]}, QConfig(do_simulation=True)).module
    dtypes = {
        e.checked_type.dtype
        for e in post_order(quantized["main"].body)
        if isinstance(e, Call) and hasattr(e.checked_type, "dtype")
    }
    assert "simulated_quantize" in irtool.to_text(quantized) and dtypes == {"float32"}


def test_options_are_read_as_python_and_checked() -> None:
    read = QConfig.of(
        {"skip_conv_layers": "[0, 2]", "global_scale": "4", "do_simulation": "True", "weight_scale": "max"}
    )
    assert read == QConfig(skip_conv_layers=(0, 2), global_scale=4.0, do_simulation=True, weight_scale="max")
    assert QConfig.of({"skip_conv_layers": "None"}).skip_conv_layers is None
    for wrong in ({"nbits": "8"}, {"nbit_input": "eight"}, {"partition_conversions": "enabled"}):
        with pytest.raises(UsageError):
            QConfig.of(wrong)


def test_nothing_to_quantize_is_said_in_words() -> None:
    text = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32]) { nn.dense(%x, %w, units=3) }'
    with pytest.raises(irtool.IrError, match="all of them are skipped"):
        quantize_as_tvm(irtool.parse(text), {"w": np.ones((3, 4), "float32")}, {"x": np.ones((2, 4), "float32")})
