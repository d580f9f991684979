"""Operands copied with another axis innermost, for products of which no vector of results reads all operands side by side."""

from __future__ import annotations

import math

import numpy as np
import pytest

import irtool
from irtool.driver.prepare import prepare
from irtool.ir.values import value_leaves
from irtool.lower import lower_module
from irtool.passes.core.bind import bind_params
from irtool.passes.legalize import WEIGHT_GRADIENTS
from irtool.schedule import VectorTarget, schedule_program, without
from irtool.schedule.windows.padded_copy import writes_whole
from irtool.tir.expr import Expr, Var, const
from irtool.tir.forms import Loop, Map
from irtool.tir.program import Program
from irtool.tir.stmt import Buffer, Store

V = '#[version = "0.0.5"]\n'
BACKWARD = 'nn.conv2d_backward_weight(%x, %y, kernel_size=[{0}, {0}], kernel_layout="NCHW", out_layout="OIHW"{1})'
CASES = {
    "weights of a convolution": (BACKWARD.format(3, ", padding=[1, 1]"), (2, 24, 12, 12), (2, 16, 12, 12)),
    "strided": (BACKWARD.format(3, ", padding=[1, 1], strides=[2, 2]"), (2, 24, 6, 6), (2, 16, 12, 12)),
    "dilated": (BACKWARD.format(3, ", padding=[2, 2], dilation=[2, 2]"), (2, 24, 12, 12), (2, 16, 12, 12)),
    "groups": (BACKWARD.format(3, ", padding=[1, 1], groups=2"), (2, 32, 12, 12), (2, 16, 12, 12)),
    "1 x 1": (BACKWARD.format(1, ""), (3, 64, 12, 12), (3, 65, 12, 12)),
    "many rows of both": ("nn.dense(%x, %y, units=40)", (300, 200), (40, 200)),
    "sums of rows with each other": ("sum(expand_dims(%x, axis=1) * expand_dims(%y, axis=0), axis=[2, 3])", (64, 9, 16), (64, 9, 16)),
}  # fmt: skip

STRIDED = {
    "odd windows": ("nn.conv2d(%x, %y, padding=[1, 1], strides=[2, 2])", (2, 8, 32, 32), (64, 8, 3, 3)),
    "long windows": ("nn.conv2d(%x, %y, padding=[3, 3], strides=[2, 2])", (1, 3, 32, 32), (64, 3, 7, 7)),
    "of two columns": ("nn.conv2d(%x, %y, strides=[1, 2])", (1, 8, 12, 33), (64, 8, 1, 2)),
    "1 x 1": ("nn.conv2d(%x, %y, strides=[2, 2])", (1, 16, 33, 33), (64, 16, 1, 1)),
    "dilated": ("nn.conv2d(%x, %y, padding=[2, 2], strides=[2, 2], dilation=[2, 2])", (1, 8, 32, 32), (64, 8, 3, 3)),
    "one axis": ("nn.conv1d(%x, %y, padding=[2, 2], strides=[2])", (2, 16, 128), (64, 16, 5)),
    "volumes": ("nn.conv3d(%x, %y, padding=[1, 1, 1], strides=[2, 2, 2])", (1, 4, 16, 16, 16), (64, 4, 3, 3, 3)),
}  # fmt: skip
# Stages before the sum that write a part of its operand, or write it in another order: a copy does not take their place.
PRODUCED = {
    "two images": ("nn.conv2d(concatenate((%x, nn.relu(%x)), axis=1), %y, strides=[2, 2])", (2, 4, 32, 32), (64, 8, 3, 3)),
    "two columns": ("nn.conv2d(concatenate((%x, nn.relu(%x)), axis=3), %y, strides=[1, 2])", (2, 8, 16, 16), (64, 8, 3, 3)),
    "wider padding": ("nn.conv2d(nn.pad(%x, 0f, pad_width=[[0, 0], [0, 0], [1, 2], [3, 0]]), %y, strides=[2, 2])", (2, 8, 32, 32), (64, 8, 3, 3)),
    "a transpose": ("nn.conv2d(transpose(%x, axes=[0, 1, 3, 2]), %y, strides=[2, 2])", (2, 8, 32, 32), (64, 8, 3, 3)),
    "a slice": ("nn.conv2d(strided_slice(%x, begin=[0, 0, 1, 0], end=[2, 8, 30, 32], strides=[1, 1, 1, 1], axes=[0, 1, 2, 3]), %y, strides=[2, 2])", (2, 8, 32, 32), (64, 8, 3, 3)),
    "another reader": ("nn.conv2d(exp(%x), %y, padding=[1, 1], strides=[2, 2]) + sum(exp(%x))", (2, 8, 32, 32), (64, 8, 3, 3)),
}  # fmt: skip
# Columns that leave parts of vectors empty, and channels that fill them: weights that only the run has are copied.
NARROW = {
    "14 columns": ("nn.conv2d(%x, %y, padding=[1, 1])", (1, 32, 14, 14), (64, 32, 3, 3)),
    "7 columns": ("nn.conv2d(%x, %y, padding=[1, 1])", (2, 32, 7, 7), (64, 32, 3, 3)),
    "groups of 10 columns": ("nn.conv2d(%x, %y, groups=2, padding=[1, 1])", (1, 64, 10, 10), (64, 32, 3, 3)),
    "lines": ("nn.conv1d(%x, %y, padding=[1, 1])", (4, 32, 13), (64, 32, 3)),
    "narrow volumes": ("nn.conv3d(%x, %y, padding=[1, 1, 1])", (1, 16, 6, 6, 6), (64, 16, 3, 3, 3)),
}  # fmt: skip
# Vectors that a copy would not make much faster.
ENOUGH = {
    "full vectors": ("nn.conv2d(%x, %y, padding=[1, 1])", (1, 32, 16, 16), (64, 32, 3, 3)),
    "few results": ("nn.conv2d(%x, %y, padding=[1, 1])", (1, 32, 14, 14), (2, 32, 3, 3)),
    "a product": ("nn.matmul(%x, %y, units=256)", (128, 256), (256, 256)),
}  # fmt: skip
CASES |= STRIDED | PRODUCED | NARROW | ENOUGH
# Convolutions store blocks of channels, networks return planes: elements of an enlarged row lie apart by uneven steps.
ENLARGED = {
    "nearest": ("image.resize2d(nn.conv2d(%x, %y), size=[25, 40], roi=[0f, 0f, 0f, 0f], method=\"nearest_neighbor\")", (1, 3, 12, 20), (16, 3, 1, 1)),
    "linear": ("image.resize2d(nn.conv2d(%x, %y), size=[24, 41], roi=[0f, 0f, 0f, 0f])", (2, 3, 12, 20), (8, 3, 1, 1)),
    "with a sum": ("image.resize2d(nn.conv2d(%x, %y), size=[24, 41], roi=[0f, 0f, 0f, 0f]) + 1f", (1, 3, 12, 20), (16, 3, 1, 1)),
}  # fmt: skip


def module(case: str) -> irtool.Module:
    body, x, y = CASES[case]
    return irtool.infer_types(
        irtool.parse(f"{V}def @main(%x: Tensor[{x}, float32], %y: Tensor[{y}, float32]) {{ {body} }}")
    )


def scheduled(case: str, target: VectorTarget) -> Program:
    program = lower_module(prepare(module(case), config={WEIGHT_GRADIENTS: True}))
    schedule_program(program, target)
    return program


@pytest.mark.parametrize("flags", ["mcpu=x86-64-v4", "mcpu=x86-64-v3,openmp=true,parallel_elements=1", "vector=none"])
@pytest.mark.parametrize("case", CASES)
def test_results_are_those_of_the_interpreter(case: str, flags: str) -> None:
    g = np.random.default_rng(3)
    values = [g.standard_normal(s).astype("float32") for s in CASES[case][1:]]
    outputs = irtool.build(module(case), target=f"c{{{flags}}}").run(values)
    for got, expected in zip(value_leaves(outputs), value_leaves(irtool.evaluate(module(case), values)), strict=True):
        np.testing.assert_allclose(got, expected, rtol=0, atol=2e-6 * np.abs(expected).max())


@pytest.mark.parametrize("target", [VectorTarget(64, 32), VectorTarget(32, 16)])
@pytest.mark.parametrize(
    "case",
    [c for c in CASES if c not in ("strided", "groups", "many rows of both", *STRIDED, *PRODUCED, *NARROW, *ENOUGH)],
)
def test_vectors_are_along_results(case: str, target: VectorTarget) -> None:
    """Of the sum itself; without the copy they are along the sum, each result by itself, or assembled from elements."""
    (kernel,) = scheduled(case, target).kernels
    with without("TransposeOperands"):
        (plain,) = scheduled(case, target).kernels
    assert kernel.choice.strategy in ("register_tile", "blocked_sum")
    assert plain.choice.strategy in ("row_reduction", "gathered_tile")
    assert len(kernel.stages) == len(plain.stages) + 1
    assert any(b.name.endswith("_t") for b in kernel.temporaries)


@pytest.mark.parametrize("case", [c for c in STRIDED if c not in ("1 x 1", "volumes")])
def test_strided_windows_read_phases(case: str) -> None:
    """Neighbouring results read neighbouring elements of a phase, and the padding is part of the copy."""
    (kernel,) = scheduled(case, VectorTarget(32, 16)).kernels
    with without("TransposeOperands"):
        (plain,) = scheduled(case, VectorTarget(32, 16)).kernels
    assert len(kernel.stages) == 2
    assert [b.name for b in kernel.temporaries] == ["pad_t" if len(plain.stages) > 1 else "p0_t"]


@pytest.mark.parametrize("case", NARROW)
def test_narrow_images_have_vectors_of_channels(case: str) -> None:
    (kernel,) = scheduled(case, VectorTarget(64, 32)).kernels
    assert "p1_t" in [b.name for b in kernel.temporaries]
    assert kernel.choice.strategy in ("register_tile", "blocked_sum")
    with without("TransposeOperands"):
        (plain,) = scheduled(case, VectorTarget(64, 32)).kernels
    assert "p1_t" not in [b.name for b in plain.temporaries]


@pytest.mark.parametrize("case", ENOUGH)
def test_no_copies_beside_vectors_that_are_fast_enough(case: str) -> None:
    (kernel,) = scheduled(case, VectorTarget(64, 32)).kernels
    assert not [b.name for b in kernel.temporaries if b.name.endswith("_t")]


def enlarged(case: str) -> irtool.Module:
    body, x, y = ENLARGED[case]
    m = irtool.infer_types(
        irtool.parse(f"{V}def @main(%x: Tensor[{x}, float32], %y: Tensor[{y}, float32]) {{ {body} }}")
    )
    return bind_params(m, {"y": np.random.default_rng(4).standard_normal(y).astype("float32")})


@pytest.mark.parametrize("target", [VectorTarget(64, 32), VectorTarget(32, 16)])
@pytest.mark.parametrize("case", ENLARGED)
def test_enlarged_images_are_computed_along_channels(case: str, target: VectorTarget) -> None:
    """A row of the result at a time, which is transposed while it is in the cache."""
    program = lower_module(prepare(enlarged(case)))
    schedule_program(program, target)
    kernel = program.kernels[-1]
    assert [c.strategy for c in kernel.choice.stages[-2:]] == ["elementwise", "tiled_transpose"]
    assert not [b for b in kernel.temporaries if b.name.endswith("_t")], "one row is enough"


@pytest.mark.parametrize("flags", ["mcpu=x86-64-v3", "mcpu=x86-64-v3,openmp=true,parallel_elements=1", "vector=none"])
@pytest.mark.parametrize("case", ENLARGED)
def test_enlarged_images_are_those_of_the_interpreter(case: str, flags: str) -> None:
    m = enlarged(case)
    values = [np.random.default_rng(3).standard_normal(ENLARGED[case][1]).astype("float32")]
    expected = irtool.evaluate(m, values)
    np.testing.assert_allclose(irtool.build(m, target=f"c{{{flags}}}").run(values), expected, rtol=0, atol=1e-5)


def test_a_stage_that_writes_a_part_or_reorders_is_not_whole() -> None:
    b, (y, x) = Buffer("b", (1, 4, 6)), (Var("y"), Var("x"))
    zero = const(0)

    def writes(loops: tuple[Loop, ...], *indices: Expr) -> bool:
        return writes_whole(Map(loops, (Store(b, indices, const(1.0, "float32")),)))

    assert writes(((y, 4), (x, 6)), zero, y, x)
    assert not writes(((y, 4), (x, 3)), zero, y, x), "half of each row"
    assert not writes(((y, 4), (x, 3)), zero, y, x + 3), "the other half"
    assert not writes(((y, 4),), zero, y, zero), "one column"
    assert not writes(((y, 4), (x, 4)), zero, y, y), "a diagonal"
    assert not writes(((y, 4), (x, 6), (Var("z"), 2)), zero, y, x), "each element twice"


def test_a_copy_that_is_read_once_does_not_pay() -> None:
    text = f"{V}def @main(%x: Tensor[(64, 64), float32], %y: Tensor[(64, 64), float32]) {{ sum(transpose(%x, axes=[1, 0]) * %y, axis=[1]) }}"
    program = lower_module(prepare(irtool.infer_types(irtool.parse(text))))
    schedule_program(program, VectorTarget(64, 32))
    assert not [b for k in program.kernels for b in k.temporaries]


def test_gradients_of_weights_stay_one_operator_in_builds_only() -> None:
    """TVM's form, a grouped convolution of copies for each channel, is what the pass gives by itself."""
    m = module("weights of a convolution")
    assert "nn.conv2d_backward_weight" not in irtool.to_text(irtool.run_passes(m, "Legalize"))
    legalized = irtool.run_passes(m, "Legalize", config={WEIGHT_GRADIENTS: True})
    assert "nn.conv2d_backward_weight" in irtool.to_text(legalized)
    assert [k["name"] for k in irtool.build(m).report["kernels"]] == ["tvmgen_default_fused_nn_conv2d_backward_weight"]


@pytest.mark.parametrize("channels", [128, 512])
def test_small_images_with_many_channels_fill_lines_of_the_gradient(channels: int) -> None:
    """Lanes along the output channels would lie 9 * channels elements apart, in two sets of the cache."""
    body = BACKWARD.format(3, ", padding=[1, 1]")
    shape = (8, channels, 2, 2)
    m = irtool.infer_types(
        irtool.parse(f"{V}def @main(%x: Tensor[{shape}, float32], %y: Tensor[{shape}, float32]) {{ {body} }}")
    )
    (kernel,) = irtool.build(m, emit="tir", target="c{mcpu=x86-64-v4}").report["kernels"]
    last = kernel["stages"][-1]
    assert last["strategy"] == "register_tile" and "vector axis ax1" in last["reason"]
    assert all(
        p.index("ax0_o") < p.index("ax2") for p in last["primitives"] if p.startswith("reorder") and "ax0_o" in p
    )


@pytest.mark.parametrize("processor", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("channels", [64, 128, 256, 512])
def test_lines_of_a_gradient_stay_in_the_cache_until_they_are_full(channels: int, processor: str) -> None:
    """Rows of results lie 9 * channels elements apart, in some of the 64 sets of eight lines; convolutions write blocks of channels."""
    shape, weights = (8, channels, 2, 2), (channels, channels, 3, 3)
    blocks = {n: f"nn.conv2d({n}, %w, padding=[1, 1])" for n in ("%x", "%y")}
    gradient = BACKWARD.format(3, ", padding=[1, 1]").replace("%x, %y", ", ".join(blocks.values()))
    declared = f"%x: Tensor[{shape}, float32], %y: Tensor[{shape}, float32], %w: Tensor[{weights}, float32]"
    m = irtool.infer_types(irtool.parse(f"{V}def @main({declared}) {{ {gradient} }}"))
    kernels = irtool.build(m, emit="tir", target=f"c{{mcpu={processor}}}").report["kernels"]
    (reason,) = [s["reason"] for k in kernels if "backward" in k["name"] for s in k["stages"] if "tile" in s["reason"]]
    rows, vectors, lanes = map(int, reason.split("tile ")[1].split(" x "))
    lines = vectors * lanes if "vector axis ax0" in reason else rows
    sets = 64 // math.gcd(9 * channels * 4 // 64, 64)
    assert lines <= 8 * sets, reason
