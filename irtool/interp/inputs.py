"""Checking the inputs of a function against its parameters."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..diagnostics import IrError, nearest
from ..ir import Function, IncompleteType, TensorType, TupleType, Type, Var
from ..ir.dims import ANY, DimVar
from ..ops.dtypes import numpy_dtype
from ..trampoline import trampoline


def check_inputs(
    function: Function,
    inputs: Sequence[Any] | Mapping[str, Any],
    entry: str,
    origins: Mapping[str, str] | None = None,
) -> list[Any]:
    """The inputs as values, one per parameter, in order.

    Inputs are given in the order of the parameters or by their names. Numbers and lists are taken as arrays of the
    parameter's dtype, integer scalars of another width as the parameter's, and uint16 as the bits of bfloat16; the order
    of bytes and of axes in memory does not matter. `origins` says by parameter which file a value is from.

    Raises IrError for a missing or unknown name, a wrong number, a wrong shape or dtype.
    """
    params = function.params
    if isinstance(inputs, Mapping):
        inputs = _by_name(params, inputs, entry)
    elif isinstance(inputs, np.ndarray) or not isinstance(inputs, Sequence):
        raise IrError(f"the inputs of @{entry} are a sequence or a dictionary, not {type(inputs).__name__}")
    if len(inputs) != len(params):
        wanted = ", ".join(f"%{p.name}" for p in params)
        raise IrError(f"@{entry} takes {len(params)} inputs ({wanted}), {len(inputs)} given", function.span)
    sizes: dict[DimVar, tuple[int, str]] = {}
    values = []
    for p, value in zip(params, inputs, strict=True):
        try:
            values.append(trampoline(_check(value, p.checked_type or p.type_annotation, f"%{p.name}", p, sizes)))
        except IrError as error:
            origin = (origins or {}).get(p.name)
            if origin is None:
                raise
            note = f"the value of %{p.name} is from {origin}"
            raise IrError([replace(d, notes=(*d.notes, note)) for d in error.diagnostics]) from None
    return values


def _by_name(params: Sequence[Var], inputs: Mapping[str, Any], entry: str) -> list[Any]:
    names = [p.name for p in params]
    for name in inputs:
        if name not in names:
            raise IrError(f"@{entry} has no parameter %{name}", help=nearest(str(name), names))
    twice = sorted({n for n in names if names.count(n) > 1}) if len(set(names)) != len(names) else []
    if twice:
        raise IrError(f"@{entry} has several parameters named %{twice[0]}: give its inputs in order")
    missing = [n for n in names if n not in inputs]
    if missing:
        shown = ", ".join(f"%{n}" for n in missing[:5]) + (" …" if len(missing) > 5 else "")
        raise IrError(f"no input is given for {shown} of @{entry}")
    return [inputs[n] for n in names]


def _check(
    value: Any, t: Type | None, what: str, p: Var, sizes: dict[DimVar, tuple[int, str]]
) -> Generator[Any, Any, Any]:
    """Written as if recursive: see `trampoline`."""
    if isinstance(t, TupleType):
        if not isinstance(value, tuple | list) or len(value) != len(t.fields):
            raise IrError(f"{what} is {t}: give a tuple of {len(t.fields)}", p.span)
        fields = []
        for i, (v, f) in enumerate(zip(value, t.fields, strict=True)):
            fields.append((yield _check(v, f, f"{what}.{i}", p, sizes)))
        return tuple(fields)
    if isinstance(t, TensorType):
        return _check_tensor(value, t, what, p, sizes)
    if t is None or isinstance(t, IncompleteType):
        return np.asarray(value) if isinstance(value, bool | int | float | list | np.generic) else value
    return value


def _check_tensor(value: Any, t: TensorType, what: str, p: Var, sizes: dict[DimVar, tuple[int, str]]) -> np.ndarray:
    dtype = numpy_dtype(t.dtype)
    if isinstance(value, bool | int | float | list | tuple):
        try:
            value = np.asarray(value, dtype)
        except (ValueError, TypeError, OverflowError) as error:
            raise IrError(f"{what} is {t}: {error}", p.span) from None
    elif isinstance(value, np.generic) or (not isinstance(value, np.ndarray) and hasattr(value, "__array__")):
        value = np.asarray(value)
    if not isinstance(value, np.ndarray):
        raise IrError(f"{what} is {t}, and the input is {type(value).__name__}", p.span)
    if t.dtype == "bfloat16" and value.dtype == np.uint16:
        value = value.view(dtype)
    elif value.ndim == 0 and dtype.kind in "iu" and value.dtype.kind in "iu" and _holds(dtype, int(value)):
        value = value.astype(dtype)
    if not value.dtype.isnative:
        value = value.astype(value.dtype.newbyteorder("="))
    given = f"Tensor[({', '.join(map(str, value.shape))}), {value.dtype}]"
    if value.dtype != dtype:
        raise IrError(f"{what} is {t}, and the input is {given}: the data types differ", p.span)
    if len(value.shape) != len(t.shape):
        raise IrError(
            f"{what} is {t}, and the input is {given}: the ranks are {len(t.shape)} and {len(value.shape)}", p.span
        )
    for axis, (wanted, size) in enumerate(zip(t.shape, value.shape, strict=True)):
        if isinstance(wanted, DimVar):
            wanted, who = sizes.setdefault(wanted, (size, what))
            if wanted != size:
                raise IrError(f"{what}: axis {axis} is {size}, and the same dimension is {wanted} in {who}", p.span)
        elif isinstance(wanted, int) and wanted is not ANY and wanted != size:
            raise IrError(f"{what} is {t}, and the input is {given}: axis {axis} is {wanted} and {size}", p.span)
    return value


def _holds(dtype: np.dtype, value: int) -> bool:
    limits = np.iinfo(dtype)
    return int(limits.min) <= value <= int(limits.max)
