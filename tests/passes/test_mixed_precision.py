"""ToMixedPrecision: how far results move, what is converted, and what is said about operators without a precision."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.diagnostics import Diagnostic, IrError
from irtool.interp.random_inputs import random_inputs
from irtool.ir import Call, Module, Op, TensorType, post_order
from irtool.passes.instruments.verifying import Verifying
from tests.networks import random_network

LIMITS = {"float16": 0.02, "bfloat16": 0.15}
"""Most that results may move, relative to the largest: a few dozen roundings of 2⁻¹¹ and 2⁻⁸."""

KEEP = {"relay.ToMixedPrecision.keep_orig_output_dtype": True}


def networks(count: int, quantized: bool = False) -> list[Module]:
    """Networks with quantized parts, or without."""
    modules = (irtool.infer_types(random_network(seed, 5)) for seed in range(100))
    return list(islice((m for m in modules if ("qnn." in irtool.to_text(m, metadata=False)) == quantized), count))


def leaves(value: Any) -> list[np.ndarray]:
    return [leaf for v in value for leaf in leaves(v)] if isinstance(value, tuple) else [value]


@pytest.mark.parametrize("dtype", LIMITS)
def test_results_move_by_roundings_only(dtype: str) -> None:
    done = networks(15)
    assert len(done) == 15
    for module in done:
        inputs = random_inputs(module["main"], 0)  # type: ignore[arg-type]
        after = irtool.run_passes(
            module,
            [("ToMixedPrecision", {"mixed_precision_type": dtype, "missing_op_mode": 2})],
            instruments=[Verifying()],
        )
        for want, got in zip(
            leaves(irtool.evaluate(module, inputs)), leaves(irtool.evaluate(after, inputs)), strict=True
        ):
            moved = np.abs(np.asarray(got, "float64") - want).max() / max(1.0, np.abs(want).max())
            assert moved <= LIMITS[dtype]


def test_original_types_can_be_kept() -> None:
    for module in networks(10):
        after = irtool.run_passes(module, "ToMixedPrecision{missing_op_mode=2}", config=KEEP)
        assert after["main"].checked_type == module["main"].checked_type


def test_products_are_always_converted() -> None:
    for module in networks(10):
        after = irtool.run_passes(module, "ToMixedPrecision{missing_op_mode=2}")
        for e in post_order(after["main"]):
            if not isinstance(e, Call) or not isinstance(e.op, Op):
                continue
            types = [a.checked_type.dtype for a in e.args if isinstance(a.checked_type, TensorType)]
            if e.op.operator.precision == "always":
                assert set(types) == {"float16"}
            if e.op.operator.precision == "never":
                assert "float16" not in types


def test_quantized_parts_keep_their_scales() -> None:
    done = networks(5, quantized=True)
    assert len(done) == 5
    for module in done:
        inputs = random_inputs(module["main"], 0)  # type: ignore[arg-type]
        after = irtool.run_passes(module, "ToMixedPrecision{missing_op_mode=2}", config=KEEP, instruments=[Verifying()])
        for e in post_order(after["main"]):
            if isinstance(e, Call) and isinstance(e.op, Op) and e.op.name.startswith("qnn."):
                assert "float16" not in [a.checked_type.dtype for a in e.args]  # type: ignore[union-attr]
        for want, got in zip(
            leaves(irtool.evaluate(module, inputs)), leaves(irtool.evaluate(after, inputs)), strict=True
        ):
            # a rounding may move a value to the next step of the quantization, which is rarely more than a tenth
            assert np.abs(np.asarray(got, "float64") - want).max() <= 0.1 * max(1.0, np.abs(want).max())


QUANTIZED = """
def @main(%x: Tensor[(1, 4, 6, 6), float32], %w: Tensor[(4, 4, 3, 3), float32], %v: Tensor[(8, 4, 1, 1), int8]) {
  %0 = nn.relu(nn.conv2d(%x, %w, channels=4, kernel_size=[3, 3]));
  %1 = qnn.quantize(%0, 0.05f, 3, out_dtype="int8");
  %2 = qnn.conv2d(%1, %v, 3, 0, 0.05f, 0.02f, channels=8, kernel_size=[1, 1], out_dtype="int32");
  %3 = qnn.requantize(%2, 0.001f, 0, 0.1f, 1, axis=1, out_dtype="int8");
  nn.relu(qnn.dequantize(%3, 0.1f, 1))
}
"""


@pytest.mark.parametrize("dtype", LIMITS)
def test_only_what_is_not_quantized_is_converted(dtype: str) -> None:
    module = irtool.infer_types(irtool.parse(QUANTIZED))
    options = {"mixed_precision_type": dtype, "missing_op_mode": 2}
    after = irtool.run_passes(module, [("ToMixedPrecision", options)], instruments=[Verifying()])
    calls = {e.op.name: e for e in post_order(after["main"]) if isinstance(e, Call) and isinstance(e.op, Op)}
    assert calls["nn.conv2d"].checked_type == TensorType((1, 4, 4, 4), dtype)
    assert calls["qnn.conv2d"].checked_type == TensorType((1, 8, 4, 4), "int32")
    assert [a.checked_type.dtype for a in calls["qnn.quantize"].args] == ["float32", "float32", "int32"]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "body",
    [
        "nn.softmax(%x)",
        "let %y = exp(%x); let %z: Tensor[(2, 3), float32] = sum(%y, axis=[2]); (%z, %y)",
        "%0 = fn (%y: Tensor[(2, 3, 4), float32]) -> Tensor[(2, 3, 4), float32] { exp(%y) }; mean(%0(%x))",
        'cast(%n, dtype="int64")',
    ],
)
def test_what_is_not_converted_is_the_same_object(body: str) -> None:
    text = f"def @main(%x: Tensor[(2, 3, 4), float32], %n: Tensor[(3), int32]) {{ {body} }}"
    module = irtool.infer_types(irtool.parse(text))
    assert irtool.run_passes(module, "ToMixedPrecision{missing_op_mode=2}", config=KEEP) is module


def test_operators_without_a_precision() -> None:
    module = irtool.parse('#[version = "0.0.5"]\ndef @main(%x: Tensor[(4), float32]) { sort(sort(%x)) }')
    diagnostics: list[Diagnostic] = []
    irtool.run_passes(module, "ToMixedPrecision", warn=diagnostics.append)
    assert len(diagnostics) == 1 and "sort" in diagnostics[0].message and "2 times" in diagnostics[0].message
    with pytest.raises(IrError, match="sort has no precision class"):
        irtool.run_passes(module, "ToMixedPrecision{missing_op_mode=0}")
    diagnostics.clear()
    irtool.run_passes(module, "ToMixedPrecision{missing_op_mode=2}", warn=diagnostics.append)
    assert not diagnostics


@pytest.mark.parametrize("let", ["add(let %a = exp(%x); %a, %x)", "tanh(let %a = tanh(%x); add(%a, %a))"])
def test_a_let_may_be_an_argument(let: str) -> None:
    module = irtool.parse(f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(4), float32]) {{ {let} }}')
    after = irtool.run_passes(module, "ToMixedPrecision", instruments=[Verifying()])
    x = np.linspace(-1, 1, 4, dtype="float32")
    np.testing.assert_allclose(irtool.evaluate(after, [x]), irtool.evaluate(module, [x]), rtol=1e-2, atol=1e-3)
