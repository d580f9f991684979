"""The options about printed text that several commands share."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import click

from .mistakes import ClashingOptions, UnwritableFile
from .notes import say
from .wrong_usage import WrongUsage

types_option = click.option(
    "--types",
    type=click.Choice(["none", "calls", "all"]),
    default="all",
    show_default=True,
    help="Types to print as comments.",
)


def printing_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options, and hands the command one argument `show(module, output=None) -> text` in their place."""

    @types_option
    @click.option("--spans", is_flag=True, help="Print the source location of each expression.")
    @click.option(
        "--constants",
        type=click.Choice(["inline", "elide", "external"]),
        default=None,
        help="Constants in the metadata section, left out, or in an .npz beside the output. Default: inline, but left out on a terminal.",
    )
    @click.option("--portable-names", is_flag=True, help="Rename variables to plain identifiers.")
    @functools.wraps(function)
    def wrapped(*args: Any, types: str, spans: bool, constants: str | None, portable_names: bool, **rest: Any) -> Any:
        def show(module: Any, output: str | None = "-") -> str:
            from ..diagnostics import IrError
            from ..printer import to_text

            terminal = output is None and sys.stdout.isatty()
            how = constants or ("elide" if terminal else "inline")
            options: dict[str, Any] = {"types": types, "spans": spans, "constants": how}
            if portable_names:
                options["portable_names"] = True
            if how == "external":
                if output in (None, "-"):
                    raise WrongUsage("--constants=external needs -o FILE to put the .npz beside", ClashingOptions)
                options["external_path"] = f"{output}.npz"
            try:
                text = to_text(module, **options)
            except OSError as error:
                raise IrError(f"cannot write {output}.npz: {error.strerror or error}", code=UnwritableFile) from None
            if terminal and constants is None and "meta[relay.Constant]" in text:
                say("constants are left out on a terminal; --constants=inline prints them")
            from .colour import is_coloured, paint_relay

            return paint_relay(text) if output is None and is_coloured(sys.stdout) else text

        return function(*args, show=show, **rest)

    return wrapped
