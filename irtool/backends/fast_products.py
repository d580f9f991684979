"""The flags that select convolutions and products with fewer multiplications, whose weights take more memory, for backends with vectors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..diagnostics import UsageError
from ..tir.vector_target import VectorTarget, WeightGrowth
from .flags import flag

BALANCED = WeightGrowth(0.55, 60_000_000)
"""The growth of weights with `opt=balanced`: processes of the compared networks take no more memory than those of ONNX Runtime."""


def opt_flag(of_size: str = "") -> Any:
    """The flag `opt`, with a further meaning of `size` for a backend."""
    return flag(
        "balanced",
        "weights that are transformed for speed: `balanced`, stored plain and transformed when they are loaded, "
        f"those that gain most up to {BALANCED.least // 1_000_000} MB or {BALANCED.share:.0%} more than plain ones; "
        f"`size`, no transforms{of_size}; `speed`, all, stored transformed, which takes disk space and no time to load",
        ("size", "balanced", "speed"),
    )


def winograd_flag() -> Any:
    """The flag `winograd`."""
    return flag(
        "auto",
        "Winograd's algorithm for small windows: if faster and not opt=size, never, or in tiles of 2 x 2 or 4 x 4 results",
        ("auto", "off", "2", "4"),
    )


def strassen_flag() -> Any:
    """The flag `strassen`."""
    return flag(
        "auto",
        "Strassen's algorithm for products with constant weights: if faster and not opt=size, never, or for all that it supports",
        ("auto", "off", "on"),
    )


def check_products(winograd: str, strassen: str, math: str) -> None:
    """Raises UsageError for an algorithm that rounds differently from the formulas of `math=strict`."""
    for name, value, what in (("winograd", winograd, "convolutions"), ("strassen", strassen, "products")):
        if math == "strict" and value not in ("auto", "off"):
            raise UsageError(f"with math=strict, {what} are summed as they are written: {name}={value} has no meaning")


def with_products(machine: VectorTarget, winograd: str, strassen: str, math: str, opt: str) -> VectorTarget:
    """The machine, with the algorithms for its convolutions and products. `opt` decides for `auto`: the flags of the algorithms win."""
    if math == "strict":
        winograd = strassen = "off"
    elif opt == "size":
        winograd, strassen = ("off" if way == "auto" else way for way in (winograd, strassen))
    growth = BALANCED if opt == "balanced" else None
    return replace(machine, winograd=winograd, strassen=strassen, growth=growth)


def stores_plain(opt: str) -> bool:
    """True if weights that are transformed are stored plain in a weights file, and transformed when it is loaded."""
    return opt != "speed"
