"""`irtool check`: says everything that is wrong with files."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from . import param_types
from .check_formats import FORMATS
from .param_facts import ARRAYS, ONE_ARRAY, ParamFacts, entry_option, type_options
from .pass_options import loads_files
from .split_input import SplitChoice, split_options
from .verbosity import is_quiet
from .warning_flags import current_flags
from .wrong_usage import Command

if TYPE_CHECKING:
    from ..diagnostics import Diagnostic
    from ..ir import Module
    from .input_module import InputModule


@dataclass(frozen=True)
class Checks:
    """The checks of a command line beside that of the syntax."""

    param_facts: ParamFacts
    entry: str | None
    syntax_only: bool
    round_trip: bool
    partial: bool
    normal_form: bool
    target: str | None


@click.command(name="check", cls=Command, short_help="Report every error in files: syntax, names, types.")
@click.argument("files", type=param_types.MODULE, nargs=-1, required=True)
@click.option("--syntax", "syntax_only", is_flag=True, help="Stop after parsing: no type inference.")
@click.option("--round-trip", is_flag=True, help="Also print the module, read it back, and compare.")
@click.option(
    "--partial", is_flag=True, help="Infer shapes and dtypes separately, as far as possible, and list the unknown ones."
)
@click.option(
    "--basic-block-normal-form",
    "normal_form",
    is_flag=True,
    help="Also report every expression that ToBasicBlockNormalForm would move to another scope.",
)
@click.option(
    "--target",
    type=param_types.BACKEND,
    metavar="BACKEND",
    default=None,
    help="Also report everything that this backend cannot compile (see `irtool backends`).",
)
@type_options(ARRAYS, ONE_ARRAY)
@entry_option
@split_options
@click.option(
    "--format",
    "style",
    type=click.Choice(["text", *FORMATS]),
    default="text",
    show_default=True,
    help="Output format: for people, JSON, annotations of GitHub, or SARIF, which code scanners and editors read.",
)
@click.option("--json", "style", flag_value="json", help="The same as --format=json.")
@loads_files
def command(files: tuple[str, ...], style: str, split: SplitChoice, **asked: Any) -> None:
    """Parse and type-check FILES (`-`: standard input) and report all errors with their locations.

    An undetermined type is a warning; with --target, it is an error. The exit code is 1 if there are errors.

    \b
    Examples:
      irtool check --target=c --shape x=1,3,224,224 net.relay
      irtool check --partial --params weights.npz net.relay
      irtool check --split-input-file --verify-diagnostics cases.relay
    """
    checks = Checks(**asked)
    if checks.target is not None:
        from ..driver.options import choose_backend

        choose_backend(checks.target, {})  # an unknown one is said before anything is read
    diagnostics: list[Diagnostic] = []
    for path in files:
        diagnostics += _check(path, checks, style, split)
    diagnostics = current_flags().applied(diagnostics)
    errors = sum(d.level == "error" for d in diagnostics)
    if style in FORMATS:
        for line in FORMATS[style](diagnostics):
            click.echo(line)
    else:
        from ..diagnostics import render

        if diagnostics:
            from .colour import is_coloured, paint_message

            text = render(diagnostics)
            click.echo(paint_message(text) if is_coloured(sys.stderr) else text, err=True, color=True)
        if not errors and not is_quiet():
            click.echo(f"{len(files)} file{'s' if len(files) > 1 else ''}, no errors")
    if errors:
        raise click.exceptions.Exit(1)


def _check(path: str, checks: Checks, style: str, split: SplitChoice) -> list[Diagnostic]:
    """The problems of the modules in a file, or their differences from those that it expects."""
    from ..diagnostics import IrError, UsageError
    from .input_module import read_input

    try:
        parts = split.parts(read_input(path))
    except UsageError:
        raise
    except IrError as error:
        return [d if d.location else replace(d, filename=path) for d in error.diagnostics]
    return [d for part in parts for d in part.judged(_check_input(part.input_file, checks, style))]


def _check_input(input_file: InputModule, checks: Checks, style: str) -> list[Diagnostic]:
    from ..diagnostics import IrError
    from ..ir.odd_weights import odd_weights

    diagnostics: list[Diagnostic] = []
    try:
        module, param_facts, problems = input_file.examine(checks.param_facts, is_settled=checks.target is not None)
        checks, diagnostics, name = replace(checks, param_facts=param_facts), list(problems), input_file.name
        if module is None or any(d.level == "error" for d in diagnostics):
            return diagnostics
        if not checks.syntax_only:
            diagnostics += odd_weights(module, param_facts.weights)
        if checks.round_trip:
            diagnostics += _round_trip(module, name)
        if checks.normal_form:
            from ..ir.analysis import basic_block_violations

            diagnostics += basic_block_violations(module)
        if checks.partial:
            from .unknown_nodes import find_unknown, show_unknown

            unknown = find_unknown(module, name, checks.param_facts, checks.entry)
            if style == "text":
                click.echo(show_unknown(name, unknown))
            else:
                diagnostics += unknown
        elif not checks.syntax_only:
            diagnostics += _typed(module, checks, diagnostics.append)
    except IrError as error:
        diagnostics += [d if d.location else replace(d, filename=input_file.name) for d in error.diagnostics]
    return diagnostics


def _typed(module: Module, checks: Checks, say: Callable[[Diagnostic], None]) -> list[Diagnostic]:
    from ..infer import infer_known_types
    from ..ir.verify import verify

    problems = list(verify(module))
    if problems:
        return problems
    module = checks.param_facts.apply(module, checks.entry, say)
    module, open_types = infer_known_types(module)
    if checks.target is not None and not open_types:
        from ..driver import unsupported

        return list(unsupported(module, checks.target))
    # An open type is no contradiction, so it is no error; but it cannot be compiled.
    return [d if checks.target else replace(d, level="warning") for d in open_types.values()]


def _round_trip(module: Module, name: str) -> list[Diagnostic]:
    from ..diagnostics import Diagnostic
    from ..ir.structural import structural_equal
    from ..parser import parse
    from ..printer import to_text

    text = to_text(module)
    again = parse(text, filename=f"{name} printed")
    if not structural_equal(module, again):
        return [Diagnostic("the printed text reads back as another module", filename=name)]
    if to_text(again) != text:
        return [Diagnostic("the printed text, read back, prints differently", filename=name)]
    return []
