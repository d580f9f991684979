"""Constant weights whose products in pairs fit into 16 bits: `pmaddubsw` multiplies them, exactly up to the edge, and no others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.backends.llvm.tools import Clang
from irtool.passes.core.bind import bind_params
from irtool.schedule.instructions.narrow_weights import MOST, fit_in_pairs
from tests.backends.dots import V
from tests.backends.instructions import FLAGS, X86

EDGES = {
    "127 and 1": (127, 1, True),
    "-128": (-128, 0, True),
    "64 and 64": (64, 64, True),
    "-64 and -64": (-64, -64, True),
    "both signs": (127, -128, True),
    "127 and 2": (127, 2, False),
    "65 and 64": (65, 64, False),
    "-128 and -1": (-128, -1, False),
}
LAYERS = {
    "dense": ((64, 256), (192, 256), "nn.dense(%x, %w, units=192, out_dtype=\"int32\")"),
    "one row": ((1, 256), (192, 256), "nn.dense(%x, %w, units=192, out_dtype=\"int32\")"),
    "odd": ((16, 103), (40, 103), "nn.dense(%x, %w, units=40, out_dtype=\"int32\")"),
    "padded": ((1, 64, 10, 10), (64, 64, 3, 3), "nn.conv2d(%x, %w, padding=[1, 1], out_dtype=\"int32\")"),
}  # fmt: skip
needs_x86 = pytest.mark.skipif(not X86, reason="instructions of x86")


def weights(shape: tuple[int, ...], pair: tuple[int, int], axis: int = 1) -> np.ndarray:
    """Equal pairs along an axis."""
    index = np.arange(shape[axis]).reshape([-1 if n == axis else 1 for n in range(len(shape))])
    return np.broadcast_to(np.where(index % 2, pair[1], pair[0]), shape).astype("int8")


def build(
    layer: str, w: np.ndarray, dtype: str, folder: Path, target: str, bound: bool = True
) -> tuple[object, np.ndarray, str]:
    """The built layer, what it gives for data of extreme numbers by the interpreter, and its source; of run-time weights, none."""
    data, shape, call = LAYERS[layer]
    module = irtool.infer_types(
        irtool.parse(f"{V}def @main(%x: Tensor[{data}, {dtype}], %w: Tensor[{shape}, int8]) {{ {call} }}")
    )
    module = bind_params(module, {"w": w}, "main") if bound else module
    limits = np.iinfo(dtype)
    x = np.full(data, limits.max, dtype)
    x.flat[::7] = limits.min
    built = irtool.build(module, name="net", out_dir=folder, target=target)
    source = next(p for p in (folder / "net.c", folder / "net.ll") if p.is_file()).read_text()
    want = np.asarray(irtool.evaluate(module, [x] if bound else [x, w]))
    if "avx2" in FLAGS:
        got = np.asarray(built.run([x] if bound else [x, w]))
        np.testing.assert_array_equal(got, want)
    return built, want, source


@pytest.mark.parametrize("edge", EDGES)
def test_the_edge(edge: str) -> None:
    first, second, fits = EDGES[edge]
    assert MOST == 128 and fit_in_pairs(weights((3, 8), (first, second)), 1) == fits
    assert fit_in_pairs(weights((8, 3), (first, second), 0), 0) == fits
    one = np.zeros((4, 7), "int8")
    one[2, 4:6] = first, second
    assert fit_in_pairs(one, 1) == fits
    one[2, 5:7], one[2, 4] = (first, second), 0  # of two pairs
    assert fit_in_pairs(one, 1)
    sums = 255 * max(first, 0) + 255 * max(second, 0), 255 * min(first, 0) + 255 * min(second, 0)
    assert (sums[1] >= -(2**15) and sums[0] < 2**15) == fits


@needs_x86
@pytest.mark.parametrize("edge", EDGES)
def test_sums_are_exact_at_the_edge(edge: str, tmp_path: Path) -> None:
    first, second, fits = EDGES[edge]
    w = weights(LAYERS["dense"][1], (first, second))
    _, _, source = build("dense", w, "uint8", tmp_path, "c{mcpu=x86-64-v3}")
    assert ("irt_vdot4_u8s7" in source) == fits


@needs_x86
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("layer", LAYERS)
def test_layers_of_narrow_weights(layer: str, dtype: str, tmp_path: Path) -> None:
    """Signed data are shifted by 128; padding is that then."""
    w = np.random.default_rng(1).integers(-64, 65, LAYERS[layer][1]).astype("int8")
    targets = ["c{mcpu=x86-64-v3,blocked_updates=1}", "c{mcpu=x86-64-v2,blocked_updates=1}"]
    if Clang.find("", "native", "", False, "") is not None:
        targets.append("llvm{mcpu=x86-64-v3,blocked_updates=1}")
    for n, target in enumerate(targets):
        _, _, source = build(layer, w, dtype, tmp_path / str(n), target)
        assert "irt_vdot4_u8s7" in source and "pmadd" in source, target


@needs_x86
def test_of_the_weights_of_a_run_nothing_is_known(tmp_path: Path) -> None:
    w = np.zeros(LAYERS["dense"][1], "int8")
    _, _, source = build("dense", w, "uint8", tmp_path, "c{mcpu=x86-64-v3}", bound=False)
    assert "u8s7" not in source


@needs_x86
def test_processors_with_a_better_instruction_do_not_ask(tmp_path: Path) -> None:
    w = np.zeros(LAYERS["dense"][1], "int8")
    text = f"{V}def @main(%x: Tensor[(64, 256), uint8], %w: Tensor[(192, 256), int8]) {{ {LAYERS['dense'][2]} }}"
    for mcpu in ("alderlake", "icelake-server"):
        irtool.build(irtool.parse(text), {"w": w}, name="m", out_dir=tmp_path, mcpu=mcpu, emit="c")
        assert "u8s7" not in (tmp_path / "m.c").read_text()
