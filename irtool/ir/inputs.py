"""Inputs of a function, matched with its parameters: the same for the interpreter and for compiled code."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..diagnostics import IrError, Span, nearest
from ..trampoline import trampoline
from .conversion import Sizes, fit
from .expr import Var
from .mistakes import ValueDoesNotFit
from .types import IncompleteType, TensorType, TupleType, Type

_SHOWN = 5
"""Names that a message lists."""


def check_inputs(
    params: Sequence[Var],
    inputs: Sequence[Any] | Mapping[str, Any],
    entry: str,
    origins: Mapping[str, str] | None = None,
    span: Span | None = None,
    names: Mapping[str, str] | None = None,
    sizes: Sizes | None = None,
) -> list[Any]:
    """The inputs as values, one per parameter, in order; each tensor by the rule of `ir.conversion`.

    Inputs are given in the order of the parameters or by their names. `origins` says by parameter which file a value is
    from, `span` where the function stands, and `names` what parameters are called in the model that the module was made from
    (name of the parameter by that in the model): inputs may have either name. `sizes` gets the sizes of named dimensions and lengths.

    Raises IrError for a missing or unknown name, a wrong number, a wrong shape or dtype.
    """
    if isinstance(inputs, Mapping):
        inputs = _by_name(params, inputs, entry, names or {})
    elif hasattr(inputs, "__array__") or isinstance(inputs, str | bytes) or not isinstance(inputs, Sequence):
        raise IrError(
            f"the inputs of @{entry} are a sequence or a dictionary, not {type(inputs).__name__}",
            help="of one input, write [x]" if len(params) == 1 else None,
            code=ValueDoesNotFit,
        )
    if len(inputs) != len(params):
        listing = f" ({list_names([p.name for p in params])})" if params else ""
        plural = "" if len(params) == 1 else "s"
        raise IrError(
            f"@{entry} takes {len(params)} input{plural}{listing}, {len(inputs)} given", span, code=ValueDoesNotFit
        )
    sizes = {} if sizes is None else sizes
    values = []
    for p, value in zip(params, inputs, strict=True):
        try:
            t = p.checked_type or p.type_annotation
            values.append(trampoline(_check(value, t, f"%{p.name}", p, sizes)))
        except IrError as error:
            origin = (origins or {}).get(p.name)
            if origin is None:
                raise
            note = f"the value of %{p.name} is from {origin}"
            raise IrError([replace(d, notes=(*d.notes, note)) for d in error.diagnostics]) from None
    return values


def list_names(names: Sequence[str]) -> str:
    """`%a, %b`, and at most a few of them."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(f"%{n}" for n in names[:_SHOWN]) + more


def _by_name(params: Sequence[Var], inputs: Mapping[str, Any], entry: str, in_model: Mapping[str, str]) -> list[Any]:
    names = [p.name for p in params]
    known = set(names)
    by_parameter: dict[str, Any] = {}
    for name, value in inputs.items():
        parameter = name if name in known else in_model.get(name, name)
        if parameter not in known:
            raise IrError(
                f"@{entry} has no parameter %{name}", help=nearest(str(name), [*names, *in_model]), code=ValueDoesNotFit
            )
        if parameter in by_parameter:
            raise IrError(
                f"the parameter %{parameter} of @{entry} is given twice, by both of its names", code=ValueDoesNotFit
            )
        by_parameter[parameter] = value
    twice = sorted({n for n in names if names.count(n) > 1}) if len(set(names)) != len(names) else []
    if twice:
        raise IrError(
            f"@{entry} has several parameters named %{twice[0]}: give its inputs in order", code=ValueDoesNotFit
        )
    missing = [n for n in names if n not in by_parameter]
    if missing:
        raise IrError(f"no input is given for {list_names(missing)} of @{entry}", code=ValueDoesNotFit)
    return [by_parameter[n] for n in names]


def _check(value: Any, t: Type | None, what: str, p: Var, sizes: Sizes) -> Generator[Any, Any, Any]:
    """Written as if recursive: see `trampoline`."""
    import numpy as np

    if isinstance(t, TupleType):
        if not isinstance(value, tuple | list) or len(value) != len(t.fields):
            raise IrError(f"{what} is {t}: give a tuple of {len(t.fields)}", p.span, code=ValueDoesNotFit)
        fields = []
        for i, (v, f) in enumerate(zip(value, t.fields, strict=True)):
            fields.append((yield _check(v, f, f"{what}.{i}", p, sizes)))
        return tuple(fields)
    if isinstance(t, TensorType):
        return fit(value, t, what, p.span, sizes)
    if t is None or isinstance(t, IncompleteType):
        return np.asarray(value) if isinstance(value, bool | int | float | list | np.generic) else value
    return value


__all__ = ["check_inputs", "list_names"]
