"""Networks in 8 bits: how near they come, what is quantized, and what is refused."""

import numpy as np
import pytest

import irtool
from irtool import QuantizeOptions
from irtool.ir import Call, Op, post_order
from irtool.passes.core.mistakes import AccumulatorOverflow
from irtool.quantization.errors import Noise

from .networks import NETWORKS, network


def run(module: irtool.IRModule, weights: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    return irtool.evaluate(module, {**weights, "x": x})


def ratio(name: str, options: QuantizeOptions) -> tuple[float, irtool.IRModule, dict[str, np.ndarray]]:
    module, weights, samples = network(name)
    quantized, params, _ = irtool.quantize(module, weights, {"x": samples}, options)
    noise = Noise()
    for x in samples:
        noise.add(run(module, weights, x), run(quantized, params, x))
    return noise.decibels, quantized, params


def operators(module: irtool.IRModule) -> list[str]:
    return [e.op.name for e in post_order(module["main"]) if isinstance(e, Call) and isinstance(e.op, Op)]


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("method", ["minmax", "percentile", "entropy", "mse"])
def test_results_are_near(name: str, method: str) -> None:
    decibels, quantized, params = ratio(name, QuantizeOptions(method=method, form="integer", report=False))
    assert decibels > (15 if method == "entropy" else 25)  # few values: their distribution is hardly one
    assert not {"nn.conv2d", "nn.dense", "nn.batch_matmul", "nn.conv2d_transpose"} & set(operators(quantized))
    assert {a.dtype.name for a in params.values()} <= {"int8", "int32", "float32", "uint8"}


@pytest.mark.parametrize("name", NETWORKS)
def test_signed_activations_are_as_near(name: str) -> None:
    decibels, quantized, _ = ratio(name, QuantizeOptions(dtype="int8", report=False))
    assert decibels > 25 and "uint8" not in irtool.to_text(quantized)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("form", ["qdq", "integer"])
def test_the_compiled_program_gives_the_bits_of_the_interpreter(name: str, form: str) -> None:
    module, weights, samples = network(name)
    quantized, params, _ = irtool.quantize(module, weights, {"x": samples}, QuantizeOptions(form=form, report=False))
    expected = run(quantized, params, samples[0])
    actual = irtool.build(quantized, params, mcpu="native").run([samples[0]])
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)  # softmax is not in integers


@pytest.mark.parametrize("name", NETWORKS)
def test_what_is_rounded_in_float_is_what_integers_compute(name: str) -> None:
    module, weights, samples = network(name)
    qdq, p, _ = irtool.quantize(module, weights, {"x": samples}, QuantizeOptions(report=False))
    integers, q, _ = irtool.quantize(module, weights, {"x": samples}, QuantizeOptions(form="integer", report=False))
    a, b = run(qdq, p, samples[0]), run(integers, q, samples[0])
    noise = Noise()
    noise.add(a, b)
    assert noise.decibels > 30
    assert "qnn.conv2d" not in operators(qdq) and "qnn.dense" not in operators(qdq)


def test_compiled_and_interpreted_calibration_find_the_same_ranges() -> None:
    module, weights, samples = network("residual")
    texts = []
    for via in ("c", "interp"):
        quantized, _, report = irtool.quantize(module, weights, {"x": samples}, QuantizeOptions(via=via))
        scales = [float(r.output.split(" * ")[1].split(",")[0]) for r in report.layers if r.output]
        texts.append((operators(quantized), scales))
    assert texts[0][0] == texts[1][0]
    np.testing.assert_allclose(texts[0][1], texts[1][1], rtol=2e-3)


def test_text_and_weights_are_the_same_each_time() -> None:
    module, weights, samples = network("residual")
    texts = [irtool.to_text(irtool.quantize(module, weights, {"x": samples}).module) for _ in range(2)]
    assert texts[0] == texts[1]


def test_the_report_has_each_layer_alone_and_in_the_network() -> None:
    module, weights, samples = network("residual")
    _, _, report = irtool.quantize(module, weights, {"x": samples})
    by_name = {r.name: r for r in report.layers}
    assert {
        "conv2d_0",
        "conv2d_1",
        "conv2d_2",
        "add_0",
        "concatenate_0",
        "multiply_0",
        "sigmoid_0",
        "dense_0",
    } <= by_name.keys()
    assert by_name["conv2d_0"].own_snr == pytest.approx(
        by_name["conv2d_0"].snr
    )  # nothing is rounded before it but its input
    assert by_name["add_0"].snr < by_name["add_0"].own_snr
    owns = [r.own_snr for r in report.worst_first]
    assert owns == sorted(owns) and min(owns) > 25
    assert not any(r.op in ("nn.max_pool2d", "nn.batch_flatten") for r in report.worst_first)
    assert report.products == 4 and not report.left


def test_layers_are_kept_by_name_by_weight_and_by_error() -> None:
    module, weights, samples = network("residual")
    for keep in ("conv2d_1", "d"):
        options = QuantizeOptions(keep=(keep,), form="integer")
        quantized, _, report = irtool.quantize(module, weights, {"x": samples}, options)
        assert operators(quantized).count("nn.conv2d") == 1 and report.left == {"conv2d_1": "asked for"}
    _, _, whole = irtool.quantize(module, weights, {"x": samples})
    products = sorted(r.own_snr for r in whole.layers if r.op in ("nn.conv2d", "nn.dense"))
    limit = (products[0] + products[1]) / 2
    quantized, _, report = irtool.quantize(module, weights, {"x": samples}, QuantizeOptions(min_snr=limit))
    assert all(r.own_snr >= limit for r in report.layers)
    assert len(report.left) == 1 and "min-snr" in next(iter(report.left.values()))


def test_a_channel_of_zeros_has_scale_one_and_stays_zero() -> None:
    module, weights, samples = network("upwards")
    weights["w"][3] = 0
    options = QuantizeOptions(form="integer", report=False)
    params = irtool.quantize(module, weights, {"x": samples}, options).params
    assert params["conv2d_0.scale"][3] == 1 and not params["w"][3].any()


def test_a_bias_beyond_32_bits_makes_the_scale_larger() -> None:
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(4, 8), float32], %w: Tensor[(2, 8), float32], %b: Tensor[(2), float32]) { nn.bias_add(nn.dense(%x, %w, units=2), %b) }
"""
    module = irtool.parse(text)
    weights = {"w": np.full((2, 8), 1e-9, "float32"), "b": np.array([1e3, -2e3], "float32")}
    x = np.random.default_rng(0).normal(size=(4, 8)).astype("float32")
    quantized, params, _ = irtool.quantize(module, weights, {"x": x})
    np.testing.assert_allclose(run(quantized, params, x), np.tile(weights["b"], (4, 1)), rtol=1e-5)


def test_sums_that_may_overflow_are_refused_by_name() -> None:
    module = irtool.parse(
        '#[version = "0.0.5"]\ndef @main(%x: Tensor[(1, 70000), float32], %w: Tensor[(1, 70000), float32]) { nn.dense(%x, %w, units=1) }'
    )
    with pytest.raises(irtool.IrError, match=r"dense_0: sums of 70000 products of channel 0 may need 2266950000"):
        irtool.quantize(module, {"w": np.ones((1, 70000), "float32")}, "random")
    with pytest.raises(irtool.IrError, match=r"dense_0: sums of 70000 products") as refused:
        irtool.build(module, {"w": np.ones((1, 70000), "float32")}, precision="int8", calibration="random")
    assert [d.code for d in refused.value.diagnostics] == [AccumulatorOverflow]
    sparse = np.ones((1, 70000), "float32")
    sparse[:, ::10] = 0  # 63,000 products fit: the bound is that of the weights, not of their number
    irtool.quantize(module, {"w": sparse}, "random", options=QuantizeOptions(report=False))


NAN = np.full((1, 3, 12, 12), np.nan, "float32")
BAD = {
    "shape": (
        {"x": np.zeros((1, 3, 12, 11), "float32")},
        r"have the shape \(1, 3, 12, 11\), and the input is \(1, 3, 12, 12\)",
    ),
    "dtype": ({"x": np.zeros((1, 3, 12, 12), "complex64")}, "complex64"),
    "nan": ({"x": NAN}, r"have nan at \[0, 0, 0, 0\]"),
    "infinity": ({"x": np.full((1, 3, 12, 12), np.inf, "float32")}, "have inf at"),
    "missing": ({}, "nothing for the input %x"),
    "unknown": ({"y": NAN}, "there is no input %y"),
    "empty": ({"x": np.zeros((0, 1, 3, 12, 12), "float32")}, "there is no sample"),
    "none": ([], "there is no sample"),
    "word": ("zeros", "not 'zeros'"),
}


@pytest.mark.parametrize("case", BAD)
def test_calibration_data_that_do_not_fit_are_refused(case: str) -> None:
    module, weights, _ = network("residual")
    data, message = BAD[case]
    with pytest.raises(irtool.IrError, match=message):
        irtool.quantize(module, weights, data)


def test_samples_may_lie_along_the_first_axis_or_in_several_mappings() -> None:
    module, weights, samples = network("residual")
    options = QuantizeOptions(report=False)
    first = irtool.quantize(module, weights, {"x": samples.reshape(6, 3, 12, 12)}, options)
    second = irtool.quantize(module, weights, [{"x": x} for x in samples], options)
    assert irtool.to_text(first.module) == irtool.to_text(second.module)
    assert first.report.samples == second.report.samples == 6


def test_values_that_are_not_finite_inside_are_refused() -> None:
    text = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2, 3), float32], %w: Tensor[(2, 3), float32]) { nn.dense(log(%x), %w, units=2) }'
    with pytest.raises(irtool.IrError, match="operand of dense_0 is NaN or infinite"):
        irtool.quantize(irtool.parse(text), {"w": np.ones((2, 3), "float32")}, {"x": np.zeros((2, 3), "float32")})


def test_nothing_to_quantize_is_said_in_words() -> None:
    text = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(1, 1, 4, 4), float32], %w: Tensor[(1, 1, 1, 1), float32]) { nn.conv2d(%x, %w, padding=[0, 0, 0, 0]) }'
    with pytest.raises(irtool.IrError, match="all 1 convolutions and matrix products stay") as caught:
        irtool.quantize(irtool.parse(text), None, "random")
    assert caught.value.diagnostics[0].notes == ("conv2d_0 stays in floating point: its weights are not constant",)


@pytest.mark.parametrize(
    "options", [{"method": "max"}, {"dtype": "int4"}, {"percentile": 0.0}, {"keep": ("(",)}, {"samples": 0}]
)
def test_wrong_options_are_refused(options: dict) -> None:
    module, weights, _ = network("attention")
    with pytest.raises(irtool.IrError):
        irtool.quantize(module, weights, "random", QuantizeOptions(**options))
