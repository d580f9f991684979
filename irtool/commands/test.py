"""`irtool test`: runs golden files."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from . import param_types
from .mistakes import ClashingOptions
from .pass_options import loads_files
from .verbosity import is_quiet
from .wrong_usage import Command, WrongUsage

if TYPE_CHECKING:
    from .goldens.outcome import Outcome
    from .goldens.worker import Result, Task


@click.command(name="test", cls=Command, short_help="Run golden files (// RUN: lines and expected output).")
@click.argument("paths", type=param_types.READ, nargs=-1)
@click.option("--update", is_flag=True, help="Overwrite the expected output with the current one.")
@click.option("-v", "--verbose", is_flag=True, help="Also list passing cases.")
@click.option(
    "-k", "texts", metavar="TEXT", multiple=True, help="Only cases with TEXT in their path. Repeatable: any of them."
)
@click.option(
    "-j", "--jobs", type=click.IntRange(min=1), default=1, metavar="N", help="Run so many files at a time. Default: 1."
)
@click.option("--list", "lists", is_flag=True, help="Run nothing; print the cases.")
@click.option(
    "--features",
    is_flag=True,
    help="Run nothing; print the features that // REQUIRES: lines can name, and which are present.",
)
@click.option(
    "--junit",
    type=param_types.WRITTEN,
    metavar="FILE",
    default=None,
    help="Also write the results as JUnit XML, for CI.",
)
@loads_files
def command(
    paths: tuple[str, ...],
    update: bool,
    verbose: bool,
    texts: tuple[str, ...],
    jobs: int,
    lists: bool,
    features: bool,
    junit: str | None,
) -> None:
    """Run the `// RUN:` lines of each .relay file in PATHS and compare their output with FILE.relay.expected. PATHS
    are files and folders (default: the current folder).

    \b
    // RUN: irtool opt --passes=FoldConstant %s        must succeed; %s is the file itself
    // RUN: not irtool opt --passes=Foo %s             must fail; its messages count as output
    // RUN: irtool opt -p A %s | irtool check -        pipes; every command must succeed (pipefail)
    // RUN: irtool check %s 2>&1                       messages count as output
    // ERROR: unknown operator                         an error on the next line, or behind text on its own
    // XFAIL: sums are not exact yet                   must fail; passing is a failure
    // REQUIRES: clang, onnx                           is skipped unless all of them are installed
    // -----                                           another case, with the RUN lines of the first

    \b
    Examples:
      irtool test -j 4 tests/golden                   four files at a time
      irtool test -k conv --list tests/golden         which cases those are
      irtool test --update tests/golden/conv.relay    take over the current output; read the diff
      irtool test --junit results.xml tests/golden    a report for CI

    %t is a temporary folder for the case, %% a percent sign. The only command is `irtool`; after `not`, anywhere in a
    pipe, it must fail. docs/golden-tests.md has all rules, and pytest collects the same files (`irtool_goldens`).
    """
    if (lists or features) and (update or junit or (lists and features)):
        other = "--features" if features else "--list"
        raise WrongUsage(f"{other} runs nothing, so it goes alone with PATHS and -k", ClashingOptions)
    if features:
        _show_features()
        return
    tasks, names = _tasks(paths or (".",), texts, update)
    if lists:
        click.echo("\n".join(names))
        return
    results = _run(tasks, jobs, verbose)
    if junit is not None:
        from .goldens.junit import junit_xml
        from .output import write_text

        write_text(junit, junit_xml(results))
    if not _sum_up(results):
        raise click.exceptions.Exit(1)


def _show_features() -> None:
    from .goldens.features import features
    from .tables import show_table

    rows = [("feature", "here"), *((name, "yes" if test() else "no") for name, test in features().items())]
    click.echo(show_table(rows, [max(len(r[0]) for r in rows)], stream=sys.stdout))


def _tasks(paths: Sequence[str], texts: Sequence[str], update: bool) -> tuple[list[Task], list[str]]:
    """The tasks to run, and the names of the cases. Raises IrError if no case is found."""
    import os

    from ..diagnostics import IrError
    from .goldens.cases import read_cases
    from .goldens.finding import find_goldens, stale_expectation
    from .goldens.worker import Task
    from .mistakes import UnreadableFile

    for path in paths:
        if not os.path.exists(path):
            raise IrError(f"cannot read {path}: no such file or folder", code=UnreadableFile)
    tasks: list[Task] = []
    names: list[str] = []
    try:
        files = list(dict.fromkeys(f for p in paths for f in find_goldens(p)))
        cases_of_files = [
            (f, {f: 0} if stale_expectation(f) else {c.name: c.number for c in read_cases(f)}) for f in files
        ]
    except OSError as error:
        raise IrError(f"cannot read {error.filename}: {error.strerror}", code=UnreadableFile) from None
    for file, cases in cases_of_files:
        chosen = {name: n for name, n in cases.items() if not texts or any(t in name for t in texts)}
        if chosen:
            names += chosen
            tasks.append(Task(file, None if len(chosen) == len(cases) else frozenset(chosen.values()), update))
    if not files:
        raise IrError(f"no file with a `// RUN:` line in {', '.join(paths)}")
    if not tasks:
        raise IrError(f"no golden file in {', '.join(paths)} has {' or '.join(texts)} in its path")
    return tasks, names


def _run(tasks: Sequence[Task], jobs: int, verbose: bool) -> list[Result]:
    """Runs tasks, and prints the outcome of each in their order."""
    from contextlib import closing

    from .goldens.side_by_side import perform_all
    from .progress import progress_bar

    results: list[Result] = []
    with progress_bar("golden files") as step, closing(perform_all(tasks, jobs)) as performed:
        for task, result in zip(tasks, performed):
            results.append(result)
            for outcome in result.outcomes:
                _show(outcome, verbose and not result.is_written)
            if result.is_written and not is_quiet():
                click.echo(f"updated {task.path}")
            if step is not None:
                step(len(results), len(tasks))
    return results


def _show(outcome: Outcome, verbose: bool) -> None:
    from .colour import is_coloured, paint_diff
    from .goldens.outcome import FAILED, PASSED, SKIPPED
    from .streams import own_escapes

    is_painted = is_coloured(sys.stdout)

    def say(word: str, colour: str, text: str) -> None:
        click.echo((own_escapes(click.style(word, fg=colour, bold=True)) if is_painted else word) + text, color=True)

    if outcome.state != FAILED and is_quiet():
        return
    if outcome.state == FAILED:
        say("FAIL", "red", f" {outcome.name}\n{paint_diff(outcome.message) if is_painted else outcome.message}")
    elif outcome.state == SKIPPED:
        say("skip", "yellow", f" {outcome.name}: {outcome.message}")
    elif verbose:
        message = "" if outcome.state == PASSED else f": {outcome.state}: {outcome.message}"
        say("ok", "green", f"   {outcome.name}{message}")


def _sum_up(results: Sequence[Result]) -> bool:
    """Prints how many cases passed, unless all is quiet and well; true if none failed."""
    from collections import Counter

    from .goldens.outcome import FAILED, PASSED, SKIPPED, XFAILED

    counts = Counter(outcome.state for result in results for outcome in result.outcomes)
    counts_shown = [f"{counts[PASSED]} passed", f"{counts[FAILED]} failed"]
    counts_shown += [f"{counts[state]} {state}" for state in (SKIPPED, XFAILED) if counts[state]]
    updated = sum(result.is_written for result in results)
    if counts[FAILED] or not is_quiet():
        click.echo(", ".join(counts_shown + ([f"{updated} updated"] if updated else [])))
    return not counts[FAILED]
