"""Schedules made by hand: the primitives of chosen stages, read from a text such as `build --explain` prints.

    # the kernel's name, a regular expression; its stage with the most work, or that of a number
    .*conv2d.*:
      split(ax1, [2, 4], [ax1_o, ax1_t])
      vectorize(ax3_v)
    .*softmax.* stage 0:
      part:
        loop_partition(ax0, [[0, 16]])
      part:
        loop_partition(ax0, [[16, 19]])

Every part begins with the whole stage, and what stands before the first one; together they must make all results.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from itertools import pairwise, product
from typing import Any

from ..diagnostics import UsageError, nearest
from . import primitives
from .block import Block
from .forms import Form
from .primitives.base import PART

_HEADER = re.compile(r"(?P<kernel>\S+)(?:\s+stage\s+(?P<stage>\d+))?\s*:")


@dataclass(frozen=True)
class Call:
    """A primitive with its arguments, and the line of the script that it stands in."""

    line: int
    name: str
    args: tuple[Any, ...]
    options: tuple[tuple[str, Any], ...]

    def apply(self, b: Block[Form]) -> Block[Form]:
        """The block after it. Raises UsageError, with the line."""
        try:
            found = getattr(primitives, self.name)(b, *self.args, **dict(self.options))
        except UsageError as error:
            said = error.diagnostics[0]
            raise UsageError(f"line {self.line} of the schedule: {said.message}", help=said.help) from None
        except TypeError as error:
            raise UsageError(
                f"line {self.line} of the schedule: {str(error).removeprefix(f'{self.name}() ')}"
            ) from None
        if not isinstance(found, list):
            return found
        if len(found) != 1:
            raise UsageError(f"line {self.line} of the schedule: {self.name} makes several parts", help=f"write {PART}")
        return found[0]


@dataclass(frozen=True, eq=False)
class Entry:
    """What is done to a stage: `prelude`, then each of the parts."""

    line: int
    kernel: str
    stage: int | None
    prelude: tuple[Call, ...]
    parts: tuple[tuple[Call, ...], ...]

    def apply(self, b: Block[Form]) -> list[Block[Form]]:
        """The parts of a stage. Raises UsageError where they do not make all of its results."""
        for call in self.prelude:
            b = call.apply(b)
        if not self.parts:
            _check_whole([b], self.line)
            return [b]
        if b.tile or b.caches or b.factor:
            raise UsageError(f"the schedule of line {self.line} begins its parts too late", help="loops come first")
        b = replace(Block.of(b.result()), kinds=b.kinds)  # parts are ranges of what the loops are by now
        made = []
        for calls in self.parts:
            part = b
            for call in calls:
                part = call.apply(part)
            made.append(part)
        _check_whole(made, self.line)
        return made


@dataclass
class Script:
    """Entries, and which of them have been found a stage."""

    entries: tuple[Entry, ...] = ()
    used: set[Entry] = field(default_factory=set)


_SCRIPT: ContextVar[Script | None] = ContextVar("script", default=None)


@contextmanager
def scripted(text: str) -> Iterator[None]:
    """Stages that the text names are scheduled by it. Raises UsageError for a text that cannot be read, and at the end for an
    entry that was for no stage."""
    script = Script(tuple(read_script(text)))
    token = _SCRIPT.set(script)
    try:
        yield
    finally:
        _SCRIPT.reset(token)
    for e in script.entries:
        if e not in script.used:
            stage = f" with a map or a reduction as stage {e.stage}" if e.stage is not None else ""
            raise UsageError(
                f"line {e.line} of the schedule: there is no kernel {e.kernel}{stage}", help="--explain names them"
            )


def entry_for(kernel: str, stage: int, main: bool) -> Entry | None:
    """What the present script says of a stage; the first entry that does counts."""
    script = _SCRIPT.get()
    for e in script.entries if script is not None else ():
        if (e.stage == stage or (e.stage is None and main)) and re.fullmatch(e.kernel, kernel):
            assert script is not None
            script.used.add(e)
            return e
    return None


def read_script(text: str) -> list[Entry]:
    """The entries of a script. Raises UsageError, with the line."""
    entries: list[Entry] = []
    groups: list[list[Call]] = []
    header: tuple[int, str, int | None] | None = None

    def finish() -> None:
        if header is not None:
            first, *rest = (tuple(g) for g in groups)
            entries.append(Entry(*header, first, tuple(rest)))

    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].strip()
        if not words:
            continue
        match = _HEADER.fullmatch(words)
        if words == PART:
            if header is None:
                raise UsageError(f"line {number} of the schedule: no kernel is named before it")
            groups.append([])
        elif match is not None:
            finish()
            try:
                re.compile(match["kernel"])
            except re.error as error:
                message = f"line {number} of the schedule: {match['kernel']!r} is no regular expression: {error}"
                raise UsageError(message) from None
            header = (number, match["kernel"], int(match["stage"]) if match["stage"] else None)
            groups = [[]]
        elif header is None:
            raise UsageError(f"line {number} of the schedule: no kernel is named before it", help="NAME: comes first")
        else:
            groups[-1].append(_call(words, number))
    finish()
    return entries


def _call(words: str, number: int) -> Call:
    try:
        tree = ast.parse(words, mode="eval").body
        if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name):
            raise ValueError
        args = tuple(_value(a) for a in tree.args)
        options = tuple((str(k.arg), _value(k.value)) for k in tree.keywords)
    except (SyntaxError, ValueError):
        raise UsageError(f"line {number} of the schedule: {words!r} is not a call such as split(i, [4, 16])") from None
    name = tree.func.id
    known = [n for n in primitives.__all__ if getattr(getattr(primitives, n), "by_hand", False)]
    if name not in known:
        raise UsageError(f"line {number} of the schedule: unknown primitive {name}", help=nearest(name, known))
    return Call(number, name, args, options)


def _value(e: ast.expr) -> Any:
    if isinstance(e, ast.Name):
        return e.id
    if isinstance(e, ast.List | ast.Tuple):
        return [_value(x) for x in e.elts]
    if isinstance(e, ast.Constant) and isinstance(e.value, int | str):
        return e.value
    raise ValueError


def _check_whole(parts: Sequence[Block[Any]], line: int) -> None:
    """Raises UsageError where the parts together do not make all results of a stage, or leave out what is reduced."""
    axes = parts[0].form.loops
    for b in parts:
        for v, n in axes:
            if b.ranges.get(v, (0, n))[1] > n:
                raise UsageError(f"the schedule of line {line} makes more of {v.name} than its {n} steps")
    boxes = [[b.ranges.get(v, (0, n)) for v, n in axes] for b in parts]
    cuts = [sorted({0, n, *(x for box in boxes for x in box[i])}) for i, (_, n) in enumerate(axes)]
    for cell in product(*(list(pairwise(c)) for c in cuts)):
        covered = any(all(lo <= a and b <= hi for (a, b), (lo, hi) in zip(cell, box)) for box in boxes)
        if not covered:
            where = ", ".join(f"{v.name} in [{a}, {b})" for (v, _), (a, b) in zip(axes, cell))
            raise UsageError(f"the schedule of line {line} leaves out results: {where}")
    for b in parts:
        if any(v in b.ranges for v, _ in b.form.inner):
            raise UsageError(f"the schedule of line {line} leaves out a part of what is reduced")
