"""Checks the cases of operators: types, values, and agreement of compiled code with the interpreter."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

from ..diagnostics import IrError
from ..infer import infer_types
from ..interp.evaluate import evaluate
from ..interp.random_inputs import random_inputs
from ..ir import Call, Constant, Expr, Module, Op, TensorType, Tuple, Var
from ..ir.dtypes import numpy_dtype
from ..ir.values import value_leaves
from ..ops.base import Operator, operators
from ..ops.cases import Case, Range
from ..parser import parse

if TYPE_CHECKING:
    import numpy as np


def module_of(case: Case) -> Module:
    """The case as a typed module. Raises IrError if it is refused."""
    return infer_types(parse(case.program, filename=case.place))


def inputs_of(case: Case, module: Module, seed: int = 0) -> list[Any]:
    """The values of the parameters: stated by the case, or random. Raises IrError for a value that does not fit its type."""
    main = module["main"]
    values = random_inputs(main, seed)
    return [
        value if stated is None else _stated(stated, p.checked_type, f"{case.place}: %{name}", seed)
        for (name, _, stated), p, value in zip(case.parameters, main.params, values, strict=True)
    ]


def _stated(stated: Any, type: Any, what: str, seed: int) -> np.ndarray:
    import numpy as np

    if not isinstance(type, TensorType) or not type.is_static:
        raise IrError(f"{what} has a value, but is not a tensor of known shape")
    shape, dtype = type.static_shape, numpy_dtype(type.dtype)
    if not isinstance(stated, Range):
        value = np.asarray(stated, dtype)
        if value.shape != shape and value.size:
            raise IrError(f"{what} has the shape {shape}, but its value has the shape {value.shape}")
        return value.reshape(shape)
    rng = np.random.RandomState((zlib.crc32(what.encode()) + seed) & 0x7FFFFFFF)
    if dtype.kind in "iu":
        return rng.randint(int(stated.low), int(stated.high) + 1, shape, dtype="int64").astype(dtype)
    return np.asarray(rng.uniform(stated.low, stated.high, shape)).astype(dtype)


def arguments_of(case: Case, seed: int = 0) -> tuple[type[Operator], list[Any], dict[str, Any]]:
    """The call of a case: its operator, the values of its arguments (tuples as tuples), and its attributes that are not the default."""
    module = module_of(case)
    main = module["main"]
    values: dict[Expr, Any] = dict(zip(main.params, inputs_of(case, module, seed), strict=True))
    body = main.body
    if not isinstance(body, Call) or not isinstance(body.op, Op):
        raise IrError(f"{case.place}: the body is not a call of an operator")

    def value(e: Expr) -> Any:
        if isinstance(e, Tuple):
            return tuple(value(f) for f in e.fields)
        if not isinstance(e, Var | Constant):
            raise IrError(f"{case.place}: an argument is not a parameter, a constant or a tuple of these")
        return values[e] if isinstance(e, Var) else e.data

    stated = ((f, getattr(body.attrs, f.name)) for f in body.op.operator.fields())
    return body.op.operator, [value(a) for a in body.args], {f.name: v for f, v in stated if v != f.default}


def problem_of(case: Case, seed: int = 0) -> str:
    """The first fault of the operator on a case (type, refusal or value), in a sentence; empty if it has none."""
    import numpy as np

    try:
        module = module_of(case)
    except IrError as error:
        message = "; ".join(d.message for d in error.diagnostics)
        lost = [word for word in case.refusal if word not in message]
        if not case.refusal:
            return f"it is refused: {message}"
        return f"the error does not say {', '.join(lost)}: {message}" if lost else ""
    if case.refusal:
        return "it is accepted"
    result = module["main"].ret_type
    if case.type and repr(result) != case.type:
        return f"its type is {result!r}"
    output = evaluate(module, inputs_of(case, module, seed))
    if case.value is None:
        return ""
    leaves = list(output) if isinstance(output, tuple) else [output]
    expected = case.value if isinstance(output, tuple) else [case.value]
    for got, want in zip(leaves, expected, strict=True):
        got = np.asarray(got)
        if not np.allclose(got.astype("float64"), np.asarray(want, "float64"), rtol=1e-5, atol=1e-6, equal_nan=True):
            return f"it gives {got.tolist()}"
    return ""


def compiled_problem_of(case: Case, seed: int = 0) -> str:
    """The first difference of compiled code from the interpreter on a case that holds; empty if they agree.

    Nothing is compiled where the call is refused, or its operator has no tensor expression and none takes its place.
    """
    import numpy as np

    from .build import build

    cls = operators.get(case.operator)
    if case.refusal or (cls.compute is Operator.compute and not cls.noncomputational):
        return ""
    module = module_of(case)
    inputs = inputs_of(case, module, seed)
    expected = value_leaves(evaluate(module, inputs))
    weights: dict[str, Any] = {}
    if case.operator.startswith("qnn."):  # scales and zero points are known while compiling
        names = [p.name for p in module["main"].params]
        weights = dict(zip(names[1:], inputs[1:], strict=True))
        inputs = inputs[:1]
    actual = value_leaves(build(module, params=weights).run(inputs))
    for want, got in zip(map(np.asarray, expected), map(np.asarray, actual), strict=True):
        rough = 0.0 if want.dtype.kind in "biu" else 1e-2 if want.dtype.itemsize == 2 else 1e-4
        if not np.allclose(got.astype("float64"), want.astype("float64"), rtol=rough, atol=rough, equal_nan=True):
            return f"C gives {got.tolist()}, the interpreter {want.tolist()}"
    return ""
