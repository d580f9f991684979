"""Runs one pass: prerequisites, instruments, the functions that are selected, inference."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ...diagnostics import Diagnostic, InternalError, IrError, UsageError
from ...ir import Function, Module
from ...ir.spans import fill_places
from ...parser.missing_attrs import undecided_call
from ...plugin.mistakes import PluginError, blame_all, blame_code
from ...plugin.origin import is_outside
from .base import Pass, passes
from .context import PassContext
from .folding_budget import sharing_budget
from .mistakes import CannotTransform


class PassFailure(InternalError):
    """A pass failed or broke the module. `module` is its input, `failed` the pass, `context` the context of the run."""

    def __init__(
        self,
        diagnostics: Iterable[Diagnostic] | str,
        *,
        module: Module,
        failed: Pass,
        context: PassContext | None = None,
    ) -> None:
        super().__init__(diagnostics)
        self.module = module
        self.failed = failed
        self.context = context


def run_pass(p: Pass, module: Module, context: PassContext, *, needed: bool = False) -> Module:
    """Runs one pass with its instruments; types are inferred before it, if it requires them, and after it.

    Of the pass's prerequisites only InferType runs here, as in TVM: the others are the business of sequences.
    `needed` keeps instruments from skipping it. Instruments see whole modules, with any selection of functions.
    """
    info = replace(p.info, is_prerequisite=True) if needed else p.info
    if "InferType" in info.required:
        module = run_pass(passes.get("InferType").make(), module, context, needed=True)
    for i in context.instruments:
        if not i.should_run(module, info) and not needed:
            return module
    if p.needs_types and not p.takes_open_types and not p.runs_others and has_untyped_functions(module):
        module = context.infer(module)
    for i in context.instruments:
        i.run_before_pass(module, info)
    try:
        after = _apply(p, module, context)
    except PluginError as error:
        if error.failed is None:
            error.failed, error.module, error.context = _as_selected(p, context), module, context
        raise
    except IrError as error:
        if type(error) is IrError:
            error.classify(CannotTransform)
        if not isinstance(error, InternalError):
            error.place(p.written)
        raise
    except Exception as error:
        unknown = undecided_call(module)
        if unknown is not None:
            message = "the attributes of this call are in a metadata section that the text does not have"
            raise IrError(f"pass {p.text()} has an unmet requirement: {message}", unknown.span) from error
        message = f"pass {p.text()} failed: {type(error).__name__}: {error}"
        raise blame_code(error, f"pass {p.text()}") or _failure(p, module, context, [Diagnostic(message)]) from error
    if after is not module and p.needs_types:
        _fill_places(after, module)
        try:
            after = context.infer_known(after) if p.takes_open_types else context.infer(after)
        except IrError as error:
            if context.selection is not None and _fits_alone(after, context):
                raise IrError(_blame_choice(p, error)) from error
            raise _failure(p, module, context, _blame(p, error)) from error
    try:
        for i in context.instruments:
            i.run_after_pass(after, info)
    except PassFailure:
        raise
    except InternalError as error:
        raise _failure(p, module, context, error.diagnostics) from error
    return after


def has_untyped_functions(module: Module) -> bool:
    """True if some function is not typed throughout."""
    return any(f.checked_type is None for f in module.relay_functions.values())


def _fill_places(after: Module, before: Module) -> None:
    """Gives new nodes of a pass their places in the source, so that later errors can be shown there."""
    for name, f in after.functions.items():
        if isinstance(f, Function) and before.functions.get(name) is not f:
            fill_places(f)


def _failure(p: Pass, module: Module, context: PassContext, diagnostics: Sequence[Diagnostic]) -> IrError:
    """The error that a pass broke its module: a bug of irtool, or a mistake in a pass from outside."""
    failed = _as_selected(p, context)
    if not is_outside(type(p)):
        return PassFailure(diagnostics, module=module, failed=failed, context=context)
    error = blame_all(type(p), diagnostics)
    error.failed, error.module, error.context = failed, module, context
    return error


def _apply(p: Pass, module: Module, context: PassContext) -> Module:
    """The result of the pass on the module, or on the selected functions."""
    selection = context.selection
    if selection is None or p.runs_others:
        with sharing_budget(module):
            after = p.apply(module, context)
    else:
        if p.needs_types:  # an external function has only a type
            module = context.infer(module)
        narrowed = selection.narrow(module)
        with sharing_budget(module):
            after = p.apply(narrowed, context)
        if after is narrowed:
            return module
    if not isinstance(after, Module):
        message = f"pass {p.text()} returned a {type(after).__name__}, not a module"
        raise _failure(p, module, context, [Diagnostic(message)])
    return after if selection is None or p.runs_others else selection.widen(after, module)


def _as_selected(p: Pass, context: PassContext) -> Pass:
    """The pass with its selection of functions, so that it can be run again."""
    if context.selection is None:
        return p
    return context.selection.around(p)


def run_in_sequence(p: Pass, module: Module, context: PassContext, waiting: tuple[str, ...] = ()) -> Module:
    """Runs a pass after everything that it requires."""
    name = p.info.name
    if name in waiting:
        raise UsageError(f"the prerequisites of pass {waiting[0]} form a cycle: {' → '.join((*waiting, name))}")
    for required in p.info.required:
        if required != "InferType":
            module = run_in_sequence(passes.get(required).make(), module, context, (*waiting, name))
    return run_pass(p, module, context, needed=bool(waiting))


def _fits_alone(after: Module, context: PassContext) -> bool:
    """True if the selected functions type-check alone: then the choice of functions is to blame."""
    assert context.selection is not None
    try:
        context.infer(context.selection.narrow(after))
    except IrError:
        return False
    return True


def _blame_choice(p: Pass, error: IrError) -> list[Diagnostic]:
    first, *rest = error.diagnostics
    note = f"pass {p.text()} changed the type of a selected function, and a function that is not selected uses it"
    return [replace(first, notes=(*first.notes, note), help="select the functions that use it as well"), *rest]


def _blame(p: Pass, error: IrError) -> list[Diagnostic]:
    first, *rest = error.diagnostics
    note = f"the module no longer type-checks after pass {p.text()}"
    return [replace(first, notes=(*first.notes, note)), *rest]


__all__ = ["PassFailure", "run_in_sequence", "run_pass"]
