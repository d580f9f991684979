"""`irtool opt --bisect`: the first pass that changes results, and the smallest module on which it does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from .progress import progress_bar

if TYPE_CHECKING:
    from ..ir import Module
    from ..reduction import Case
    from .pass_options import PassChoice

_SHOWN = 8
"""Numbers of a result that are printed."""


def bisect(
    module: Module,
    chosen: PassChoice,
    level: int | None,
    func: Sequence[str] | None,
    opt_level: int,
    target: str | None,
    entry: str,
    count: int,
    output: str | None,
) -> None:
    """Runs the passes, compares results after each, and shows the first pass that changes them; then the exit code is 1."""
    from ..passes import run_passes
    from ..passes.instruments.values import CheckValues, ResultsChanged
    from .output import write_text

    pipelines = [*chosen.passes, *([] if level is None else [f"default<O{level}>"])]
    context: dict[str, Any] = {**chosen.context, "opt_level": opt_level if level is None else level, "target": target}
    watching = CheckValues(count, entry)
    try:
        run_passes(module, pipelines, func, instruments=[*chosen.instruments, watching], **context)
    except Exception as error:
        if not isinstance(error.__cause__, ResultsChanged):
            raise
        text = _explained(error, entry, count, context)
        write_text(output, text)
        raise click.exceptions.Exit(1) from None
    if watching.report():
        click.echo(watching.report(), err=True)
    write_text(output, "no pass changes the results\n")


def _explained(error: Any, entry: str, count: int, context: dict[str, Any]) -> str:
    """The message for a pass that failed in `CheckValues`, from the runner, the pass and the module before it."""
    from ..printer import to_text
    from ..reduction import Case, Search, reduce_case
    from ..reduction.predicates.changing import ChangesResults

    predicate = ChangesResults(entry, count)
    case = Case(error.module, (error.failed.text(),), context)
    lines = [f"{error.__cause__.diagnostics[0].message}"]
    best = case
    if predicate(case):
        total = case.operators
        with progress_bar("reducing") as bar:

            def watch(search: Search) -> None:
                if bar is not None:
                    bar(total - search.best.operators, total)

            best = reduce_case(case, predicate, watch)
        failure = predicate.failure(best)
        lines = [*lines, f"the smallest module on which {best.passes[0]} does so:", "", to_text(best.module)]
        lines += [failure.diagnostics[0].message] if failure is not None else []
        lines += _values(best, entry)
    return "\n".join(lines) + "\n"


def _values(case: Case, entry: str) -> list[str]:
    """The results before the pass and after it, on the first of the inputs."""
    from ..interp.evaluate import evaluate
    from ..interp.random_inputs import random_inputs
    from ..ir.values import value_leaves

    inputs = random_inputs(case.module[entry], 0, case.module)
    lines = [f"%{p.name}: {_numbers(v)}" for p, v in zip(case.module[entry].params, inputs, strict=True)]
    for when, module in (("before", case.module), ("after", case.run())):
        lines += [f"{when}: {_numbers(leaf)}" for leaf in value_leaves(evaluate(module, inputs, entry=entry))]
    return lines


def _numbers(value: Any) -> str:
    import numpy as np

    array = np.asarray(value)
    if array.dtype == object:
        return repr(value)
    head = " ".join(f"{x:.6g}" if array.dtype.kind in "fV" else str(x) for x in array.ravel()[:_SHOWN].tolist())
    return f"{array.dtype}{list(array.shape)}  {head}{' …' if array.size > _SHOWN else ''}"
