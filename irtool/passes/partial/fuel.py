"""Limits of partial evaluation: unrolling of recursive functions ends, and all of the evaluation stays within a bound.

Each time a function is applied inside its own body, its arguments must have become smaller: older (a part of a value that
was there before is older than a new value) or a smaller non-negative integer. The pairs of (time, integer) of all
arguments form a semilattice without infinite descending chains.

Finite is not short: a loop that counts down from a million ends, and nested closures, each evaluated for its code and for its
value, are 2^n bodies. So steps are counted, too. A call that takes more of them than its allowance is left to the program.
"""

from __future__ import annotations

import math

from ...ir import Function, Module, post_order
from .values import Partial, StaticTensor

STEPS = 100_000
"""Steps of applications that every module may take, and more `FOR_EACH_NODE`."""
FOR_EACH_NODE = 20
_LEAST = 64
"""Where fewer steps than that are left, no more functions are applied."""

Fuel = tuple[tuple[int, int], ...] | None
"""A pair for each argument; None is the top element, from which any application is progress."""


def fuel_of(value: Partial) -> tuple[int, int]:
    """The value's time of creation, and its integer, if it is known to be a positive one (else 0)."""
    known = value.known
    if isinstance(known, StaticTensor) and known.constant.is_scalar and known.constant.dtype in ("int32", "int64"):
        return value.created, max(0, int(known.constant.data))  # type: ignore[arg-type]  # a scalar has data
    return value.created, 0


def meet(fuel: Fuel, other: tuple[tuple[int, int], ...]) -> tuple[Fuel, bool]:
    """The elementwise minimum, and whether it is smaller than `fuel` anywhere."""
    if fuel is None:
        return other, True
    lower = tuple((min(a, c), min(b, d)) for (a, b), (c, d) in zip(fuel, other, strict=True))
    return lower, any(x < a or y < b for (x, y), (a, b) in zip(lower, fuel, strict=True))


class SpentError(Exception):
    """The application that is going on has taken its allowance of steps."""


class Allowance:
    """Steps for applications: in sum, as many as a module of that size has, and for each at most half of the remaining ones,
    with all applications inside it.
    """

    def __init__(self, module: Module) -> None:
        nodes = sum(len(post_order(f)) for f in module.functions.values() if isinstance(f, Function))
        self.left = STEPS + FOR_EACH_NODE * nodes
        self.steps = 0
        self._start = 0
        self._stop: float = math.inf

    @property
    def lasts(self) -> bool:
        """True if functions can still be applied."""
        return self.left > _LEAST

    def work(self, steps: int) -> None:
        """Counts steps; raises SpentError inside of an application that has taken its allowance."""
        self.steps += steps
        if self.steps > self._stop:
            raise SpentError

    def begin(self) -> bool:
        """An application begins; False if it is inside of another one, whose allowance it shares."""
        if self._stop < math.inf:
            return False
        self._start, self._stop = self.steps, self.steps + self.left // 2
        return True

    def end(self) -> None:
        """The application is done or given up."""
        self.left -= self.steps - self._start
        self._stop = math.inf
