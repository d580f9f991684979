"""Functions whose weights were replaced by other parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...diagnostics import IrError, UsageError
from ...infer import infer_expr
from ...ir import Call, Expr, Function, Module, TensorType, Var, free_variables, rewrite, with_function
from ...ops.base import is_call_to


def with_new_parameters(function: Function) -> Function:
    """`function` with parameters for its free variables behind those parameters that are still used."""
    added = free_variables(function)
    used = free_variables(function.body)
    params = [v for v in used if v not in added]
    return with_function(function, params=(*params, *added))


def with_sparse_weights(
    function: Function, operator: str, extents: Mapping[str, tuple[int, ...]], make: Callable[..., Call]
) -> Function:
    """`function` with parameters for the sparse forms of weights in place of the weights.

    `extents` maps names of weights to what `sparse_parameters` takes. `make(data, blocks, indices, pointers)` is what takes
    the place of a call of `operator` with such a weight.
    """
    made_once: dict[Var, tuple[Var, Var, Var]] = {}

    def leave(old: Expr, new: Expr) -> Expr:
        if not is_call_to(new, operator) or not isinstance(new, Call):
            return new
        weight = new.args[1]
        if not isinstance(weight, Var) or weight.name not in extents:
            return new
        if weight not in made_once:
            made_once[weight] = sparse_parameters(weight, extents[weight.name])
        sparse = make(new.args[0], *made_once[weight])
        _require_type(old, sparse)
        return sparse

    rewritten = rewrite(function, leave)
    assert isinstance(rewritten, Function)
    return rewritten if rewritten is function else with_new_parameters(rewritten)


def _require_type(old: Expr, new: Call) -> None:
    """Refuses a sparse layer that gives something else than the layer did: the extents that were given are not right."""
    expected = old.checked_type
    if not (isinstance(old, Call) and isinstance(expected, TensorType) and expected.is_static):
        return
    data = Var("data", old.args[0].checked_type)
    actual = infer_expr(Call(new.op, (data, *new.args[1:]), new.attrs), Module({})).checked_type
    if actual != expected:
        weight = old.args[1]
        name = weight.name if isinstance(weight, Var) else ""
        raise IrError(
            f"with a sparse weight of the extents given for {name}, this layer gives {actual} in place of {expected}",
            old.span,
        )


def by_name(names: Sequence[str], shapes: Sequence[Any], lengths: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    """Weight names with the extents of their sparse forms. Raises UsageError if these do not fit together."""
    if len(names) != len(shapes):
        raise UsageError(f"{len(names)} weight names but {len(shapes)} weight shapes")
    for name, shape in zip(names, shapes, strict=True):
        if len(shape) not in lengths:
            expected = " or ".join(map(str, lengths))
            raise UsageError(f"the shape of {name} must have {expected} extents, not {len(shape)}")
    return {n: tuple(int(d) for d in s) for n, s in zip(names, shapes, strict=True)}


def sparse_parameters(weight: Var, extents: tuple[int, ...]) -> tuple[Var, Var, Var]:
    """Parameters for the blocks, their column indices, and the row pointers of a sparse weight.

    `extents` are those of the blocks, then the number of indices, then the number of pointers.
    """
    *blocks, indices, pointers = extents
    assert len(blocks) in (2, 3), "by_name lets no other through"
    return (
        Var(f"{weight.name}.data", TensorType(tuple(blocks), "float32"), weight.span),
        Var(f"{weight.name}.indices", TensorType((indices,), "int32"), weight.span),
        Var(f"{weight.name}.indptr", TensorType((pointers,), "int32"), weight.span),
    )
