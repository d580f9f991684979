"""Results of functions with batch_norm in training mode: in numpy, from the definition."""

from __future__ import annotations

from typing import Any

from ...deferred import np
from ...infer import infer_types
from ...interp.evaluate import evaluate
from ...ir import Call, Constant, Expr, Function, Module, Tuple, post_order, rewrite, without_return_type
from ...ops.base import is_call_to


def evaluate_in_training(module: Module, inputs: list[Any], entry: str, momentum: float) -> Any:
    """The results of `entry` where each batch_norm normalises by the mean and variance of its batch, and gives the moving
    ones as (1 - momentum) old + momentum new.

    Each batch_norm in turn, operands first: its operands are evaluated, and it is replaced by what numpy makes of them.
    Raises IrError if that is not possible: in a function that is called.
    """
    function = module[entry]
    assert isinstance(function, Function)
    while True:
        norms = [e for e in post_order(function.body, enter=lambda e: not isinstance(e, Function)) if _is_norm(e)]
        if not norms:
            break
        norm = norms[0]
        assert isinstance(norm, Call)
        operands = _with_body(module, entry, function, Tuple(norm.args))
        values = batch_norm(evaluate(operands, inputs, entry=entry), norm.attrs, momentum)
        changed = _with_body(module, entry, function, _replaced(function.body, norm, values))[entry]
        assert isinstance(changed, Function)
        function = changed
    return evaluate(_with_body(module, entry, function, function.body), inputs, entry=entry)


def _replaced(body: Expr, norm: Expr, values: tuple[Any, ...]) -> Expr:
    constants = Tuple(tuple(Constant(v) for v in values))
    return rewrite(body, lambda old, new: constants if old is norm else new)


def batch_norm(operands: tuple[Any, ...], attrs: Any, momentum: float) -> tuple[Any, ...]:
    """Result and updated moving mean and variance of one batch_norm in training; arrays of the dtype of its data."""
    x, gamma, beta, mean, variance = operands
    axis = attrs.axis % x.ndim
    others = tuple(i for i in range(x.ndim) if i != axis)
    wide = x.astype(np.float64)
    new_mean, new_variance = wide.mean(others), wide.var(others)
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    y = (wide - new_mean.reshape(shape)) / np.sqrt(new_variance.reshape(shape) + attrs.epsilon)
    if attrs.scale:
        y = y * gamma.reshape(shape)
    if attrs.center:
        y = y + beta.reshape(shape)
    old_part = 1 - momentum
    results = (y, old_part * mean + momentum * new_mean, old_part * variance + momentum * new_variance)
    return tuple(np.asarray(a, x.dtype) for a in results)


def has_inner_norms(module: Module, entry: str) -> bool:
    """True if a batch_norm is in a function inside the entry, or in another function, out of reach."""
    outside = {e for e in post_order(module[entry].body, enter=lambda e: not isinstance(e, Function)) if _is_norm(e)}
    return any(_is_norm(e) and e not in outside for f in module.relay_functions.values() for e in post_order(f.body))


def _is_norm(e: Expr) -> bool:
    return is_call_to(e, "nn.batch_norm")


def _with_body(module: Module, entry: str, function: Function, body: Expr) -> Module:
    open_function = without_return_type(function)
    result = Function(open_function.params, body, None, function.type_params, function.attrs, function.span)
    return infer_types(module.with_functions({**module.functions, entry: result}))
