"""Temporaries stored before they are widened, on processors with little memory."""

from __future__ import annotations

import numpy as np
import pytest

import irtool

LITTLE = "c{vector=none,stack_bytes=2048}"
HEAD = '#[version = "0.0.5"]\n'
CONV = """  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3], out_dtype="int32");
  %1 = cast(clip(right_shift(%0, 6), a_min=0f, a_max=255f), dtype="uint8");
"""
PARAMS = "%x: Tensor[(1, 8, 9, 7), int8], %w: Tensor[(8, 8, 3, 3), int8]"
ZERO = "meta[relay.Constant][0] /* ty=Tensor[(1), int32] */"

MODULES = {
    "conversion": (f"def @main({PARAMS}) {{\n{CONV}  nn.max_pool2d(cast(%1, dtype=\"int16\"), pool_size=[3, 3]) }}", "uint8"),
    "arithmetic, read once": (
        f"def @main({PARAMS}) {{\n{CONV}  sum(multiply(subtract(cast(%1, dtype=\"int32\"), 3), 5), axis=[2, 3]) }}",
        "uint8",
    ),
    "arithmetic in an epilogue": (
        f"def @main({PARAMS}) {{\n{CONV}  %2 = subtract(cast(%1, dtype=\"int32\"), 9);\n"
        "  add(nn.conv2d(nn.relu(%x), %w, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3], out_dtype=\"int32\"), %2) }",
        "uint8",
    ),
    "arithmetic, read often": (
        f"def @main({PARAMS}) {{\n{CONV}  %2 = multiply(subtract(cast(%1, dtype=\"int32\"), 3), 5);\n"
        "  nn.max_pool2d(%2, pool_size=[3, 3]) }",
        "int32",
    ),
    "two operands": (
        f"def @main({PARAMS}) {{\n{CONV}  %2 = add(cast(%1, dtype=\"int32\"), cast(%x, dtype=\"int32\"));\n"
        "  nn.max_pool2d(%2, pool_size=[9, 7]) }",
        "int32",
    ),
}  # fmt: skip


def inputs() -> list[np.ndarray]:
    g = np.random.default_rng(3)
    return [g.integers(-128, 128, shape, dtype="int8") for shape in ((1, 8, 9, 7), (8, 8, 3, 3))]


@pytest.mark.parametrize("name", MODULES)
def test_results_and_types(name: str) -> None:
    text, dtype = MODULES[name]
    module = irtool.parse(HEAD + text)
    artifact = irtool.build(module, target=LITTLE)
    values = inputs()
    np.testing.assert_array_equal(artifact.run(values), irtool.evaluate(module, values))
    image = [b for b in artifact.report["buffers"] if b["shape"] == [1, 8, 9, 7] and "." not in b["name"]]
    assert any(b["dtype"] == dtype for b in image) and (dtype == "int32" or all(b["bytes"] == 504 for b in image))


def test_zero_points_of_one_element() -> None:
    """A constant of one element is a number; the reader computes with it."""
    text = f'def @main({PARAMS}, %z: Tensor[(1), int32]) {{\n{CONV}  sum(subtract(cast(%1, dtype="int32"), %z), axis=[2, 3]) }}'
    module = irtool.parse(HEAD + text)
    zero = np.array([77], "int32")
    artifact = irtool.build(module, {"z": zero}, LITTLE)
    values = inputs()
    np.testing.assert_array_equal(artifact.run(values), irtool.evaluate(module, [*values, zero]))
    assert [b["dtype"] for b in artifact.report["buffers"] if b["shape"] == [1, 8, 9, 7]] == ["uint8"]


def test_processors_with_much_memory_store_the_result() -> None:
    text, _ = MODULES["arithmetic, read once"]
    report = irtool.build(irtool.parse(HEAD + text), target="c{vector=none}", emit="tir").report
    assert "int32" in {b["dtype"] for b in report["buffers"]}
