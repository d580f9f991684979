"""Manuals of the codes of diagnostics, from their classes: the list, one manual page, and `docs/errors.md`."""

from __future__ import annotations

import inspect
import re
import textwrap

from ..diagnostics import Code, UsageError
from ..did_you_mean import ask, most_alike
from ..plugin.codes import codes
from .manual import for_markdown, for_terminal
from .mistakes import BadValue
from .tables import show_table

_FILE = "example.relay"
_PLUGIN = "plugin.py"
_FOLDER = "out"


def title(cls: type[Code]) -> str:
    """The first paragraph of the docstring, on one line."""
    return " ".join(_manual(cls).split("\n\n")[0].split())


def example_command(cls: type[Code]) -> str:
    """The command that shows the mistake, as one types it: `irtool check example.relay`; empty for a code without an example."""
    command = cls.command.replace("%s", _FILE).replace("%p", _PLUGIN).replace("%t", _FOLDER)
    return f"irtool {command}" if cls.example or "%s" not in cls.command else ""


def list_codes() -> str:
    """One line for each code: its name and its meaning."""
    return show_table([(cls.name, title(cls)) for cls in codes], (5,), head=False)


def find_code(text: str) -> type[Code]:
    """The code that is meant: `E0104`, `error[E0104]` as in messages, or `UnknownOperator`, upper or lower case.

    Raises UsageError, with the nearest codes and names, if there is none.
    """
    match = re.fullmatch(r"(?:error|warning)?\[(\S+)\]:?", text.strip())
    query = match[1] if match else text.strip()
    by_title = {cls.__name__: cls for cls in codes}
    for cls in codes:
        if query.lower() in (cls.name.lower(), cls.__name__.lower()):
            return cls
    known = [*codes.names(), *by_title]
    near = [f"{n} ({by_title[n].name})" if n in by_title else n for n in most_alike(query, known)]
    raise UsageError(f"unknown code {query}", help=ask(near) or "`irtool explain` lists all codes", code=BadValue)


def explain_code(text: str) -> str:
    """The manual page of one code. Raises UsageError for an unknown code."""
    cls = find_code(text)
    origin = codes.origin_of(cls)
    out = [f"{cls.name}: {cls.__name__}", *([origin] if origin else []), "", for_terminal(_manual(cls))]
    for what, text in _files(cls):
        out += ["", f"{what}:", "", textwrap.indent(text.rstrip(), "  ")]
    if example_command(cls):
        out += ["", f"shown by: {example_command(cls)}"]
    return "\n".join(out)


def reference() -> str:
    """The text of `docs/errors.md`."""
    out = [
        "# Codes of errors and warnings",
        "",
        "Generated from the classes of the codes; a test keeps it fresh. `irtool explain CODE` shows an entry; CODE may be its title.",
        "",
        "A diagnostic has its code in brackets: `error[E0104]`. `irtool check --json` gives it as `code`. Messages may change;",
        "a code keeps its meaning.",
        "",
        "`-Werror` makes errors of all warnings, `-Werror=W0101` of those with this code, `-Wno-W0101` does not print them;",
        "`-Werror -Wno-error=W0101` makes errors of all others. A flag that names a code goes before one that names none.",
        "",
    ]
    for cls in codes:
        out += [f"## {cls.name}: {cls.__name__}", "", for_markdown(_manual(cls)), ""]
        for what, text in _files(cls):
            out += [f"{what[0].upper()}{what[1:]}:", "", "```", text.rstrip(), "```", ""]
        if example_command(cls):
            out += [f"Shown by `{example_command(cls)}`.", ""]
    return "\n".join(out).rstrip() + "\n"


def _files(cls: type[Code]) -> list[tuple[str, str]]:
    """The files of the example, each with its kind."""
    files = [(f"the example {_FILE}", cls.example), (f"the plug-in {_PLUGIN}", cls.plugin)]
    return [(what, text) for what, text in files if text]


def _manual(cls: type[Code]) -> str:
    return inspect.getdoc(cls) or ""
