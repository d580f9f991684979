"""The options about passes that several commands share: each exists once, and means the same everywhere."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import click

from . import param_types
from .grouped import Decorator, grouped


@dataclass(frozen=True)
class PassChoice:
    """The options about passes of a command line.

    `passes` are pipeline texts, one after the other; the rest is as in `PassContext`. `load` names the files that were
    loaded, `instrument_texts` what `instruments` were made from.
    """

    passes: tuple[str, ...] = ()
    required_pass: tuple[str, ...] = ()
    disabled_pass: tuple[str, ...] = ()
    config: tuple[tuple[str, Any], ...] = ()
    load: tuple[str, ...] = ()
    instrument_texts: tuple[str, ...] = ()
    instruments: tuple[Any, ...] = ()

    @property
    def context(self) -> dict[str, Any]:
        """The arguments of `PassContext`, `run_passes` and `build` that say the same."""
        return {
            "required_pass": self.required_pass,
            "disabled_pass": self.disabled_pass,
            "config": dict(self.config),
        }


def split_names(ctx: click.Context, option: click.Parameter, values: Sequence[str]) -> tuple[str, ...]:
    """Names out of `A,B` and repeated options."""
    return tuple(n.strip() for v in values for n in v.split(",") if n.strip())


def _config(ctx: click.Context, option: click.Parameter, values: Sequence[str]) -> tuple[tuple[str, Any], ...]:
    config: dict[str, Any] = {}
    for value in values:
        key, equals, text = value.partition("=")
        if not equals or not key:
            raise click.BadParameter(f"{value!r} is not KEY=VALUE", ctx, option)
        from ..passes.core.pipeline import parse_value

        config[key] = parse_value(text)
    return tuple(config.items())


def _parse_instruments(texts: Sequence[str]) -> tuple[Any, ...]:
    if not texts:
        return ()
    from ..passes.instruments import parse_instrument

    return tuple(map(parse_instrument, texts))


def _load(ctx: click.Context, option: click.Parameter, values: Sequence[str]) -> tuple[str, ...]:
    if values:
        from ..plugin import load_plugins

        load_plugins(*values)
    return tuple(values)


load_option = click.option(
    "--load",
    type=param_types.READ,
    multiple=True,
    metavar="FILE.py",
    is_eager=True,
    callback=_load,
    help="Load a Python file with plug-ins (operators, passes, instruments, …) first. Repeatable.",
)
"""`--load` for every command; the files are loaded before any other option is looked at."""


def loads_files(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--load` to a command that needs no other part of the loaded files."""

    @load_option
    @functools.wraps(function)
    def wrapped(*args: Any, load: tuple[str, ...], **rest: Any) -> Any:
        return function(*args, **rest)

    return wrapped


def _choice(
    pipelines: tuple[str, ...],
    disable_pass: tuple[str, ...],
    require_pass: tuple[str, ...],
    pass_config: tuple[tuple[str, Any], ...],
    instrument_texts: tuple[str, ...],
    load: tuple[str, ...],
) -> PassChoice:
    """The options as one value; unknown names are refused at once, before anything is read."""
    instruments = _parse_instruments(instrument_texts)
    passes = tuple(p for p in pipelines if p.strip())
    chosen = PassChoice(passes, require_pass, disable_pass, pass_config, load, instrument_texts, instruments)
    if require_pass or disable_pass or pass_config:
        from ..passes.core.context import PassContext

        PassContext(**chosen.context)
    return chosen


def pass_options(meaning: str) -> Decorator:
    """Adds `--passes` and related options, and hands the command one `PassChoice`, `chosen`, in their place.

    `meaning` is the help of `--passes`: what they are run on, and when.
    """
    passes_option = click.option(
        "--passes",
        "-p",
        "pipelines",
        type=param_types.PIPELINE,
        multiple=True,
        metavar="A,B{x=1},…",
        help=f"{meaning} Repeatable; runs in order. See `irtool passes`.",
    )
    return grouped("chosen", _choice, passes_option, *_OTHERS, load_option)


_OTHERS = (
    click.option(
        "--disable-pass",
        type=param_types.PASSES,
        multiple=True,
        callback=split_names,
        metavar="NAMES",
        help="Passes to skip in sequences.",
    ),
    click.option(
        "--require-pass",
        type=param_types.PASSES,
        multiple=True,
        callback=split_names,
        metavar="NAMES",
        help="Passes to run in sequences regardless of the level.",
    ),
    click.option(
        "--pass-config",
        type=param_types.OPTION,
        multiple=True,
        callback=_config,
        metavar="KEY=VALUE",
        help="Pass context option, such as relay.FuseOps.max_depth=8. See `irtool passes --list-config`.",
    ),
    click.option(
        "--instrument",
        "instrument_texts",
        type=param_types.INSTRUMENT,
        multiple=True,
        metavar="NAME{x=1}",
        help="Pass instrument. Repeatable. See `irtool passes --list-instruments`.",
    ),
)
"""The options beside `--passes`, which mean the same in every command."""


def report_instruments(instruments: Iterable[Any]) -> None:
    """Prints the final reports of a command's instruments on standard error."""
    for instrument in instruments:
        text = instrument.report()
        if text:
            click.echo(text, err=True)


__all__ = ["PassChoice", "load_option", "loads_files", "pass_options", "report_instruments", "split_names"]
