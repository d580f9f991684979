"""Constants that loop nests hold: bound, collected on the module, read back, interpreted and compiled."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import irtool
from irtool.ir import Call, Constant, Function, Module, TensorType, Var
from irtool.ops.base import call
from irtool.tir.constants import hand_over_constants
from irtool.tir.stmt import AllocateConst, PrimFunc, pre_order
from irtool.tir.verify import find_problems

VALUES = np.array([[1, 0, 1], [0, 1, 1]])


def numpy_type(dtype: str) -> type | str:
    return ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype


def module_of(dtype: str) -> Module:
    """`@main(%x)` calls a kernel that adds a constant to `%x`, and takes the logical and of booleans."""
    data = VALUES.astype(numpy_type(dtype))
    constant = Constant(data.view("uint16") if dtype == "bfloat16" else data, dtype)
    t = TensorType((2, 3), dtype)
    p, x = Var("p", t), Var("x", t)
    kernel = Function((p,), call("logical_and" if dtype == "bool" else "add", p, constant), t, (), {"Primitive": 1})
    return Module({"main": Function((x,), Call(kernel, (x,)), t)})


def nest_of(module: Module) -> PrimFunc:
    (nest,) = (f for f in module.functions.values() if isinstance(f, PrimFunc))
    return nest


@pytest.mark.promise("lowering")
@pytest.mark.promise("lowered text")
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "bool", "int8", "int64", "float64"])
def test_constants_are_read_back_interpreted_and_compiled(dtype: str) -> None:
    before = module_of(dtype)
    text = irtool.to_text(irtool.run_passes(before, "LowerTE"))
    again = irtool.parse(text)
    assert irtool.to_text(again) == text
    assert len(nest_of(again).params) == 2
    x = [np.array([[1, 1, 0], [0, 0, 1]]).astype(numpy_type(dtype))]
    expected = np.asarray(irtool.evaluate(before, x))
    for actual in (irtool.evaluate(again, x), irtool.build(again, vector=False).run(x)):
        np.testing.assert_array_equal(np.asarray(actual).astype("float64"), expected.astype("float64"))


@pytest.mark.promise("lowering")
def test_constants_stand_on_the_module() -> None:
    module = irtool.run_passes(module_of("float32"), "LowerTE")
    (constant,) = module.attrs["constants"]
    assert constant.dtype == "float32" and np.array_equal(constant.data, VALUES)
    (bound,) = (s for s in pre_order(nest_of(module).body) if isinstance(s, AllocateConst))
    assert bound.storage_index == 0 and bound.data is not None
    again = irtool.run_passes(irtool.parse(irtool.to_text(module)), "ExtractPrimFuncConstants")
    assert np.array_equal(again.attrs["constants"][0].data, VALUES)


@pytest.mark.parametrize("name", ["ExtractPrimFuncConstants", "tir.ExtractPrimFuncConstants"])
def test_the_pass_is_disabled_by_either_of_its_names(name: str) -> None:
    module = irtool.run_passes(module_of("float32"), "LowerTE", disabled_pass=[name])
    assert "constants" not in module.attrs and "irmod_storage_idx" not in irtool.to_text(module)


def test_a_constant_must_fill_its_buffer_and_is_never_written() -> None:
    nest = nest_of(irtool.run_passes(module_of("float32"), "LowerTE"))
    assert not list(find_problems(nest))
    bound = nest.body
    assert isinstance(bound, AllocateConst)
    short = nest.with_body(AllocateConst(bound.buffer, bound.data[:1], bound.body))
    assert any("holds 3 elements" in p for p in find_problems(short))
    twice = nest.with_body(AllocateConst(bound.buffer, bound.data, bound))
    assert any("allocated twice" in p for p in find_problems(twice))


def test_constants_are_handed_over_behind_the_inputs() -> None:
    nest = nest_of(irtool.run_passes(module_of("float32"), "LowerTE"))
    bare, bound = hand_over_constants(nest)
    assert [b.name for b in bare.inputs] == ["p0", "c0"] and bare.outputs == nest.outputs
    assert len(bound) == 1 and not list(find_problems(bare))
    assert hand_over_constants(bare) == (bare, [])


TEXT = irtool.to_text(irtool.run_passes(module_of("float32"), "LowerTE"))


@pytest.mark.promise("mutated texts")
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[2, 3]), data", "[3, 2]), data", "the data of c0 is float32\\[2, 3\\], its buffer float32\\[3, 2\\]"),
        ("data = meta[relay.Constant][0]", "data = meta[relay.Constant][7]", "there is no number 7"),
        ("data = meta[relay.Constant][0]", "data = meta[Target][0]", "is a relay.Constant"),
        ("irmod_storage_idx = 0", "irmod_storage_idx = x", "expected the number of a constant"),
    ],
)
def test_wrong_constants_in_a_text_are_refused(old: str, new: str, message: str) -> None:
    assert old in TEXT
    with pytest.raises(irtool.IrError, match=message):
        irtool.parse(TEXT.replace(old, new))


def test_a_constant_without_its_data_is_kept_as_text() -> None:
    text = TEXT.replace(", data = meta[relay.Constant][0]", "")
    module = irtool.parse(text[: text.index("#[metadata]")])
    assert "irmod_storage_idx = 0" in irtool.to_text(module)
    with pytest.raises(irtool.IrError, match="kept as text"):
        irtool.build(module)


def test_another_constant_is_another_build(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    x = np.ones((2, 3), "float32")
    lowered = irtool.run_passes(module_of("float32"), "LowerTE")
    first = irtool.build(lowered, cache=True).run([x])
    for f in lowered.functions.values():
        for s in pre_order(f.body) if isinstance(f, PrimFunc) else ():
            if isinstance(s, AllocateConst):
                s.data = s.data + 1
    np.testing.assert_array_equal(irtool.build(lowered, cache=True).run([x]), first + 1)
