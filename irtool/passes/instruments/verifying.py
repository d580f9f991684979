"""Verifies the module around each pass: well-formed, every node typed as inference types it, and the input untouched."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...diagnostics import Diagnostic, InternalError
from ...infer.recheck import recheck_types
from ...ir import Expr, Function, Module, post_order
from ...ir.structural import structural_hash
from ...ir.verify import verify
from ..core.context import PassInfo, PassInstrument
from . import register_instrument


@register_instrument("Verifying")
@dataclass
class Verifying(PassInstrument):
    """Verifies the module around each pass: well-formed, every node typed, and the input untouched.

    Raises InternalError, naming the pass, as soon as an invariant is broken. The first input is not checked. The types of
    changed functions are not trusted, but inferred again.
    """

    _open: list[tuple[Module, int]] = field(default_factory=list, init=False)

    def run_before_pass(self, module: Module, info: PassInfo) -> None:
        self._open.append((module, structural_hash(module)))

    def run_after_pass(self, module: Module, info: PassInfo) -> None:
        before, digest = self._open.pop()
        if structural_hash(before) != digest:
            raise InternalError(f"pass {info.name} changed the module that it was given")
        if module is before or info.runs_others:  # the results of other passes have been verified after each of them
            return
        errors = verify(module) + _malformed_nests(module, before)
        if info.needs_types and not errors:
            changed = [n for n, f in module.functions.items() if before.functions.get(n) is not f]
            errors = _untyped(module) or recheck_types(module, changed)
        if errors:
            first, *rest = errors
            note = f"the module is malformed after pass {info.name}"
            head = Diagnostic(first.message, first.span, notes=(*first.notes, note), help=first.help)
            raise InternalError([head, *rest[:9]])


def _malformed_nests(module: Module, before: Module) -> list[Diagnostic]:
    """Errors in the loop nests that the pass made."""
    changed = {
        n: f for n, f in module.functions.items() if before.functions.get(n) is not f and not isinstance(f, Expr)
    }
    if not changed:
        return []
    from ...tir.stmt import PrimFunc
    from ...tir.verify import find_problems

    nests = {n: f for n, f in changed.items() if isinstance(f, PrimFunc)}
    return [Diagnostic(f"@{n}: {problem}") for n, f in nests.items() for problem in dict.fromkeys(find_problems(f))]


def _untyped(module: Module) -> list[Diagnostic]:
    for name, f in module.functions.items():
        if not isinstance(f, Function) or f.checked_type is None:
            continue  # inference has reported the open types of a function that is not fully typed
        for e in post_order(f, enter=lambda e: not (isinstance(e, Function) and e.attrs.get("Extern"))):
            if e.checked_type is None:
                return [Diagnostic(f"{e!r} in @{name} has no type", e.span)]
    return []
