"""Passes that go through values of tuple type do so at any depth of the tuples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irtool
from irtool.interp.random_inputs import random_inputs
from irtool.ir import Function, Module

DEPTH = 3000
"""Beyond Python's default recursion limit."""

LAYOUTS = 'ConvertLayout{desired_layouts={"nn.conv2d": ["NHWC", "default"]}}'
HEAD = "def @main(%x: Tensor[(1, 4, 5, 5), float32], %w: Tensor[(4, 4, 1, 1), float32])"
TYPE = "Tensor[(1, 4, 5, 5), float32]"


def packed(first: int = 0) -> str:
    """Bindings that put `%first` into tuples."""
    return " ".join(f"%{i + 1} = (%{i},);" for i in range(first, first + DEPTH))


def unpacked(first: int) -> str:
    """Bindings that take out what is in the tuples `%first`."""
    return " ".join(f"%{i + 1} = %{i}.0;" for i in range(first, first + DEPTH))


def nested(leaf: str) -> str:
    """The text of a tuple, or of its type."""
    return "(" * DEPTH + leaf + ",)" * DEPTH


CONV = "%0 = nn.conv2d(%x, %w, padding=[0, 0, 0, 0]);"
PROGRAMS = {
    "packed and unpacked": f"{HEAD} {{ {CONV} {packed()} {unpacked(DEPTH)} tanh(%{2 * DEPTH}) }}",
    "result": f"{HEAD} {{ {CONV} {packed()} %{DEPTH} }}",
    "parameter": f"def @main(%x: {nested(TYPE)}) {{ %x.0 }}",
    "checkpoint": (
        f"{HEAD} {{ %0 = multiply(%x, %x); {packed()} %{DEPTH + 1} = annotation.checkpoint(%{DEPTH}); "
        f"{unpacked(DEPTH + 1)} tanh(%{2 * DEPTH + 1}) }}"
    ),
    "argument": f"{HEAD} {{ {CONV} {packed()} %{DEPTH + 1} = fn (%t: {nested(TYPE)}) {{ %t }}; %{DEPTH + 1}(%{DEPTH}) }}",
    "kernel": (
        f"{HEAD} {{ let %t = {nested('1f')}; let %f = fn (%u: {nested('float32')}, Primitive=1) {{ %u }}; (add(%x, %x), %f(%t)).1 }}"
    ),
}
CASES = [
    ("packed and unpacked", "Gradient"),
    ("result", "Gradient"),
    ("checkpoint", "Gradient"),
    ("packed and unpacked", "FirstOrderGradient"),
    ("result", "FirstOrderGradient"),
    ("parameter", "FirstOrderGradient"),
    ("packed and unpacked", "LazyGradientInit"),
    ("result", "LazyGradientInit"),
    ("parameter", "LazyGradientInit"),
    ("checkpoint", "LazyGradientInit"),
    ("packed and unpacked", LAYOUTS),
    ("result", LAYOUTS),
    ("argument", LAYOUTS),
    ("kernel", "PartialEvaluate"),
    ("packed and unpacked", "ToMixedPrecision"),
    ("result", "ToMixedPrecision"),
    ("argument", "ToMixedPrecision"),
    ("checkpoint", "ToMixedPrecision{missing_op_mode=2}"),
]


def main(module: Module) -> Function:
    f = module.functions["main"]
    assert isinstance(f, Function)
    return f


def inside(value: Any) -> tuple[np.ndarray, int]:
    """What is in the tuples, and how many there are around it."""
    depth = 0
    while isinstance(value, tuple):
        (value,), depth = value, depth + 1
    return np.asarray(value), depth


@pytest.mark.parametrize(("program", "passes"), CASES, ids=[f"{p}-{q.split('{')[0]}" for p, q in CASES])
def test_a_pass_goes_through_tuples_at_any_depth(program: str, passes: str) -> None:
    module = irtool.infer_types(irtool.parse(PROGRAMS[program]))
    inputs = random_inputs(main(module), seed=1)
    expected, depth = inside(irtool.evaluate(module, inputs))
    rewritten = irtool.infer_types(irtool.run_passes(module, passes))
    assert rewritten is not module
    result = irtool.evaluate(rewritten, inputs)
    if passes in ("Gradient", "FirstOrderGradient"):
        result, gradients = result
        assert len(gradients) == len(inputs)
        assert all(np.any(inside(g)[0]) for g in gradients[:1])
    actual, depth_after = inside(result)
    assert depth_after == depth
    np.testing.assert_allclose(actual.astype("float32"), expected, rtol=1e-2, atol=1e-2)
