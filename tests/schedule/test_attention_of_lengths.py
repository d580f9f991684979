"""Attention over lengths that the run decides: one kernel, and what the interpreter gives at every length."""

from __future__ import annotations

import re

import numpy as np
import pytest

import irtool
from irtool import Artifact

LENGTHS = (1, 2, 15, 16, 33, 47, 48, 70)

SELF = """
  %0 = nn.batch_matmul(%q, %k, transpose_b=True);
  nn.batch_matmul(nn.softmax(multiply(%0, 0.2f)), %v, transpose_b=False)"""

CAUSAL = """
  %0 = expand_dims(multiply(%p, 2f), axis=0);
  %1 = less_equal(%0, transpose(%0, axes=[1, 0]));
  %2 = nn.batch_matmul(%q, %k, transpose_b=True);
  %3 = where(expand_dims(%1, axis=0), %2, -10000f);
  nn.batch_matmul(nn.softmax(%3), %v, transpose_b=False)"""

SHAPES = {"q": (6, 0, 24), "k": (6, 0, 24), "v": (6, 0, 20)}
"""Shapes of the operands; 0 is the length."""

PLACES = {"stack": "", "workspace": ",tiles_bytes=1024,most_parts=2"}


@pytest.fixture(autouse=True)
def quick_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFLAGS", "-O1")


def module_of(body: str, shapes: dict[str, tuple[int, ...]], length: str) -> irtool.Module:
    """The module; `length` is the text of the length."""
    declared = ", ".join(
        f"%{n}: Tensor[({', '.join(str(d) if d else length for d in s)},), float32]" for n, s in shapes.items()
    )
    return irtool.infer_types(irtool.parse(f'#[version = "0.0.5"]\ndef @main({declared}) {{\n{body}\n}}\n'))


def built(body: str, shapes: dict[str, tuple[int, ...]], target: str) -> Artifact:
    bounded = {n: tuple(d or f"n<={LENGTHS[-1]}" for d in s) for n, s in shapes.items()}
    artifact = irtool.build(module_of(body, shapes, "?"), shapes=bounded, target=f"c{{{target}}}")
    assert [k["strategy"] for k in artifact.report["kernels"] if "softmax" in k["name"]] == ["attention"]
    assert not artifact.report["open_questions"]
    return artifact


def inputs_of(shapes: dict[str, tuple[int, ...]], length: int) -> dict[str, np.ndarray]:
    g = np.random.RandomState(length)
    return {n: g.randn(*(d or length for d in s)).astype("float32") for n, s in shapes.items()}


@pytest.mark.parametrize("body", [SELF, CAUSAL], ids=["self", "causal"])
@pytest.mark.parametrize("place", PLACES)
def test_every_length(body: str, place: str) -> None:
    """The causal mask is computed from positions, before the scores in the same kernel."""
    shapes = SHAPES | ({"p": (0,)} if body is CAUSAL else {})
    artifact = built(body, shapes, f"mcpu=x86-64-v3{PLACES[place]}")
    (reason,) = (k["reason"] for k in artifact.report["kernels"] if k["strategy"] == "attention")
    assert re.match(r"\d+ rows of n at a time, (on the stack|in the cache)", reason)
    assert ("in the cache" in reason) == (place == "workspace")
    for length in LENGTHS:
        inputs = inputs_of(shapes, length)
        want = irtool.evaluate(module_of(body, shapes, str(length)), inputs)
        np.testing.assert_allclose(artifact.run(inputs), want, rtol=1e-5, atol=1e-5, err_msg=f"length {length}")


@pytest.mark.parametrize("place", PLACES)
def test_pairs_of_bfloat16(place: str) -> None:
    """Words of two numbers hold a single one at the end of an odd length."""
    target = f"mcpu=x86-64-v3,paired_products=2{PLACES[place]}"
    bounded = {n: tuple(d or f"n<={LENGTHS[-1]}" for d in s) for n, s in SHAPES.items()}
    artifact = irtool.build(module_of(SELF, SHAPES, "?"), shapes=bounded, target=f"c{{{target}}}", precision="bfloat16")
    assert "attention" in [k["strategy"] for k in artifact.report["kernels"]]
    for length in LENGTHS:
        inputs = inputs_of(SHAPES, length)
        want = irtool.evaluate(module_of(SELF, SHAPES, str(length)), inputs)
        np.testing.assert_allclose(artifact.run(inputs), want, atol=0.03, err_msg=f"length {length}")


def test_a_panel_wider_than_the_greatest_length() -> None:
    """The copy of the keys has a full panel, with zeros behind the last key."""
    shapes = {n: tuple(d or "n<=20" for d in s) for n, s in SHAPES.items()}
    script = ".*softmax.*:\n  attention(rows=20, keys=24, lanes=8)\n"
    artifact = irtool.build(module_of(SELF, SHAPES, "?"), shapes=shapes, mcpu="x86-64-v3", schedule=script)
    for length in (1, 17, 20):
        inputs = inputs_of(SHAPES, length)
        want = irtool.evaluate(module_of(SELF, SHAPES, str(length)), inputs)
        np.testing.assert_allclose(artifact.run(inputs), want, rtol=1e-5, atol=1e-5, err_msg=f"length {length}")
