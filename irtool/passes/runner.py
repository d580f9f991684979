"""Runs passes: prerequisites, instruments, inference, the choice of functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ..diagnostics import Diagnostic, InternalError, IrError, UsageError
from ..ir import Expr, Function, Module, Tuple, Var
from ..ir.module import describe
from ..ir.target import Target
from ..plugin.mistakes import PluginError, blame_all, blame_code
from ..plugin.origin import is_outside
from .base import Pass, PassList, passes
from .context import PassContext, PassInfo, PassInstrument
from .pipeline import parse_pipeline


class PassFailure(InternalError):
    """A pass failed or broke the module. `module` is what it was given, `failed` the pass."""

    def __init__(self, diagnostics: Iterable[Diagnostic] | str, *, module: Module, failed: Pass) -> None:
        super().__init__(diagnostics)
        self.module = module
        self.failed = failed


PassLike = str | tuple[str, Mapping[str, Any]] | Pass


def run_pass(p: Pass, module: Module, context: PassContext, *, needed: bool = False) -> Module:
    """Runs one pass with its instruments; types are inferred before it, if it requires them, and after it.

    Of the pass's prerequisites only InferType runs here, as in the peer: the others are the business of sequences.
    `needed` keeps instruments from skipping it.
    """
    info = p.info
    if "InferType" in info.required:
        module = run_pass(passes.get("InferType").make(), module, context, needed=True)
    for i in context.instruments:
        if not i.should_run(module, info) and not needed:
            return module
    for i in context.instruments:
        i.run_before_pass(module, info)
    try:
        after = p.apply(module, context)
    except PluginError as error:
        if error.failed is None:
            error.failed, error.module = p, module
        raise
    except IrError:
        raise
    except Exception as error:
        message = f"pass {p.text()} failed: {type(error).__name__}: {error}"
        raise blame_code(error, f"pass {p.text()}") or PassFailure(message, module=module, failed=p) from error
    if not isinstance(after, Module):
        message = f"pass {p.text()} returned a {type(after).__name__}, not a module"
        raise _failure(p, module, [Diagnostic(message)])
    if after is not module and p.needs_types:
        try:
            after = context.infer(after)
        except IrError as error:
            raise _failure(p, module, _blame(p, error)) from error
    try:
        for i in context.instruments:
            i.run_after_pass(after, info)
    except PassFailure:
        raise
    except InternalError as error:
        raise _failure(p, module, error.diagnostics) from error
    return after


def _failure(p: Pass, module: Module, found: Sequence[Diagnostic]) -> IrError:
    """The error that a pass broke its module: a bug of irtool, or a mistake in a pass from outside."""
    if not is_outside(type(p)):
        return PassFailure(found, module=module, failed=p)
    error = blame_all(type(p), found)
    error.failed, error.module = p, module
    return error


def run_in_sequence(p: Pass, module: Module, context: PassContext, waiting: tuple[str, ...] = ()) -> Module:
    """Runs a pass after everything that it requires."""
    name = p.info.name
    if name in waiting:
        raise UsageError(f"the prerequisites of pass {waiting[0]} form a cycle: {' → '.join((*waiting, name))}")
    for required in p.info.required:
        if required != "InferType":
            module = run_in_sequence(passes.get(required).make(), module, context, (*waiting, name))
    return run_pass(p, module, context, needed=bool(waiting))


def _blame(p: Pass, error: IrError) -> list[Diagnostic]:
    first, *rest = error.diagnostics
    note = f"the module no longer type-checks after pass {p.text()}"
    return [replace(first, notes=(*first.notes, note)), *rest]


@dataclass(frozen=True)
class ApplyPassToFunction(Pass):
    """Runs a pass on the functions whose names match a regular expression (`re.match`, so from the start of the name).

    While the pass runs, every other function is an opaque external one of the same type, and the matching functions
    count as exported; afterwards the others come back as they were. Where no function matches, that is an error if
    `error_if_no_function_matches_regex`, and otherwise the module is returned unchanged.
    """

    pass_: Pass
    func_name_regex: str
    error_if_no_function_matches_regex: bool = True
    name: ClassVar[str] = "func"

    def text(self) -> str:
        return f'func("{self.func_name_regex}", {self.pass_.text()})'

    def apply(self, module: Module, context: PassContext) -> Module:
        matched = select_functions(module, self.func_name_regex)
        if not matched:
            if self.error_if_no_function_matches_regex:
                have = ", ".join("@" + n for n in module.functions) or "none"
                raise IrError(f"no function matches {self.func_name_regex!r}", notes=(f"the functions are {have}",))
            return module
        if len(matched) == len(module.functions):
            return self.pass_.apply(module, context.derived(exported=matched))
        stubs = {n: _opaque(f) for n, f in module.functions.items() if n not in matched}
        inner = module.with_functions({n: stubs.get(n, f) for n, f in module.functions.items()})
        after = self.pass_.apply(inner, context.derived(exported=matched))
        kept = {n: f for n, f in after.functions.items() if n not in stubs}
        ordered = {
            n: module.functions[n] if n in stubs else kept[n] for n in module.functions if n in stubs or n in kept
        }
        return after.with_functions({**ordered, **kept})


def select_functions(module: Module, regex: str) -> list[str]:
    """Names of the functions that match. Raises UsageError for a malformed expression."""
    try:
        pattern = re.compile(regex)
    except re.error as error:
        raise UsageError(f"the regular expression {regex!r} is malformed: {error}") from None
    return [n for n in module.functions if pattern.match(n)]


def _opaque(f: Any) -> Any:
    """A function of the same type without a body that anything could look into."""
    if not isinstance(f, Function):
        return f
    params = tuple(Var(p.name, p.checked_type or p.type_annotation, p.span, p.checked_type) for p in f.params)
    body = Tuple((), f.span)
    marks = {**f.attrs, "Extern": 1}
    return Function(params, body, f.ret_type, f.type_params, marks, f.span, f.checked_type, f.virtual_device)


def run_passes(
    module: Module | Expr,
    passes: str | Sequence[PassLike],
    func: str | None = None,
    opt_level: int = 2,
    required_pass: Iterable[str] = (),
    disabled_pass: Iterable[str] = (),
    config: Mapping[str, Any] | None = None,
    target: str | Target | None = None,
    instruments: Iterable[PassInstrument] = (),
    allow_no_match: bool = False,
    warn: Callable[[Diagnostic], None] | None = None,
) -> Module:
    """Runs passes on a module and returns the result, typed.

    Args:
        module: the module, which is not changed, or a function or an expression, taken as `Module.from_expr` does.
        passes: a pipeline text (`"SimplifyInference,FuseOps{fuse_opt_level=2}"`) or a list of names, `(name, options)`
            pairs and passes. A pass named here always runs, whatever its level.
        func: a regular expression; only functions whose name it matches are transformed.
        opt_level, required_pass, disabled_pass, config, target, instruments: see `PassContext`.
        allow_no_match: whether a `func` that matches nothing is fine.
        warn: called with each warning of a pass.

    Raises:
        UsageError: unknown pass or option.
        IrError: the module is rejected.
        InternalError: a pass produced a module that does not type-check.
    """
    module = Module.of(module)
    context = PassContext(opt_level, required_pass, disabled_pass, config, instruments, target)
    with context:
        chosen = resolve(passes)
        if not chosen or chosen[0].needs_types:
            module = context.infer(module)
        for p in chosen:
            if func is not None:
                p = ApplyPassToFunction(p, func, not allow_no_match)
            module = run_pass(p, module, context)
    if warn is not None:
        for found in context.warnings:
            warn(found)
    return module


def resolve(items: str | Sequence[PassLike]) -> list[Pass]:
    """The passes that a pipeline text or list names.

    Raises UsageError for an unknown pass or option, and for a pass whose prerequisites form a cycle.
    """
    found = _listed(items)
    for p in found:
        _check_prerequisites(p.info)
    return found


def _listed(items: str | Sequence[PassLike]) -> list[Pass]:
    if isinstance(items, str):
        return parse_pipeline(items)
    if isinstance(items, Pass):
        return [items]
    if not isinstance(items, list | tuple):
        raise UsageError(f"passes are a pipeline text or a list, not {describe(items)}")
    found: list[Pass] = []
    for item in items:
        if isinstance(item, Pass):
            found.append(item)
        elif isinstance(item, str):
            found += parse_pipeline(item)
        elif isinstance(item, type) and issubclass(item, Pass):
            raise UsageError(
                f"{item.__name__} is a class of passes: write {item.__name__}(…), with its options if it has any"
            )
        elif isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str):
            found.append(passes.get(item[0]).make(item[1]))
        else:
            raise UsageError(f"a pass, its name, or a pair of name and options is expected, not {describe(item)}")
    return found


def _check_prerequisites(info: PassInfo) -> None:
    """Raises UsageError if a pass is, by way of others, among its own prerequisites."""
    settled: set[str] = set()
    path: dict[str, None] = {}
    stack = [(info.name, False)]
    while stack:
        name, is_done = stack.pop()
        if is_done:
            del path[name]
            settled.add(name)
        elif name in path:
            names = list(path)
            cycle = " → ".join([*names[names.index(name) :], name])
            raise UsageError(f"the prerequisites of pass {info.name} form a cycle: {cycle}")
        elif name not in settled:
            path[name] = None
            cls = passes.find(name)
            stack.append((name, True))
            stack.extend((r, False) for r in (cls.required if cls is not None else ()))


__all__ = [
    "ApplyPassToFunction",
    "PassFailure",
    "PassList",
    "resolve",
    "run_in_sequence",
    "run_pass",
    "run_passes",
    "select_functions",
]
