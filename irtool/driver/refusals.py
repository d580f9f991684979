"""What of a module cannot be compiled: everything at once, each with its place in the source."""

from __future__ import annotations

from dataclasses import replace

from ..diagnostics import Diagnostic, IrError
from ..ir import Call, Function, Module, Op, post_order
from ..lower import lower_module
from ..tir.program import PARAM, CallFunction, Program, RunKernel, steps
from .options import Options
from .prepare import prepare_entries

LARGEST = 1 << 40
"""Bytes of a tensor, or of the workspace, beyond which no machine that runs the program is expected."""


def find_unsupported(module: Module, target: str = "c", entry: str | None = None) -> list[Diagnostic]:
    """Every reason for which a typed module cannot be compiled; empty if it can.

    Without an `entry`, that is `@main`, or each function that has no type parameters where there is no `@main`.
    """
    if entry is not None:
        entries = [entry]
    elif "main" in module:
        entries = ["main"]
    else:
        entries = [n for n, f in module.functions.items() if isinstance(f, Function) and not f.type_params]
    found: list[Diagnostic] = []
    for name in entries:
        try:
            options = Options(target=target, entries=(name,))
            prepared = prepare_entries(module, options)
            refuse_oversized(lower_module(prepared, options.entries))
        except IrError as error:
            found += [located(d, module, name) for d in error.diagnostics]
    return list(dict.fromkeys(found))


def refuse_oversized(program: Program) -> None:
    """Raises IrError with every tensor that no memory holds, by the functions that have it."""
    found: dict[str, None] = {}
    for f in program.functions.values():
        slots = [*f.params, *f.results]
        for s in steps(f.body):
            if isinstance(s, RunKernel | CallFunction):
                slots += [*s.inputs, *s.outputs]
        for slot in slots:
            slot = slot.resolve()
            if slot.nbytes > LARGEST:
                what = f"parameter %{slot.name}" if slot.kind == PARAM else "value"
                shape = ", ".join(map(str, slot.shape))
                found[
                    f"a {what} of @{f.name} is {slot.dtype}[{shape}], which is {slot.nbytes} bytes: no memory holds that"
                ] = None
    if found:
        raise IrError([Diagnostic(message) for message in found])


def located(d: Diagnostic, module: Module, entry: str = "main") -> Diagnostic:
    """The diagnostic with a place in the source, where passes have lost it.

    That is the first call of the operator whose name it begins with; else the entry function.
    """
    if d.span is not None:
        return d
    operator = d.message.split(" ", 1)[0]
    for f in module.relay_functions.values():
        for e in post_order(f.body):
            if isinstance(e, Call) and isinstance(e.op, Op) and e.op.name == operator and e.span is not None:
                return replace(d, span=e.span)
    function = module.functions.get(entry)
    return replace(d, span=function.span) if isinstance(function, Function) else d
