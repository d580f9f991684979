"""Attributes that are numbers, in the dtype that an operator computes in: full precision, the whole range, one value for all ways.

Every operator with such attributes, in float64, 16-bit floats and int32, with attributes that float32 does not hold.
"""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError
from irtool.infer import infer_types
from irtool.interp.evaluate import evaluate
from irtool.interp.random_inputs import random_inputs
from irtool.ir import Call, Function, Module, Tuple
from irtool.ir.values import value_leaves
from irtool.ops.base import operators
from irtool.ops.cases import cases_of
from irtool.parser import parse

IN_FLOAT32 = ("image.", "dyn.image.", "vision.", "nn.upsampling", "dyn.nn.upsampling")
"""What has places in images: they are float32 whatever the data is, as in TVM."""

EXTREMES = (1 / 3, 2.5e-308, 1e-12, 16777217.0, -1e300)
ERRORS = {"float64": 1e-12, "float16": 2e-3, "bfloat16": 1.6e-2}


def calls_of(dtype: str, values: tuple[float, ...]) -> list[tuple[str, Function]]:
    """A call of each operator for each of its attributes and each value, with its parameters; none that is refused."""
    programs = []
    for name in operators.names():
        cls = operators.get(name)
        attributes = [f.name for f in cls.fields() if str(f.type) in ("float", "float | None")]
        if cls.vendor or not attributes or name.startswith((*IN_FLOAT32, "qnn.")):
            continue
        cases = [c for c in cases_of(cls) if not c.refusal]
        case = next((c for c in cases if "float" in c.program), cases[0])
        for attribute in attributes:
            for value in values:
                number = len(programs)
                text = re.sub(r"%(\w+)", rf"%\1_{number}", re.sub(r"\bfloat(16|32|64)", dtype, case.program))
                main = parse(text)["main"]
                body = main.body
                assert isinstance(body, Call)
                changed = Call(body.op, body.args, dataclasses.replace(body.attrs, **{attribute: value}))
                try:
                    main = infer_types(Module.from_expr(Function(main.params, changed)))["main"]
                except IrError:
                    continue
                programs.append((f"{name}({attribute}={value!r})", main))
    return programs


def leaves(value):
    return [np.asarray(v) for v in value_leaves(value)]


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "int32"])
def test_compiled_code_has_the_attribute_of_the_interpreter(dtype):
    calls = calls_of(dtype, EXTREMES)
    assert len({name.partition("(")[0] for name, _ in calls}) >= (3 if dtype == "int32" else 10)
    params = [p for _, f in calls for p in f.params]
    module = infer_types(Module.from_expr(Function(params, Tuple([f.body for _, f in calls]))))
    inputs = random_inputs(module["main"], 0)
    expected, got = evaluate(module, inputs), irtool.build(module).run(inputs)
    for (about, _), want, have in zip(calls, expected, got, strict=True):
        for w, h in zip(leaves(want), leaves(have), strict=True):
            w, h = w.astype("float64"), h.astype("float64")
            error = ERRORS.get(dtype, 0)
            np.testing.assert_allclose(h, w, rtol=error, atol=error / 10, equal_nan=True, err_msg=about)


def test_no_attribute_of_float64_is_rounded_to_float32():
    """A third, and the nearest float32 to it, give results that differ: in the operator, and behind its simplification."""
    third, near = 1 / 3, float(np.float32(1 / 3))
    for (about, one), (_, other) in zip(calls_of("float64", (third,)), calls_of("float64", (near,)), strict=True):
        inputs = [
            np.zeros_like(x) if x.dtype.kind == "i" else x for x in random_inputs(one, 0)
        ]  # of what is masked: all
        if about.startswith("nn.l2_normalize"):
            inputs = [np.zeros_like(x) + 1e-3 for x in inputs]
        if about.startswith("nn.leaky_relu"):
            inputs = [-np.abs(x) - 1 for x in inputs]
        if about.startswith("nn.dropout"):  # nothing is dropped when a network is run
            continue
        for passes in ("InferType", "SimplifyInference"):
            exact, rounded = (
                leaves(evaluate(irtool.run_passes(Module.from_expr(f), passes), inputs)) for f in (one, other)
            )
            assert any((a != b).any() for a, b in zip(exact, rounded, strict=True)), (about, passes)


def test_rows_of_zeros_stay_zeros():
    text = "nn.l2_normalize(%x, eps=2.2250738585072014e-308f, axis=[1])"
    module = irtool.parse(f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(2, 2), float64]) {{ {text} }}')
    out = irtool.build(irtool.infer_types(module)).run([np.array([[3.0, 4.0], [0.0, 0.0]])])
    np.testing.assert_allclose(out, [[0.6, 0.8], [0.0, 0.0]], rtol=1e-15)
