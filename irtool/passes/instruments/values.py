"""Evaluates the module before and after each pass on random inputs, and stops at the first pass that changes results."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...diagnostics import InternalError, IrError
from ...ir import Function, Module
from ..context import PassInfo, PassInstrument
from . import register_instrument


@register_instrument("CheckValues")
@dataclass
class CheckValues(PassInstrument):
    """Evaluates the module before and after each pass, and stops at the first pass that changes results.

    Compares `entry` on `count` random inputs (seeded, so the same in every run).

    Results must agree within `rtol`/`atol` for floating-point numbers, exactly otherwise. A module that cannot be
    evaluated (dynamic parameters, vendor operators) is passed over, and `skipped` says why.
    """

    count: int = 1
    entry: str = "main"
    rtol: float = 1e-4
    atol: float = 1e-5
    skipped: list[str] = field(default_factory=list, init=False)
    _open: list[Module] = field(default_factory=list)
    _known: tuple[Module | None, list[Any]] = (None, [])

    def run_before_pass(self, module: Module, info: PassInfo) -> None:
        self._open.append(module)

    def run_after_pass(self, module: Module, info: PassInfo) -> None:
        before = self._open.pop()
        if module is before or self.entry not in before.functions or self.entry not in module.functions:
            return
        if len(module.relay_functions) < len(module.functions):
            self.skipped.append(f"{info.name}: the interpreter does not run lowered functions")
            return
        try:
            want = self._values(before, before)
        except IrError as error:
            self.skipped.append(f"{info.name}: {error.diagnostics[0].message}")
            return
        got = self._values(module, before)
        for a, b in zip(want, got, strict=True):
            worst = difference(a, b, self.rtol, self.atol)
            if worst is not None:
                raise InternalError(f"pass {info.name} changes the results of @{self.entry}: {worst}")
        self._known = (module, got)

    def report(self) -> str:
        return "\n".join(f"note: results not compared: {reason}" for reason in self.skipped)

    def _values(self, module: Module, signature: Module) -> list[Any]:
        from ...interp import evaluate
        from ...interp.feeds import random_inputs

        if self._known[0] is module:
            return self._known[1]
        function = signature.functions[self.entry]
        assert isinstance(function, Function)
        return [evaluate(module, random_inputs(function, seed), entry=self.entry) for seed in range(self.count)]


def difference(want: Any, got: Any, rtol: float, atol: float, path: str = "") -> str | None:
    """A sentence about where two values differ, or None if they agree. NaN agrees with NaN."""
    import numpy as np

    stack = [(want, got, path)]
    while stack:
        a, b, where = stack.pop()
        if isinstance(a, tuple | list):
            if not isinstance(b, tuple | list) or len(a) != len(b):
                return f"result{where} has another number of fields"
            stack += [(x, y, f"{where}.{i}") for i, (x, y) in enumerate(zip(a, b, strict=True))]
            continue
        if not hasattr(a, "dtype") or not hasattr(b, "dtype"):
            continue
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"result{where} was {a.dtype}{list(a.shape)} and is {b.dtype}{list(b.shape)}"
        if a.dtype.kind in "fcV":
            x, y = a.astype(np.float64), b.astype(np.float64)
            if not np.allclose(x, y, rtol=rtol, atol=atol, equal_nan=True):
                return f"result{where} differs by up to {np.nanmax(np.abs(x - y)):.3g}"
        elif not np.array_equal(a, b):
            return f"result{where} differs in {int(np.count_nonzero(a != b))} of {a.size} elements"
    return None
