"""For every operator of the drawn families: the compiled tensor expression computes what the reference does."""

import shutil

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import irtool
from irtool.infer import infer_expr
from irtool.ir import Function, Module, Tuple, Var
from irtool.ir.rewrite import substitute
from irtool.ir.walk import post_order
from irtool.ops import call, operators
from tests.ops.computed import COMPUTED, is_static, leaves
from tests.ops.drawing import argument, drawn


@pytest.mark.skipif(shutil.which("cc") is None and shutil.which("gcc") is None, reason="needs a C compiler")
@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck), phases=["generate"])
@given(st.data())
def test_compiled_code_computes_what_the_reference_does(data):
    calls, inputs, expected, names = [], [], [], []
    for name in COMPUTED:
        values, attributes = drawn(data.draw, name)
        arguments = [argument(v) for v in values]
        expression = call(name, *arguments, **attributes)
        if not is_static(infer_expr(expression).checked_type):
            continue
        calls.append(expression)
        inputs += leaves(tuple(values))
        with np.errstate(all="ignore"):
            expected.append(operators.get(name).make(attributes).evaluate(*values))
        names.append((name, attributes, values))
    body = Tuple(tuple(calls))
    params = tuple(v for v in post_order(body) if isinstance(v, Var))
    named = [Var(f"x{i}", p.type_annotation) for i, p in enumerate(params)]
    main = Function(tuple(named), substitute(body, dict(zip(params, named, strict=True))))
    module = irtool.infer_types(Module({"main": main}))
    results = irtool.build(module, opt_level=0).run(inputs)
    for (name, attributes, values), result, value in zip(names, results, expected, strict=True):
        for got, want in zip(leaves(result), leaves(value), strict=True):
            assert got.dtype == want.dtype, name
            rough = 2e-2 if want.dtype.itemsize == 2 else 1e-4
            close = np.allclose(got, want, rtol=rough, atol=rough, equal_nan=True)
            assert close, f"{name} {attributes} of {values}: {got} is not {want}"
