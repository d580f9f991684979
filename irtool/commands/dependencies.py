"""`irtool build -MD`: a rule of make with the files that a build has read, as compilers write it for their sources."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import click

from ..diagnostics import UsageError
from ..files import TEMPORARY, recorded
from .destination import Destination
from .mistakes import ClashingOptions

_PACKAGE = Path(__file__).parents[1]


@dataclass(frozen=True)
class Rule:
    """The rule of one build: its file, empty if none is asked for, and the files that have been read so far."""

    goal: Destination
    path: str = ""
    files_read: Mapping[str, None] = field(default_factory=dict)

    def texts(self, outputs: Iterable[str], more: Iterable[str]) -> list[tuple[str, str]]:
        """The path and the text, if a rule is asked for; `more` are further files that have been read."""
        return [(self.path, write_rule(self.goal, outputs, [*self.files_read, *more]))] if self.path else []


def begin_rule(depends: bool, path: str | None, goal: Destination, file: str) -> Rule:
    """Begins to record the files that the running command reads. Raises UsageError for a build whose input or output has no name."""
    if not depends and path is None:
        return Rule(goal)
    if goal.folder is None or file == "-":
        what = "standard output" if goal.folder is None else "standard input"
        raise UsageError(f"-MD writes a rule about files, and {what} is none", code=ClashingOptions)
    files_read = click.get_current_context().with_resource(recorded())
    return Rule(goal, path or os.path.join(goal.folder, f"{goal.name}.d"), files_read)


def write_rule(goal: Destination, outputs: Iterable[str], inputs: Iterable[str]) -> str:
    """The text of the rule, with an empty one for each input, so that make goes on when one is removed.

    Args:
        outputs: names of files in the folder of the build.
        inputs: paths of files; those of irtool itself, and temporary ones, are left out.
    """
    # ninja expects the first file that a step has, which is the source.
    ordered = sorted(outputs, key=lambda name: (name != f"{goal.name}.c", name))
    targets = [_escape(os.path.join(goal.folder or "", name)) for name in ordered]
    needed = [_escape(path) for path in dict.fromkeys(inputs) if not _is_internal(path)]
    rule = " \\\n  ".join([f"{' '.join(targets)}:", *needed])
    return "\n".join([rule, *(f"\n{path}:" for path in needed), ""])


def _is_internal(path: str) -> bool:
    parents = Path(os.path.abspath(path)).parents
    return _PACKAGE in parents or any(p.name.startswith(TEMPORARY) for p in parents)


def _escape(path: str) -> str:
    """A path as make reads it."""
    return re.sub(r"([ #])", r"\\\1", path).replace("$", "$$")
