"""`irtool diff`: compares two modules by structure or by results, and shows the places of differences."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from . import param_types
from .mistakes import ClashingOptions
from .notes import say
from .param_facts import ARRAYS, ParamFacts, type_options
from .pass_options import loads_files
from .wrong_usage import Command

if TYPE_CHECKING:
    from ..diagnostics import Diagnostic
    from ..ir import Module

_MOST_PLACES = 10
_MOST_LINES = 200


@click.command(name="diff", cls=Command, short_help="Compare two modules by structure or by results.")
@click.argument("left", type=param_types.MODULE)
@click.argument("right", type=param_types.MODULE)
@click.option(
    "--types",
    type=click.Choice(["none", "calls", "all"]),
    default="none",
    show_default=True,
    help="Types to include in the textual difference.",
)
@click.option("--infer/--no-infer", default=True, show_default=True, help="Infer the types of both modules first.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing; the exit code is the result.")
@click.option(
    "--values",
    is_flag=True,
    help="Compare the results of both modules on random inputs instead of their structure.",
)
@type_options(ARRAYS)
@loads_files
def command(left: str, right: str, types: str, infer: bool, quiet: bool, values: bool, param_facts: ParamFacts) -> None:
    """Compare two modules up to the names of bound variables; print the locations of differences, then a diff.

    For differing constants, report the number of differing elements, the maximum difference and its index. The exit code
    is that of diff(1): 0 if the modules are equal, 1 if they differ, 2 if they cannot be compared.

    \b
    Examples:
      irtool diff before.relay after.relay
      irtool diff --values --params q.npz --dim batch=1 net.onnx q.relay
      irtool diff --values before.relay after.relay                 the results on random inputs, too
      irtool opt -p FuseOps net.relay | irtool diff net.relay -
    """
    from ..diagnostics import IrError, UsageError

    if left == right == "-":
        raise UsageError("standard input can be read once only", code=ClashingOptions)
    try:
        modules = _read(left, right, infer or values, param_facts)
        notes: list[str] = []
        differences = list(
            islice(_value_differences(*modules, notes) if values else _places(*modules), _MOST_PLACES + 1)
        )
        lines = [] if values else _text(*modules, left, right, types)
    except IrError as error:
        if error.exit_code == 1:  # 1 is for modules that differ
            error.exit_code = 2
        raise
    if not quiet:
        for sentence in notes:
            say(sentence)
    if not differences:
        if not quiet:
            click.echo("the values are equal" if values else "equal")
        return
    if not quiet:
        _show(differences, lines)
    raise click.exceptions.Exit(1)


def _read(left: str, right: str, infer: bool, param_facts: ParamFacts) -> tuple[Module, Module]:
    from ..infer import infer_types

    a, b = _read_one(left, param_facts), _read_one(right, param_facts)
    return (infer_types(a), infer_types(b)) if infer else (a, b)


def _read_one(path: str, param_facts: ParamFacts) -> Module:
    """A module with its parameters' known facts: its own weights, and those of the given ones that it has parameters for."""
    from ..parser.params import ParameterFile
    from .input_module import read_module

    module, known = read_module(path, replace(param_facts, params=()))
    functions = module.relay_functions
    if not functions or (known.bound is None and not param_facts):
        return module
    entry = "main" if "main" in functions else next(iter(functions))
    own = known.bound if known.bound is not None else ParameterFile()
    names = {p.name for p in functions[entry].params} - own.keys()
    taken = [
        ParameterFile(param_facts.weights.origins[n], {n: a}) for n, a in param_facts.weights.items() if n in names
    ]
    return replace(known, bound=ParameterFile.merged([own, *taken])).bind(module, entry)


def _places(a: Module, b: Module) -> Iterator[Diagnostic]:
    """A diagnostic for each difference; none if the modules are equal."""
    from ..diagnostics import Diagnostic
    from ..ir import Constant
    from ..ir.difference import differences
    from ..ir.show import show_expr
    from ..ir.structural import structural_equal
    from ..printer import constant_names

    if structural_equal(a, b):
        return
    names = constant_names(a)
    is_any = False
    for d in differences(a, b):
        is_any = True
        shown = names.get(d.left, "constant") if isinstance(d.left, Constant) else ""
        if not shown and d.left is not None and d.function and d.left is not a.functions.get(d.function):
            shown = show_expr(d.left)
        path = " … ".join(p for p in (f"@{d.function}" if d.function else "", shown) if p)
        notes = (f"on the right it is at {d.right_span.location}",) if d.right_span is not None else ()
        yield Diagnostic(f"{path}: {d.message}" if path else d.message, d.left_span, "difference", notes)
    if not is_any:
        yield Diagnostic(
            "the modules differ in sharing: one computes twice a node that the other computes once", level="difference"
        )


def _text(a: Module, b: Module, left: str, right: str, types: str) -> list[str]:
    """The unified diff of the texts, without the values of constants."""
    from ..printer import to_text

    texts = [to_text(m, types=types, constants="elide").splitlines() for m in (a, b)]
    return list(difflib.unified_diff(texts[0], texts[1], left, right, lineterm=""))


def _value_differences(a: Module, b: Module, notes: list[str]) -> Iterator[Diagnostic]:
    """A diagnostic for each function with other results on the right; `notes` get the random inputs used."""
    from ..diagnostics import Diagnostic, IrError
    from ..interp.evaluate import evaluate
    from ..interp.random_inputs import name_random, random_inputs
    from ..ir import Function
    from ..ir.structural import structural_equal
    from ..passes.instruments.values import difference

    both = [n for n in a.relay_functions if n in b.relay_functions]
    if not both:
        raise IrError("the modules have no function in common whose values could be compared")
    entries = ["main"] if "main" in both else both
    for name in entries:
        f, g = a.functions[name], b.functions[name]
        assert isinstance(f, Function) and isinstance(g, Function)
        s, t = ([p.checked_type for p in h.params] for h in (f, g))
        if len(s) != len(t) or not all(map(structural_equal, s, t)):
            yield Diagnostic(f"@{name}: the functions take other parameters", f.span, "difference")
            continue
        inputs: Any = random_inputs(f)
        if f.params:
            notes.append(name_random([p.name for p in f.params], len(f.params), of=name))
        reason = difference(evaluate(a, inputs, entry=name), evaluate(b, inputs, entry=name), 1e-4, 1e-5)
        if reason is not None:
            yield Diagnostic(f"@{name}: {reason}, from left to right", f.span, "difference")


def _show(differences: list[Diagnostic], lines: list[str]) -> None:
    from ..diagnostics import render
    from .colour import is_coloured, paint_diff, paint_message

    is_painted = is_coloured(sys.stdout)
    text = render(differences[:_MOST_PLACES])
    click.echo(paint_message(text) if is_painted else text, color=True)
    if len(differences) > _MOST_PLACES:
        click.echo("… and more")
    if lines:
        click.echo("")
        text = "\n".join(lines[:_MOST_LINES])
        click.echo(paint_diff(text) if is_painted else text, color=True)
    if len(lines) > _MOST_LINES:
        click.echo(f"… {len(lines) - _MOST_LINES} more lines of the texts' difference")
