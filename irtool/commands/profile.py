"""`irtool profile`: which kernels, operators and lines of the source take the time of a program that was compiled with hooks."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from . import param_types
from .output import write_text
from .wrong_usage import Command

if TYPE_CHECKING:
    from ..benchmark.profile_log import Profile

_BAR = 12
"""Characters of a bar for all of the time."""


@click.command(
    name="profile", cls=Command, short_help="Show the times of kernels that a compiled program has recorded."
)
@click.argument("log", type=param_types.READ)
@click.option(
    "--by",
    type=click.Choice(["kernel", "operator", "line"]),
    default="kernel",
    show_default=True,
    help="Add the times up by kernel, by its operators, or by their lines in the source.",
)
@click.option(
    "--format",
    "style",
    type=click.Choice(["text", "json", "perfetto"]),
    default="text",
    show_default=True,
    help="A table, the same as JSON, or each call as a trace for https://ui.perfetto.dev.",
)
@click.option("--json", "style", flag_value="json", help="The same as --format=json.")
@click.option("-o", "--output", type=param_types.WRITTEN, metavar="FILE", help="Write to FILE. Default: print.")
def command(log: str, by: str, style: str, output: str | None) -> None:
    """Show the times of kernels in LOG, which a program compiled with -DNAME_PROFILE has printed.

    Programs of --emit=exe and test benches print the log to standard error when they end; others call NAME_profile_write.
    Other output around the log is skipped. `-` reads standard input.

    \b
    Examples:
      irtool build --emit=exe --cflags=-DNET_PROFILE net.onnx && ./net x.raw out.raw 2> net.log
      irtool profile net.log
      irtool profile --by=line net.log
      irtool profile --format=perfetto -o trace.json net.log
    """
    from ..benchmark.profile_log import read_profile, shares, to_perfetto
    from .source import read_text

    profile = read_profile(*read_text(log))
    if style == "perfetto":
        text = to_perfetto(profile)
    elif style == "json":
        import json

        rows = [vars(s) for s in shares(profile, by)]
        record = {"name": profile.name, "hz": profile.hz, "lost": profile.lost, "by": by, "shares": rows}
        text = json.dumps(record, indent=1) + "\n"
    else:
        text = _table(profile, by)
    write_text(output, text)


def _table(profile: Profile, by: str) -> str:
    """The table of shares, most time first, below the sums."""
    from ..benchmark.profile_log import shares
    from ..visible import visible
    from .tables import show_table

    unit = "µs" if profile.hz else "counts"
    total = sum(c.end - c.begin for c in profile.calls)

    def time(counts: float) -> str:
        return f"{counts * 1e6 / profile.hz:.3f}" if profile.hz else f"{counts:.0f}"

    lines = [f"{visible(profile.name)}: {len(profile.calls)} calls of kernels in {time(total)} {unit}"]
    if profile.lost:
        lines.append(f"{profile.lost} earlier calls were lost: the buffer has room for {len(profile.calls)}")
    rows = [(unit, "share", "", "calls", "shortest", "longest", by)]
    for s in shares(profile, by):
        part = s.counts / total if total else 0.0
        bar = "█" * round(_BAR * part)
        rows.append(
            (time(s.counts), f"{100 * part:.1f} %", bar, str(s.calls), time(s.least), time(s.most), visible(s.label))
        )
    widths = [max(len(r[i]) for r in rows) for i in range(6)]
    aligned = [tuple(c if i == 2 else c.rjust(w) for i, (c, w) in enumerate(zip(r, widths))) + (r[-1],) for r in rows]
    return "\n".join([*lines, "", show_table(aligned, widths, stream=sys.stdout), ""])
