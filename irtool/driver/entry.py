"""Making another function the entry: the build pipeline keeps what `@main` reaches."""

from __future__ import annotations

from ..ir import Expr, Function, GlobalVar, Module, rewrite


def with_entry(module: Module, entry: str) -> Module:
    """The module with `entry` named `main`; a `main` that was there before gets a fresh name."""
    if entry == "main":
        return module
    renamed = {entry: "main"}
    if "main" in module:
        renamed["main"] = module.fresh_name("main_1")

    def change(old: Expr, new: Expr) -> Expr:
        if isinstance(new, GlobalVar) and new.name in renamed:
            return GlobalVar(renamed[new.name], new.span, new.checked_type)
        return new

    functions = {}
    for name, f in module.functions.items():
        functions[renamed.get(name, name)] = rewrite(f, change) if isinstance(f, Function) else f
    return module.with_functions(functions)
