"""Calls of operators as loop nests, interpreted for several machines, against their references."""

from __future__ import annotations

import numpy as np

import irtool
from irtool.driver.prepare import UnboundedExtents, is_dynamic, prepare
from irtool.ir import Constant, Expr, Function, Module, TensorType, Tuple, Var
from irtool.lower import lower_module
from irtool.ops import call, operators
from irtool.schedule import VectorTarget, schedule_program
from irtool.tir.symbols import symbols_of_program
from irtool.tir.verify import find_problems
from tests.nests import run_program

MACHINES = [VectorTarget(0), VectorTarget(16, 16), VectorTarget(64, 32)]


def leaves(value):
    return [leaf for v in value for leaf in leaves(v)] if isinstance(value, tuple | list) else [np.asarray(value)]


def agrees(name, arguments, attributes, machines=MACHINES):
    """Compares nests with the reference on arrays (tuples of arrays); small ones are constants of quantized operators."""
    params: list[Var] = []
    inputs: list[np.ndarray] = []

    def argument(value) -> Expr:
        if isinstance(value, tuple):
            return Tuple(tuple(map(argument, value)))
        if name.startswith("qnn.") and value.ndim < 2:
            return Constant(value)
        params.append(Var(f"x{len(params)}", TensorType(value.shape, value.dtype.name)))
        inputs.append(value)
        return params[-1]

    expression = call(name, *map(argument, arguments), **attributes)
    module = irtool.infer_types(Module({"main": Function(tuple(params), expression)}))
    try:
        prepared = prepare(module, opt_level=2 if name.startswith("qnn.") else 0)
    except UnboundedExtents:
        return
    if is_dynamic(prepared) or symbols_of_program(lower_module(prepared)) or lower_module(prepared).failures:
        return  # extents that follow from values: see tests/driver/test_value_lengths.py and test_value_shapes.py
    with np.errstate(all="ignore"):
        expected = leaves(operators.get(name).make(attributes).evaluate(*arguments))
    inexact = 1 if "resize" in name or "upsampling" in name else 0
    for machine in machines:
        program = lower_module(prepared)
        schedule_program(program, machine)
        for kernel in program.kernels:
            assert not list(find_problems(kernel))
        for got, want in zip(run_program(program, inputs), expected, strict=True):
            assert (got.dtype, got.shape) == (want.dtype, want.shape)
            if want.dtype.kind in "biu":
                rough, exact = inexact, not inexact
            else:
                rough, exact = (2e-2 if want.dtype.itemsize == 2 else 1e-4), False
            same = (
                np.array_equal(got, want)
                if exact
                else np.allclose(got.astype("float64"), want.astype("float64"), rtol=rough, atol=rough, equal_nan=True)
            )
            assert same, f"{name} {attributes} of {arguments} on {machine}: {got} is not {want}"
