"""`quantize --weights`: weights in blocks are what their definition says, and the report what was measured."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError, UsageError
from irtool.ir import Constant, Expr, Function, Module, TensorType, Tuple, Var
from irtool.ir.conversion import dtype_name
from irtool.ops.base import call
from irtool.parser.params import read_params
from irtool.quantization.weight_blocks import WeightOptions, quantize_weights, rounded
from tests.command_line import irtool as command

RNG = np.random.default_rng(0)


def by_definition(row: np.ndarray, dtype: str, block: int) -> list[float]:
    """The real numbers that a row becomes, block by block."""
    result: list[float] = []
    for n in range(0, len(row), block):
        part = row[n : n + block]
        largest = max(part, key=abs)
        scale = np.float16(largest / -8 if dtype == "int4" else abs(largest) / 127)
        low, high = (-8, 7) if dtype == "int4" else (-127, 127)
        for w in part:
            q = min(high, max(low, round(float(np.float32(w) / np.float32(scale))))) if scale else 0
            result.append(float(np.float32(q) * np.float32(scale)))
    return result


@pytest.mark.parametrize("dtype", ["int4", "int8"])
@pytest.mark.parametrize("block", [16, 32, 48])
def test_blocks_are_what_their_definition_says(dtype: str, block: int) -> None:
    weights = RNG.standard_normal((5, 100)).astype("float32")
    weights[2, :block] = 0
    data, scale = rounded(weights, dtype, block)
    assert scale.dtype == "float16" and scale.shape == (5, -(-100 // block))
    real = data.astype("float32") * np.repeat(scale.astype("float32"), block, 1)[:, :100]
    np.testing.assert_array_equal(real, [by_definition(row, dtype, block) for row in weights])
    most = np.abs(scale.astype("float32")).max() * (1.0 if dtype == "int4" else 0.51)
    assert np.abs(real - weights).max() <= most


@pytest.mark.parametrize("size", [1e-7, 1e8])
def test_scales_beyond_float16(size: float) -> None:
    data, scale = rounded((RNG.standard_normal((2, 32)) * size).astype("float32"), "int8", 16)
    assert scale.dtype == "float32" and np.abs(data).max() == 127


def network(layer: str = "nn.dense") -> tuple[Module, dict[str, np.ndarray]]:
    """A table and two layers."""
    i = Var("i", TensorType((4,), "int32"))
    shapes = {"table": (50, 64), "up": (96, 64) if layer == "nn.dense" else (64, 96), "down": (64, 96)}
    params = {n: Var(n, TensorType(s, "float32")) for n, s in shapes.items()}
    h: Expr = call("take", params["table"], i, axis=0)
    h = call("nn.relu", call(layer, h, params["up"], units=96))
    h = call("nn.dense", h, params["down"], units=64)
    arrays = {n: (RNG.standard_normal(s) / 8).astype("float32") for n, s in shapes.items()}
    return irtool.infer_types(Module({"main": Function((i, *params.values()), h)})), arrays


@pytest.mark.parametrize("layer", ["nn.dense", "nn.matmul"])
@pytest.mark.parametrize("dtype", ["int4", "int8"])
def test_a_network(layer: str, dtype: str) -> None:
    module, arrays = network(layer)
    result, params, report = quantize_weights(module, arrays, options=WeightOptions(dtype))
    assert {n: dtype_name(params[n]) for n in arrays} == dict.fromkeys(arrays, dtype)
    assert {r.model_name for r in report.layers} == set(arrays)
    low, high = (15, 30) if dtype == "int4" else (38, 60)
    for r in report.layers:
        assert low < r.weights_snr < high and low < r.own_snr < high and r.snr > 0
    i = np.array([3, 1, 49, 0], "int32")
    exact = np.asarray(irtool.evaluate(module, {"i": i, **arrays})).astype("float64")
    artifact = irtool.build(result, params=params)
    actual = np.asarray(artifact.run([i])).astype("float64")
    snr = 10 * np.log10((exact**2).sum() / ((exact - actual) ** 2).sum())
    assert abs(snr - report.snr) < 5
    assert artifact.report["weight_bytes"] == sum(a.size for a in arrays.values()) * (
        5 if dtype == "int4" else 9
    ) // 8 - (sum(a.size for a in arrays.values()) // 16)


@pytest.mark.parametrize("layer", ["nn.dense", "nn.matmul"])
@pytest.mark.parametrize("dtype", ["int4", "int8"])
def test_products_of_integers_have_the_bits_of_their_definition(layer: str, dtype: str) -> None:
    module, arrays = network(layer)
    result, params, report = quantize_weights(module, arrays, options=WeightOptions(dtype, activations="int8"))
    low, high = (15, 30) if dtype == "int4" else (35, 60)
    assert all(low < r.own_snr < high for r in report.layers) and report.snr > 10
    text = irtool.to_text(result)
    assert text.count("qnn.quantize_blocks") == text.count("qnn.dense_blocks") == 2
    assert irtool.structural_equal(irtool.parse(text), result)
    i = np.array([3, 1, 49, 0], "int32")
    expected = irtool.evaluate(result, {"i": i, **params})
    targets = ["c", "llvm"] if shutil.which("clang") else ["c"]
    for target in targets:
        np.testing.assert_array_equal(
            irtool.build(result, params=params, target=target, math="strict").run([i]), expected
        )


def test_layers_share_quantized_data_and_packed_weights_stay() -> None:
    x = Var("x", TensorType((3, 40), "float16"))
    weights = [rounded(RNG.standard_normal((8, 40)).astype("float32"), "int4", 16) for _ in range(3)]
    packed = [
        call(
            "qnn.dequantize_blocks",
            Constant(w, "int4"),
            Constant(s),
            Constant(np.asarray(0, "int32")),
            axis=1,
            block_size=16,
        )
        for w, s in weights
    ]
    wide = call("cast", x, dtype="float32")
    half = [call("cast", call("nn.dense", wide, w, units=8), dtype="float16") for w in packed[:2]]
    ones = call(
        "nn.batch_matmul",
        Constant(np.ones((1, 2, 40), "float32")),
        call("expand_dims", packed[2], axis=0),
        transpose_b=True,
    )
    module = irtool.infer_types(Module({"main": Function((x,), Tuple((*half, ones)))}))
    result, params, report = quantize_weights(module, options=WeightOptions("", activations="int8"))
    text = irtool.to_text(result)
    assert text.count("qnn.quantize_blocks") == 1 and text.count("qnn.dense_blocks") == 2
    assert report.left == {"batch_matmul_0": "its weights are in floating point"}
    assert [dtype_name(a) for a in params.values()].count("uint4") == 2
    data = RNG.standard_normal((3, 40)).astype("float16")
    for exact, actual in zip(
        irtool.evaluate(module, [data]), irtool.evaluate(result, {"x": data, **params}), strict=True
    ):
        np.testing.assert_allclose(actual.astype("float32"), exact.astype("float32"), rtol=0.1, atol=0.3)


def test_layers_that_stay() -> None:
    module, arrays = network()
    _, params, report = quantize_weights(module, arrays, options=WeightOptions(keep=("up", "take_.*")))
    assert {r.name for r in report.layers} == {"dense_1"}
    assert report.left == {"take_0": "asked for", "dense_0": "asked for"}
    np.testing.assert_array_equal(params["up"], arrays["up"])


def test_small_tables_stay() -> None:
    i, x = Var("i", TensorType((4,), "int32")), Var("x", TensorType((4, 64), "float32"))
    cosines, large = (Constant(RNG.standard_normal(s).astype("float32")) for s in ((20, 8), (256, 64)))
    body = Tuple((call("take", cosines, i, axis=0), call("nn.dense", x, large, units=256)))
    _, _, report = quantize_weights(irtool.infer_types(Module({"main": Function((i, x), body)})))
    assert [r.name for r in report.layers] == ["dense_0"]
    assert report.left == {"take_0": "its table is less than 1/64 of the weights"}


def test_a_table_that_is_a_layer_too_is_rounded_once() -> None:
    i, table = Var("i", TensorType((4,), "int32")), Var("table", TensorType((50, 64), "float32"))
    body = call("nn.dense", call("take", table, i, axis=0), table, units=50)
    module = irtool.infer_types(Module({"main": Function((i, table), body)}))
    _, params, report = quantize_weights(module, {"table": RNG.standard_normal((50, 64)).astype("float32")})
    assert list(params) == ["table", "table.scale"] and len(report.layers) == 2


def test_what_is_refused() -> None:
    module, arrays = network()
    with pytest.raises(IrError, match="no layer to quantize"):
        quantize_weights(module, arrays, options=WeightOptions(keep=(".*",)))
    with pytest.raises(IrError, match="NaN or infinite"):
        quantize_weights(module, {**arrays, "up": np.full((96, 64), np.nan, "float32")})
    refused = (
        WeightOptions("int2"),
        WeightOptions(block=0),
        WeightOptions(keep=("[",)),
        WeightOptions(activations="int4"),
    )
    for options in (*refused, WeightOptions("")):
        with pytest.raises(UsageError):
            quantize_weights(module, arrays, options=options)
    x = Var("x", TensorType((1, 8, 8), "float32"))
    ones = Constant(np.ones((1, 8, 8), "float32"))
    batch = irtool.infer_types(Module({"main": Function((x,), call("nn.batch_matmul", x, ones))}))
    _, params, _ = quantize_weights(batch, options=WeightOptions("int8", 4))
    assert [dtype_name(a) for a in params.values()] == ["int8", "float16"]


def test_the_command(tmp_path: Path) -> None:
    module, arrays = network()
    (tmp_path / "net.relay").write_text(irtool.to_text(module))
    np.savez(tmp_path / "net.npz", **arrays)
    source = [str(tmp_path / "net.relay"), "--params", str(tmp_path / "net.npz"), "-o", str(tmp_path / "out.relay")]
    code, out, err = command("quantize", *source, "--weights", "int4", "--block", "16", "--params-format", "params")
    assert code == 0, err
    assert "3 layers with weights of int4 in blocks of 16" in out and "outputs" in out
    stored = read_params(tmp_path / "out.params")
    assert dtype_name(stored["up"]) == "int4" and stored["up.scale"].shape == (96, 4)
    code, out, err = command("quantize", *source, "--weights", "int8", "--json")
    assert code == 0 and {x["weights_snr"] > 38 for x in json.loads(out)["layers"]} == {True}
    code, out, err = command("quantize", *source, "--weights", "int4", "--activations", "int8")
    assert code == 0 and "3 layers with weights of int4 in blocks of 32, activations of int8" in out, err
    again = [str(tmp_path / "out.relay"), "-o", str(tmp_path / "again.relay"), "--params", str(tmp_path / "out.npz")]
    assert "no layer to quantize" in command("quantize", *again, "--weights", "packed", "--activations", "int8")[2]
    wrong = [
        "--block 16",
        "--weights int4 --method mse",
        "--weights int4 --mode tvm",
        "--weights packed",
        "--activations float",
    ]
    wrong += ["--weights int4 --activations uint8", "--weights packed --activations int8 --block 16"]
    for options in wrong:
        assert command("quantize", *source, *options.split())[0] == 2


def test_scales_of_normalizations_leave_packed_weights_packed() -> None:
    """The scale of a normalization may go into weights; weights in blocks would be in blocks no more."""
    x = Var("x", TensorType((3, 32), "float32"))
    scale = Constant(RNG.uniform(0.5, 2, 32).astype("float32"))
    normalized = call(
        "multiply",
        call("divide", x, call("sqrt", call("mean", call("multiply", x, x), axis=[1], keepdims=True))),
        scale,
    )
    weights = [rounded(RNG.standard_normal((8, 32)).astype("float32"), "int4", 16) for _ in "ab"]
    zero = Constant(np.asarray(0, "int32"))
    layers = [
        call(
            "nn.dense",
            normalized,
            call("qnn.dequantize_blocks", Constant(w, "int4"), Constant(s), zero, axis=1, block_size=16),
            units=8,
        )
        for w, s in weights
    ]
    module = irtool.infer_types(Module({"main": Function((x,), Tuple(tuple(layers)))}))
    result, params, report = quantize_weights(module, options=WeightOptions("", activations="int8"))
    text = irtool.to_text(result)
    assert text.count("qnn.dense_blocks") == 2 and text.count("qnn.quantize_blocks") == 1 and not report.left
    data = RNG.standard_normal((3, 32)).astype("float32")
    for exact, actual in zip(
        irtool.evaluate(module, [data]), irtool.evaluate(result, {"x": data, **params}), strict=True
    ):
        np.testing.assert_allclose(actual, exact, rtol=0.1, atol=0.3)
