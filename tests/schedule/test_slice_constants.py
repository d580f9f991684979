"""Slices of weights: one constant for each stage that reads elements of its own, in blocks of its own."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.interp.evaluate import evaluate
from irtool.schedule.pipeline import SCHEDULE
from irtool.tir.program import Program
from irtool.tir.vector_target import VectorTarget
from tests.nests import run_program
from tests.schedule.padded_windows import numbers, program_of

TARGET = VectorTarget(64)


def parted(program: Program, last: str = "SliceConstants") -> Program:
    """The program after the stages up to one."""
    names = [stage.name for stage in SCHEDULE]
    for stage in SCHEDULE[: names.index(last) + 1]:
        stage.run(program, TARGET)
    return program


def transposed(kernel: int, stride: int, more: str = "") -> tuple[str, tuple[int, ...], tuple[int, ...]]:
    call = f"nn.conv2d_transpose(%x, %w, channels=32, kernel_size=[{kernel}, {kernel}], strides=[{stride}, {stride}]{more})"
    call = call.replace("%w,", '%w, kernel_layout="IOHW",')
    return f"nn.max_pool2d({call}, pool_size=[2, 2])", (1, 16, 5, 6), (16, 32, kernel, kernel)


PARTED = {
    "four phases": (*transposed(4, 2, ", padding=[1, 1]"), 4),
    "of different sizes": (*transposed(3, 2), 4),
    "nine phases": (*transposed(3, 3), 9),
}


@pytest.mark.parametrize("name", PARTED)
def test_each_phase_has_its_weights(name: str) -> None:
    call, x, w, count = PARTED[name]
    program, module = program_of(call, x, numbers(*w))
    after = parted(program)
    assert len(after.constants) == count
    assert sum(c.nbytes for c in after.constants) == 4 * np.prod(w)
    data = numbers(*x)
    (result,) = run_program(after, [data])
    np.testing.assert_array_equal(np.reshape(result, -1), np.reshape(evaluate(module, [data]), -1))


def test_all_of_them_lie_in_panels() -> None:
    """Outermost the panel: all that a tile reads is side by side."""
    call, x, w, count = PARTED["four phases"]
    program, _ = program_of(call, x, numbers(*w))
    after = parted(program, "ChooseLayouts")
    (kernel,) = (k for k in after.kernels if "nn.conv2d_transpose" in k.operators)
    layouts = {b.layout for b in kernel.inputs[1:]}
    assert len(kernel.inputs) == 1 + count and len(layouts) == 1
    (layout,) = layouts
    assert layout is not None and layout[0][0] == layout[-1][0] == 1


def test_what_two_stages_read_stays_one() -> None:
    """Parts of dilated windows read the middle of the weights several times."""
    program, _ = program_of("nn.conv2d(%x, %w, padding=[9, 9], dilation=[9, 9])", (1, 2, 12, 12), numbers(3, 2, 3, 3))
    assert len(parted(program).constants) == 1


@pytest.mark.parametrize(
    "shape, begin, end", [((5, 3), [1, 0], [3, 3]), ((4, 5, 3), [1, 2, 0], [3, 4, 2]), ((7,), [2], [6])]
)
def test_a_stage_that_reads_elements_apart_from_each_other_has_all_of_them(
    shape: tuple[int, ...], begin: list[int], end: list[int]
) -> None:
    """The bounds of an assignment to a slice: one element of each constant for each axis."""
    extents = tuple(e - b for b, e in zip(begin, end, strict=True))
    rank, types = len(shape), [", ".join(map(str, s)) + "," * (len(s) == 1) for s in (shape, extents)]
    module = irtool.parse(
        f"""#[version = "0.0.5"]
def @main(%x: Tensor[({types[0]}), float32], %v: Tensor[({types[1]}), float32], %b: Tensor[({rank},), int32], %e: Tensor[({rank},), int32], %s: Tensor[({rank},), int32]) {{
  strided_set(%x, %v, %b, %e, %s)
}}
"""
    )
    weights = {"b": np.array(begin, "int32"), "e": np.array(end, "int32"), "s": np.ones(rank, "int32")}
    x, v = numbers(*shape), numbers(*extents) + 100
    expected = x.copy()
    expected[tuple(slice(b, e) for b, e in zip(begin, end, strict=True))] = v
    np.testing.assert_array_equal(irtool.build(module, weights).run([x, v]), expected)
