"""The flags that select convolutions and products with fewer multiplications, whose weights take more memory, for backends with vectors."""

from __future__ import annotations

from dataclasses import replace

from ..diagnostics import UsageError
from ..tir.vector_target import VectorTarget

OPT = (
    "weights that are transformed for speed: `balanced`, stored plain and transformed when they are loaded; `size`, no transforms; "
    "`speed`, stored transformed, which takes disk space and no time to load"
)
"""The meaning of the flag `opt`."""

OPT_WAYS = ("size", "balanced", "speed")
"""The values of the flag."""

WINOGRAD = (
    "Winograd's algorithm for small windows: if faster and not opt=size, never, or in tiles of 2 x 2 or 4 x 4 results"
)
"""The meaning of the flag `winograd`."""

WINOGRAD_WAYS = ("auto", "off", "2", "4")
"""The values of the flag."""

STRASSEN = "Strassen's algorithm for products with constant weights: if faster and not opt=size, never, or for all that it supports"
"""The meaning of the flag `strassen`."""

STRASSEN_WAYS = ("auto", "off", "on")
"""The values of the flag."""


def check_products(winograd: str, strassen: str, math: str) -> None:
    """Raises UsageError for an algorithm that rounds differently from the formulas of `math=strict`."""
    for name, value, what in (("winograd", winograd, "convolutions"), ("strassen", strassen, "products")):
        if math == "strict" and value not in ("auto", "off"):
            raise UsageError(f"with math=strict, {what} are summed as they are written: {name}={value} has no meaning")


def with_products(machine: VectorTarget, winograd: str, strassen: str, math: str, opt: str) -> VectorTarget:
    """The machine, with the algorithms for its convolutions and products. `opt=size` decides for `auto`: the flags of the algorithms win."""
    if math == "strict":
        winograd = strassen = "off"
    elif opt == "size":
        winograd, strassen = ("off" if way == "auto" else way for way in (winograd, strassen))
    return replace(machine, winograd=winograd, strassen=strassen)


def stores_plain(opt: str) -> bool:
    """True if weights that are transformed are stored plain in a weights file, and transformed when it is loaded."""
    return opt != "speed"
