"""Networks on Cortex-M cores: what the emulated board gives is what the interpreter gives, bit by bit, of integers."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.backends.formulas.runs import dot_of
from irtool.backends.formulas.support import Helper, definitions
from irtool.backends.instructions.row import SUMS
from irtool.passes.core.bind import bind_params
from irtool.tir.int8_dot import LONG, meaning
from tests.backends.bundle import Bundle, assert_close
from tests.backends.dots import CASES, V, by_the_loop, numbers, program
from tests.backends.instructions import Way, arm_loops, compile_program, require, run_program
from tests.backends.microcontrollers import BOARDS, CC

Case = tuple[irtool.Module, np.ndarray, np.ndarray]
"""A module of `x` and `w`, and values for them."""


def on_board(name: str, cases: Sequence[Case], folder: Path) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """What modules give on the board, their weights bound, and what they give in the interpreter."""
    board = BOARDS[name]
    require(CC, board.emulator)
    bundle = Bundle(folder, mcpu=board.mcpu, cc=CC, cflags=f"-mthumb -mfloat-abi={board.floats}")
    want = []
    for module, x, w in cases:
        bundle.add(bind_params(module, {"w": w}), [x])
        want.append(np.asarray(irtool.evaluate(module, {"x": x, "w": w})))
    board.prepare(folder)
    got = bundle.run(["-O2", *board.flags], cc=CC, prefix=board.emulator.split())
    return [y for outputs in got for y in outputs], want


@pytest.mark.parametrize("name", BOARDS)
def test_products_of_bytes_are_those_of_the_interpreter(name: str, tmp_path: Path) -> None:
    cases = []
    for n, case in enumerate(CASES):
        kinds = [("uint8", "int8"), ("int8", "int8"), ("uint8", "uint8"), ("int8", "uint8")]
        for a, b in [kinds[0]] if case == "two layers" else [kinds[1], kinds[n % 4]]:
            cases.append(program(case, a, b))
    for g, w in zip(*on_board(name, cases, tmp_path), strict=True):
        np.testing.assert_array_equal(g, w)


@pytest.mark.parametrize("name", BOARDS)
def test_a_quantized_network_and_floats_run(name: str, tmp_path: Path) -> None:
    """A convolution whose results are scaled to bytes, as quantized networks have it, a pool, and a layer of floats."""
    g = np.random.default_rng(0)
    network = f"""{V}def @main(%x: Tensor[(1, 8, 12, 12), int8], %w: Tensor[(16, 8, 3, 3), int8]) {{
      %0 = qnn.conv2d(%x, %w, 3, 0, 0.05f, 0.02f, padding=[1, 1], channels=16, kernel_size=[3, 3], out_dtype="int32");
      %1 = qnn.requantize(%0, 0.001f, 0, 0.5f, -5, out_dtype="int8");
      nn.max_pool2d(%1, pool_size=[2, 2], strides=[2, 2])
    }}"""
    layer = f"{V}def @main(%x: Tensor[(3, 40), float32], %w: Tensor[(10, 40), float32]) {{ nn.softmax(nn.dense(%x, %w, units=10)) }}"
    cases = [
        (network, numbers("int8", 8 * 144, 1).reshape(1, 8, 12, 12), numbers("int8", 16 * 72, 2).reshape(16, 8, 3, 3)),
        (layer, g.standard_normal((3, 40)).astype("float32"), g.standard_normal((10, 40)).astype("float32")),
    ]
    got, want = on_board(name, [(irtool.infer_types(irtool.parse(text)), x, w) for text, x, w in cases], tmp_path)
    assert_close(got, want, 1e-5)


@pytest.mark.parametrize("name", BOARDS)
def test_convolutions_of_groups_are_those_of_the_interpreter(name: str, tmp_path: Path) -> None:
    """Of one word, of one and a half and two long ones."""
    cases = []
    for n, (each, out, groups) in enumerate([(4, 4, 6), (12, 8, 3), (16, 16, 2)]):
        text = f"""{V}def @main(%x: Tensor[(1, {each * groups}, 9, 9), int8], %w: Tensor[({out * groups}, {each}, 3, 3), int8]) {{
          %0 = qnn.conv2d(%x, %w, 3, 0, 0.05f, 0.02f, padding=[1, 1], groups={groups}, channels={out * groups}, kernel_size=[3, 3],
                          out_dtype="int32");
          qnn.requantize(%0, 0.001f, 0, 0.5f, -5, out_dtype="int8")
        }}"""
        x = numbers("int8", each * groups * 81, 2 * n).reshape(1, each * groups, 9, 9)
        w = numbers("int8", out * groups * each * 9, 2 * n + 1).reshape(out * groups, each, 3, 3)
        cases.append((irtool.infer_types(irtool.parse(text)), x, w))
    for g, w in zip(*on_board(name, cases, tmp_path), strict=True):
        np.testing.assert_array_equal(g, w)


RESULTS = {
    "divided": "divide(%0, 7)",
    "in 16 bits": 'cast(clip(%0, a_min=-3e4f, a_max=3e4f), dtype="int16")',
    "as floats": 'multiply(cast(%0, dtype="float32"), 0.5f)',
    "beside another": 'add(%0, cast(%x, dtype="int32"))',
}


@pytest.mark.parametrize("name", BOARDS)
def test_what_follows_sums_is_that_of_the_interpreter(name: str, tmp_path: Path) -> None:
    """Operators with vectors and without, of results whose channels full vectors divide, and others."""
    cases = []
    for n, (text, channels) in enumerate([(text, c) for text in RESULTS.values() for c in (32, 30)]):
        weights = (channels, 32, 1, 1)
        text = (
            text
            if channels == 32
            else text.replace("%x", "strided_slice(%x, begin=[0, 0], end=[1, 30], strides=[1, 1], axes=[0, 1])")
        )
        network = f"""{V}def @main(%x: Tensor[(1, 32, 5, 5), int8], %w: Tensor[{weights}, int8]) {{
          %0 = nn.conv2d(%x, %w, channels={channels}, kernel_size=[1, 1], out_dtype="int32");
          {text}
        }}"""
        x, w = numbers("int8", 800, n).reshape(1, 32, 5, 5), numbers("int8", channels * 32, n + 9).reshape(weights)
        cases.append((irtool.infer_types(irtool.parse(network)), x, w))
    for g, w in zip(*on_board(name, cases, tmp_path), strict=True):
        np.testing.assert_array_equal(g, w)


@pytest.mark.parametrize("name", BOARDS)
def test_depthwise_windows_between_sums_are_those_of_the_interpreter(name: str, tmp_path: Path) -> None:
    """Data of both signs with zero points, which a reader subtracts from what is stored in 8 bits."""
    cases = []
    for n, (dtype, channels, zero) in enumerate([("int8", 32, -128), ("uint8", 24, 7), ("int8", 12, 0)]):
        text = f"""{V}def @main(%x: Tensor[(1, 16, 7, 7), {dtype}], %w: Tensor[({channels}, 16, 1, 1), int8]) {{
          %0 = qnn.conv2d(%x, %w, {zero}, 0, 0.05f, 0.02f, channels={channels}, kernel_size=[1, 1], out_dtype="int32");
          %1 = qnn.requantize(%0, 0.001f, 0, 0.5f, {zero}, out_dtype="{dtype}");
          %2 = qnn.conv2d(%1, meta[relay.Constant][0], {zero}, 0, 0.5f, 0.02f, padding=[1, 1], groups={channels}, channels={channels},
                          kernel_size=[3, 3], out_dtype="int32");
          %3 = qnn.requantize(%2, 0.01f, 0, 0.5f, {zero}, out_dtype="{dtype}");
          nn.avg_pool2d(cast(%3, dtype="int32"), pool_size=[7, 7])
        }}"""
        taps = numbers("int8", channels * 9, n).reshape(channels, 1, 3, 3)
        x, w = numbers(dtype, 784, 2 * n).reshape(1, 16, 7, 7), numbers("int8", channels * 16, n + 5)
        module = irtool.parse(
            text.replace("meta[relay.Constant][0]", "%taps").replace(
                "%w: T", f"%taps: Tensor[{taps.shape}, int8], %w: T"
            )
        )
        module = irtool.infer_types(bind_params(module, {"taps": taps}))
        cases.append((module, x, w.reshape(channels, 16, 1, 1)))
    for g, w in zip(*on_board(name, cases, tmp_path), strict=True):
        np.testing.assert_array_equal(g, w)


PATHS = {
    "portable": Way("gcc", "", [], "", "", 1),
    "without vectors": Way.on("Cortex-M33", "smlad", 1),
    "Helium": Way.on("Cortex-M55", "vmladava", 1),
}


@pytest.mark.parametrize("path", PATHS)
def test_sums_of_sixteen_products_are_those_of_their_loops(path: str, tmp_path: Path) -> None:
    """Twice eight products; of the second operand also eight and as many zeros."""
    way, many = PATHS[path], 30
    require(way.cc, way.emulator)
    start = np.random.default_rng(1).integers(-(2**31), 2**31, many).astype("int32")
    start[::5], start[1::5] = 2**31 - 1, -(2**31)
    calls, data, want = [], [start.tobytes()], []
    for n, (name, signs) in enumerate(SUMS.items()):
        a, b = (numbers(d, many * 2 * LONG, 10 * n + k).reshape(many, 2, LONG) for k, d in enumerate(signs))
        data += [a.tobytes(), b.tobytes()]
        dot = dot_of(name)
        half = by_the_loop(meaning(dot), start, a[:, 0], b[:, 0])
        want += [by_the_loop(meaning(dot), half, a[:, 1], b[:, 1]), half]
        for read in ("bytes", "half"):
            first, second = (f"irt_{read if k else 'bytes'}_at(d[{2 * n + k}][k])" for k in (0, 1))
            calls.append(f"  for (k = 0; k < {many}; ++k) y[k] = irt_{name}(s[k], {first}, {second});")
            calls.append(f"  fwrite(y, 4, {many}, stdout);")
    lines = definitions([Helper(name) for name in SUMS])
    lines += [f"static int32_t s[{many}], y[{many}];", f"static int64_t d[{2 * len(SUMS)}][{many}][2];"]
    lines += ["int main(void) {", "  int k;", f"  if (fread(s, 4, {many}, stdin) != {many}) return 1;"]
    lines += ["  if (fread(d, sizeof d, 1, stdin) != 1) return 1;", *calls, "  return 0;", "}"]
    compile_program(way, lines, tmp_path)
    got = run_program(way, b"".join(data), tmp_path)
    np.testing.assert_array_equal(np.frombuffer(got, "int32"), np.concatenate(want))


LAYERS = {
    "dense": ((64, 256), (48, 256), 'nn.dense(%x, %w, units=48, out_dtype="int32")'),
    "one row": ((1, 1024), (48, 1024), 'nn.dense(%x, %w, units=48, out_dtype="int32")'),
    "convolution": ((1, 256, 12, 12), (48, 256, 3, 3), 'nn.conv2d(%x, %w, padding=[1, 1], out_dtype="int32")'),
}


@pytest.mark.parametrize("layer", LAYERS)
def test_the_hottest_loop_of_helium(layer: str, tmp_path: Path) -> None:
    """A step of four sums reads at most five vectors; nothing is put aside."""
    require(CC, "")
    data, weights, call = LAYERS[layer]
    text = f"{V}def @main(%x: Tensor[{data}, int8], %w: Tensor[{weights}, int8]) {{ {call} }}"
    w = numbers("int8", int(np.prod(weights)), 1).reshape(weights)
    artifact = irtool.build(
        irtool.parse(text), {"w": w}, name="net", emit="c", out_dir=tmp_path, mcpu="cortex-m55", cc=CC, weights="file",
        cflags="-mthumb -mfloat-abi=hard",
    )  # fmt: skip
    line = artifact.report["compile"].split(" -c ")[0]
    subprocess.run([*line.split(), "-S", "-o", "net.s", "net.c"], cwd=tmp_path, check=True)
    loops = [x for x in arm_loops((tmp_path / "net.s").read_text()) if any("vmladava" in y for y in x)]
    hottest = min(loops, key=lambda lines: len(lines) / sum("vmladava" in x for x in lines))
    sums, reads = sum("vmladava" in x for x in hottest), sum(x.startswith("vldr") for x in hottest)
    assert sums % 4 == 0 and reads <= 5 * sums / 4 and len(hottest) <= 4 * sums, hottest
    assert not any("vstr" in x for x in hottest), hottest
