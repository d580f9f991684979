"""For every operator: its tensor expression, lowered and scheduled for several machines, computes what the reference does.

Nests run in Python (`tests.nests`): no C compiler is needed, a case takes milliseconds, and a read of memory that nobody
wrote fails.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import irtool
from irtool.driver.prepare import is_dynamic, prepare
from irtool.ir import Constant, Expr, Function, Module, TensorType, Tuple, Var
from irtool.lower import lower_module
from irtool.ops import call, operators
from irtool.ops.base import Operator
from irtool.schedule import VectorTarget, schedule_program
from irtool.tir.verify import find_problems
from tests.nests import run_program
from tests.ops import drawing, structural_cases
from tests.ops.cases import accepted_calls, calls_of_family

MACHINES = [VectorTarget(0), VectorTarget(16, 16), VectorTarget(64, 32)]
NETWORKS = [*calls_of_family("nn"), *calls_of_family("qnn"), *accepted_calls("tree_ensemble")]
DRAWN = [n for n in drawing.NAMES if operators.get(n).compute is not Operator.compute]
SEEDS = range(3)


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
    prepared = prepare(module, opt_level=2 if name.startswith("qnn.") else 0)
    if is_dynamic(prepared):
        return
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


@pytest.mark.parametrize(
    ("name", "arguments", "attributes"), NETWORKS, ids=[f"{c[0]}-{n}" for n, c in enumerate(NETWORKS)]
)
def test_operators_of_networks(name, arguments, attributes):
    agrees(name, arguments, attributes)


def test_a_tile_of_a_reduction_that_sums_nothing():
    """Axes of extent 1 leave no loop to sum over, and operands that move with an unrolled row must not look for one."""
    x, mean = np.ones((2, 4, 1, 1), "float16"), np.ones((2, 1, 1, 1), "float16")
    agrees("variance", [x, mean], {"axis": [3], "keepdims": False, "exclude": False, "unbiased": False})


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", list(structural_cases.DRAWINGS))
def test_structural_operators(name, seed):
    arguments, attributes = structural_cases.draw_case(name, random.Random(seed).randint)
    agrees(name, arguments, attributes, MACHINES[::2])


@pytest.mark.parametrize("name", DRAWN)
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck), phases=["generate"])
@given(st.data())
def test_drawn_operators(name, data):
    agrees(name, *drawing.drawn(data.draw, name), MACHINES[1:2])
