"""Layers that differ in scales and zero points only are run by one kernel."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import irtool

V = '#[version = "0.0.5"]\n'
LAYER = "clip(add(multiply(%x{n}, {scale}f), {shift}f), a_min={low}f, a_max=100f)"
NUMBERS = [(0.031, 12.0, -3.0), (0.048, 12.0, -0.0), (-7.5, 12.0, 0.0), (1e-3, 12.0, -50.0)]


def program(numbers: list[tuple[float, float, float]], call: str = LAYER) -> irtool.Module:
    """A layer for each row of numbers."""
    params = ", ".join(f"%x{n}: Tensor[(5, 33), float32]" for n in range(len(numbers)))
    layers = [call.format(n=n, scale=s, shift=b, low=low) for n, (s, b, low) in enumerate(numbers)]
    return irtool.parse(f"{V}def @main({params}) {{ ({', '.join(layers)}) }}")


def built(module: irtool.Module, folder: Path, **options: str) -> tuple[list[np.ndarray], str]:
    """The results for random inputs, which are the interpreter's, and the C."""
    random = np.random.default_rng(0)
    inputs = [random.normal(0, 500, (5, 33)).astype("float32") for _ in module["main"].params]
    artifact = irtool.build(module, name="net", out_dir=folder, cflags="-O1", flags={"hooks": False}, **options)
    results = artifact.run(inputs)
    for a, b in zip(results, irtool.evaluate(module, inputs), strict=True):
        np.testing.assert_array_equal(a.view("uint32"), b.view("uint32"))
    return results, (folder / "net.c").read_text()


def kernels(text: str) -> list[str]:
    return re.findall(r"^static void (tvmgen_\w+)\(", text, re.M)


@pytest.mark.parametrize("vector", ["auto", "none"])
def test_numbers_that_differ_are_read(tmp_path: Path, vector: str) -> None:
    _, text = built(program(NUMBERS), tmp_path, vector=vector)
    assert len(kernels(text)) == 1 and len(re.findall(r"\btvmgen_\w+\(", text)) == 1 + len(NUMBERS)
    assert "a_min=..., a_max=100" in text
    assert "12.0f" in text and "0.031" not in text.split("/* In front of each weight")[0]


def test_two_are_not_worth_it(tmp_path: Path) -> None:
    assert len(kernels(built(program(NUMBERS[:2]), tmp_path)[1])) == 2


def test_what_is_another_operation_stays_apart(tmp_path: Path) -> None:
    others = ["{call}", "nn.relu({call})", "negative({call})"]
    calls = [others[n % 3].format(call=LAYER.format(n=n, scale=n + 2, shift=n + 1, low=-n - 1)) for n in range(9)]
    params = ", ".join(f"%x{n}: Tensor[(5, 33), float32]" for n in range(9))
    module = irtool.parse(f"{V}def @main({params}) {{ ({', '.join(calls)}) }}")
    assert len(kernels(built(module, tmp_path)[1])) == 3


def test_shifts_and_shapes_stay_as_they_are(tmp_path: Path) -> None:
    """Places in memory and numbers of bits are no numbers to be read."""
    params = ", ".join(f"%x{n}: Tensor[(5, 33), int32]" for n in range(4))
    calls = [f"right_shift(%x{n}, {n + 1})" for n in range(4)]
    module = irtool.parse(f"{V}def @main({params}) {{ ({', '.join(calls)}) }}")
    irtool.build(module, name="net", emit="c", out_dir=tmp_path, mcpu="x86-64-v3")
    assert len(kernels((tmp_path / "net.c").read_text())) == 4


def test_layers_of_a_quantized_network_are_one(tmp_path: Path) -> None:
    """A chain of products, each with scales and zero points of its own."""
    random = np.random.default_rng(1)
    body = "".join(f"  %{n} = nn.relu(nn.dense({f'%{n - 1}' if n else '%x'}, %w{n}, units=64));\n" for n in range(6))
    params = ", ".join(f"%w{n}: Tensor[(64, 64), float32]" for n in range(6))
    module = irtool.parse(f"{V}def @main(%x: Tensor[(8, 64), float32], {params}) {{\n{body}  %5\n}}")
    weights = {f"w{n}": (random.normal(size=(64, 64)) * (0.1 + 0.02 * n)).astype("float32") for n in range(6)}
    x = random.normal(size=(8, 64)).astype("float32")
    quantized = irtool.quantize(module, weights, {"x": x}, irtool.QuantizeOptions(report=False))
    expected = irtool.evaluate(quantized.module, {"x": x, **quantized.params})
    artifact = irtool.build(quantized.module, quantized.params, name="net", out_dir=tmp_path, cflags="-O1")
    np.testing.assert_allclose(artifact.run([x]), expected, atol=np.abs(expected).max() / 100)
    alone = irtool.build(quantized.module, quantized.params, name="net", vector="none", cflags="-O1").run([x])
    np.testing.assert_array_equal(artifact.run([x]), alone)
    assert len(kernels((tmp_path / "net.c").read_text())) <= 4
