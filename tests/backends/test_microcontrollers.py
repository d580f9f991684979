"""Networks on Cortex-M cores: what the emulated board gives is what the interpreter gives, bit by bit, of integers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.passes.bind import bind_params
from tests.backends.bundle import Bundle, assert_close
from tests.backends.instructions import require
from tests.backends.microcontrollers import BOARDS, CC
from tests.backends.test_dots import CASES, V, numbers, program


@pytest.mark.parametrize("name", BOARDS)
def test_products_of_bytes_are_those_of_the_interpreter(name: str, tmp_path: Path) -> None:
    board = BOARDS[name]
    require(CC, board.emulator)
    bundle, want = Bundle(tmp_path, mcpu=board.mcpu, cc=CC, cflags=f"-mthumb -mfloat-abi={board.floats}"), []
    for n, case in enumerate(CASES):
        kinds = [("uint8", "int8"), ("int8", "int8"), ("uint8", "uint8"), ("int8", "uint8")]
        for a, b in [kinds[0]] if case == "two layers" else [kinds[1], kinds[n % 4]]:
            module, x, w = program(case, a, b)
            bundle.add(bind_params(module, {"w": w}), [x])
            want.append(np.asarray(irtool.evaluate(module, {"x": x, "w": w})))
    board.prepare(tmp_path)
    got = bundle.run(["-O2", *board.flags], cc=CC, prefix=board.emulator.split())
    for g, w in zip((y for outputs in got for y in outputs), want, strict=True):
        np.testing.assert_array_equal(g, w)


@pytest.mark.parametrize("name", BOARDS)
def test_a_quantized_network_and_floats_run(name: str, tmp_path: Path) -> None:
    """A convolution whose results are scaled to bytes, as quantized networks have it, a pool, and a layer of floats."""
    board = BOARDS[name]
    require(CC, board.emulator)
    g = np.random.default_rng(0)
    network = f"""{V}def @main(%x: Tensor[(1, 8, 12, 12), int8], %w: Tensor[(16, 8, 3, 3), int8]) {{
      %0 = qnn.conv2d(%x, %w, 3, 0, 0.05f, 0.02f, padding=[1, 1], channels=16, kernel_size=[3, 3], out_dtype="int32");
      %1 = qnn.requantize(%0, 0.001f, 0, 0.5f, -5, out_dtype="int8");
      nn.max_pool2d(%1, pool_size=[2, 2], strides=[2, 2])
    }}"""
    layer = f"{V}def @main(%x: Tensor[(3, 40), float32], %w: Tensor[(10, 40), float32]) {{ nn.softmax(nn.dense(%x, %w, units=10)) }}"
    bundle, want = Bundle(tmp_path, mcpu=board.mcpu, cc=CC, cflags=f"-mthumb -mfloat-abi={board.floats}"), []
    for text, x, w in (
        (network, numbers("int8", 8 * 144, 1).reshape(1, 8, 12, 12), numbers("int8", 16 * 72, 2).reshape(16, 8, 3, 3)),
        (layer, g.standard_normal((3, 40)).astype("float32"), g.standard_normal((10, 40)).astype("float32")),
    ):
        module = irtool.infer_types(irtool.parse(text))
        bundle.add(bind_params(module, {"w": w}), [x])
        want.append(np.asarray(irtool.evaluate(module, {"x": x, "w": w})))
    board.prepare(tmp_path)
    got = bundle.run(["-O2", *board.flags], cc=CC, prefix=board.emulator.split())
    assert_close([y for outputs in got for y in outputs], want, 1e-5)
