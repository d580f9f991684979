"""The options that print the results of passes and stages, for all commands that run them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from . import param_types
from .grouped import Decorator, grouped
from .pass_options import split_names


@dataclass(frozen=True)
class PrintChoice:
    """The modules to print: names of passes and stages, or `all`; `changed` is empty, `text` or `diff`."""

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    changed: str = ""

    @property
    def prints(self) -> bool:
        """True if anything is printed."""
        return bool(self.before or self.after or self.changed)

    def instruments(
        self, show: Callable[..., str] | None = None, stages: tuple[str, ...] = (), kernel: str = ""
    ) -> list[Any]:
        """The instrument that prints it on standard error, if anything; `stages` are names that are no passes', and `kernel` chooses the kernels of
        programs by a regular expression."""
        if not self.prints:
            return []
        from ..passes.instruments.printing import Printing
        from .colour import is_coloured, paint_diff

        def write(text: str) -> None:
            is_painted = self.changed == "diff" and is_coloured(sys.stderr)
            click.echo(paint_diff(text) if is_painted else text, err=True, nl=False, color=is_painted or None)

        return [Printing(self.before, self.after, self.changed, write, show, stages, kernel)]


def print_options(what: str, steps: str) -> Decorator:
    """Adds the options, and hands the command one `PrintChoice`, `printed`, in their place.

    `what` is printed around which `steps`, in the words of the help.
    """
    changed = click.option(
        "--print-changed",
        is_flag=False,
        flag_value="text",
        default=None,
        type=click.Choice(["text", "diff"]),
        help=f"Print {what} or a diff after each of the {steps} that makes a change, on standard error.",
    )
    return grouped("printed", _choice, _around("before", what, steps), _around("after", what, steps), changed)


def _choice(print_before: tuple[str, ...], print_after: tuple[str, ...], print_changed: str | None) -> PrintChoice:
    return PrintChoice(print_before, print_after, print_changed or "")


def _around(when: str, what: str, steps: str) -> Decorator:
    """`--print-before` or `--print-after`."""
    return click.option(
        f"--print-{when}",
        type=param_types.PASSES,
        multiple=True,
        callback=split_names,
        metavar="NAMES|all",
        help=f"Print {what} {when} these {steps}, on standard error.",
    )
