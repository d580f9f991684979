"""Evaluating functions of a module, and expressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..deferred import np
from ..diagnostics import IrError, nearest
from ..infer import require_types, specialize
from ..infer.lengths import symbols_of_params, with_lengths
from ..ir import Expr, ExternFunction, Function, Module, TensorType, Var, tuple_leaves
from ..ir.conversion import Sizes
from ..ir.dtypes import numpy_dtype
from ..ir.inputs import check_inputs
from ..ir.mistakes import ValueDoesNotFit
from ..ir.narrow import NARROW
from ..ir.tensor_names import parameters_by_input
from ..symbolic_int import Symbol
from .machine import Machine
from .mistakes import NoBody
from .translate import translate
from .values import Closure


def evaluate(module: Module | Expr, inputs: Sequence[Any] | Mapping[str, Any] = (), entry: str = "main") -> Any:
    """The result of the function `entry` on `inputs`; a function or an expression is taken as the `@main` of a module.

    Tensors are numpy arrays and tuples are tuples, in and out; `inputs` has one value per parameter, in order or by name.
    A module without types is inferred first, and parameters that nothing gives a type have those of the inputs. An array of
    another dtype is converted where that loses nothing, with a ConversionWarning: see `ir.conversion`.

    Raises IrError, naming parameter, axis and values, if an input does not fit, and at the call where an operator cannot
    be evaluated.
    """
    module = Module.of(module)
    function = module.functions.get(entry)
    if not isinstance(function, Function):
        if isinstance(function, ExternFunction):
            raise IrError(f"@{entry} is external: nothing but its type is known", function.span, code=NoBody)
        if function is not None:
            raise IrError(f"@{entry} has been lowered: it runs where a function calls it, not by itself", code=NoBody)
        raise IrError(f"the module has no function @{entry}", help=nearest(entry, module.functions))
    if function.checked_type is None:
        module = require_types(_specialized(module, function, inputs, entry), [entry])
        function = module[entry]
    for p in function.params:
        _require_arithmetic(p)
    origin_names = parameters_by_input(function)
    sizes: Sizes = {}
    values = check_inputs(function.params, inputs, entry, span=function.span, names=origin_names, sizes=sizes)
    if symbols_of_params(function):
        module = with_lengths(module, {s: size for s, (size, _) in sizes.items() if isinstance(s, Symbol)})
        function = module[entry]
        values = check_inputs(function.params, values, entry, span=function.span, sizes={})
    machine = Machine(module)
    closure = machine.closure(entry)
    assert isinstance(closure, Closure)
    return machine.call(closure, values)


def _require_arithmetic(p: Var) -> None:
    """Raises IrError if nothing here computes with the values of a parameter: those of `float8`, or of bfloat16 in the
    absence of its package.
    """
    for x in tuple_leaves(p.checked_type) if p.checked_type is not None else ():
        if isinstance(x, TensorType) and x.dtype not in NARROW:
            try:
                numpy_dtype(x.dtype)
            except IrError as error:
                raise IrError(
                    f"%{p.name} is {p.checked_type}: {error.diagnostics[0].message}", p.span, code=ValueDoesNotFit
                ) from None


def _specialized(module: Module, function: Function, inputs: Any, entry: str) -> Module:
    """The module in which parameters whose types nothing decides have those of the inputs."""
    if not isinstance(inputs, Mapping):
        if isinstance(inputs, np.ndarray) or not isinstance(inputs, Sequence):
            return module
        inputs = {p.name: v for p, v in zip(function.params, inputs, strict=False)}
    return specialize(module, entry, values=inputs)


def evaluate_expr(expr: Expr, module: Module | None = None, env: Mapping[Var, Any] | None = None) -> Any:
    """The value of an expression; `env` gives the values of its free variables. A function evaluates to a `Closure`.

    Raises IrError for a free variable that is not in `env`.
    """
    machine = Machine(module)
    code = translate(Function((), expr), machine, "expression")
    values = []
    for free in code.captured:
        assert isinstance(free, Var)
        if env is None or free not in env:
            raise IrError(f"the variable %{free.name} has no value", free.span)
        value = env[free]
        values.append(np.asarray(value) if isinstance(value, np.generic | bool | int | float) else value)
    return machine.call(Closure(machine, code, tuple(values)), ())


__all__ = ["evaluate", "evaluate_expr"]
