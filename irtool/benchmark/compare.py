"""Comparison of two records of one network: kernels that got faster or slower, beyond noise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .record import KernelTimes, Record, Times

_LEAST = 0.02
"""A smaller part of the time is no difference."""

FASTER, SLOWER, SAME = "faster", "slower", "same"


@dataclass(frozen=True)
class Change:
    """The change of a time: `ratio` is the new one over the old one, `noise` the part of it from measuring."""

    what: str
    before: float
    after: float
    noise: float

    @property
    def ratio(self) -> float:
        return self.after / self.before if self.before else 1.0

    @property
    def verdict(self) -> str:
        """`same` within noise."""
        margin = max(_LEAST, self.noise)
        if self.ratio > 1 + margin:
            return SLOWER
        return FASTER if self.ratio < 1 / (1 + margin) else SAME


def change(what: str, before: Times, after: Times) -> Change:
    """The noise of both together: where the fastest rounds of both differ as the medians do, it is not noise alone."""
    return Change(what, before.middle, after.middle, before.noise + after.noise)


def changes(before: Record, after: Record) -> Iterator[Change]:
    """The whole network, the interpreter, then the kernels that both have, in the order of the new record."""
    if before.whole is not None and after.whole is not None:
        yield change("the network", before.whole, after.whole)
    if before.interpreter is not None and after.interpreter is not None:
        yield change("the interpreter", before.interpreter, after.interpreter)
    earlier: dict[tuple[str, int, int], list[KernelTimes]] = {}
    for k in before.kernels:
        earlier.setdefault(_key(k), []).append(k)
    for k in after.kernels:
        same = earlier.get(_key(k))
        if same:
            yield change(" ".join(k.operators) or k.name, same.pop(0), k)


def _key(k: KernelTimes) -> tuple[str, int, int]:
    """The key of a kernel, unchanged if names and schedules change: operators, products and bytes."""
    return " ".join(k.operators), k.macs, k.nbytes
