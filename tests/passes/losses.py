"""Cases of operators as losses: the sum of all real results, weighted, of real arguments in float64."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import irtool
from irtool.diagnostics import IrError
from irtool.ir import Constant, Expr, Function, Module, TensorType, Tuple, TupleGetItem, TupleType, Type, Var
from irtool.ops import operators
from irtool.ops.base import call
from irtool.ops.dyn.base import Dynamic
from tests.ops import cases

LARGEST_NUMBER = 1e6
"""Larger numbers hide the steps of differences."""

MOST = 2000
"""Elements of the arguments of a case up to which it is taken."""


@dataclass(frozen=True)
class Loss:
    """A function of its real arguments that gives one number; what else the call takes is constant or an argument that is flat.

    Attributes:
        name: the call, for messages.
        module: the loss as `main`.
        arrays: values of the parameters.
    """

    name: str
    module: Module
    arrays: tuple[np.ndarray, ...]

    def slopes(self, step: float = 1e-6) -> list[np.ndarray]:
        """The central difference for each element of each real argument, and zeros for the others."""
        gradients = []
        for k, a in enumerate(self.arrays):
            gradient = np.zeros(a.shape)
            for i in np.ndindex(a.shape) if a.dtype == np.float64 else ():
                moved = []
                for sign in (1, -1):
                    b = a.copy()
                    b[i] += sign * step
                    moved.append(float(irtool.evaluate(self.module, [*self.arrays[:k], b, *self.arrays[k + 1 :]])))
                gradient[i] = (moved[0] - moved[1]) / (2 * step)
            gradients.append(gradient)
        return gradients


def losses_of(name: str, most: int = MOST) -> Iterator[Loss]:
    """A loss for each accepted case of an operator that has a real result of real arguments, of at most `most` elements."""
    for number, (_, arguments, attributes) in enumerate(cases.accepted_calls(name)):
        loss = _loss(f"{name} {number} {attributes}", name, arguments, attributes, most)
        if loss is not None:
            yield loss


def _loss(label: str, name: str, arguments: Sequence[Any], attributes: dict[str, Any], most: int) -> Loss | None:
    groups = [len(a) if isinstance(a, tuple | list) else 0 for a in arguments]
    flat = [
        np.asarray(a)
        for argument in arguments
        for a in (argument if isinstance(argument, tuple | list) else [argument])
    ]
    if sum(a.size for a in flat) > most:
        return None
    widened = {k: "float64" if k in ("dtype", "out_dtype") and v == "float32" else v for k, v in attributes.items()}
    cls = operators.get(name)
    fixed = cls.moving if issubclass(cls, Dynamic) else ()
    for attributes_of_case in (widened, attributes):
        arrays = [_apart(a, k) if a.dtype.kind == "f" else a for k, a in enumerate(flat)]
        # Integers that the operator would take as reals are reals: most of what moves elements has cases of integers.
        for k in [None, *range(len(arrays))]:
            tried = list(arrays)
            if k is None:
                tried = [_apart(a, n) if a.dtype.kind in "iu" and n not in fixed else a for n, a in enumerate(arrays)]
            elif arrays[k].dtype.kind in "iu" and k not in fixed:
                tried[k] = _apart(arrays[k], k)
            else:
                continue
            if _module(name, groups, tried, attributes_of_case, fixed) is not None:
                arrays = tried
        module = _module(name, groups, arrays, attributes_of_case, fixed)
        if module is not None and any(a.dtype == np.float64 for a in arrays):
            return Loss(label, module, tuple(a for k, a in enumerate(arrays) if k not in fixed))
    return None


def _apart(a: np.ndarray, k: int) -> np.ndarray:
    """Real numbers near those of a case, distinct, and off the places where cases like to look."""
    spread = np.random.RandomState(k).permutation(a.size).reshape(a.shape) / max(a.size, 1)
    if a.size and np.abs(a.astype("float64")).max() > LARGEST_NUMBER:
        a = a % 100
    off = 0.00137 if a.dtype.kind == "f" else 0.137
    return np.asarray(a.astype("float64") + off + 0.0007 * k + 0.01 * spread)


def _module(
    name: str, groups: Sequence[int], arrays: Sequence[np.ndarray], attributes: dict[str, Any], fixed: Sequence[int]
) -> Module | None:
    """The loss; None where the types do not fit, or no result is real."""
    params: list[Var] = []
    waiting: list[Expr] = []
    for k, a in enumerate(arrays):
        if k in fixed:
            waiting.append(Constant(a))
            continue
        params.append(Var(f"p{k}", TensorType(a.shape, str(a.dtype))))
        waiting.append(params[-1])
    built = [Tuple(tuple(waiting.pop(0) for _ in range(n))) if n else waiting.pop(0) for n in groups]
    try:
        body = call(name, *built, **attributes)
        typed = irtool.infer_types(Module({"main": Function(tuple(params), body)}))
        result = typed["main"].checked_type.ret_type
        loss = _weighted(body, result, params, [a for k, a in enumerate(arrays) if k not in fixed])
        return None if loss is None else irtool.infer_types(Module({"main": Function(tuple(params), loss)}))
    except IrError:
        return None


def _weighted(body: Expr, type: Type, params: Sequence[Var], arrays: Sequence[np.ndarray]) -> Expr | None:
    results = [(body, type)]
    if isinstance(type, TupleType):
        results = [(TupleGetItem(body, i), t) for i, t in enumerate(type.fields)]
    rng = np.random.RandomState(7)
    total: Expr | None = None
    for e, t in results:
        if not isinstance(t, TensorType) or t.dtype not in ("float64", "float32"):
            continue
        value = irtool.evaluate(Module({"main": Function(tuple(params), e)}), arrays)
        weights = Constant(rng.uniform(0.5, 1.5, np.shape(value)).astype(t.dtype))
        flat = call("reshape", call("multiply", e, weights), newshape=(int(np.size(value)),))
        part: Expr = call("sum", flat, axis=None)
        if t.dtype != "float64":
            part = call("cast", part, dtype="float64")
        total = part if total is None else call("add", total, part)
    return total
