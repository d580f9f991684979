"""Makes another function the entry: the build pipeline keeps only the functions that `@main` reaches."""

from __future__ import annotations

from collections.abc import Mapping

from ..ir import Expr, Function, GlobalVar, Module, rewrite


def with_entry(module: Module, entry: str) -> Module:
    """The module with `entry` named `main`; a `main` that was there before gets a fresh name."""
    if entry == "main":
        return module
    renamed = {entry: "main"}
    if "main" in module:
        renamed["main"] = module.fresh_name("main_1")
    return rename_functions(module, renamed)


def rename_functions(module: Module, names: Mapping[str, str]) -> Module:
    """The module with functions renamed, definitions and calls."""
    if all(old == new for old, new in names.items()):
        return module

    def change(old: Expr, new: Expr) -> Expr:
        if isinstance(new, GlobalVar) and names.get(new.name, new.name) != new.name:
            return GlobalVar(names[new.name], new.span, new.checked_type)
        return new

    functions = {}
    for name, f in module.functions.items():
        functions[names.get(name, name)] = rewrite(f, change) if isinstance(f, Function) else f
    return module.with_functions(functions)
