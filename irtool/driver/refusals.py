"""The parts of a module that cannot be compiled: all of them at once, each with its source location."""

from __future__ import annotations

from dataclasses import replace

from ..diagnostics import Diagnostic, InternalError, IrError, Span
from ..ir import Call, Function, Module, Op, post_order
from ..lower import lower_module
from ..lower.mistakes import DynamicShape
from ..symbolic_int import Undecided, nominal
from ..tir.program import Program, RunKernel, Slot, steps
from ..tir.vector_target import USUAL
from .mistakes import Oversized
from .options import Options, choose_backend
from .prepare import prepare_entries

LARGEST = 1 << 40
"""The largest tensor, in bytes, that any machine running the program is expected to hold."""


def find_unsupported(module: Module, target: str = "c", entry: str | None = None) -> list[Diagnostic]:
    """Every reason why a typed module cannot be compiled; empty if it can.

    Without an `entry`, that is `@main`, or each function that has no type parameters if there is no `@main`.
    """
    if entry is not None:
        entries = [entry]
    elif "main" in module:
        entries = ["main"]
    else:
        entries = [n for n, f in module.functions.items() if isinstance(f, Function) and not f.type_params]
    diagnostics: list[Diagnostic] = []
    for name in entries:
        try:
            backend, chosen_options, sizes = choose_backend(target, {})
            options = Options(backend=backend, target=chosen_options, sizes=sizes, entries=(name,))
            prepared = prepare_entries(module, options)
            program = lower_module(prepared, options.entries, USUAL.resized(dict(sizes)))
            refuse_oversized(program, prepared)
            diagnostics += [located(d, module, name) for d in backend.supports(program)]
        except InternalError:
            raise
        except Undecided as doubt:
            diagnostics += undecided_error(doubt, module, name).diagnostics
        except IrError as error:
            diagnostics += [located(d, module, name) for d in error.diagnostics]
    return list(dict.fromkeys(diagnostics))


def undecided_error(doubt: Undecided, module: Module, entry: str) -> IrError:
    """The refusal of a module whose code would differ between lengths, at its entry function."""
    message = f"the code of @{entry} depends on a length that a run decides: {doubt}"
    help = "say the length (--dim NAME=64), or narrower bounds (--dim '2<=NAME<=64')"
    return IrError([located(Diagnostic(message, help=help, code=DynamicShape), module, entry)])


def refuse_oversized(program: Program, prepared: Module) -> None:
    """Raises IrError with every tensor that is too large for any memory, and its origin."""
    problems: dict[Diagnostic, None] = {}
    for f in program.functions.values():
        function = prepared.functions.get(f.name)
        spans = {p.name: p.span for p in function.params} if isinstance(function, Function) else {}
        for s in f.params:
            if _bytes(s) > LARGEST:
                name = s.name if s.name in spans else s.name.rpartition("_")[0]
                problems[_oversized(f"the parameter %{s.name} of @{f.name}", s, spans.get(name))] = None
        for step in steps(f.body):
            if isinstance(step, RunKernel):
                operator = (step.kernel.operators or ("a value",))[-1]
                large = [s for slot in step.outputs if _bytes(s := slot.resolve()) > LARGEST]
                problems.update(
                    {replace(_oversized(f"{operator} in @{f.name}", s), subject=operator): None for s in large}
                )
    if problems:
        raise IrError(list(problems))


def _bytes(slot: Slot) -> int:
    """The bytes of a tensor at the upper bounds, and at usual lengths without bounds."""
    return nominal(slot.nbytes)


def _oversized(what: str, slot: Slot, span: Span | None = None) -> Diagnostic:
    shape = ", ".join(map(str, slot.shape))
    message = f"{what} is {slot.dtype}[{shape}], {_bytes(slot)} bytes: too large for any memory"
    return Diagnostic(message, span, code=Oversized)


def located(d: Diagnostic, module: Module, entry: str = "main") -> Diagnostic:
    """The diagnostic with a source location, found again if passes have lost it.

    That is the first call of the operator that is its subject; else the entry function.
    """
    if d.span is not None:
        return d
    for f in module.relay_functions.values():
        for e in post_order(f.body):
            if isinstance(e, Call) and isinstance(e.op, Op) and e.op.name == d.subject and e.span is not None:
                return replace(d, span=e.span)
    function = module.functions.get(entry)
    return replace(d, span=function.span) if isinstance(function, Function) else d
