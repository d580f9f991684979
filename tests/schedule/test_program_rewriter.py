"""Kernels and constants of programs that a stage replaces, and who names a slot while kernels are fused."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.driver.prepare import prepare
from irtool.lower import lower_module
from irtool.passes.core.bind import bind_params
from irtool.schedule.core.program_rewriter import ProgramRewriter
from irtool.schedule.graph.step_lists import Mentions
from irtool.tir.program import Program, RunKernel, steps

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(4, 8), float32], %v: Tensor[(6, 8), float32], %w: Tensor[(6, 6), float32]) {
  nn.dense(nn.relu(nn.dense(%x, %v, units=None)), %w, units=None)
}
"""


def program() -> Program:
    weights = {"v": np.ones((6, 8), "float32"), "w": np.full((6, 6), 2.0, "float32")}
    return lower_module(prepare(bind_params(irtool.parse(TEXT), weights)))


def runs(p: Program) -> list[RunKernel]:
    return [s for f in p.functions.values() for s in steps(f.body) if isinstance(s, RunKernel)]


def test_kernels_and_constants_in_use_are_those_of_the_program():
    p = program()
    first, second = runs(p)
    kernel = second.kernel
    with ProgramRewriter(p) as rewriter:
        changed = first.kernel.replace(name="other")
        rewriter.replace(rewriter.calls[first.kernel], changed)
        source = first.inputs[1]
        first.inputs[1] = rewriter.derive(source, "negative", lambda data: -data)
    assert p.kernels == [changed, kernel]
    assert source not in p.constants
    assert first.inputs[1] in p.constants
    assert (first.inputs[1].shape, first.inputs[1].dtype) == (source.shape, source.dtype)
    np.testing.assert_array_equal(first.inputs[1].data, -np.ones((6, 8)))


def test_a_constant_is_derived_once_for_a_source_and_a_way():
    p = program()
    first, second = (s.inputs[1] for s in runs(p))
    rewriter = ProgramRewriter(p)
    halves = rewriter.derive(first, ("part", 3), lambda data: data[:3], (3, 8))
    assert rewriter.derive(first, ("part", 3), lambda data: data[:3], (3, 8)) is halves
    assert rewriter.derive(first, ("part", 2), lambda data: data[:2], (2, 8)) is not halves
    assert rewriter.derive(second, ("part", 3), lambda data: data[:3], (3, 6)) is not halves


def test_a_derived_constant_that_no_step_reads_is_none_of_the_program():
    p = program()
    before = list(p.constants)
    with ProgramRewriter(p) as rewriter:
        rewriter.derive(runs(p)[0].inputs[1], "negative", lambda data: -data)
    assert p.constants == before


def test_an_error_leaves_the_lists_of_the_program():
    p = program()
    before = list(p.kernels)
    with pytest.raises(ValueError, match="wrong"), ProgramRewriter(p) as rewriter:
        rewriter.replace(rewriter.calls[before[0]], before[0].replace(name="other"))
        raise ValueError("wrong")
    assert p.kernels == before


def test_mentions_follow_fused_steps():
    (f,) = program().functions.values()
    first, second = (s for s in steps(f.body) if isinstance(s, RunKernel))
    between, result = first.outputs[0], second.outputs[0]
    mentions = Mentions(f)
    assert mentions.are_all(between, (first, second))
    assert None in mentions.steps(result), "the caller names a result"
    both = RunKernel(first.kernel, [*first.inputs, second.inputs[1]], second.outputs)
    mentions.fused((first, second), both)
    assert not mentions.of(between)
    assert both in mentions.steps(result)
    assert mentions.are_all(second.inputs[1], (both,))
