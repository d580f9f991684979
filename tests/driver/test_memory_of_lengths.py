"""The memory of networks with lengths: its formula, the length and the buffer that decide it, and that of builds pinned to a length."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.driver.lifetimes import LiveBuffer, has_lengths, peak_of
from irtool.symbolic_int import Symbol, extent_of, value_at
from tests.command_line import irtool as irtool_command
from tests.driver.lengths import NETWORKS, Network
from tests.driver.programs import parse

ROWS = """#[version = "0.0.5"]
def @main(%x: Tensor[(?, ?, 64), float32], %w: Tensor[(48, 64), float32], %v: Tensor[(96, 48), float32],
          input_dim_names=[["batch", "seq", ""]]) {
  %0 = nn.relu(nn.dense(reshape(%x, newshape=[-1, 64]), %w, units=48));
  reshape(nn.softmax(nn.dense(%0, %v, units=96)), newshape=[-1, 2, 96])
}
"""


def arena(network: Network, extent: int | str) -> int:
    shapes = {x: tuple(extent if d == "n" else d for d in s) for x, s in network.shapes.items()}
    return irtool.build(parse(network.text), network.params(), shapes=shapes, emit="tir").arena_bytes


@pytest.mark.parametrize(
    "name", ["branch", "softmax", "joined", "convolution", "image", "enlarged", "masked attention"]
)
def test_the_arena_at_a_bound_is_that_of_a_build_pinned_to_it(name: str) -> None:
    bounded = arena(NETWORKS[name], "n<=200")
    assert 0 < bounded <= 1.02 * arena(NETWORKS[name], 200)


def test_the_listing_has_the_formula_what_decides_it_and_a_point(tmp_path: Path) -> None:
    path = tmp_path / "net.relay"
    path.write_text(ROWS)
    memory = ["info", "--memory", "--target", "c{mcpu=none}", path]
    code, out, messages = irtool_command(*memory, "--dim", "batch<=4", "--dim", "2<=seq<=100:2")
    assert code == 0, messages
    assert "at most 230400 bytes in use (step 1), decided by batch and seq" in out
    assert "for any length: 576 * seq * batch bytes, and what alignment to 64 adds" in out
    assert "66 % of it: t2 [seq * batch, 96]" in out and "230400 bytes of arena, 230400 of them alive" in out
    assert "reshape" not in out.partition("compiled:")[2]  # two lengths become one in place
    code, out, _ = irtool_command(*memory, "--dim", "batch=2", "--dim", "seq=64")
    assert code == 0 and f"{576 * 2 * 64} bytes of arena" in out and "for any length" not in out
    code, out, _ = irtool_command(*memory, "--dim", "batch=2,seq")
    assert code == 0 and "1152 * seq bytes of arena" in out and "seq, from 1 on" in out
    code, out, _ = irtool_command(*memory, "--dim", "batch=1|4,seq=8")
    assert code == 0 and "a run decides batch: 1 or 4, each with kernels of its own" in out


@pytest.mark.parametrize("seed", range(20))
def test_the_formula_is_the_most_of_all_steps(seed: int) -> None:
    g = random.Random(seed)
    n = Symbol("n", 1, 64)
    sizes = [64 * extent_of(n), 4096, extent_of(n) * extent_of(n) * 4, 320, 64 * extent_of(n) + 128]
    buffers = []
    for k in range(8):
        first = g.randrange(6)
        buffers.append(LiveBuffer(f"b{k}", "int8", (), k << 20, g.choice(sizes), first, first + g.randrange(3)))
    peak = peak_of(buffers)
    assert peak is not None
    for length in (1, 2, 7, 30, 64):
        alive = [sum(value_at(b.size, {n: length}) for b in buffers if b.first <= s <= b.last) for s in range(9)]
        assert max(value_at(f, {n: length}) for f in peak.formulas) == max(alive)
        if length == 64:
            assert peak.nbytes == max(alive) == alive[peak.step]
            assert peak.largest in buffers and peak.largest.first <= peak.step <= peak.largest.last
    assert has_lengths(buffers) == any(not isinstance(b.size, int) or str(b.size).find("n") >= 0 for b in buffers)


def test_values_in_one_place_count_once() -> None:
    a = LiveBuffer("a", "int8", (), 0, 640, 0, 1)
    b = LiveBuffer("b", "int8", (), 0, 640, 1, 2)
    c = LiveBuffer("c", "int8", (), 640, 64, 1, 1)
    peak = peak_of([a, b, c])
    assert peak is not None and (peak.step, peak.nbytes, peak.text) == (1, 704, "704")
    assert peak_of([]) is None


def test_the_parentheses_of_a_sum_are_left_out_and_those_of_a_product_stay() -> None:
    n = extent_of(Symbol("n", 1, 64))
    quarters = (n + 3) // 4

    def text(formula: int) -> str:
        peak = peak_of([LiveBuffer("a", "int8", (), 0, formula, 0, 0)])
        assert peak is not None
        return peak.text

    assert text(quarters * quarters) == str(quarters * quarters)
    assert text(n * quarters) == str(n * quarters)
    assert f"({text(4 * n + 64)})" == str(4 * n + 64)
    assert text(4 * n) == "4 * n"


CONVOLUTIONS = {
    "same": ("padding=[1, 1, 1, 1], channels=16, kernel_size=[3, 3]", (16, 16, 3, 3)),
    "strides": ("strides=[2, 2], padding=[0, 0, 1, 1], channels=16, kernel_size=[3, 3]", (16, 16, 3, 3)),
    "depthwise": ("padding=[2, 1, 2, 1], channels=16, groups=16, kernel_size=[5, 3]", (16, 1, 5, 3)),
    "dilated": ("padding=[2, 2, 2, 2], dilation=[2, 2], channels=16, kernel_size=[3, 3]", (16, 16, 3, 3)),
}


@pytest.mark.parametrize(
    ("height", "heights"), [("h<=192:4", (4, 8, 12, 192)), ("h<=192", (1, 2, 3, 13, 31, 191, 192))]
)
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_padded_images_are_copied_in_bands(height: str, heights: tuple[int, ...], name: str, tmp_path: Path) -> None:
    """A copy of the whole image would take 12 times the memory. The last band may have fewer rows."""
    attrs, shape = CONVOLUTIONS[name]
    module = parse(
        f"def @main(%x: Tensor[(1, 16, ?, ?), float32], %w: Tensor[{shape}, float32]) {{"
        f" nn.relu(nn.conv2d(%x, %w, {attrs})) }}"
    )
    g = np.random.RandomState(0)
    w = g.randn(*shape).astype("float32")
    options: Any = {"params": {"w": w}, "flags": {"winograd": "off"}, "name": "net"}
    pinned = irtool.build(module, shapes={"x": (1, 16, 192, 192)}, emit="c", **options)
    open_build = irtool.build(module, shapes={"x": (1, 16, height, "v<=192")}, out_dir=tmp_path, **options)
    # Register tiles of several rows, as depthwise ones have, fit only in bands of whole tiles.
    if name != "depthwise" or ":" in height:
        assert open_build.arena_bytes <= max(1.02 * pinned.arena_bytes, 16 * 192 * 192)
    for h, width in zip(heights, (1, 7, 192, 5, 1, 16, 3), strict=False):
        x = g.randn(1, 16, h, width).astype("float32")
        expected = irtool.evaluate(module, {"x": x, "w": w})
        np.testing.assert_allclose(open_build.run({"x": x}), expected, rtol=1e-4, atol=1e-4)
