"""Passes before a model is written: one entry, first-order functions, static operators, and Relay for operators that ONNX lacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...diagnostics import IrError
from ...driver.entry import with_entry
from ...driver.monomorphic import make_monomorphic
from ...driver.prepare import has_dynamic_operators, make_first_order
from ...infer import infer_types
from ...ir import (
    Call,
    Constant,
    Expr,
    Function,
    Module,
    Op,
    Tuple,
    Var,
    post_order,
    rewrite,
    substitute,
    with_function,
    without_return_type,
)
from ...ir.types import has_static_shapes
from ...passes import run_passes
from ...passes.core.context import PassContext
from ...passes.legalization.rule import LegalizationSite
from ..data import has_data, without_unread_references
from ..unsupported import Unsupported
from .form import Expansion, NoForm, form_of

_MOST_ROUNDS = 20


def prepare(module: Module, entry: str) -> Module:
    """The typed module with the entry as `@main` and nothing that it does not reach."""
    with PassContext(opt_level=3):
        module = run_passes(with_entry(module, entry), "RemoveUnusedFunctions", instruments=())
        monomorphic = make_monomorphic(module)
        if monomorphic is not module:
            module = run_passes(monomorphic, "RemoveUnusedFunctions", instruments=())
        if has_dynamic_operators(module):
            module = run_passes(module, "DynamicToStatic", instruments=())
        return infer_types(module)


def needs_evaluation(module: Module) -> bool:
    """True if there are references, algebraic data or functions with type parameters."""
    return has_data(module) or any(f.type_params for f in module.relay_functions.values())


def first_order(module: Module) -> Module:
    """The module made first-order by partial evaluation, without references; the module itself if that fails."""
    try:
        prepared = make_first_order(module, instruments=())
        prepared = infer_types(run_passes(prepared, "RemoveUnusedFunctions", instruments=()))
        return infer_types(without_unread_references(prepared))
    except IrError:
        return module


def with_quantities(module: Module, weights: Mapping[str, Any]) -> Module:
    """The module with weights that are scales and zero points as constants, since arithmetic is made from their values."""
    main = module.functions.get("main")
    if not isinstance(main, Function):
        return module
    weight_params = {v for v in main.params if v.name in weights}
    constants: dict[Var, Expr] = {}
    for e in post_order(main.body):
        if isinstance(e, Call) and isinstance(e.op, Op) and e.op.name.startswith("qnn."):
            for name, a in zip(e.op.operator.names_of_arguments(len(e.args)), e.args, strict=False):
                for v in (a,) if isinstance(a, Var) else a.fields if isinstance(a, Tuple) else ():
                    if name.endswith(_QUANTITIES) and isinstance(v, Var) and v in weight_params:
                        constants[v] = Constant(weights[v.name], getattr(v.checked_type, "dtype", ""), None, v.span)
    if not constants:
        return module
    return infer_types(module.with_function("main", with_function(main, body=substitute(main.body, constants))))


_QUANTITIES = ("scale", "scales", "zero_point", "zero_points")


def expand(module: Module, missing: Unsupported, stays: Callable[[LegalizationSite], bool] = lambda s: False) -> Module:
    """The typed module without calls that are written as other Relay (`form.Expansion`), in as many rounds as that takes.

    A call that `stays` is written as a node all the same.
    """
    for _ in range(_MOST_ROUNDS):
        functions = {}
        for n, f in module.relay_functions.items():
            made_of = rewrite(f, lambda old, new: _expanded(old, new, missing, stays))
            # An extent such as n + 1 - 1 may be written in another way afterwards: it is inferred anew.
            is_open = made_of is not f and f.ret_type is not None and not has_static_shapes(f.ret_type)
            functions[n] = without_return_type(made_of) if is_open else made_of
        expanded = module.with_functions({**module.functions, **functions})
        if expanded is module:
            return module
        module = infer_types(expanded)
    return module


def _expanded(old: Expr, new: Expr, missing: Unsupported, stays: Callable[[LegalizationSite], bool]) -> Expr:
    if not isinstance(new, Call) or not isinstance(new.op, Op) or not isinstance(old, Call):
        return new
    form = form_of(new.op.name)
    if not isinstance(form, Expansion):
        return new
    types = tuple(a.checked_type for a in old.args)
    if old.checked_type is None or any(t is None for t in types):
        return new
    site = LegalizationSite(new, tuple(t for t in types if t is not None), old.checked_type, None)
    try:
        expanded = None if stays(site) else form.expand(site)
    except NoForm as reason:
        missing.add(new.op.name, str(reason), new.span)
        return new
    except IrError as error:
        missing.add(new.op.name, error.diagnostics[0].message, new.span)
        return new
    return new if expanded is None else expanded
