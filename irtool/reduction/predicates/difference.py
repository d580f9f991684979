"""Passes or a backend change the results."""

from __future__ import annotations

from dataclasses import dataclass

from ...diagnostics import IrError
from ...interp.evaluate import evaluate
from ...interp.random_inputs import random_inputs
from ...ir import Function
from ...passes.instruments.values import difference
from ..case import Case
from .outcome import INTERPRETER, observe


@dataclass
class Differs:
    """The passes, or the backend `via`, change the results of `entry` on random inputs.

    Floating-point numbers differ where they are further apart than `atol` + `rtol` times the number, others where they are
    not equal.
    """

    via: str = INTERPRETER
    entry: str = "main"
    level: int | None = None
    seed: int = 0
    rtol: float = 1e-3
    atol: float = 1e-4
    reason: str = ""

    def __call__(self, case: Case) -> bool:
        function = case.module.functions.get(self.entry)
        if not isinstance(function, Function):
            return False
        try:
            inputs = random_inputs(function, self.seed, case.module)
            want = evaluate(case.module, inputs, entry=self.entry)
        except IrError:
            return False
        outcome = observe(case, self.via, self.entry, self.level)
        if outcome.error is not None or outcome.module is None:
            return False
        try:
            if outcome.artifact is not None:
                got = outcome.artifact.run(inputs)
            else:
                got = evaluate(outcome.module, inputs, entry=self.entry)
        except IrError:
            return False
        reason = difference(want, got, self.rtol, self.atol)
        self.reason = reason or self.reason
        return reason is not None

    def describe(self) -> str:
        """The finding, for messages."""
        return self.reason
