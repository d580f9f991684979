"""`irtool opt`: runs passes and prints the module."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from . import param_types
from .grouped import grouped
from .mistakes import ClashingOptions, UnwritableFile
from .optional_value import OptionalValues
from .param_facts import ARRAYS, ONE_ARRAY, ParamFacts, entry_option, type_options
from .pass_options import PassChoice, pass_options, report_instruments
from .print_options import PrintChoice, print_options
from .printing import printing_options
from .source import file_or_stdin
from .split_input import SplitChoice, split_options
from .tables import drawer
from .warning_flags import warn

if TYPE_CHECKING:
    from ..ir import Module
    from ..passes.instruments.limit import StopAfter
    from ..passes.instruments.timing import Timing
    from .input_module import InputModule


@dataclass(frozen=True)
class WatchChoice:
    """The checks, timings and dumps of a command line around each pass, and the pass after which it stops."""

    dump_dir: str | None = None
    time_passes: str | None = None
    verify_each: bool = True
    stop_after: str | None = None
    check_values: int = 0
    bisect: bool = False

    def timing(self) -> Timing | None:
        """The instrument behind --time-passes, if it was asked for. What is timed is imported now."""
        if not self.time_passes:
            return None
        from ..passes.instruments.timing import Timing

        timing = Timing(self.time_passes)
        timing.draw = drawer(sys.stderr)
        timing.import_all()
        return timing

    def limit(self) -> StopAfter | None:
        """The instrument behind --stop-after, if it was asked for."""
        if self.stop_after is None:
            return None
        from ..passes.instruments.limit import StopAfter

        return StopAfter(int(self.stop_after) if self.stop_after.isdigit() else self.stop_after)

    def instruments(self, show: Callable[..., str]) -> list[Any]:
        """The instruments that write and check modules."""
        result: list[Any] = [] if self.dump_dir is None else [_dump(self.dump_dir, show)]
        if self.verify_each:
            from ..passes.instruments.verifying import Verifying

            result.append(Verifying())
        if self.check_values:
            from ..passes.instruments.values import CheckValues

            result.append(CheckValues(self.check_values))
        return result


watch_options = grouped(
    "watched",
    WatchChoice,
    click.option(
        "--dump-dir",
        type=param_types.FOLDER,
        metavar="DIR",
        default=None,
        help="Write the module to a numbered file after each pass that changes it.",
    ),
    click.option(
        "--time-passes",
        is_flag=False,
        flag_value="table",
        default=None,
        type=click.Choice(["table", "json"]),
        help="Report the time and operator counts of each pass on standard error.",
    ),
    click.option(
        "--verify-each/--no-verify-each", default=True, show_default=True, help="Verify the module after each pass."
    ),
    click.option(
        "--stop-after",
        type=param_types.PASS,
        metavar="N|NAME",
        default=None,
        help="Stop after N passes, or after this pass.",
    ),
    click.option(
        "--check-values",
        is_flag=False,
        flag_value=1,
        default=0,
        type=click.IntRange(0),
        metavar="[N]",
        help="Evaluate the module before and after each pass on N random inputs (default: 1), and stop "
        "at the first pass that changes results unintentionally.",
    ),
    click.option(
        "--bisect",
        is_flag=True,
        help="Find the first pass that changes results unintentionally, and print the smallest module on which it does "
        "and its values, in place of the module after the passes; exit code 1 if there is one.",
    ),
)
"""The options about what happens around each pass, as one `WatchChoice`, `watched`."""


@click.command(name="opt", cls=OptionalValues, short_help="Run passes on a module and print it.")
@click.argument("file", type=param_types.MODULE, required=False, callback=file_or_stdin)
@pass_options("Passes to run, regardless of their level.")
@click.option(
    "-O",
    "level",
    type=click.IntRange(0, 4),
    default=None,
    help="Run the build pipeline at this level (after --passes).",
)
@click.option(
    "-o",
    "output",
    type=param_types.WRITTEN,
    metavar="FILE",
    default=None,
    help="Write to FILE, atomically, instead of standard output.",
)
@click.option(
    "--func",
    type=param_types.FUNCTION,
    multiple=True,
    metavar="REGEX",
    help="Transform only functions whose name matches (anchored at its start). Repeatable.",
)
@click.option(
    "--allow-no-match", is_flag=True, help="Do not fail if --func, or func(…) in a pipeline, matches no function."
)
@click.option(
    "--opt-level",
    type=click.IntRange(0, 4),
    default=2,
    show_default=True,
    help="Level of the pass context: sequences skip passes of higher levels.",
)
@click.option(
    "--target",
    type=param_types.TARGET,
    metavar="TARGET",
    default=None,
    help='Compilation target, such as "llvm -mcpu=skylake".',
)
@type_options(ARRAYS, ONE_ARRAY)
@entry_option
@print_options("the module", "passes")
@watch_options
@split_options
@click.option(
    "--reproducer",
    type=param_types.WRITTEN,
    metavar="FILE",
    default=None,
    help="File for the reproducer if a pass fails.",
)
@printing_options
def command(file: str, output: str | None, split: SplitChoice, **asked: Any) -> None:
    """Run passes on a module and print the result, with types inferred.

    FILE is Relay text or an ONNX model; `-` is standard input, which is also read if FILE is omitted and input is piped in.

    \b
    Examples:
      irtool opt --passes=SimplifyInference,FuseOps net.relay
      irtool opt --passes='func("^main$", FuseOps{fuse_opt_level=1})' net.relay
      irtool opt -O3 --print-changed=diff --time-passes net.relay
      irtool opt -O3 --bisect --inputs arrays.npz net.relay
      irtool opt --passes=FuseOps --split-input-file --verify-diagnostics cases.relay
    """
    from .output import write_text

    transformation = Transformation(output=output, **asked)
    if split:
        from .input_module import read_input
        from .split_input import transform_parts

        transformation.check_split()
        text = transform_parts(split.parts(read_input(file)), lambda part: transformation.text(lambda: part))
    elif transformation.watched.bisect:
        transformation.bisect(file)
        return
    else:
        from .input_module import read_input

        text = transformation.text(lambda: read_input(file))
    report_instruments(transformation.instruments)
    write_text(output, text)


@dataclass(frozen=True)
class Transformation:
    """The passes of a command line, known facts of the module, and checks and prints around each pass.

    `instruments` are those of all modules that were transformed, for their reports.
    """

    chosen: PassChoice
    level: int | None
    output: str | None
    func: tuple[str, ...]
    allow_no_match: bool
    opt_level: int
    target: str | None
    param_facts: ParamFacts
    entry: str | None
    printed: PrintChoice
    watched: WatchChoice
    reproducer: str | None
    show: Callable[..., str]
    instruments: list[Any] = field(default_factory=list)

    def check_split(self) -> None:
        """Raises UsageError for options that are about one module."""
        from ..diagnostics import UsageError

        one = {"--bisect": self.watched.bisect, "--dump-dir": self.watched.dump_dir, "--reproducer": self.reproducer}
        if clashing := [option for option, value in one.items() if value]:
            raise UsageError(
                f"{' and '.join(clashing)}: only for one module, not for parts of a file", code=ClashingOptions
            )

    def bisect(self, file: str) -> None:
        """Prints the first pass that changes results, and a module that shows it."""
        from .bisecting import bisect
        from .input_module import read_module

        module, param_facts = read_module(file, self.param_facts)
        bisect(
            param_facts.apply(module, self.entry),
            self.chosen,
            self.level,
            self.func or None,
            self.opt_level,
            self.target,
            self.entry or "main",
            self.watched.check_values or 1,
            self.output,
        )

    def text(self, read: Callable[[], InputModule]) -> str:
        """The text of the module in a file after the passes."""
        from .input_module import module_of

        timing, limit = self.watched.timing(), self.watched.limit()
        with _stage(timing, "parse"):
            module, param_facts = module_of(read(), self.param_facts)
        module = param_facts.apply(module, self.entry)
        instruments = [*self.chosen.instruments, *([limit] if limit is not None else [])]
        instruments += [*self.printed.instruments(self.show), *self.watched.instruments(self.show)]
        if timing is not None:
            instruments = [timing.watch(i, _STAGES.get(type(i).__name__, type(i).__name__)) for i in instruments]
            instruments.append(timing)
        module = self._after_passes(module, instruments)
        if limit is not None:
            limit.check_reached()
        with _stage(timing, "print"):
            text = self.show(module, output=self.output)
        self.instruments.extend(i for i in instruments if i not in self.instruments)
        return text

    def _after_passes(self, module: Module, instruments: list[Any]) -> Module:
        """The module after the passes. Of one that fails by a bug, a reproducer is written."""
        from ..diagnostics import InternalError
        from ..passes import run_passes
        from ..plugin import PluginError

        level = self.level
        try:
            return run_passes(
                module,
                [*self.chosen.passes, *([] if level is None else [f"default<O{level}>"])],
                self.func or None,
                self.opt_level if level is None else level,
                target=self.target,
                instruments=instruments,
                allow_no_match=self.allow_no_match,
                warn=warn,
                **self.chosen.context,
            )
        except (InternalError, PluginError) as error:
            if isinstance(error, PluginError) and (error.failed is None or self.reproducer is None):
                raise
            path = _reproduce(error, self.chosen, self.watched, self.reproducer)
            if isinstance(error, InternalError):
                error.reproducer = path
            raise


def _reproduce(error: BaseException, chosen: PassChoice, watched: WatchChoice, path: str | None) -> str:
    """Writes a reproducer of a failed pass, and returns its path; empty if it cannot be written."""
    from .reproducer import write_reproducer

    further = [f"--instrument={text}" for text in chosen.instrument_texts]
    further += [f"--check-values={watched.check_values}"] if watched.check_values else []
    group = click.get_current_context().find_root().command
    assert isinstance(group, click.Group)
    return write_reproducer(error, group, further=further, path=path)


def _stage(timing: Timing | None, name: str) -> AbstractContextManager[None]:
    """A context whose time counts as that of the stage `name`, if anything is timed."""
    return contextlib.nullcontext() if timing is None else timing.stage(name)


_STAGES = {"Verifying": "verify", "Printing": "print passes", "Dump": "dump", "CheckValues": "check values"}
"""What `--time-passes` calls the time of instruments."""


def _dump(folder: str, show: Callable[..., str]) -> Any:
    from ..diagnostics import IrError
    from ..passes.instruments.dump import Dump
    from .output import write_text

    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise IrError(f"cannot write to {folder}: {error.strerror}", code=UnwritableFile) from None
    return Dump(folder, lambda name, text: write_text(os.path.join(folder, name), text, follow=False), show)
