"""A preference for an operand's layout: blocks along one of its axes."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ...tir.stmt import Buffer


@dataclass(frozen=True)
class LayoutPreference:
    """Blocks of `factor` along `axis` of a parameter's buffer.

    `padded`: the length to which zeros extend the axis of a constant that the factor does not divide; 0: no padding.
    """

    axis: int
    factor: int
    padded: int = 0


def reorders(b: Buffer, preference: LayoutPreference) -> bool:
    """False if row-major order has the blocks already: the axis is the last one with more than one step."""
    return bool(preference.padded) or prod(b.shape[preference.axis + 1 :]) != 1


def filled_shape(b: Buffer, preference: LayoutPreference) -> tuple[int, ...]:
    """The shape of a buffer with the zeros of its last block."""
    return tuple(preference.padded or d if n == preference.axis else d for n, d in enumerate(b.shape))
