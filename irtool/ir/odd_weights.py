"""Weights that hold NaN or infinity: mostly the trace of a training that failed, or of a file that is damaged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..array_blocks import blocks
from ..deferred import np
from ..diagnostics import Diagnostic
from .expr import Constant, MissingData
from .mistakes import OddWeights
from .module import Module
from .walk import post_order

_NAN = ("NaN", "NaNs")
_INFINITY = ("infinity", "infinities")


def odd_weights(module: Module, weights: Mapping[str, Any]) -> list[Diagnostic]:
    """A warning for each weight, and each constant of the module, that holds NaN or infinity.

    Masks are none of these: a number that is infinite, and tensors of zeros and infinities, as attention adds them.
    """
    return [
        Diagnostic(f"{name} holds {oddity}", span, "warning", code=OddWeights)
        for name, span, values in _weights(module, weights)
        if (oddity := _describe(np.asarray(values)))
    ]


def _weights(module: Module, weights: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    for name, values in weights.items():
        yield f"the weight {name}", None, values
    seen: set[int] = set()
    for function in module.relay_functions.values():
        for e in post_order(function):
            if isinstance(e, Constant) and not isinstance(e.data, MissingData) and id(e.data) not in seen:
                seen.add(id(e.data))
                yield (
                    f"a constant {list(np.shape(e.data))}",
                    e.span,
                    e.data if e.dtype != "bfloat16" else _widened(e.data),
                )


def _widened(bits: Any) -> Any:
    """bfloat16, of which a constant has the bits, as float32."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def _floats(values: Any) -> Iterator[Any]:
    """The elements in blocks, in a dtype that numpy computes with."""
    for block in blocks(values):
        yield block if block.dtype.kind == "f" else block.astype(np.float32)


def _describe(values: Any) -> str:
    """The number of NaN or infinite elements, in words; empty if none is, or if those that are make a mask."""
    if values.dtype.kind != "f" and values.dtype.name != "bfloat16":
        return ""
    if all(np.isfinite(part).all() for part in _floats(values)):
        return ""  # nearly all are, and looking takes a fifth of the time of counting
    nans = infinities = others = 0
    for part in _floats(values):
        nans += int(np.isnan(part).sum())
        infinities += int(np.isinf(part).sum())
        others += int((np.isfinite(part) & (part != 0)).sum())
    if infinities and not nans and not others:
        return ""
    counted = [f"{n} {one if n == 1 else more}" for n, one, more in ((nans, *_NAN), (infinities, *_INFINITY)) if n]
    return f"{' and '.join(counted)} among {values.size} element{'' if values.size == 1 else 's'}" if counted else ""
