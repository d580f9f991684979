"""What of a module cannot be compiled: everything at once, each with its place in the source."""

from __future__ import annotations

from dataclasses import replace

from ..diagnostics import Diagnostic, IrError
from ..ir import Call, Function, Module, Op, post_order
from ..lower import lower_module
from .options import Options
from .prepare import prepare_entries


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
            lower_module(prepared, options.entries)
        except IrError as error:
            found += [located(d, module) for d in error.diagnostics]
    return list(dict.fromkeys(found))


def located(d: Diagnostic, module: Module) -> Diagnostic:
    """The diagnostic with a place in the source, where passes have lost it and it begins with an operator's name."""
    if d.span is not None:
        return d
    operator = d.message.split(" ", 1)[0]
    for f in module.relay_functions.values():
        for e in post_order(f.body):
            if isinstance(e, Call) and isinstance(e.op, Op) and e.op.name == operator and e.span is not None:
                return replace(d, span=e.span)
    return d
