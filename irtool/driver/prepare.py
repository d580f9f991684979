"""Prepares a module for lowering: binds weights, names the entry, makes it first-order, runs the build pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..diagnostics import IrError
from ..infer import infer_types
from ..infer.lengths import symbols_of_module
from ..infer.named_extents import value_bounds
from ..ir import (
    Call,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Module,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    Var,
    post_order,
)
from ..ir.types import has_static_shapes
from ..lower.state_caches import write_caches
from ..lower.value_lengths.fresh import Fresh
from .chosen_functions import call_inside_branches
from .entry import rename_functions, with_entry
from .length_cases import with_cases
from .mistakes import NoSuchEntry
from .monomorphic import make_monomorphic
from .options import Options
from .polymorphic_values import with_polymorphic_values

FIRST_ORDER = "ToANormalForm,PartialEvaluate,DeadCodeElimination"
"""Removes constructs without a counterpart in C: closures, references and algebraic data that do not depend on inputs."""

_MOST_CHOICES = 16
"""Choices of functions one inside the other."""

_MOST_GROWTH = 4
"""The factor by which calls inside branches may enlarge a module, beside `_SMALL`."""

_SMALL = 1024
"""Nodes of a module that costs little time."""

LEFT_OUT: Mapping[str, str] = {
    "AlterOpLayout": "scheduling chooses the layouts of kernels",
    "LabelOps": "builds recognise equal kernels by their loops, not by a hash",
    "PlanDevices": "C runs on one device; a build still plans a module that names devices",
}
"""Passes of the build pipeline that builds skip unless `required_pass` names them, each with the reason."""


def prepare(
    module: Module,
    params: Mapping[str, Any] | None = None,
    opt_level: int = 3,
    entry: str = "main",
    target: str = "c",
    instruments: Iterable[Any] | None = None,
    required_pass: Iterable[str] = (),
    disabled_pass: Iterable[str] = (),
    config: Mapping[str, Any] | None = None,
    fresh: Fresh | None = None,
) -> Module:
    """The module ready for lowering, with the entry named `main`.

    `required_pass`, `disabled_pass` and `config` are those of the context that the passes run under; `instruments` watch the
    build pipeline, and if there are none those of the current context watch every pass. `fresh` makes lengths that follow from
    values.
    Raises IrError if the entry does not exist or a weight does not fit its parameter.
    """
    from ..passes import run_passes
    from ..passes.core.bind import bind_params
    from ..passes.devices.configuration import mentioned_devices

    if entry not in module or not isinstance(module[entry], Function):
        have = ", ".join("@" + n for n in module.functions) or "none"
        raise IrError(f"there is no function @{entry} to build (the module has {have})", code=NoSuchEntry)
    if params:
        module = bind_params(module, params, entry)
    required, disabled = set(required_pass), set(disabled_pass)
    before: dict[str, Any] = {"config": config, "target": target, "instruments": None if instruments is None else ()}
    module = run_passes(with_entry(module, entry), "RemoveUnusedFunctions", **before)
    monomorphic = make_monomorphic(module)
    if monomorphic is not module:  # copied functions are not called any more
        module = run_passes(monomorphic, "RemoveUnusedFunctions", **before)
    if is_higher_order(module):
        module = make_first_order(run_passes(module, "ScatterTakenSlices", **before), **before)
        module = with_polymorphic_values(module)
    if has_straight_lets(module):
        module = run_passes(module, "ToGraphNormalForm", **before)
    if is_dynamic(module) or has_dynamic_operators(module):
        module = run_passes(module, "DynamicToStatic", **before)
    if is_dynamic(module):
        module = lengths_of_values(module, fresh or Fresh())
    required |= _needed(module) - disabled
    planned = {"PlanDevices"} if next(mentioned_devices(module), None) is not None else set()
    return run_passes(
        module,
        f"build<O{opt_level}>",
        opt_level=opt_level,
        required_pass=required,
        disabled_pass=disabled | (LEFT_OUT.keys() - required - planned),
        config=config,
        instruments=instruments,
        target=target,
    )


class UnboundedExtents(IrError):
    """Extents that follow from values, which nothing bounds."""


def lengths_of_values(module: Module, fresh: Fresh) -> Module:
    """The module with lengths in the place of extents that follow from values. Raises UnboundedExtents for those that nothing bounds."""
    from ..lower.value_lengths.rewriting import with_value_lengths

    problems = len(fresh.problems)
    main = module["main"]
    assert isinstance(main, Function)
    fresh.bound(value_bounds(main))
    module = with_value_lengths(module, "main", fresh)
    if len(fresh.problems) > problems:
        raise UnboundedExtents(fresh.problems[problems:])
    return module


def make_first_order(module: Module, **options: Any) -> Module:
    """The module after the passes of `FIRST_ORDER`, functions that branches choose called inside them; `options` are of `run_passes`."""
    from ..passes import run_passes

    first = module = run_passes(module, FIRST_ORDER, **options)
    largest = _MOST_GROWTH * _count_nodes(first) + _SMALL
    for _ in range(_MOST_CHOICES):
        called = call_inside_branches(module)
        if called is module:
            break
        if _count_nodes(called) > largest:
            return first  # a recursion chooses functions: they stay values
        module = run_passes(infer_types(called), FIRST_ORDER, **options)
    return module


def _count_nodes(module: Module) -> int:
    return sum(len(post_order(f.body)) for f in module.relay_functions.values())


def _needed(module: Module) -> set[str]:
    """Passes that run at every level because some operators cannot be lowered without them: those of quantized arithmetic."""
    from ..passes.legalization.rule import QNN_CANONICALIZE, QNN_LEGALIZE, find_rule

    for f in module.relay_functions.values():
        for e in post_order(f.body):
            if isinstance(e, Op) and any(find_rule(rules, e.name) for rules in (QNN_LEGALIZE, QNN_CANONICALIZE)):
                return {"qnn.Legalize", "qnn.CanonicalizeOps"}
    return set()


def prepare_entries(module: Module, options: Options, instruments: Iterable[Any] | None = None) -> Module:
    """The module ready for lowering, for one entry or several, which keep their names.

    Each entry goes through the pipeline with what it calls, by itself; what several of them call has a copy for each, and
    lowering finds equal kernels.
    """
    from ..passes.legalize import BYTE_PRODUCTS, BYTE_WINDOWS, WEIGHT_GRADIENTS
    from ..passes.pad_channels import LANES

    lanes = options.backend.machine().lanes(4)
    own = {BYTE_PRODUCTS: True, BYTE_WINDOWS: lanes == 1, WEIGHT_GRADIENTS: True, LANES: lanes}
    functions: dict[str, Any] = {}
    prepared = module
    fresh = Fresh(_names_of_lengths(module))
    module = write_caches(module, options.entries[0])
    for entry in options.entries:

        def prepare_entry(module: Module, entry: str = entry) -> Module:
            return prepare(
                module,
                None,
                options.opt_level,
                entry,
                options.target,
                instruments,
                options.required_pass,
                options.disabled_pass,
                {**own, **dict(options.config)},
                fresh,
            )

        prepared = prepare_entry(module)
        first = not functions
        prepared = rename_functions(
            prepared, {n: _own_name(n, entry, first, options.entries) for n in prepared.functions}
        )
        prepared = with_cases(module, entry, prepared, fresh, prepare_entry)
        functions.update(prepared.functions)
    return infer_types(prepared.with_functions(functions))  # calls of functions that were renamed have no type


def _names_of_lengths(module: Module) -> set[str]:
    """The names of the lengths in types of parameters."""
    return {s.name for s in symbols_of_module(module)}


def _own_name(name: str, entry: str, first: bool, entries: tuple[str, ...]) -> str:
    if name == "main":
        return entry
    return name if first and name not in entries else f"{entry}.{name}"


def is_dynamic(module: Module) -> bool:
    """True if the shape of some tensor is unknown."""
    return any(
        e.checked_type is not None and not has_static_shapes(e.checked_type)
        for f in module.relay_functions.values()
        for e in (*f.params, *post_order(f.body))
    )


def has_dynamic_operators(module: Module) -> bool:
    """True if some operator of the `dyn` dialect is left, even if every shape is known."""
    from ..ops.dyn.base import Dynamic

    return any(
        isinstance(e, Call) and isinstance(e.op, Op) and issubclass(e.op.operator, Dynamic)
        for f in module.relay_functions.values()
        for e in post_order(f.body)
    )


def has_straight_lets(module: Module) -> bool:
    """True if functions have `let`s, as gradients do, and no branches and loops: named values are no places to store results.

    In a branch or a loop a `let` says how often a value is computed.
    """
    nodes = [e for f in module.relay_functions.values() for e in post_order(f.body)]
    return any(isinstance(e, Let) for e in nodes) and not any(isinstance(e, If | Match | Function) for e in nodes)


def is_higher_order(module: Module) -> bool:
    """True if a function is used as a value other than by calling it or has type parameters, or there are references or
    algebraic data.
    """
    for f in module.relay_functions.values():
        if f.type_params:
            return True
        called: set[Expr] = set()
        order = post_order(f.body)
        for e in order:
            if isinstance(e, Call):
                called.add(e.op)
                if isinstance(e.op, Op) and e.op.name == "call_lowered":
                    called.add(e.args[0])
        for e in order:
            if isinstance(e, RefCreate | RefRead | RefWrite | Match | Constructor):
                return True
            if isinstance(e, Function) and e not in called and not e.attrs.get("Primitive"):
                return True
            if isinstance(e, Call) and not isinstance(e.op, Op | GlobalVar | Function):
                return True
            if isinstance(e, GlobalVar | Var) and e not in called and _is_function(e):
                return True
    return False


def _is_function(e: Expr) -> bool:
    from ..ir import FuncType

    return isinstance(e.checked_type, FuncType)
