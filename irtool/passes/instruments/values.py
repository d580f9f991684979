"""Evaluates the module before and after each pass on random inputs, and stops at the first pass that changes results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ...diagnostics import InternalError, IrError
from ...ir import Function, Module
from ..core.context import PassInfo, PassInstrument
from . import register_instrument


class ResultsChanged(InternalError):
    """A pass changes results that it should not."""


@register_instrument("CheckValues")
@dataclass
class CheckValues(PassInstrument):
    """Evaluates the module before and after each pass, and stops at the first pass that changes results.

    Compares `entry` on `count` random inputs (seeded, so the same in every run).

    Results must agree within `rtol`/`atol` for floating-point numbers, exactly otherwise. Of a pass that is to change them
    (`Pass.changes`), the change is checked instead: gradients against central differences, batch_norm in training against
    its definition in numpy, approximations within the pass's own tolerance. Passes that run others are judged by these.
    A module that cannot be evaluated (dynamic parameters, vendor operators) is passed over, and `skipped` says why.
    """

    count: int = 1
    entry: str = "main"
    rtol: float = 1e-4
    atol: float = 1e-5
    skipped: list[str] = field(default_factory=list, init=False)
    _open: list[Module] = field(default_factory=list)
    _known: tuple[Module | None, list[Any]] = (None, [])
    _input_cache: dict[tuple[int, tuple[str, ...]], list[Any]] = field(default_factory=dict)
    _random: str = field(default="", init=False)

    def run_before_pass(self, module: Module, info: PassInfo) -> None:
        self._open.append(module)

    def run_after_pass(self, module: Module, info: PassInfo) -> None:
        before = self._open.pop()
        if module is before or info.runs_others:
            return
        if self.entry not in before.functions or self.entry not in module.functions:
            return
        changes = kind_of_change(info, before)
        if changes in _NOT_COMPARED:
            self._skip(info, _NOT_COMPARED[changes])
            return
        try:
            want = self._values(before, before)
        except IrError as error:
            self._skip(info, error.diagnostics[0].message)
            return
        try:
            got = self._values(module, before)
        except IrError as error:
            self._skip(info, f"its result cannot be evaluated: {error.diagnostics[0].message}")
            return
        for seed, (a, b) in enumerate(zip(want, got, strict=True)):
            worst = self._fault(info, changes, before, a, b, seed)
            if worst is not None:
                notes = (self._random,) if self._random else ()
                raise ResultsChanged(f"pass {info.name} changes the results of @{self.entry}: {worst}", notes=notes)
        self._known = (None, []) if changes == "derivative" else (module, got)

    def _fault(self, info: PassInfo, changes: str, before: Module, want: Any, got: Any, seed: int) -> str | None:
        """The error in the results for one seed, by the pass's contract."""
        if changes == "derivative":
            if not isinstance(got, tuple) or len(got) != 2:
                return "it is not the result and the gradients"
            return difference(want, got[0], self.rtol, self.atol, ".0") or self._gradient_fault(
                info, before, got[1], seed
            )
        if changes == "training":
            return self._training_fault(info, before, got, seed)
        if changes == "approximation":
            return distance(want, got, info.made_for.tolerance)
        return difference(want, got, self.rtol, self.atol)

    def _gradient_fault(self, info: PassInfo, before: Module, gradients: Any, seed: int) -> str | None:
        from .finite_differences import NotSmooth, gradient_error

        whole = bool(info.made_for.adds_up_results)
        try:
            return gradient_error(before, self.entry, self._inputs(before, seed), gradients, whole, seed)
        except (NotSmooth, IrError) as error:
            reason = error.diagnostics[0].message if isinstance(error, IrError) else str(error)
            self._skip(info, f"its gradients cannot be compared with differences: {reason}")
            return None

    def _training_fault(self, info: PassInfo, before: Module, got: Any, seed: int) -> str | None:
        from .batch_statistics import evaluate_in_training, has_inner_norms

        if has_inner_norms(before, self.entry):
            self._skip(info, "a batch_norm is in a function that is called")
            return None
        want = evaluate_in_training(before, self._inputs(before, seed), self.entry, info.made_for.momentum)
        return difference(want, got, self.rtol, self.atol)

    def _skip(self, info: PassInfo, reason: str) -> None:
        self.skipped.append(f"{info.name}: {reason}")

    def _inputs(self, module: Module, seed: int) -> list[Any]:
        from ...interp.random_inputs import name_random, random_inputs

        function = module.functions[self.entry]
        assert isinstance(function, Function)
        # What is typical of a parameter may look otherwise after a pass: its values stay.
        key = seed, tuple(repr(p.checked_type) for p in function.params)
        if key not in self._input_cache:
            self._input_cache[key] = random_inputs(function, seed, module)
            names = [p.name for p in function.params]
            self._random = self._random or name_random(names, len(names), range(self.count), self.entry)
        return self._input_cache[key]

    def report(self) -> str:
        sentences = [f"passes are compared on made-up values: {self._random}"] if self._random else []
        sentences += [f"results not compared: {reason}" for reason in self.skipped]
        return "\n".join(f"note: {sentence}" for sentence in sentences)

    def _values(self, module: Module, signature: Module) -> list[Any]:
        from ...interp.evaluate import evaluate

        if self._known[0] is module:
            return self._known[1]
        return [evaluate(module, self._inputs(signature, seed), entry=self.entry) for seed in range(self.count)]


_NOT_COMPARED = {
    "interface": "functions take or return something else after it, by definition",
    "effects": "effects happen at another time after it, or not at all, by definition",
}


def kind_of_change(info: PassInfo, before: Module) -> str:
    """`Pass.changes` of the pass, as far as it concerns this module: a module without effects has none that could move."""
    from ..effects.purity import pure_variables

    changes = str(getattr(info.made_for, "changes", ""))
    return "" if changes == "effects" and all(pure_variables(before).values()) else changes


Compare = Callable[[Any, Any, str], str | None]


def difference(want: Any, got: Any, rtol: float, atol: float, path: str = "") -> str | None:
    """A sentence about where two values differ, or None if they agree. NaN agrees with NaN."""
    import numpy as np

    def compare(a: Any, b: Any, where: str) -> str | None:
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"result{where} was {a.dtype}{list(a.shape)} and is {b.dtype}{list(b.shape)}"
        if a.dtype.kind in "fcV":
            x, y = a.astype(np.float64), b.astype(np.float64)
            if not np.allclose(x, y, rtol=rtol, atol=atol, equal_nan=True):
                return f"result{where} differs {_how(x, y)}"
        elif not np.array_equal(a, b):
            return f"result{where} differs in {int(np.count_nonzero(a != b))} of {a.size} elements"
        return None

    return _first(compare, want, got, path)


def _how(x: Any, y: Any) -> str:
    """The difference of two arrays of one shape: the largest one, and the number of places with a finite number in one only."""
    import numpy as np

    both = np.isfinite(x) & np.isfinite(y)
    odd = int(np.count_nonzero(~both & ~((x == y) | (np.isnan(x) & np.isnan(y)))))
    largest = np.abs(x[both] - y[both]).max(initial=0)
    return f"by up to {largest:.3g}" if not odd else f"in {odd} infinities or NaNs, elsewhere by up to {largest:.3g}"


def distance(want: Any, got: Any, tolerance: float, path: str = "") -> str | None:
    """A sentence about where two values are further apart than `tolerance` times the largest element, or None. Data types
    may differ, for an approximation may be one by its data type."""
    import numpy as np

    def compare(a: Any, b: Any, where: str) -> str | None:
        if a.shape != b.shape:
            return f"result{where} had the shape {list(a.shape)} and has {list(b.shape)}"
        x, y = a.astype(np.float64), b.astype(np.float64)
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        with np.errstate(invalid="ignore"):  # of equal infinities, which are the same
            gap = np.where(same, 0.0, np.abs(x - y))
        largest = float(np.max(np.abs(x), initial=0.0, where=np.isfinite(x)))
        if np.all(gap <= tolerance * max(largest, 1e-3)):
            return None
        return (
            f"result{where} differs by up to {np.max(gap):.3g}, more than {tolerance:g} of the largest, {largest:.3g}"
        )

    return _first(compare, want, got, path)


def _first(compare: Compare, want: Any, got: Any, path: str) -> str | None:
    """The first message of `compare` on a pair of arrays; other leaves than arrays are skipped."""
    stack = [(want, got, path)]
    while stack:
        a, b, where = stack.pop()
        if isinstance(a, tuple | list):
            if not isinstance(b, tuple | list) or len(a) != len(b):
                return f"result{where} has another number of fields"
            stack += [(x, y, f"{where}.{i}") for i, (x, y) in enumerate(zip(a, b, strict=True))]
        elif hasattr(a, "dtype") and hasattr(b, "dtype") and (difference := compare(a, b, where)) is not None:
            return difference
    return None
