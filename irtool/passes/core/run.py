"""`run_passes`: passes by name on a module, under the current context."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ...diagnostics import Diagnostic
from ...ir import Expr, Module
from ...ir.target import Target
from ..apply_pass_to_function import ApplyPassToFunction
from .context import PassContext, PassInstrument
from .resolve import PassLike, listed, resolve
from .runner import run_pass


def run_passes(
    module: Module | Expr,
    passes: str | Sequence[PassLike],
    func: str | Sequence[str] | None = None,
    opt_level: int | None = None,
    required_pass: Iterable[str] | None = None,
    disabled_pass: Iterable[str] | None = None,
    config: Mapping[str, Any] | None = None,
    target: str | Mapping[str, Any] | Target | None = None,
    instruments: Iterable[PassInstrument] | None = None,
    allow_no_match: bool = False,
    warn: Callable[[Diagnostic], None] | None = None,
) -> Module:
    """Runs passes on a module and returns the result, typed; without any pass as far as types are decided.

    The passes run under the current `PassContext`; each of the arguments that is given overrides what it says (of
    `config`, key by key).

    Args:
        module: the module, which is not changed, or a function or an expression, taken as `Module.from_expr` does.
        passes: a pipeline text (`"SimplifyInference,FuseOps{fuse_opt_level=2}"`) or a list of names, `(name, options)`
            pairs and passes. A pass named here always runs, whatever its level. Of what it requires only InferType runs before it:
            that is a `Sequential`'s business, as in TVM.
        func: a regular expression, or several; only functions whose name one of them matches are transformed.
        opt_level, required_pass, disabled_pass, config, target, instruments: see `PassContext`.
        allow_no_match: whether a `func` that matches nothing is fine, and in a pipeline text a `func(…)` or a `func_name`.
        warn: called with each warning of a pass.

    Raises:
        UsageError: unknown pass or option.
        IrError: the module is rejected.
        InternalError: a pass produced a module that does not type-check.
    """
    outer = PassContext.current()
    context = outer.overridden(opt_level, required_pass, disabled_pass, config, instruments, target)
    module = Module.of(module)
    chosen = [(p, isinstance(item, str)) for item in listed(passes) for p in resolve([item])]
    if func is not None:
        chosen = [(ApplyPassToFunction(p, _regexes(func), not allow_no_match), is_text) for p, is_text in chosen]
    try:
        with context:
            if not chosen or chosen[0][0].takes_open_types:
                module = context.infer_known(module)
            elif chosen[0][0].needs_types:
                module = context.infer(module)
            for p, is_text in chosen:
                module = run_pass(p, module, context.derived(require_match=is_text and not allow_no_match))
    finally:
        for warning in context.warnings:
            outer.note(warning)
            if warn is not None:
                warn(warning)
    return module


def _regexes(func: str | Sequence[str]) -> str | tuple[str, ...]:
    return func if isinstance(func, str) else tuple(func)
