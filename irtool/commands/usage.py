"""Messages for a wrong command line: one sentence, its usage, and a suggestion."""

from __future__ import annotations

import re
from collections.abc import Sequence

import click
from click.exceptions import BadOptionUsage, MissingParameter, NoSuchOption

from ..diagnostics import Code
from ..did_you_mean import ask, most_alike
from .mistakes import BadValue, MissingWord, TooManyArguments, UnknownOption
from .wrong_usage import ExtraArguments, WrongUsage, refused_value

_BRACES_LOST = re.compile(r"(?:-p|--passes=)?([A-Z]\w*)=.*", re.DOTALL)
_OTHERS_WORDS = {
    "--disabled-pass": "--disable-pass",
    "--required-pass": "--require-pass",
    "--pass-pipeline": "--passes",
    "--module-name": "--name",
    "--output": "-o",
    "--fill-mode": "--seed",
    "--print-time": "--time-passes",
    "--timing": "--time-passes",
    "--mlir-timing": "--time-passes",
    "--print-ir-after-all": "--print-after=all",
    "--print-ir-before-all": "--print-before=all",
    "--verify": "--verify-each",
    "--target": "--via",
}
"""Options of tvmc, mlir-opt, opt and other commands of irtool, and their names here."""


def describe(error: click.UsageError, command_line: Sequence[str]) -> str:
    """The message on a command line of these words."""
    command = error.ctx.command if error.ctx is not None else None
    lines = [f"error[{_code(error).name}]: {_sentence(error, command_line)}"]
    if error.ctx is not None and command is not None:
        lines.append(f"usage: {' '.join([error.ctx.command_path, *command.collect_usage_pieces(error.ctx)])}")
    help = error.hint if isinstance(error, WrongUsage) and error.hint else _help(error, command_line)
    if help:
        lines.append(f"help: {help}")
    elif error.ctx is not None:
        lines.append(f"help: `{error.ctx.command_path} --help` explains it")
    return "\n".join(lines)


def _code(error: click.UsageError) -> type[Code]:
    if isinstance(error, WrongUsage):
        return error.code
    if isinstance(error, NoSuchOption):
        return UnknownOption
    if isinstance(error, ExtraArguments):
        return TooManyArguments
    if isinstance(error, MissingParameter) or (isinstance(error, BadOptionUsage) and not _is_flag(error)):
        return MissingWord
    return BadValue


def _sentence(error: click.UsageError, command_line: Sequence[str]) -> str:
    if isinstance(error, MissingParameter):
        return _missing(error)
    if isinstance(error, NoSuchOption):
        return f"there is no option {error.option_name}"
    if isinstance(error, click.BadParameter):
        return _bad_value(error, refused_value(error, command_line))
    if isinstance(error, BadOptionUsage):
        return f"{error.option_name} {'takes no value' if _is_flag(error) else 'needs a value'}"
    if isinstance(error, ExtraArguments) and error.ctx is not None:
        taken = [p.make_metavar(error.ctx) for p in error.ctx.command.params if isinstance(p, click.Argument)]
        names = " ".join(taken) or "no argument"
        return f"{error.ctx.info_name} takes {names} and nothing more, but there is also {' '.join(error.arguments)}"
    return _lowered(error.message)


def _is_flag(error: BadOptionUsage) -> bool:
    """True if the option is one that takes no value."""
    known = error.ctx.command.get_params(error.ctx) if error.ctx is not None else []
    return any(
        isinstance(p, click.Option) and p.is_flag and error.option_name in (*p.opts, *p.secondary_opts) for p in known
    )


def _lowered(message: str) -> str:
    """A message of click's as irtool writes them: no capital, no full stop."""
    message = message.removesuffix(".")
    return message[:1].lower() + message[1:] if message[1:2].islower() else message


def _missing(error: MissingParameter) -> str:
    parameter, ctx = error.param, error.ctx
    if isinstance(parameter, click.Argument) and ctx is not None:
        return f"{parameter.make_metavar(ctx).strip('[]').removesuffix('...')} is missing"
    return f"{parameter.opts[-1] if parameter is not None else 'an option'} is missing"


def _bad_value(error: click.BadParameter, value: str | None) -> str:
    parameter = error.param
    name = error.param_hint or (parameter.opts[0] if isinstance(parameter, click.Option) else "")
    if not isinstance(name, str):
        name = " / ".join(name)
    if not name and parameter is not None and error.ctx is not None:
        name = (parameter.name or "").upper()
    kind = parameter.type if parameter is not None else None
    if value is not None and isinstance(kind, click.IntRange | click.FloatRange):
        whole = "whole number" if isinstance(kind, click.IntRange) else "number"
        return f"{name} takes a {whole}{_range(kind)}, not {value!r}"
    if value is not None and isinstance(kind, click.types.IntParamType | click.types.FloatParamType):
        return f"{name} takes a {'whole ' if kind is click.INT else ''}number, not {value!r}"
    if value is not None and isinstance(kind, click.Choice):
        *most, last = map(str, kind.choices)
        return f"{name} takes {', '.join(most)}{' or ' if most else ''}{last}, not {value!r}"
    return f"{name}: {_lowered(error.message)}" if name else _lowered(error.message)


def _range(kind: click.IntRange | click.FloatRange) -> str:
    if kind.min is not None and kind.max is not None:
        return f" from {kind.min} to {kind.max}"
    if kind.min is not None:
        return f" of at least {kind.min}"
    return f" of at most {kind.max}" if kind.max is not None else ""


def _help(error: click.UsageError, command_line: Sequence[str]) -> str:
    """The suggestion; empty if none is known."""
    if isinstance(error, NoSuchOption) and error.ctx is not None:
        known = [
            o
            for p in error.ctx.command.get_params(error.ctx)
            if isinstance(p, click.Option)
            for o in (*p.opts, *p.secondary_opts)
        ]
        other = _OTHERS_WORDS.get(error.option_name, "")
        return ask([other] if other.partition("=")[0] in known else most_alike(error.option_name, known))
    if isinstance(error, click.BadParameter) and error.param is not None and isinstance(error.param.type, click.Choice):
        value = refused_value(error, command_line)
        return ask(most_alike(value, map(str, error.param.type.choices))) if value is not None else ""
    if (
        isinstance(error, MissingParameter)
        and isinstance(error.param, click.Argument)
        and error.param.name in ("file", "files")
    ):
        return "name a file of Relay text, or - for standard input"
    if isinstance(error, ExtraArguments):
        return lost_braces(command_line) or _one_by_one(error)
    return ""


def _one_by_one(error: click.UsageError) -> str:
    is_build = error.ctx is not None and error.ctx.info_name in ("build", "run", "opt")
    return f"run irtool {error.ctx.info_name} once for each file" if is_build and error.ctx is not None else ""


def lost_braces(command_line: Sequence[str]) -> str:
    """Advice where a shell has taken `A{x=1,y=2}` apart into `Ax=1` and `Ay=2`."""
    from ..passes.core.pipeline import pass_before_option, quote_braces

    for word in command_line:
        match = _BRACES_LOST.fullmatch(word)
        if match is not None and (name := pass_before_option(match[1])):
            return quote_braces(name, match[1][len(name) :])
    return ""
