"""Schedules by hand: primitives for chosen stages, read from a text such as `build --explain` prints.

    # a regular expression for the kernel's name; then its stage with the most work, or the stage of a number
    .*conv2d.*:
      split(ax1, [2, 4], [ax1_o, ax1_t])
      vectorize(ax3_v)
    .*softmax.* stage 0:
      part:
        loop_partition(ax0, [[0, 16]])
      part:
        loop_partition(ax0, [[16, 19]])
    .*dense.*:
      pack(p1, along=ax1, lanes=8)
      compute_at(packed)
      packed:
        vectorize(col)
      cache_write(ax1)

`choose` gives a stage the candidate of a strategy with a label, as tables of measurements have it::

    .*softmax.*:
      choose("attention: 16 rows")

`attention`, `winograd`, `strassen`, `combine_rows`, `partition_windows` and `unroll_windows` split a stage into several. They
come first; the calls for each of the new stages follow below its name::

    .*conv2d_nn_relu:
      winograd(tile=4, tiles=14, filters=64, lanes=16)
      data:
        vectorize(v)
      product:
        split(o, [1, 4, 16])
        …

Every part begins with the entire stage, after the calls before the first part; together the parts must compute all results. The
fill of a copy is scheduled under its name, like a stage. Calls for a part or a copy are indented further; parts may have copies
and parts.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from ...diagnostics import UsageError, nearest
from ...tir.forms import AnyForm
from ...tir.stmt import Stmt
from ...tir.vector_target import VectorTarget
from .. import primitives
from ..core.block import Block
from ..core.forms import Form, Map, Reduction
from ..core.nest import lower_all
from ..core.staged import StagedNest, is_shared
from ..primitives.base import PART, arguments_of
from ..windows.bands import Banded
from .coverage import check_whole

Answer = TypeVar("Answer")

_BANDS = "compute_in_bands"
_CHOOSE = "choose"
_PRIMITIVES = tuple(n for n in primitives.__all__ if getattr(getattr(primitives, n), "by_hand", False))
MAKERS = tuple(n for n in _PRIMITIVES if getattr(getattr(primitives, n), "makes_stages", False))
"""Primitives that split a stage into several."""

_HEADER = re.compile(r"(?P<kernel>\S+)(?:\s+stage\s+(?P<stage>\d+))?\s*:")


@dataclass(frozen=True)
class PrimitiveCall:
    """A primitive with its arguments, and its line in the script."""

    line: int
    name: str
    args: tuple[Any, ...]
    options: tuple[tuple[str, Any], ...]

    def apply(self, b: Block[Form]) -> Block[Form]:
        """The block after the call. Raises UsageError, with the line."""
        if self.name == _BANDS:
            raise self.refused(
                f"{_BANDS} is for two stages", help="it comes first, for a stage that the next one reads"
            )
        if self.name in MAKERS:
            raise self.refused(f"{self.name} splits an entire stage", help="it comes first, without others")
        block = self._call(b)
        if not isinstance(block, list):
            return block
        if len(block) != 1:
            raise self.refused(f"{self.name} gives several parts", help=f"write {PART}")
        return block[0]

    def on_stages(self, copy: Map, reader: Reduction) -> Banded:
        """Both stages in bands. Raises UsageError, with the line."""
        banded: Banded = self._call((copy, reader))
        return banded

    def on_form(self, form: AnyForm) -> StagedNest:
        """The stages into which the call splits a form. Raises UsageError, with the line."""
        nest: StagedNest = self._call(form)
        return nest

    def with_arguments(self, function: Callable[..., Answer]) -> Answer:
        """The value of a function called with the arguments of the primitive, by their names. Raises UsageError, with the
        line."""

        def named(_: None, *args: Any, **options: Any) -> Answer:
            return function(**arguments_of(getattr(primitives, self.name), args, options))

        return self._located(named, None)

    def refused(self, message: str, help: str = "") -> UsageError:
        """An error with the line."""
        return UsageError(f"line {self.line} of the schedule: {message}", help=help or None)

    def _call(self, first: Any) -> Any:
        return self._located(getattr(primitives, self.name), first)

    def _located(self, function: Callable[..., Answer], first: Any) -> Answer:
        try:
            return function(first, *self.args, **dict(self.options))
        except UsageError as error:
            raise _at_line(self.line, error) from None
        except TypeError as error:
            raise self.refused(str(error).removeprefix(f"{self.name}() ")) from None


@dataclass
class BlockScript:
    """The steps for a block, in order: calls, and groups for fills of its copies; then the script of each part."""

    line: int
    name: str = ""
    steps: list[PrimitiveCall | BlockScript] = field(default_factory=list)
    parts: list[BlockScript] = field(default_factory=list)

    def apply(self, b: Block[Form]) -> list[Block[Form]]:
        """The parts of a block. Raises UsageError if they do not compute all of its results."""
        blocks = self._run(b)
        check_whole(blocks, b.form, self.line)
        return blocks

    def _run(self, b: Block[Form]) -> list[Block[Form]]:
        forms: list[Map | Reduction] = [b.form]
        for step in self.steps:
            b = step.apply(b) if isinstance(step, PrimitiveCall) else step.fill(b)
            if b.form.loops is not forms[-1].loops:
                forms.append(b.form)
        try:
            b.check_placed() if self.parts else b.check_ready()
        except UsageError as error:
            raise _at_line(self.line, error) from None
        blocks = self._parts(b) if self.parts else [b]
        for form in forms[1:]:  # axes of copies; the caller checks the first ones
            check_whole(blocks, form, self.line)
        return blocks

    def _parts(self, b: Block[Form]) -> list[Block[Form]]:
        if b.tile or b.caches or b.factor:
            raise UsageError(f"the schedule of line {self.line} begins its parts too late", help="loops come first")
        b = b.again()  # parts are ranges of the current loops
        blocks: list[Block[Form]] = []
        for p in self.parts:
            with primitives.part(max(2, len(self.parts))):
                blocks += p._run(b)
        check_whole(blocks, b.form, self.line)
        return blocks

    def fill(self, b: Block[Form]) -> Block[Form]:
        """The block, with the fill of a copy scheduled. Raises UsageError, with the line."""
        try:
            parts = b.fill(self.name)
        except UsageError as error:
            raise _at_line(self.line, error) from None
        if len(parts) != 1 or parts[0].loops is not parts[0].form.loops:
            raise UsageError(f"line {self.line} of the schedule: {self.name} is scheduled already")
        with primitives.copy(self.name):
            return b.with_fill(self.name, self.apply(parts[0]))


@dataclass(frozen=True, eq=False)
class Entry:
    """The script for a stage of the kernels whose names match: the stage of that number, or the one with the most work."""

    kernel: str
    stage: int | None
    group: BlockScript

    bands: PrimitiveCall | None = None
    """The call for the stage and the next one together, before all others."""

    nest: PrimitiveCall | None = None
    """The call that splits the stage into several; the groups are for these."""

    offer: str = ""
    """The label of the candidate that the stage gets, in place of primitives."""

    @property
    def line(self) -> int:
        """The line at which the entry begins."""
        return self.group.line

    def refused(self, message: str, help: str) -> UsageError:
        """An error with the line."""
        return UsageError(f"line {self.line} of the schedule: {message}", help=help)

    def apply(self, b: Block[Form]) -> list[Block[Form]]:
        """The parts of a stage. Raises UsageError if they do not compute all of its results."""
        return self.group.apply(b)

    def lower_stages(self, form: AnyForm, target: VectorTarget) -> Stmt:
        """The nest of a stage that is split into several. Raises UsageError, with the line."""
        assert self.nest is not None
        nest = self.nest.on_form(form)
        nests: dict[str, list[Stmt]] = {}
        for group in self.group.steps:
            assert isinstance(group, BlockScript), "calls are refused when a script is read"
            try:
                stage = nest.stage(group.name)
                if group.name in nests:
                    raise UsageError(f"{group.name} is scheduled already")
            except UsageError as error:
                raise _at_line(group.line, error) from None
            first, *others = stage.forms
            with primitives.stage(group.name, ""):
                nests[group.name] = [lower_all(group.apply(Block.of(first)), target)]
            with primitives.untraced():
                nests[group.name] += [lower_all(group.apply(Block.of(f)), target) for f in others]
            if stage.private and any(map(is_shared, nests[group.name])):
                raise UsageError(f"line {group.line} of the schedule: threads share the loops around {group.name}")
        return nest.lower(nests)


@dataclass
class Script:
    """The entries of a script, and those among them that matched a stage."""

    entries: tuple[Entry, ...] = ()
    used: set[Entry] = field(default_factory=set)


_SCRIPT: ContextVar[Script | None] = ContextVar("script", default=None)


@contextmanager
def scripted(text: str) -> Iterator[None]:
    """Schedules the stages that the text names by it. Raises UsageError for a text that cannot be read, and at the end for an
    entry that matched no stage."""
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
                f"line {e.line} of the schedule: no kernel matches {e.kernel}{stage}", help="--explain names them"
            )


def entry_for(kernel: str, stage: int, main: bool) -> Entry | None:
    """The first entry of the current script for a stage; None without one. `main`: the stage has the most work of its kernel."""
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
    open_groups: list[_Open] = []
    for number, line in enumerate(text.expandtabs().splitlines(), 1):
        statement = line.partition("#")[0].strip()
        if not statement:
            continue
        indent = len(line) - len(line.lstrip())
        match = _HEADER.fullmatch(statement)
        if match is not None and statement != PART and (not open_groups or indent <= open_groups[0].indent):
            entries.append(_entry(match, number))
            open_groups = [_Open(indent, entries[-1].group)]
            continue
        if not open_groups:
            help = None if statement == PART else "NAME: comes first"
            raise UsageError(f"line {number} of the schedule: no kernel is named before it", help=help)
        while len(open_groups) > 1 and open_groups[-1].ends(indent, match is not None):
            open_groups.pop()
        here = open_groups[-1]
        here.body = indent if here.body is None else here.body
        if match is None:
            here.add(_call(statement, number))
            continue
        group = BlockScript(number, statement.removesuffix(":").strip())
        if statement == PART:
            here.group.parts.append(group)
        else:
            here.add(group)
        open_groups.append(_Open(indent, group))
    return [_with_offer(_with_nest(_with_bands(e))) for e in entries]


def _with_offer(e: Entry) -> Entry:
    """The entry with its candidate. Raises UsageError unless `choose` is the only call, with one label."""
    calls = [s for s in e.group.steps if isinstance(s, PrimitiveCall) and s.name == _CHOOSE]
    if not calls:
        return e
    labels = calls[0].args
    if e.bands or e.group.parts or len(e.group.steps) > 1 or len(labels) != 1 or not isinstance(labels[0], str):
        raise calls[0].refused(f"{_CHOOSE} stands alone, with the label of an offer")
    return replace(e, offer=labels[0])


def _with_nest(e: Entry) -> Entry:
    """The entry with its call that splits the stage. Raises UsageError if other calls are for the stage before it is split."""
    first = e.group.steps[0] if e.group.steps else None
    if not isinstance(first, PrimitiveCall) or first.name not in MAKERS:
        return e
    others = e.group.steps[1:]
    line = next((s.line for s in (*others, *e.group.parts) if isinstance(s, PrimitiveCall) or s in e.group.parts), None)
    if line is not None:
        raise UsageError(
            f"line {line} of the schedule: {first.name} has split the stage", help="NAME: chooses one of the new stages"
        )
    return replace(e, nest=first, group=replace(e.group, steps=others))


def _with_bands(e: Entry) -> Entry:
    first = e.group.steps[0] if e.group.steps else None
    if not isinstance(first, PrimitiveCall) or first.name != _BANDS:
        return e
    return replace(e, bands=first, group=replace(e.group, steps=e.group.steps[1:]))


@dataclass
class _Open:
    """A group to which lines are added. `indent`: that of its header; `body`: that of its first line."""

    indent: int
    group: BlockScript
    body: int | None = None

    def ends(self, indent: int, is_header: bool) -> bool:
        """True if a line no longer belongs to the group. Calls may have the indentation of their header."""
        return indent < (self.indent if self.body is None else self.body) or (is_header and indent <= self.indent)

    def add(self, step: PrimitiveCall | BlockScript) -> None:
        """Adds a step. Raises UsageError behind parts."""
        if self.group.parts:
            raise UsageError(
                f"line {step.line} of the schedule: it follows the parts", help="indent the calls for a part"
            )
        self.group.steps.append(step)


def _entry(match: re.Match[str], number: int) -> Entry:
    try:
        re.compile(match["kernel"])
    except re.error as error:
        message = f"line {number} of the schedule: {match['kernel']!r} is no regular expression: {error}"
        raise UsageError(message) from None
    return Entry(match["kernel"], int(match["stage"]) if match["stage"] else None, BlockScript(number))


def _at_line(line: int, error: UsageError) -> UsageError:
    """The error, with a line of the schedule."""
    diagnostic = error.diagnostics[0]
    return UsageError(f"line {line} of the schedule: {diagnostic.message}", help=diagnostic.help)


def _call(statement: str, number: int) -> PrimitiveCall:
    try:
        tree = ast.parse(statement, mode="eval").body
        if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name):
            raise ValueError
        args = tuple(_value(a) for a in tree.args)
        options = tuple((str(k.arg), _value(k.value)) for k in tree.keywords)
    except (SyntaxError, ValueError):
        raise UsageError(
            f"line {number} of the schedule: {statement!r} is not a call such as split(i, [4, 16])"
        ) from None
    name = tree.func.id
    if name not in _PRIMITIVES and name != _CHOOSE:
        raise UsageError(f"line {number} of the schedule: unknown primitive {name}", help=nearest(name, _PRIMITIVES))
    return PrimitiveCall(number, name, args, options)


def _value(e: ast.expr) -> Any:
    if isinstance(e, ast.Name):
        return e.id
    if isinstance(e, ast.List | ast.Tuple):
        return [_value(x) for x in e.elts]
    if isinstance(e, ast.Subscript) and isinstance(e.value, ast.Name):
        return f"{e.value.id}[{_value(e.slice)}]"
    if isinstance(e, ast.Constant) and isinstance(e.value, int | str):
        return e.value
    raise ValueError
