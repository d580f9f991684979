"""The click group: finds commands by their files, and turns every way of failing into one message and an exit code."""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import sys
from collections.abc import Sequence

import click

from .. import __version__
from ..diagnostics import InternalError, IrError, nearest, render
from ..plugin import loading
from ..plugin.mistakes import blame_code
from ..signals import unwrapped_endings
from ..symbolic_int import Undecided
from .byte_counts import byte_count
from .colour import WHEN, is_coloured, paint_message
from .mistakes import UnknownCommand
from .notes import conversions_as_notes
from .source import READ
from .streams import discard_output
from .usage import describe
from .verbosity import choose_colour
from .wrong_usage import WrongUsage


class Commands(click.Group):
    """A group whose members are the modules of `irtool.commands` that define `command`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        # Looks into the files, not the modules: help must not import modules that only one command needs.
        folder = os.path.dirname(__file__)
        return sorted(_command_name(f) for f in os.listdir(folder) if _defines_command(os.path.join(folder, f)))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        try:
            module = importlib.import_module(f"irtool.commands.{cmd_name.replace('-', '_')}")
        except ModuleNotFoundError as error:
            if error.name and error.name.startswith("irtool.commands."):
                return None
            raise
        return getattr(module, "command", None)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple:
        if args and self.get_command(ctx, args[0]) is None and not ctx.resilient_parsing:
            hint = nearest(args[0], self.list_commands(ctx))
            raise WrongUsage(f"no such command: {args[0]}", UnknownCommand, hint, ctx)
        return super().resolve_command(ctx, args)


def _command_name(file: str) -> str:
    return file.removesuffix(".py").replace("_", "-")


def _defines_command(path: str) -> bool:
    if not path.endswith(".py"):
        return False
    with open(path, encoding="utf-8") as source:
        return "\ndef command(" in source.read()


def _print_cmake_folder(ctx: click.Context, is_chosen: bool) -> None:
    if is_chosen:
        click.echo(os.path.join(os.path.dirname(__file__), "templates", "cmake"))
        ctx.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="irtool", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Show Python tracebacks.")
@click.option(
    "--max-size",
    metavar="SIZE",
    callback=byte_count,
    default=None,
    help="Reject texts larger than SIZE bytes; suffixes K, M and G are powers of 1024. Default: no limit.",
)
@click.option(
    "--color",
    type=click.Choice(WHEN),
    default="auto",
    is_eager=True,
    expose_value=False,
    callback=lambda ctx, option, value: choose_colour(ctx, value),
    help="Colour output: on terminals (auto, which respects NO_COLOR, FORCE_COLOR and TERM=dumb), always or never.",
)
@click.option(
    "--cmake-dir",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda ctx, option, value: _print_cmake_folder(ctx, value),
    help="Print the folder of irtool.cmake, which has irtool_add_network, and exit.",
)
def group(debug: bool, max_size: int | None) -> None:
    """The opt and llc of Relay: parse, check, transform, print and compile Relay modules.

    \b
    irtool opt --passes=SimplifyInference,FuseOps in.relay     transform and print
    irtool build --target=c in.relay -o out/                   compile to C and a library
    irtool run --compare interp,c in.relay                     run both ways and compare the outputs

    @FILE stands for the words in a file.
    Exit codes: 0 ok, 1 input rejected or a comparison failed, 2 wrong usage, 3 a bug in irtool, 4 an outside tool failed.
    """


INTERRUPTED = 130
"""The exit code of a command that was interrupted."""

_OUTSIDE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
"""What goes wrong around irtool, and not in it: full disks, limits of the system."""


def execute(arguments: Sequence[str]) -> int:
    """Runs one command line; see `irtool.cli.run`."""
    debug = "--debug" in arguments
    arguments = [a for a in arguments if a != "--debug"]
    loading.warn = _warn
    read: list[tuple[str, str]] = []
    try:
        arguments = _with_response_files(arguments)
        with (
            unwrapped_endings(),
            conversions_as_notes(),
            group.make_context("irtool", list(arguments), color=True) as ctx,
        ):
            ctx.meta[READ] = read
            group.invoke(ctx)
        sys.stdout.flush()
        return 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return 2
    except click.UsageError as error:
        _say(describe(error, arguments))
        return 2
    except click.ClickException as error:
        _say(f"error: {error.format_message()}")
        return 2
    except (click.Abort, KeyboardInterrupt):
        _say("interrupted")
        return INTERRUPTED
    except IrError as error:
        if debug:
            _print_traceback()
        _say(render(error))
        if isinstance(error, InternalError):
            _leave_reproducer(error, arguments, read)
        return error.exit_code
    except BrokenPipeError:
        # The reader (head, less) went away: nothing was lost that anybody wanted.
        discard_output()
        return 0
    except MemoryError:
        _say("error: out of memory")
        return 1
    except Exception as error:  # noqa: BLE001 - a bug of ours must not look like one of the user's
        if isinstance(error, OSError) and error.errno in _OUTSIDE:
            _say(f"error: {error.strerror}" + (f": {error.filename}" if error.filename else ""))
            return 1
        if debug:
            _print_traceback()
        blame = _length_error(error) or blame_code(error)
        if blame is not None:
            _say(render(blame))
            return blame.exit_code
        _say_bug(error)
        _leave_reproducer(error, arguments, read)
        return 3


def _say_bug(error: Exception) -> None:
    """Says that irtool has a bug, and the function that raised the exception."""
    import traceback

    where = traceback.extract_tb(error.__traceback__)[-1]
    place = f"in {where.name} ({os.path.basename(where.filename)}:{where.lineno})"
    _say(f"error: a bug in irtool: {type(error).__name__}: {error}\n  {place}")


def _with_response_files(arguments: Sequence[str]) -> Sequence[str]:
    """The arguments with the words of `@FILE`."""
    if not any(a.startswith("@") for a in arguments):
        return arguments
    from .response_files import expand

    return expand(arguments)


def _length_error(error: Exception) -> IrError | None:
    """The error of a command whose result would differ between lengths; None for another exception."""
    if not isinstance(error, Undecided):
        return None
    return IrError(
        f"the result depends on a length that a run decides: {error}",
        help="say the length (--dim NAME=64), or narrower bounds (--dim '2<=NAME<=64')",
    )


def _print_traceback() -> None:
    import traceback

    traceback.print_exc()


def _say(text: str) -> None:
    with contextlib.suppress(IrError, OSError):  # `finish` tells of output that is lost
        sys.stdout.flush()
    print(paint_message(text) if is_coloured(sys.stderr) else text, file=sys.stderr)


def _warn(message: str) -> None:
    _say(f"warning: {message}")


def _leave_reproducer(error: BaseException, arguments: Sequence[str], read: Sequence[tuple[str, str]]) -> None:
    from .reproducer import write_reproducer

    path = getattr(error, "reproducer", None) or write_reproducer(error, group, arguments, read)
    if path:
        _say(f"note: reproducer written to {path}")
