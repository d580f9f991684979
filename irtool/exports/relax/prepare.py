"""Passes before a module is written: one entry, no type parameters, operators of Relax, names for values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...driver.monomorphic import make_monomorphic
from ...driver.prepare import FIRST_ORDER, has_dynamic_operators
from ...infer import infer_types
from ...ir import (
    Expr,
    Function,
    Module,
    Op,
    rewrite,
    with_function,
)
from ...passes import run_passes
from ...passes.core.bind import bind_params
from ...passes.legalization.rule import QNN_CANONICALIZE, QNN_LEGALIZE, find_rule
from ..data import has_data, nodes, without_unread_references


def prepare(module: Module, entry: str, weights: Mapping[str, Any]) -> Module:
    """The module in A-normal form, typed, with the functions that `entry` reaches; `weights` are constants in it."""
    if weights:
        module = bind_params(module, weights, entry)
    module = run_passes(module, "InferType")
    module = make_monomorphic(module, entry)
    module = _reached(module, entry)
    if has_data(module):
        evaluated = without_unread_references(_reached(run_passes(module, FIRST_ORDER), entry))
        module = module if has_data(evaluated) else evaluated  # reports have a place in the text
    if has_dynamic_operators(module):
        module = run_passes(module, "DynamicToStatic")
    if any(isinstance(e, Op) and is_decomposed(e.name) for e in nodes(module)):
        module = run_passes(module, "qnn.Legalize,qnn.CanonicalizeOps")
    module = run_passes(_plain(module), "ToANormalForm,InferType")
    return infer_types(module)


def is_decomposed(name: str) -> bool:
    """True for an operator that passes replace by others before anything is written: those of quantized arithmetic."""
    return any(find_rule(rules, name) for rules in (QNN_LEGALIZE, QNN_CANONICALIZE))


def _reached(module: Module, entry: str) -> Module:
    """The module with the functions that `entry` calls, and those that these call."""
    from ...ir.walk import global_names

    reached = [entry]
    for name in reached:
        f = module.functions.get(name)
        if isinstance(f, Function):
            reached += [n for n in global_names(f) if n not in reached]
    return module.with_functions({n: f for n, f in module.functions.items() if n in reached})


def _plain(module: Module) -> Module:
    """The module with functions that say nothing to passes: kernels and partitions are functions like others."""

    def leave(old: Expr, new: Expr) -> Expr:
        return with_function(new, attrs={}) if isinstance(new, Function) and new.attrs else new

    return module.with_functions(
        {n: rewrite(f, leave) if isinstance(f, Function) else f for n, f in module.functions.items()}
    )
