"""Copies of parameters and results that readers do without."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irtool
from irtool.schedule.pipeline import without
from tests.driver.programs import parse

W = "%w: Tensor[(2, 48, 32), float32]"


def operators(text: str, **options: Any) -> list[str]:
    """The kernels of a build by their operators."""
    report = irtool.build(parse(text), emit="c", **options).report
    return [" ".join(k["operators"]) for k in report["kernels"]]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # one row reads each element once: along the sum, as it lies there
        ("nn.batch_matmul(%x, transpose(%w, axes=[0, 2, 1]), transpose_b=False)", ["nn.batch_matmul"]),
        ("sum(multiply(%x, transpose(%w, axes=[0, 1, 2])), axis=[2])", None),
        # eight rows read it often enough for a copy; the rows themselves are read where they are
        (
            "nn.batch_matmul(broadcast_to(%x, shape=[2, 8, 32]), transpose(%w, axes=[0, 2, 1]), transpose_b=False)",
            ["transpose", "nn.batch_matmul"],
        ),
        # what else reads the copy needs it
        (
            "%0 = transpose(%w, axes=[0, 2, 1]); (nn.batch_matmul(%x, %0, transpose_b=False), cumsum(%0, axis=0))",
            ["transpose", "nn.batch_matmul", "cumsum"],
        ),
        ("%0 = transpose(%w, axes=[0, 2, 1]); (nn.batch_matmul(%x, %0, transpose_b=False), %0)", ["transpose", "nn.batch_matmul"]),
        # temporaries are stored as their readers like
        (
            "nn.batch_matmul(%x, transpose(cumsum(%w, axis=0), axes=[0, 2, 1]), transpose_b=False)",
            ["cumsum", "transpose", "nn.batch_matmul"],
        ),
    ],
)  # fmt: skip
def test_copies_that_are_left_out(body: str, expected: list[str] | None) -> None:
    text = f"def @main(%x: Tensor[(2, 1, 32), float32], {W}) {{ {body} }}"
    if expected is not None:
        assert operators(text) == expected
    g = np.random.RandomState(0)
    inputs = [g.randn(2, 1, 32).astype("float32"), g.randn(2, 48, 32).astype("float32")]
    module = parse(text)
    want, got = irtool.evaluate(irtool.infer_types(module), inputs), irtool.build(module).run(inputs)
    for a, b in zip(*(v if isinstance(v, tuple) else (v,) for v in (got, want)), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-4)


def test_the_stage_can_be_left_out() -> None:
    body = "nn.batch_matmul(%x, transpose(%w, axes=[0, 2, 1]), transpose_b=False)"
    text = f"def @main(%x: Tensor[(2, 1, 32), float32], {W}) {{ {body} }}"
    with without("ReadCopiesInPlace"):
        assert operators(text) == ["transpose", "nn.batch_matmul"]


def test_rows_of_a_result_are_read_there() -> None:
    """A cut that keeps the innermost axis gains its readers nothing, however often they read it."""
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 8, 32), float32], %past: Tensor[(2, ?, 32), float32]) {
  %0 = concatenate((%past, %x), axis=1); (nn.batch_matmul(%x, %0, transpose_b=True), %0) }"""
    options: dict[str, Any] = {"shapes": {"past": (2, "p<=64", 32)}, "states": {"past": "out1"}}
    assert operators(text, **options) == ["length.write", "nn.batch_matmul"]


def test_results_that_nothing_reads_are_not_computed() -> None:
    """Of a cut, `shape_of` needs the length alone."""
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 32), float32], %past: Tensor[(?, 32), float32]) {
  %0 = concatenate((%past, add(%x, cast(take(shape_of(%past, dtype="int64"), 0), dtype="float32"))), axis=0);
  (sum(%0, axis=[0]), %0) }"""
    options: dict[str, Any] = {"shapes": {"past": ("p<=64", 32)}, "states": {"past": "out1"}}
    assert "length.cut" not in " ".join(operators(text, **options))


def test_sums_over_a_length_have_tiles() -> None:
    """A sum whose extent a run decides, and which may be 1, is computed in vectors along the columns."""
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(8, 1, ?), float32], %w: Tensor[(8, ?, 64), float32]) {
  nn.batch_matmul(%x, %w, transpose_b=False) }"""
    for bounds in ("n<=64", "0<=n<=64", "2<=n<=64"):
        report = irtool.build(parse(text), shapes={"x": (8, 1, bounds), "w": (8, bounds, 64)}, emit="c").report
        assert [k["strategy"] for k in report["kernels"]] == ["register_tile"]
        assert not report["open_questions"]
