"""Extents that follow from values, and that have to be equal to others, numbers, or multiples: a run compares them, whatever a pass leaves out."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError, ToolError
from tests.driver.programs import parse
from tests.driver.value_lengths import compare

pytestmark = pytest.mark.promise("value extents")
TARGETS = ["c", pytest.param("llvm", marks=pytest.mark.skipif(shutil.which("clang") is None, reason="no clang"))]

CHOSEN = "let %k = squeeze(argwhere(greater(%x, 0f)), axis=[1]); let %y = take(%x, %k); "
"""The positive elements of a vector of 12."""

CALLS: dict[str, tuple[str, tuple[int, ...]]] = {
    "halves": ("split(%y, indices_or_sections=2)", (0, 2, 6, 12)),
    "a half and more": ("(multiply(split(%y, indices_or_sections=2).0, 2f), %y)", (0, 2, 6, 12)),
    "thirds": ("add(split(%y, indices_or_sections=3).0, split(%y, indices_or_sections=3).2)", (0, 3, 6, 12)),
    "pairs": ("reshape(%y, newshape=[-1, 2])", (0, 2, 6, 12)),
    "pairs of pairs": ("reshape(reshape(%y, newshape=[-1, 2]), newshape=[-1, 4])", (0, 12)),
    "sums of pairs": ("sum(reshape(%y, newshape=[-1, 2]), axis=[1])", (0, 2, 6, 12)),
    "a matrix": ("reshape(%y, newshape=[2, 3])", (6,)),
    "a known number": ('add(%y, ones(shape=[6], dtype="float32"))', (6,)),
    "two of them": ("concatenate((reshape(%y, newshape=[-1, 1]), reshape(%z, newshape=[-1, 1])), axis=1)", (3,)),
    "the shape of another": ("reshape_like(%y, %z)", (3,)),
    "fours of a product": (
        "reshape(multiply(expand_dims(%y, axis=1), expand_dims(%z, axis=0)), newshape=[-1, 4])",
        (0, 12),
    ),
    "zeros of another": ("subtract(%y, zeros_like(%z))", (3,)),
}
"""Calls on the positive elements, and the numbers of elements with which they have a result. `%z` are 3."""


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CALLS)
def test_extents_that_do_not_fit_are_an_error_of_both(name: str, target: str) -> None:
    call, counts = CALLS[name]
    others = "let %z = take(%x, squeeze(argwhere(greater(%t, 0f)), axis=[1])); " if "%z" in call else ""
    module = parse(f"def @main(%x: Tensor[(12), float32], %t: Tensor[(12), float32]) {{ {CHOSEN}{others}{call} }}")
    artifact = irtool.build(module, target=target)
    assert artifact.report["kernels"]
    t = np.where(np.arange(12) % 4 == 1, 1, -1).astype("float32")
    for n in (0, 2, 3, 5, 6, 12):  # of one element, the interpreter makes as many as others have
        x = np.where(np.arange(12) < n, 1, -1).astype("float32") * np.arange(1, 13, dtype="float32")
        if n in counts:
            compare(irtool.evaluate(module, [x, t]), artifact.run([x, t]))
            continue
        with pytest.raises(IrError):
            irtool.evaluate(module, [x, t])
        with pytest.raises(ToolError, match="have to be equal"):
            artifact.run([x, t])


def test_a_view_of_a_smaller_bound_is_no_memory_of_the_whole() -> None:
    """The elements of 12 rows are not written into a result that has room for 8."""
    call, _ = CALLS["pairs of pairs"]
    module = parse(f"def @main(%x: Tensor[(12), float32]) {{ {CHOSEN}{call} }}")
    artifact = irtool.build(module, dims={"count_1": "<=2"})
    x = np.arange(1, 13, dtype="float32")
    few = np.where(x < 5, x, -1).astype("float32")
    compare(irtool.evaluate(module, [few]), artifact.run([few]))
    with pytest.raises(ToolError, match=r"count_1 .* is 3, and it has to be from 0 to 2"):
        artifact.run([x])


LIKE = {
    "zeros": "zeros_like(%y)",
    "ones": "add(ones_like(%y), ones_like(%y))",
    "full": "full_like(%y, 2f)",
    "broadcast": "broadcast_to_like(2f, %y)",
}


@pytest.mark.parametrize("name", LIKE)
def test_what_has_only_an_extent_of_another_comes_behind_the_step_that_sets_it(name: str) -> None:
    module = parse(f"def @main(%x: Tensor[(12), float32]) {{ {CHOSEN}{LIKE[name]} }}")
    artifact = irtool.build(module)
    for n in (0, 1, 12):
        x = np.where(np.arange(12) < n, 1, -1).astype("float32")
        compare(irtool.evaluate(module, [x]), artifact.run([x]))
