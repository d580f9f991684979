"""Draws a terminal session, with its colours, for README: `python -m irtool.commands.recording [FILE]` writes docs/session.svg.

Commands run as in the sessions of pages, with coloured output.
"""

from __future__ import annotations

import html
import re
import sys
import tempfile
from pathlib import Path

from .sessions import ROOT, Terminal

COMMANDS = (
    "irtool opt --passes=SimplifyInference,FuseOps --types=none samples/layer.relay",
    "irtool opt --passes=SimplifyInference --print-changed=diff --types=none -o small.relay samples/layer.relay",
    "sed s/units=3/units=5/ samples/layer.relay | irtool check -",
    "irtool build --emit=c --vector=none -o - samples/layer.relay | sed -n '/^static void tvmgen/,/^}/p'",
    "irtool run --compare interp,c --quiet samples/layer.relay",
)
_PROMPT = "\x1b[1;32m$\x1b[0m "
_WIDTH = 139
"""Columns: those of the longest line: a longer one loses its end."""
PLACE = ROOT / "docs" / "session.svg"


def record() -> str:
    """The screen of a terminal, with escape sequences for colours."""
    lines: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        terminal = Terminal(Path(folder), FORCE_COLOR="1", COLUMNS=str(_WIDTH), TERM="xterm-256color")
        for command in COMMANDS:
            lines += [f"{_PROMPT}\x1b[1m{command}\x1b[0m", *terminal.run(command)]
    lines.append(_PROMPT)  # rich cuts the lower edge of the last line off
    return "\n".join(lines)


def draw(recorded: str) -> str:
    """The picture of it, as SVG."""
    import io

    from rich.console import Console
    from rich.text import Text

    console = Console(record=True, width=_WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi(recorded), soft_wrap=True)
    svg = console.export_svg(title="irtool", unique_id="session")
    svg = re.sub(r"^ *@font-face \{.*?\}\n", "", svg, flags=re.MULTILINE | re.DOTALL)  # a picture loads nothing
    return re.sub(r"[ \t]+$", "", svg, flags=re.MULTILINE)


def texts(svg: str) -> list[str]:
    """The pieces of text in a picture, without their colours, which depend on the version of rich."""
    return [
        html.unescape(t).replace("\xa0", " ").strip()
        for t in re.findall(r"<text[^>]*>([^<]*)</text>", svg)
        if t.strip()
    ]


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else PLACE
    target.write_text(draw(record()), encoding="utf-8")
