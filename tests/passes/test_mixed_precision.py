"""ToMixedPrecision: how far results move, what is converted, and what is said about operators in no list."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irtool
from irtool.diagnostics import Diagnostic, IrError
from irtool.interp.feeds import random_inputs
from irtool.ir import Call, Module, Op, TensorType, post_order
from irtool.passes.instruments.verifying import Verifying
from irtool.passes.to_mixed_precision import ALWAYS, FOLLOW, NEVER
from tests.networks import random_network

LIMITS = {"float16": 0.02, "bfloat16": 0.15}
"""Most that results may move, relative to the largest: a few dozen roundings of 2⁻¹¹ and 2⁻⁸."""

KEEP = {"relay.ToMixedPrecision.keep_orig_output_dtype": True}


def networks(count: int) -> list[Module]:
    """Networks without quantized parts, whose scales must be float32."""
    made = [irtool.infer_types(random_network(seed, 5)) for seed in range(60)]
    return [m for m in made if "qnn." not in irtool.to_text(m, metadata=False)][:count]


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
            if e.op.name in ALWAYS:
                assert set(types) == {"float16"}
            if e.op.name in NEVER:
                assert "float16" not in types


def test_no_operator_is_in_two_lists() -> None:
    assert not ALWAYS & FOLLOW and not ALWAYS & NEVER and not FOLLOW & NEVER


def test_operators_in_no_list() -> None:
    module = irtool.parse('#[version = "0.0.5"]\ndef @main(%x: Tensor[(4), float32]) { sort(sort(%x)) }')
    said: list[Diagnostic] = []
    irtool.run_passes(module, "ToMixedPrecision", warn=said.append)
    assert len(said) == 1 and "sort" in said[0].message and "2 times" in said[0].message
    with pytest.raises(IrError, match="sort is in no list"):
        irtool.run_passes(module, "ToMixedPrecision{missing_op_mode=0}")
    said.clear()
    irtool.run_passes(module, "ToMixedPrecision{missing_op_mode=2}", warn=said.append)
    assert not said
