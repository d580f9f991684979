"""The index of irtool's own plug-ins: their names, modules and first sentences, known without importing any of them.

`index.json` beside this file is generated from the classes (`python -m irtool.commands.references`), and a test fails when it
is stale. A name that it lacks is looked for as if there were no index, so that a stale one costs time and nothing else.
"""

from __future__ import annotations

import functools
import json
import pkgutil
from collections.abc import Mapping


@functools.cache
def _whole() -> Mapping[str, Mapping[str, tuple[str, str]]]:
    try:
        return json.loads(pkgutil.get_data(__package__, "index.json") or b"{}")
    except FileNotFoundError:
        return {}


def indexed(kind: str) -> Mapping[str, tuple[str, str]]:
    """By name, in order: the module that defines it and a sentence on it.

    Kinds are those of registries (`operator`, `pass`, `instrument`), `pipeline`, and `option` for keys of
    `PassContext.config`.
    """
    return _whole().get(kind, {})


def written(entries: Mapping[str, Mapping[str, tuple[str, str]]]) -> str:
    """The text of an index, a line for each name."""
    sections = []
    for kind, names in entries.items():
        rows = ",\n".join(f"  {json.dumps(n)}: {json.dumps(list(e))}" for n, e in sorted(names.items()))
        sections.append(f"{json.dumps(kind)}: {{\n{rows}\n}}")
    return "{\n" + ",\n".join(sections) + "\n}\n"
