"""Operators that move, index, resample and select: the rule gives the type of what the reference returns, whatever is
drawn; the compiled tensor expression returns what the reference returns."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import irtool
from irtool.infer import infer_expr
from irtool.ir import ANY, Function, Module, TensorType, Tuple, TupleType, Var
from irtool.ops import call, operators
from irtool.ops.dyn.base import Dynamic
from tests.ops.structural_cases import COMPILED, DRAWINGS, DYNAMIC, draw_case

PACKAGES = ("shape", "indexing", "image", "vision", "dyn")


def type_of(value):
    if isinstance(value, tuple):
        return TupleType(tuple(type_of(v) for v in value))
    return TensorType(value.shape, value.dtype.name)


def fits(type, value):
    """True if the value is of the type; `?` fits every extent."""
    if isinstance(type, TupleType):
        return isinstance(value, tuple) and len(value) == len(type.fields) and all(map(fits, type.fields, value))
    return (
        value.dtype == type.dtype
        and value.ndim == len(type.shape)
        and all(d is ANY or d == e for d, e in zip(type.shape, value.shape, strict=True))
    )


def argument(value, params):
    if isinstance(value, tuple):
        return Tuple(tuple(argument(v, params) for v in value))
    var = Var(f"p{len(params)}", type_of(value))
    params.append((var, value))
    return var


def test_every_operator_of_these_families_is_drawn():
    owned = {c.name for c in operators if c.__module__.split(".")[2] in PACKAGES}
    assert owned <= set(DRAWINGS)


@pytest.mark.parametrize("name", sorted(DRAWINGS))
@settings(max_examples=25, deadline=None)
@given(st.data())
def test_reference_returns_the_inferred_type(name, data):
    inputs, attributes = draw_case(name, lambda low, high: data.draw(st.integers(low, high)))
    params = []
    inferred = infer_expr(call(name, *[argument(v, params) for v in inputs], **attributes)).checked_type
    value = operators.get(name).make(attributes).evaluate(*inputs)
    assert fits(inferred, value), f"{inferred} does not fit {value!r}"


@pytest.mark.parametrize("name", [n for n in sorted(DYNAMIC) if n.startswith("dyn.")])
def test_dynamic_operator_freezes_to_the_static_one(name):
    rng = np.random.default_rng(5)
    inputs, attributes = draw_case(name, lambda low, high: rng.integers(low, high + 1))
    dynamic = operators.get(name).make(attributes)
    assert isinstance(dynamic, Dynamic)
    frozen = dynamic.freeze(*[inputs[i] for i in dynamic.moving])
    remaining = [v for i, v in enumerate(inputs) if i not in dynamic.moving]
    assert type(frozen).name == name.removeprefix("dyn.")
    for a, b in zip(flat(dynamic.evaluate(*inputs)), flat(frozen.evaluate(*remaining)), strict=True):
        np.testing.assert_array_equal(a, b)


def flat(value):
    return [x for v in value for x in flat(v)] if isinstance(value, tuple) else [np.asarray(value)]


GROUPS = [COMPILED[i::6] for i in range(6)]


@pytest.mark.parametrize("group", range(len(GROUPS)))
def test_compiled_operators_return_what_their_references_return(group, tmp_path):
    rng = np.random.default_rng(group)
    params, calls, expected, names = [], [], [], []
    for name in GROUPS[group]:
        for _ in range(3):
            inputs, attributes = draw_case(name, lambda low, high: rng.integers(low, high + 1))
            calls.append(call(name, *[argument(v, params) for v in inputs], **attributes))
            expected.append(operators.get(name).make(attributes).evaluate(*inputs))
            names.append(f"{name} {attributes}")
    main = Function(tuple(v for v, _ in params), Tuple(tuple(calls)))
    module = irtool.infer_types(Module({"main": main}))
    results = irtool.build(module, out_dir=tmp_path, opt_level=0).run([value for _, value in params])
    for got, want, name in zip(results, expected, names, strict=True):
        for a, b in zip(flat(got), flat(want), strict=True):
            # An interpolated value that is a whole number but for rounding may be truncated to either neighbour.
            resampled = np.issubdtype(b.dtype, np.integer) and name.startswith(("image.", "nn.upsampling"))
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1 if resampled else 1e-4, err_msg=name)
