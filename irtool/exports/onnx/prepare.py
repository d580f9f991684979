"""Passes before a model is written: one entry, first-order functions, static operators, and Relay for what ONNX lacks."""

from __future__ import annotations

from ...diagnostics import IrError
from ...driver.entry import with_entry
from ...driver.monomorphic import make_monomorphic
from ...driver.prepare import has_dynamic_operators
from ...infer import infer_types
from ...ir import Call, Constructor, Expr, Match, Module, Op, RefCreate, RefRead, RefWrite, post_order, rewrite
from ...passes import run_passes
from ...passes.context import PassContext
from ...passes.legalization.rule import Site
from ..unsupported import Unsupported
from .form import Expansion, NoForm, form_of

_MOST_ROUNDS = 20
_FIRST_ORDER = "ToANormalForm,PartialEvaluate,DeadCodeElimination"
"""Removes references, algebraic data and functions that are chosen at run time, as far as they do not depend on input."""


def prepare(module: Module, entry: str) -> Module:
    """The typed module with the entry as `@main` and nothing that it does not reach."""
    with PassContext(opt_level=3):
        module = run_passes(with_entry(module, entry), "RemoveUnusedFunctions", instruments=())
        made = make_monomorphic(module)
        if made is not module:
            module = run_passes(made, "RemoveUnusedFunctions", instruments=())
        if has_dynamic_operators(module):
            module = run_passes(module, "DynamicToStatic", instruments=())
        return infer_types(module)


def has_data(module: Module) -> bool:
    """True if there are references, algebraic data or functions with type parameters."""
    return any(
        isinstance(e, RefCreate | RefRead | RefWrite | Match | Constructor)
        for f in module.relay_functions.values()
        for e in post_order(f.body)
    ) or any(f.type_params for f in module.relay_functions.values())


def first_order(module: Module) -> Module:
    """The module without what partial evaluation removes; the module itself where it cannot."""
    try:
        return infer_types(run_passes(module, f"{_FIRST_ORDER},RemoveUnusedFunctions", instruments=()))
    except IrError:
        return module


def expand(module: Module, missing: Unsupported) -> Module:
    """The typed module without calls that are written as other Relay (`form.Expansion`), in as many rounds as that takes."""
    for _ in range(_MOST_ROUNDS):
        functions = {
            n: rewrite(f, lambda old, new: _expanded(old, new, missing)) for n, f in module.relay_functions.items()
        }
        made = module.with_functions({**module.functions, **functions})
        if made is module:
            return module
        module = infer_types(made)
    return module


def _expanded(old: Expr, new: Expr, missing: Unsupported) -> Expr:
    if not isinstance(new, Call) or not isinstance(new.op, Op) or not isinstance(old, Call):
        return new
    form = form_of(new.op.name)
    if not isinstance(form, Expansion):
        return new
    types = tuple(a.checked_type for a in old.args)
    if old.checked_type is None or any(t is None for t in types):
        return new
    site = Site(new, tuple(t for t in types if t is not None), old.checked_type, None)
    try:
        made = form.expand(site)
    except NoForm as reason:
        missing.add(new.op.name, str(reason), new.span)
        return new
    except IrError as error:
        missing.add(new.op.name, error.diagnostics[0].message, new.span)
        return new
    return new if made is None else made
