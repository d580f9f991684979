"""Calls with their arguments, and their slopes by finite differences."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import irtool
from irtool.diagnostics import InternalError, IrError
from irtool.ir import Constant, Expr, Function, Module, TensorType, Var
from irtool.ops.base import call
from irtool.passes.instruments.verifying import Verifying

STEP = 1e-6
PASSES = ("FirstOrderGradient", "ToANormalForm,Gradient")

Make = Callable[..., Expr]


@dataclass(frozen=True)
class Case:
    """A function of some tensors. `inputs` are shapes of float64 (values away from kinks), or arrays as they are."""

    make: Make
    inputs: Sequence[Any]
    low: float = 0.2
    high: float = 0.9
    step: float = STEP


def direct(name: str, **attributes: Any) -> Make:
    return lambda *args: call(name, *args, **attributes)


def constant(value: Any, dtype: str = "float64") -> Constant:
    return Constant(np.asarray(value, dtype))


def values(case: Case) -> list[np.ndarray]:
    """Distinct values in a random order, so that no two compare equal and no maximum is shared."""
    rng = np.random.RandomState(zlib.crc32(repr((case.inputs, case.low)).encode()))
    arrays = []
    for k, operand in enumerate(case.inputs):
        if isinstance(operand, np.ndarray):
            arrays.append(operand)
            continue
        count = int(np.prod(operand))
        spread = np.linspace(case.low, case.high, count, endpoint=False) + 0.001 * k
        arrays.append(rng.permutation(spread).reshape(operand))
    return arrays


def weighted(case: Case, arrays: Sequence[np.ndarray]) -> Module:
    """The case's result times fixed weights, so that each element's gradient shows."""
    params = tuple(Var(f"p{i}", TensorType(a.shape, str(a.dtype))) for i, a in enumerate(arrays))
    body = case.make(*params)
    shape = np.shape(irtool.evaluate(Module({"main": Function(params, body)}), arrays))
    weights = np.random.RandomState(7).uniform(0.5, 1.5, shape)
    return irtool.infer_types(Module({"main": Function(params, call("multiply", body, constant(weights)))}))


def finite_differences(module: Module, arrays: Sequence[np.ndarray], step: float) -> list[np.ndarray]:
    def loss(changed: Sequence[np.ndarray]) -> float:
        return float(np.sum(irtool.evaluate(module, changed)))

    gradients = []
    for k, a in enumerate(arrays):
        gradient = np.zeros(a.shape)
        for i in np.ndindex(a.shape) if a.dtype == np.float64 else ():
            moved = []
            for sign in (1, -1):
                b = a.copy()
                b[i] += sign * step
                moved.append(loss([*arrays[:k], b, *arrays[k + 1 :]]))
            gradient[i] = (moved[0] - moved[1]) / (2 * step)
        gradients.append(gradient)
    return gradients


def check(case: Case, passes: tuple[str, ...] = PASSES, tolerance: float = 1e-5) -> bool:
    """Compares gradients with differences, relatively and absolutely; False where the rule refuses the attributes."""
    arrays = values(case)
    module = weighted(case, arrays)
    want = finite_differences(module, arrays, case.step)
    for p in passes:
        try:
            after = irtool.run_passes(module, p, instruments=[Verifying()])
        except InternalError:
            raise
        except IrError as error:
            assert [d.code.name for d in error.diagnostics if d.code] == ["E0507"], error
            return False
        _, got = irtool.evaluate(after, arrays)
        for a, g, w in zip(arrays, got, want, strict=True):
            assert g.shape == a.shape and g.dtype == a.dtype
            if a.dtype == np.float64 and np.isfinite(w).all():  # elsewhere there are no differences
                np.testing.assert_allclose(g, w, rtol=tolerance, atol=tolerance, err_msg=p)
    return True
