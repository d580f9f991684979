"""The files of a library in the layout of another build system: the C in its folders, with manifests and an example made of templates."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from .... import __version__
from ...c_types import stored_type
from ...interface.comment import inside
from ...interface.entry import EntryPoint
from ..banner import LICENCE

_HERE = Path(__file__).parent
_SPDX = "LicenseRef-owner"
"""The licence field of manifests: the network's owner decides."""

KINDS = ("arduino", "zephyr", "esp-idf", "cmsis-pack", "platformio")
"""The layouts, in the words of `--emit`; each has a table in `layouts.toml`."""


@cache
def _layouts() -> dict[str, Any]:
    import tomllib  # not for builds without a library

    return tomllib.loads((_HERE / "layouts.toml").read_text(encoding="utf-8"))


def library_files(
    kind: str, name: str, entry: EntryPoint, files: Mapping[str, Any], sources: Sequence[str], stack_bytes: int
) -> dict[str, Any]:
    """The files of a library, by place.

    Args:
        kind: one of `KINDS`.
        entry: the function that the example calls.
        files: the contents of the build's files.
        sources: the names of its C sources.
        stack_bytes: the most stack of a run.
    """
    row = _layouts()[kind]
    about = f"the network {name}"
    tensors, begin, run, first = _example(entry, name)
    fields = {
        "NAME": name,
        "UPPER": name.upper(),
        "VERSION": __version__,
        "ABOUT": about[0].upper() + about[1:],
        "ABOUT_IN_C": inside(about),
        "LICENCE": _SPDX,
        "OWNER": LICENCE,
        "SOURCES": _separator(row["line"]).join(row["line"].replace("@FILE@", s) for s in sources),
        "STACK": str(4096 + stack_bytes),
        "TENSORS": tensors,
        "BEGIN": begin,
        "RUN": run,
        "FIRST": first,
        "FIRST_SIZE": _size_of_first(entry),
    }
    placed = {}
    for file, content in files.items():
        folder = row["sources"] if file in sources or file.endswith(".h") else row["further"]
        placed[f"{folder}/{file}"] = content
    for place, template in row["files"].items():
        text = (_HERE / "templates" / template).read_text(encoding="utf-8")
        placed[_filled(place, fields)] = [_filled(text, fields).encode()]
    return placed


def _size_of_first(entry: EntryPoint) -> str:
    """The macro with the number of elements of the first output."""
    return f"{entry.outputs[0].macro}_SIZE" if entry.outputs else "0u"


def _separator(line: str) -> str:
    return " " if line.startswith('"') else "\n"


def _example(entry: EntryPoint, name: str) -> tuple[str, str, str, str]:
    """The declarations of an example, its first statements, the call, and its first output."""
    declared = [f"static {stored_type(p.slot.dtype)} {name}_{p.name}[{p.macro}_SIZE];" for p in entry.tensors]
    arguments = [f"{name}_{p.name}" for p in entry.tensors]
    begin = ""
    if entry.instance is not None:
        declared.append(f"static struct {name}_net {name}_instance;")
        arguments.insert(0, f"&{name}_instance")
        begin = f"  {name}_init(&{name}_instance);\n"
    first = f"{name}_{entry.outputs[0].name}" if entry.outputs else "(const char *)0"
    return "\n".join(declared), begin, f"{entry.run}({', '.join(arguments)})", first


def _filled(text: str, fields: Mapping[str, str]) -> str:
    return re.sub(r"@([A-Z_]+)@", lambda match: fields[match[1]], text)
