"""One rule for the exponentials of a softmax, in the interpreter and in C: what would be subnormal is 0."""

from __future__ import annotations

import numpy as np
import pytest

import irtool

pytestmark = pytest.mark.usefixtures("keeps_denormals")

CASES = {
    "rows": ("%x: Tensor[(2, 48), float32]", "nn.softmax(%x)"),
    "short rows": ("%x: Tensor[(2, 5), float32]", "nn.softmax(%x)"),
    "columns": ("%x: Tensor[(48, 3), float32]", "nn.softmax(transpose(%x, axes=[1, 0]), axis=1)"),
    "another axis": ("%x: Tensor[(2, 48), float32]", "nn.softmax(transpose(%x, axes=[1, 0]), axis=0)"),
    "after an operator": ("%x: Tensor[(2, 48), float32]", "nn.fast_softmax(negative(negative(%x)))"),
    "before an operator": ("%x: Tensor[(2, 48), float32]", "multiply(nn.softmax(%x), 2f)"),
    "float16": ("%x: Tensor[(2, 48), float16]", 'cast(nn.softmax(%x), dtype="float32")'),
    "bfloat16": (
        "%x: Tensor[(2, 48), float32]",
        'cast(nn.softmax(cast(%x, dtype="bfloat16")), dtype="float32")',
    ),
    "float64": ("%x: Tensor[(2, 48), float64]", "nn.softmax(%x)"),
    "exp of the program's own": (
        "%x: Tensor[(2, 48), float32]",
        "%0 = max(%x, axis=[1], keepdims=True); %1 = exp(subtract(%x, %0)); divide(%1, sum(%1, axis=[1], keepdims=True))",
    ),
}
WAYS = {
    "vectors": {},
    "scalars": {"target": "c{vector=none}"},
    "strict": {"target": "c{math=strict}"},
    "as written": {"opt_level": 0},
}
LEAST = np.finfo("float32").tiny


def _module(name: str) -> irtool.ir.Module:
    params, body = CASES[name]
    return irtool.infer_types(irtool.parse(f'#[version = "0.0.5"]\ndef @main({params}) {{ {body} }}\n'))


def _input(module: irtool.ir.Module) -> np.ndarray:
    """Rows from 0 to -110: exp of the last ones is subnormal, or less than any number."""
    t = module["main"].params[0].type_annotation
    rows = np.tile(-np.linspace(0, 110, max(t.shape)), (min(t.shape), 1))
    return (rows if t.shape[0] < t.shape[1] else rows.T).astype(t.dtype)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CASES)
def test_the_interpreter_and_c_have_the_same_zeros(name: str, way: str) -> None:
    module = _module(name)
    x = _input(module)
    want, got = irtool.evaluate(module, [x]), irtool.build(module, **WAYS[way]).run([x])
    np.testing.assert_array_equal(want == 0, got == 0)
    np.testing.assert_allclose(got, want, rtol=1e-5 if want.dtype == "float32" else 1e-12, atol=1e-44)


def test_only_a_softmax_in_single_precision_has_them() -> None:
    def zeros(name: str) -> int:
        module = _module(name)
        return int((irtool.evaluate(module, [_input(module)]) == 0).sum())

    assert zeros("rows") == 2 * 10
    assert zeros("float64") == 0
    assert zeros("exp of the program's own") < zeros("rows")


def test_normal_exponentials_stay() -> None:
    """exp(-87) is the least that stays: it is a normal number, and so is its share of a row with nothing else in it."""
    module = _module("short rows")
    x = np.array([[0, -87, -87.01, -88, -104], [0, -100, -100, -100, -100]], "float32")
    got = irtool.evaluate(module, [x])
    assert got[0, 1] >= LEAST
    assert not got[0, 2:].any() and not got[1, 1:].any()
