"""`irtool viz`: draws modules."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import click

from . import param_types
from .mistakes import ClashingOptions
from .output import write_text
from .param_facts import ARRAYS, ParamFacts, entry_option, type_options
from .pass_options import PassChoice, pass_options
from .regular_expression import pattern
from .source import file_or_stdin
from .wrong_usage import Command, WrongUsage

if TYPE_CHECKING:
    from ..ir import Module
    from ..viz.drawing import Drawing

_ENDINGS = {".html": "html", ".htm": "html", ".svg": "svg", ".dot": "dot", ".gv": "dot", ".json": "netron"}


@click.command(
    name="viz", cls=Command, short_help="Draw a module: text, SVG, HTML, DOT, or for Netron and Model Explorer."
)
@click.argument("file", type=param_types.MODULE, required=False, callback=file_or_stdin)
@click.option(
    "--format",
    "style",
    type=click.Choice(["text", "html", "svg", "dot", "netron", "model-explorer"]),
    default=None,
    help="Output format. Default: the one that the ending of -o names, otherwise text.",
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
    "--fold/--no-fold",
    "folded",
    default=True,
    show_default=True,
    help="Draw repeated blocks, and values computed from weights alone, as one node each.",
)
@click.option(
    "--pipeline",
    is_flag=True,
    help="Draw the module after each of the passes, with its changes; without --passes, those of a build. An HTML page.",
)
@click.option(
    "--schedule",
    is_flag=True,
    help="Draw the loops of each kernel of a build before and after each primitive of its schedule. An HTML page.",
)
@click.option(
    "--kernel",
    callback=pattern,
    metavar="REGEX",
    default=None,
    help="With --schedule: only kernels whose name has a match of REGEX.",
)
@click.option(
    "--target",
    type=param_types.TARGET,
    metavar="TARGET",
    default="c",
    show_default=True,
    help="With --schedule: the target of the build.",
)
@pass_options("Passes to run first.")
@type_options(ARRAYS)
@entry_option
def command(
    file: str,
    style: str | None,
    output: str | None,
    folded: bool,
    pipeline: bool,
    schedule: bool,
    kernel: re.Pattern[str] | None,
    target: str,
    chosen: PassChoice,
    param_facts: ParamFacts,
    entry: str | None,
) -> None:
    """Draw the functions of a module: operators, their operands, types and sizes of values.

    FILE is Relay text or an ONNX model; `-` is standard input, which is also read if FILE is omitted and input is piped in.
    Weights and constants are in the operators that read them, and repeated blocks are one node each.

    \b
    Examples:
      irtool viz net.relay
      irtool viz net.relay -o net.html
      irtool viz net.relay --pipeline -o passes.html
      irtool viz net.relay --schedule --kernel=conv2d -o loops.html
      irtool viz net.onnx -o net.svg
      irtool viz net.relay -p SimplifyInference,FuseOps --format=dot | dot -Tpdf -o net.pdf
      irtool viz net.relay -o net.json; netron net.json
      irtool viz net.relay --format=model-explorer -o net.json; model-explorer net.json
    """
    asked = style is not None
    if kernel is not None and not schedule:
        raise WrongUsage("--kernel goes with --schedule", ClashingOptions)
    style = style or _ENDINGS.get(os.path.splitext(output or "")[1].lower(), "text")
    if pipeline or schedule:
        style = _page_style(pipeline, schedule, asked or output is not None, style)
    module, text, name = _read(file, param_facts, entry)
    if pipeline or schedule:
        page = (
            _draw_schedule(module, chosen, name, target, kernel)
            if schedule
            else _draw_pipeline(module, chosen, name, folded)
        )
        write_text(output, page)
        return
    if chosen.passes:
        module, text = _transform(module, chosen), None
    from ..viz.module_drawing import draw_module, draw_plainly

    # These programs fold and lay out by themselves.
    drawing = (
        draw_plainly(module, text, name)
        if style in ("netron", "model-explorer")
        else draw_module(module, text, name, folded)
    )
    write_text(output, _write(drawing, style))


def _read(file: str, param_facts: ParamFacts, entry: str | None) -> tuple[Module, str | None, str]:
    """A module, the text of its spans, if it was read from text, and its name."""
    from .input_module import RelayText, module_of, read_input

    input_file = read_input(file)
    module, param_facts = module_of(input_file, param_facts)
    text = input_file.text if isinstance(input_file, RelayText) else None
    module = param_facts.apply(module, entry)
    return module, text, os.path.basename(input_file.name)


def _page_style(pipeline: bool, schedule: bool, is_chosen: bool, style: str) -> str:
    """The format of pages with steps. Raises WrongUsage if another one was chosen."""
    option = "--schedule" if schedule else "--pipeline"
    if pipeline and schedule:
        raise WrongUsage("--pipeline and --schedule are two pages", ClashingOptions)
    if is_chosen and style != "html":
        raise WrongUsage(f"{option} makes an HTML page: --format=html, or -o FILE.html", ClashingOptions)
    return "html"


def _draw_schedule(module: Module, chosen: PassChoice, name: str, target: str, kernel: re.Pattern[str] | None) -> str:
    """The page of the loops of a build's kernels."""
    from ..diagnostics import IrError
    from ..driver.build import build
    from ..schedule.primitives.base import watching
    from ..viz.html import write_steps
    from ..viz.loops import ScheduleRecorder

    recorder = ScheduleRecorder(kernel)
    with watching(recorder):
        build(
            module,
            target=target,
            emit="tir",
            passes=chosen.passes,
            instruments=chosen.instruments or None,
            **chosen.context,
        )
    if not recorder.steps and recorder.left_out:
        raise IrError(f"no kernel has a name like that; there are {', '.join(recorder.left_out)}")
    if not recorder.steps:
        raise IrError("there is no kernel to schedule")
    return write_steps(name, recorder.steps)


def _draw_pipeline(module: Module, chosen: PassChoice, name: str, folded: bool) -> str:
    """The page of a module after each pass."""
    from ..passes import run_passes
    from ..viz.html import write_steps
    from ..viz.pipeline import Recorder, draw_pipeline

    recorder = Recorder()
    level = 2 if chosen.passes else 3
    run_passes(
        module,
        list(chosen.passes) or [f"default<O{level}>"],
        None,
        level,
        instruments=[*chosen.instruments, recorder],
        **chosen.context,
    )
    return write_steps(name, draw_pipeline(recorder.modules or [("input", module)], name, folded))


def _transform(module: Module, chosen: PassChoice) -> Module:
    from ..passes import run_passes

    return run_passes(module, chosen.passes, instruments=list(chosen.instruments), **chosen.context)


def _write(drawing: Drawing, style: str) -> str:
    """The text of a drawing in a format."""
    if style == "html":
        from ..viz.html import write_html

        return write_html(drawing)
    if style == "svg":
        from ..viz.svg import write_svg

        return write_svg(drawing)
    if style == "dot":
        from ..viz.dot import write_dot

        return write_dot(drawing)
    if style == "netron":
        from ..viz.netron import write_netron

        return write_netron(drawing)
    if style == "model-explorer":
        from ..viz.model_explorer import write_model_explorer

        return write_model_explorer(drawing)
    from ..viz.listing import write_listing

    return write_listing(drawing)
