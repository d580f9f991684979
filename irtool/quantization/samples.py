"""Samples of a network's inputs: one set of inputs after the other, checked before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..deferred import np
from ..diagnostics import IrError, nearest
from ..driver.precision import RANDOM, Calibration
from ..infer.lengths import symbols_of_params
from ..interp.cut_values import cut_values
from ..interp.random_inputs import random_inputs
from ..ir import Function, Module, TensorType, Var
from ..ir.conversion import Sizes, fit
from ..symbolic_int import is_known
from .mistakes import BadSamples


def samples_of(function: Function, module: Module, calibration: Calibration, count: int, seed: int) -> list[list[Any]]:
    """The inputs of each run, in the order of the function's parameters.

    Raises IrError if data do not fit: unknown or missing inputs, other shapes or dtypes, NaN or infinity, no sample.
    """
    for p in function.params:
        _static_type(p)
    if isinstance(calibration, str):
        if calibration != RANDOM:
            raise IrError(f"calibration data are arrays or {RANDOM!r}, not {calibration!r}", code=BadSamples)
        return [_cut(function, random_inputs(function, seed + n, module), n, count) for n in range(count)]
    arrays_of_files = [calibration] if isinstance(calibration, Mapping) else list(calibration)
    if not arrays_of_files:
        raise IrError("the calibration data are empty: there is no sample", code=BadSamples)
    return [s for arrays in arrays_of_files for s in samples_in(function, arrays)]


def _cut(function: Function, inputs: list[Any], number: int, count: int) -> list[Any]:
    """One of `count` samples at lengths of its own, from the least to the greatest: averages over few elements have wider ranges than those
    over many."""
    symbols = symbols_of_params(function)
    if not symbols or count < 2:
        return inputs
    values = cut_values(function, inputs, {s: s.part(number, count - 1) for s in symbols})
    assert values is not None  # the inputs have the greatest lengths
    return values


CALIBRATION = "the calibration data"


def held_out(count: int, most: int) -> list[int]:
    """The held-out ones of `count` samples, for the error, not for ranges: every fifth, `most` at most, one at least,
    evenly spread; of a single sample none."""
    if count < 2:
        return []
    held_out_count = min(most, max(1, count // 5))
    return [(2 * n + 1) * count // (2 * held_out_count) for n in range(held_out_count)]


def samples_in(function: Function, arrays: Mapping[str, Any], what: str = CALIBRATION) -> list[list[Any]]:
    """The samples that arrays by name of an input have, each the inputs in the order of the parameters.

    `what`: name of the arrays in messages. Raises IrError as `samples_of` does.
    """
    names = [p.name for p in function.params]
    have = ", ".join("%" + n for n in names) or "none"
    for name in arrays:
        if name not in names:
            raise IrError(
                f"{what} have {name!r}, and there is no input %{name}",
                help=nearest(name, names),
                notes=(f"the inputs are {have}",),
                code=BadSamples,
            )
    missing = [n for n in names if n not in arrays]
    if missing:
        raise IrError(
            f"{what} have nothing for the input %{missing[0]}",
            notes=(f"they have {', '.join(map(repr, arrays)) or 'nothing'}",),
            code=BadSamples,
        )
    parts = [_split(p, np.asarray(arrays[p.name]), what) for p in function.params]
    count = max((len(p) for p in parts), default=0)
    for p, parts_of in zip(function.params, parts):
        if len(parts_of) not in (1, count):
            raise IrError(
                f"{what} have {len(parts_of)} samples of %{p.name} and {count} of another input",
                code=BadSamples,
            )
    if not count:
        raise IrError(f"{what} are empty: there is no sample", code=BadSamples)
    samples = [[parts_of[n if len(parts_of) > 1 else 0] for parts_of in parts] for n in range(count)]
    for sample in samples if symbols_of_params(function) else ():
        sizes: Sizes = {}
        for p, array in zip(function.params, sample, strict=True):
            fit(array, _static_type(p), f"%{p.name}", p.span, sizes)  # the inputs of a sample have the same lengths
    return samples


def _split(p: Var, array: Any, what: str) -> list[Any]:
    """The samples in one array."""
    t = _static_type(p)
    shape, given_shape = t.static_shape, tuple(array.shape)
    if _is_sample(given_shape, shape):
        pieces = [array]
    elif given_shape and _is_sample(given_shape[1:], shape):
        pieces = list(array)
    elif (
        shape
        and is_known(shape[0])
        and given_shape
        and _is_sample(given_shape[1:], shape[1:])
        and shape[0]
        and given_shape[0] % shape[0] == 0
    ):
        pieces = list(array.reshape((given_shape[0] // shape[0], shape[0], *given_shape[1:])))
    else:
        raise IrError(
            f"{what} for %{p.name} have the shape {_show(given_shape)}, and the input is {_show(shape)}",
            help=f"several samples are {_show(('N', *shape))}",
            code=BadSamples,
        )
    if not pieces:
        raise IrError(f"{what} for %{p.name} are empty: there is no sample", code=BadSamples)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        bad = np.argwhere(~np.isfinite(array))[0]
        raise IrError(
            f"{what} for %{p.name} have {array[tuple(bad)]} at [{', '.join(map(str, bad))}]",
            code=BadSamples,
        )
    if not array.size:
        raise IrError(f"the input %{p.name} has no elements: there is nothing to measure", code=BadSamples)
    return [fit(piece, t, f"%{p.name}", p.span) for piece in pieces]


def _is_sample(given_shape: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """True for an array of the input's shape, whatever the lengths are that a run decides."""
    return len(given_shape) == len(shape) and all(
        not is_known(d) or d == n for n, d in zip(given_shape, shape, strict=True)
    )


def _static_type(p: Var) -> TensorType:
    """The type of an input. Raises IrError if it is no tensor of a known shape."""
    t = p.checked_type or p.type_annotation
    if not isinstance(t, TensorType) or not t.is_static:
        raise IrError(
            f"calibration data are tensors of known shapes, and %{p.name} is {t!r}",
            p.span,
            help=f"--shape {p.name}=1,3,224,224 gives a shape",
            code=BadSamples,
        )
    return t


def _show(shape: tuple[Any, ...]) -> str:
    return f"({', '.join(map(str, shape))})"
