"""`irtool reduce`: makes a module and its pipeline as small as they can be while they show the same thing."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from . import param_types
from .engines import check_way
from .grouped import grouped
from .mistakes import ClashingOptions
from .param_facts import ARRAYS, ParamFacts, entry_of, main_option, type_options
from .pass_options import PassChoice, pass_options
from .progress import progress_bar
from .regular_expression import pattern
from .wrong_usage import Command

if TYPE_CHECKING:
    from ..ir import Module
    from ..reduction import Case, Search


@dataclass(frozen=True)
class Expectation:
    """The property that a module must keep, from a command line; `check_command` is the command that checks it, or empty."""

    crash: bool = False
    diff: bool = False
    pattern: re.Pattern[str] | None = None
    via: str = "interp"
    entry: str = "main"
    seed: int = 0
    rtol: float = 1e-3
    atol: float = 1e-4
    timeout: float = 60.0

    def predicate(self, check_command: tuple[str, ...], chosen: PassChoice, level: int | None) -> Any:
        """The predicate of a case. Raises UsageError unless exactly one thing is expected."""
        from ..diagnostics import UsageError

        choices = [self.crash, self.diff, self.pattern is not None]
        if sum(choices) + (not any(choices) and bool(check_command)) != 1:
            raise UsageError(
                "one thing to look for is needed",
                help="--expect-crash, --expect-diff, --expect-text RE, or a command behind --",
                code=ClashingOptions,
            )
        if check_command:
            if self.diff or chosen.passes or level is not None or self.via != "interp":
                raise UsageError(
                    "a command that judges runs passes itself: it goes with --expect-crash and --expect-text only",
                    code=ClashingOptions,
                )
            from ..reduction.predicates.command import Accepted

            return Accepted(check_command, self.crash, self.pattern, self.timeout)
        how: dict[str, Any] = {"via": self.via, "entry": self.entry, "level": None if self.via == "interp" else level}
        if self.crash:
            from ..reduction.predicates.crash import Crashes

            return Crashes(**how)
        if self.diff:
            from ..reduction.predicates.difference import Differs

            return Differs(**how, seed=self.seed, rtol=self.rtol, atol=self.atol)
        from ..reduction.predicates.text import Says

        assert self.pattern is not None
        return Says(self.pattern, **how)


expectation_options = grouped(
    "expected",
    Expectation,
    click.option("--expect-crash", "crash", is_flag=True, help="A pass or the backend fails, in the same way."),
    click.option("--expect-diff", "diff", is_flag=True, help="The passes or the backend change results."),
    click.option(
        "--expect-text",
        "pattern",
        metavar="RE",
        default=None,
        callback=pattern,
        help="A regular expression matches the text after the passes, or the message.",
    ),
    click.option(
        "--via",
        type=param_types.WAY,
        default="interp",
        show_default=True,
        callback=check_way,
        metavar="interp|BACKEND",
        help="Also build the module after the passes with a backend, and for --expect-diff run it.",
    ),
    main_option("The function to run."),
    click.option("--seed", default=0, show_default=True, help="Seed of the inputs of --expect-diff."),
    click.option("--rtol", default=1e-3, show_default=True, help="Relative tolerance of --expect-diff."),
    click.option("--atol", default=1e-4, show_default=True, help="Absolute tolerance of --expect-diff."),
    click.option(
        "--timeout",
        default=60.0,
        show_default=True,
        type=click.FloatRange(0, min_open=True),
        help="Seconds after which a command that judges is ended, and the candidate dismissed.",
    ),
)
"""The options about what a reduction looks for, as one `Expectation`, `expected`."""


@click.command(
    name="reduce", cls=Command, short_help="Reduce a module and a pipeline to small ones that reproduce a bug."
)
@click.argument("file", type=param_types.MODULE)
@click.argument("check_command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND]")
@pass_options("Passes to run on each candidate; they are reduced, too.")
@click.option("-O", "level", type=click.IntRange(0, 4), default=None, help="Also run the build pipeline at this level.")
@click.option("--opt-level", type=click.IntRange(0, 4), default=2, show_default=True, help="Level of the pass context.")
@click.option(
    "--target", type=param_types.TARGET, metavar="TARGET", default=None, help="Compilation target of the passes."
)
@expectation_options
@type_options(ARRAYS)
@click.option(
    "-o",
    "output",
    type=param_types.WRITTEN,
    metavar="FILE",
    default=None,
    help="Write to FILE, not to standard output.",
)
@click.option("-v", "--verbose", is_flag=True, help="Report each step that makes the module smaller.")
@click.option("-q", "--quiet", is_flag=True, help="Do not report the sizes in the end.")
def command(
    file: str,
    check_command: tuple[str, ...],
    chosen: PassChoice,
    level: int | None,
    opt_level: int,
    target: str | None,
    expected: Expectation,
    param_facts: ParamFacts,
    output: str | None,
    verbose: bool,
    quiet: bool,
) -> None:
    """Make a module as small as it can be while it still shows the same crash, difference or text.

    Functions, calls, bindings, branches, clauses, tuples, parameters, extents, constants, dtypes, attributes and the passes
    of the pipeline go as far as possible. The result is always well typed, and the same in every run.

    COMMAND is a program that judges candidates: exit code 0 means that a candidate is still interesting. `{}` is the file
    with the candidate, or it comes last; `irtool` is this irtool. With --expect-crash, the command must end with
    irtool's exit code for bugs, 3, or by a signal; with --expect-text, its output must match.

    \b
    Examples:
      irtool reduce net.relay --passes=SimplifyInference,FuseOps --expect-crash -o small.relay
      irtool reduce net.relay -O3 --via=c --expect-diff
      irtool reduce q.relay --params q.npz -O3 --via=c --expect-diff
      irtool reduce net.relay --passes=FuseOps --expect-text 'Primitive=1.*concatenate'
      irtool reduce net.relay -- sh still_wrong.sh {}
      irtool reduce net.relay --expect-crash -- irtool build --target=llvm {} -o {}.out
    """
    from ..diagnostics import IrError
    from ..infer import infer_types
    from ..reduction import Case

    predicate = expected.predicate(check_command, chosen, level)
    passes = [*chosen.passes, *([f"default<O{level}>"] if level is not None and expected.via == "interp" else [])]
    context = {**chosen.context, "opt_level": opt_level, "target": target, "instruments": chosen.instruments}
    case = Case(infer_types(_read(file, param_facts, expected)), _single(passes), context)
    if not predicate(case):
        if expected.diff:
            _require_inputs(case.module, expected)
        raise IrError(f"{file} is not interesting: {_missing(expected, check_command)}")
    if not quiet:
        click.echo(f"looking for: {predicate.describe()}", err=True)
    start = time.monotonic()
    best, tried = _reduced(case, predicate, verbose)
    _finish(best, predicate, check_command, expected, chosen, level, output)
    if not quiet:
        summary = f"{_sizes(case)} → {_sizes(best)}, {tried} candidates, {time.monotonic() - start:.1f} s"
        click.echo(summary, err=True)


def _read(file: str, param_facts: ParamFacts, expected: Expectation) -> Module:
    """The module with known facts of its parameters; modules that are run have numbers as extents."""
    from .input_module import read_module

    module, param_facts = read_module(file, param_facts, is_settled=expected.diff or expected.via != "interp")
    named = None if expected.entry == "main" else expected.entry
    return param_facts.apply(module, named)


def _require_inputs(module: Module, expected: Expectation) -> None:
    """Raises IrError if there is no function to run, or there are no values for its parameters."""
    from ..interp.random_inputs import random_inputs
    from ..ir import Function

    function = module[entry_of(module, expected.entry)]
    if isinstance(function, Function):
        random_inputs(function, expected.seed, module)


def _single(texts: list[str]) -> tuple[str, ...]:
    """The passes of pipeline texts, each as a text of its own."""
    from ..passes.core.pipeline import parse_pipeline

    return tuple(p.text() for text in texts for p in parse_pipeline(text))


def _missing(expected: Expectation, check_command: tuple[str, ...]) -> str:
    if check_command:
        return "the command does not accept it as it is"
    if expected.crash:
        return "nothing fails"
    return "the results are the same, or there are none" if expected.diff else "nothing matches the regular expression"


def _reduced(case: Case, predicate: Callable[[Case], bool], verbose: bool) -> tuple[Case, int]:
    from ..reduction import reduce_case

    tried = 0
    best = case
    total = case.operators
    with progress_bar("reducing") as bar:

        def watch(search: Search) -> None:
            nonlocal tried, best
            tried = search.tried
            if search.best is best:
                return
            best = search.best
            if bar is not None:
                bar(total - best.operators, total)
            if verbose:
                click.echo(f"{search.step}: {_sizes(best)}", err=True)

        return reduce_case(case, predicate, watch), tried


def _sizes(case: Case) -> str:
    counts = [(case.operators, "operator"), (len(case.module.functions), "function")]
    counts += [(len(case.passes), "pass")] if case.passes else []
    return ", ".join(f"{n} {_plural(word, n)}" for n, word in counts)


def _plural(word: str, count: int) -> str:
    return word if count == 1 else word + ("es" if word.endswith("s") else "s")


def _finish(
    best: Case,
    predicate: Callable[[Case], bool],
    check_command: tuple[str, ...],
    expected: Expectation,
    chosen: PassChoice,
    level: int | None,
    output: str | None,
) -> None:
    """Writes the result, with the command that reproduces it in its first line, and warns if its text does not."""
    from ..diagnostics import IrError
    from ..infer import infer_types
    from ..parser import parse
    from ..printer import to_text
    from .output import write_text
    from .reduced_line import run_line

    text = to_text(best.module)
    try:
        shows = predicate(replace(best, module=infer_types(parse(text))))
    except IrError:
        shows = False
    if not shows:
        click.echo("warning: the module shows it in memory only, and no more when its text is read", err=True)
    write_text(output, ("" if check_command else run_line(best, expected, chosen, level)) + text)
