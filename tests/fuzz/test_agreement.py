"""Calls of every operator, at the corners of its types and attributes: checking, interpreter and compiler agree on them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from irtool.diagnostics import IrError
from irtool.ops import operators
from irtool.ops.base import RelationError
from tests.fuzz.agreement import try_call, try_operator
from tests.fuzz.calls import DTYPES, DrawnCall, Tensor, draw_call, names
from tests.pages import Recorder

PARTS = 10
SEEDS = 7
"""Calls of each operator; `make fuzz` draws any number."""

pytestmark = pytest.mark.promise("agreement")


@pytest.mark.robustness("calls")
@pytest.mark.parametrize("part", range(PARTS))
def test_all_accept_or_all_refuse(part: int, record_property: Recorder) -> None:
    outcomes = [try_operator(name, seed) for name in names()[part::PARTS] for seed in range(SEEDS)]
    record_property("inputs", len(outcomes))
    failed = [f"{f.operator} {f.seed}: {f.message}\n{f.text}" for f in outcomes if f.kind == "failed"]
    assert not failed, "\n".join(failed)
    kinds = Counter(f.kind for f in outcomes)
    assert kinds["accepted"] > len(outcomes) // 3, "too few calls are accepted to show anything"
    assert kinds["refused"] > len(outcomes) // 5, "too few calls are refused to show anything"


def test_every_operator_is_drawn_from_what_it_declares() -> None:
    import random

    for cls in operators:
        drawn = [draw_call(cls.name, random.Random(f"{cls.name} {seed}")) for seed in range(40)]
        attributes = {name for d in drawn for name in d.attributes}
        assert attributes >= {f.name for f in cls.fields()}, f"{cls.name}: some attributes are never at a corner"
        assert attributes <= {f.name for f in cls.fields()}


def test_seeds_decide() -> None:
    for name in ("nn.conv2d", "topk", "qnn.add"):
        assert [try_operator(name, s) for s in range(3)] == [try_operator(name, s) for s in range(3)]


@pytest.mark.parametrize("dtype", DTYPES)
def test_arithmetic_on_every_dtype(dtype: str) -> None:
    """Constants, simplification and folding meet dtypes that numpy has not."""
    x = Tensor((2, 3), dtype)
    for name in ("add", "multiply", "divide", "maximum"):
        outcome = try_call(DrawnCall(name, (x, x), {}))
        assert outcome.kind in ("accepted", "refused", "uncomputed"), outcome.message
    for text in (
        "zeros_like(%x)",
        "add(%x, zeros_like(%x))",
        "multiply(ones_like(%x), %x)",
        "power(%x, ones_like(%x))",
    ):
        _agree(f"%x: Tensor[(2, 3), {dtype}] | {text}")


@pytest.mark.parametrize(
    "case",
    [
        "%x: Tensor[(2, 3), float16], %w: Tensor[(4, 3), float32] | nn.dense(multiply(%x, %x), %w, units=None)",
        "%x: Tensor[(9), float32], %w: Tensor[(4), float64] | stft(%x, %w, n_fft=4, hop_length=2, win_length=4)",
        "%x: Tensor[(3), float16] | relay.op.annotation.simulated_quantize(%x, 1f, -8f, 8f, kind=1)",
        '%x: Tensor[(1, 3, 4, 4), int8], %w: Tensor[(4, 3, 1, 1), int16] | nn.conv2d(multiply(%x, %x), %w, out_dtype="int32")',
    ],
)
def test_weights_of_another_dtype(case: str) -> None:
    _agree(case)


def _agree(case: str) -> None:
    from tests.fuzz.agreement import try_text

    params, _, body = case.partition(" | ")
    outcome = try_text(f'#[version = "0.0.5"]\ndef @main({params}) {{ {body} }}\n')
    assert outcome.kind in ("accepted", "refused", "uncomputed"), f"{outcome.message}\n{outcome.text}"


def test_disagreement_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the three can be the one that differs, and a refusal without a place is one."""
    good = DrawnCall("tanh", (Tensor((2, 3), "float32"),), {})
    assert try_call(good).kind == "accepted"
    cls = operators.get("tanh")

    def refuses(*_: object) -> None:
        raise RelationError("not today")

    def crashes(*_: object) -> None:
        raise KeyError("oh")

    def stays_placeless(*_: object) -> None:
        raise IrError("nowhere")

    for method, replacement, message in (
        ("evaluate", refuses, "C: accepts"),
        ("compute", refuses, "interpreter: accepts"),
        ("evaluate", crashes, "KeyError"),
        ("compute", crashes, "exit code 3"),
        ("relate", crashes, "KeyError"),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(cls, method, replacement)
            outcome = try_call(good)
        assert outcome.kind == "failed"
        assert message in outcome.message, outcome.message
    assert try_call(replace(good, arguments=(Tensor((2,), "nonsense"),))).kind == "refused"
