"""Scheduled programs: strategies, inputs, and the error of results."""

from __future__ import annotations

from typing import Any

import numpy as np

import irtool
from irtool.driver.prepare import prepare
from irtool.lower import lower_module
from irtool.passes.core.bind import bind_params
from irtool.schedule import VectorTarget, schedule_program
from irtool.tir.program import Program
from tests.nests import run_program

V = '#[version = "0.0.5"]\n'


def values(module: irtool.Module) -> dict[str, Any]:
    generator = np.random.default_rng(5)
    shapes = {p.name: tuple(int(d) for d in p.checked_type.shape) for p in module["main"].params}
    return {n: generator.standard_normal(s).astype("float32") for n, s in shapes.items()}


def error(module: irtool.Module, target: str) -> float:
    """Of the C program, relative to the largest result."""
    inputs = values(module)
    x = inputs.pop("x")
    expected = np.asarray(irtool.evaluate(module, [x, *inputs.values()]))
    actual = irtool.build(module, params=inputs, inputs=["x"], target=target).run([x])
    return float(np.abs(actual - expected).max() / np.abs(expected).max())


def check_nest(module: irtool.Module, program: Program) -> None:
    """The nest of a program, run in Python, has the interpreter's results."""
    inputs = values(module)
    expected = np.asarray(irtool.evaluate(module, list(inputs.values())))
    (outputs,) = run_program(program, [inputs["x"]])
    np.testing.assert_allclose(outputs, expected, atol=1e-3)


def scheduled(module: irtool.Module, target: VectorTarget) -> Program:
    program = lower_module(prepare(bind_params(module, {n: a for n, a in values(module).items() if n != "x"})))
    schedule_program(program, target)
    return program


def strategies(module: irtool.Module, target: VectorTarget) -> list[str]:
    return [k.choice.strategy for k in scheduled(module, target).kernels]
