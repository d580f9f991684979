"""Integers between layers are the same, bit by bit, whatever computes them."""

import numpy as np
import pytest

import irtool
from irtool import QuantizeOptions
from irtool.driver.parameters import bind_weights
from tests.backends.instructions import FLAGS

BLOCKS, CHANNELS, SIZE = 6, 32, 20
WAYS = {
    "scalar": {"mcpu": "x86-64", "vector": False},
    "vectors": {"mcpu": "x86-64"},
    "x86-64-v3": {"mcpu": "x86-64-v3"},
    "scalar, with fused multiply-add": {"mcpu": "x86-64-v3", "vector": False},
    "x86-64-v4": {"mcpu": "x86-64-v4"},
    "native": {"mcpu": "native"},
    "threads": {"mcpu": "native", "openmp": True},
    "strict": {"mcpu": "native", "math": "strict"},
}
NEEDS = {"x86-64": "lm", "x86-64-v3": "fma", "x86-64-v4": "avx512vl"}
"""What Linux calls what processors need."""


def require(way: str) -> None:
    """Skips the test where this processor does not run what is built so."""
    needed = NEEDS.get(str(WAYS[way]["mcpu"]))
    if needed and needed not in FLAGS:
        pytest.skip(f"this processor has no {needed}")


def residual_network() -> tuple[irtool.IRModule, dict[str, np.ndarray], np.ndarray]:
    """Blocks of a convolution, a bias, a sum and a relu; the end is a product without a bias. Also samples."""
    rng = np.random.default_rng(5)
    weights, types, lines, last = {}, [], [], "%x"
    for n in range(BLOCKS):
        weights[f"w{n}"] = rng.normal(0, 0.2, (CHANNELS, CHANNELS, 1, 1)).astype("float32")
        weights[f"b{n}"] = rng.normal(0, 0.2, CHANNELS).astype("float32")
        types += [f"%w{n}: Tensor[({CHANNELS}, {CHANNELS}, 1, 1), float32], %b{n}: Tensor[({CHANNELS}), float32]"]
        conv = f"nn.conv2d({last}, %w{n}, channels={CHANNELS}, kernel_size=[1, 1], padding=[0, 0, 0, 0])"
        branch = f"nn.bias_add({conv}, %b{n})"
        if n:
            branch = f"{'subtract' if n % 3 == 2 else 'add'}({branch}, {last})"
        lines += [f"%{n} = nn.relu({branch});"]
        last = f"%{n}"
    weights["e"] = rng.normal(0, 0.2, (CHANNELS, CHANNELS, 1, 1)).astype("float32")
    text = f"""#[version = "0.0.5"]
    def @main(%x: Tensor[(1, {CHANNELS}, {SIZE}, {SIZE}), float32], {", ".join(types)}, %e: Tensor[({CHANNELS}, {CHANNELS}, 1, 1), float32]) {{
      {" ".join(lines)}
      nn.conv2d({last}, %e, channels={CHANNELS}, kernel_size=[1, 1], padding=[0, 0, 0, 0])
    }}"""
    return irtool.parse(text), weights, rng.normal(size=(4, 1, CHANNELS, SIZE, SIZE)).astype("float32")


@pytest.fixture(scope="module")
def quantized() -> dict[str, tuple[irtool.IRModule, dict[str, np.ndarray], np.ndarray, np.ndarray]]:
    """For each form a module, its weights, an input, and what the interpreter makes of it once PropagateDequantize has run."""
    module, weights, samples = residual_network()
    forms = {}
    for form in ("qdq", "integer"):
        options = QuantizeOptions(form=form, report=False)
        network, params, _ = irtool.quantize(module, weights, {"x": samples}, options)
        plain = irtool.run_passes(bind_weights(network, params, ("main",)), "PropagateDequantize")
        forms[form] = network, params, samples[0], irtool.evaluate(plain, {"x": samples[0]})
    return forms


@pytest.mark.parametrize("form", ["qdq", "integer"])
@pytest.mark.parametrize("way", WAYS)
def test_every_build_gives_the_bits_of_the_interpreter(way: str, form: str, quantized: dict) -> None:
    require(way)
    module, params, x, expected = quantized[form]
    actual = irtool.build(module, params, **WAYS[way]).run([x])
    np.testing.assert_array_equal(np.asarray(actual).view("int32"), np.asarray(expected).view("int32"))


def test_biases_are_integers_in_units_of_the_products(quantized: dict) -> None:
    """So that nothing but sums of bytes times numbers is left for floating point."""
    module, params, *_ = quantized["qdq"]
    assert (
        sorted(a.dtype.name for n, a in params.items() if a.shape == (CHANNELS,) and a.dtype == "int32")
        == ["int32"] * BLOCKS
    )
    plain = irtool.to_text(irtool.run_passes(bind_weights(module, params, ("main",)), "PropagateDequantize"))
    assert plain.count("divide(") == 1  # of the input


@pytest.mark.parametrize("operator", ["add", "subtract"])
@pytest.mark.parametrize("way", WAYS)
def test_sums_next_to_halves_are_rounded_alike(way: str, operator: str) -> None:
    """All pairs of bytes, in sixths: every third sum is a half but for what products lose, which they do not where they are exact."""
    require(way)
    module = irtool.parse(f"""#[version = "0.0.5"]
    def @main(%a: Tensor[(256, 1), uint8], %b: Tensor[(256), uint8]) {{
      %0 = qnn.dequantize(%a, 1f, 120);
      %1 = qnn.dequantize(%b, 1f, 113);
      qnn.quantize({operator}(%0, %1), 6f, 100, out_dtype="uint8")
    }}""")
    inputs = {"a": np.arange(256, dtype="uint8")[:, None], "b": np.arange(256, dtype="uint8")}
    expected = irtool.evaluate(irtool.run_passes(module, "PropagateDequantize"), inputs)
    actual = irtool.build(module, **WAYS[way]).run(inputs)
    np.testing.assert_array_equal(np.asarray(actual), np.asarray(expected))
