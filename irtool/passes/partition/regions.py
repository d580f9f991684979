"""The regions of a function: the nodes between the marks of a compiler's begin and end.

A region grows downstream: each `compiler_begin` opens one, a node belongs to the region of its arguments, and where a node
takes arguments from several open regions, they become one. A `compiler_end` closes the edge that it stands on: what follows
it is outside. A region may have several ends.
"""

from __future__ import annotations

from ...diagnostics import IrError
from ...ir import Call, Expr, RefCreate, RefRead, RefWrite, Tuple, TupleGetItem, children
from .annotations import compiler_of, is_begin, is_end

_JOINING = (Call, Tuple, TupleGetItem, RefCreate, RefRead, RefWrite)
"""Nodes that belong to the region of their operands. Scopes (`if`, `let`, `match`, functions) belong to none."""


class Region:
    """A region.

    Attributes:
        id: its number among those of the function, in order of their first marks. Merged regions leave gaps.
        compiler: whom it is for.
        inputs: its `compiler_begin`s that bring something from outside, in order.
        outputs: its `compiler_end`s that something outside uses, in order.
        ends: all of its `compiler_end`s, in any order.
        size: how many nodes belong to it.
    """

    __slots__ = ("compiler", "ends", "id", "inputs", "merged_into", "outputs", "size")

    def __init__(self, id: int, compiler: str) -> None:
        self.id = id
        self.compiler = compiler
        self.inputs: dict[Call, None] = {}
        self.outputs: dict[Call, None] = {}
        self.ends: list[Call] = []
        self.merged_into: Region | None = None
        self.size = 0

    def __repr__(self) -> str:
        return f"Region({self.id}, {self.compiler!r})"


class Regions:
    """The regions of an expression. Raises IrError if the marks do not fit together."""

    def __init__(self, root: Expr) -> None:
        self.all: list[Region] = []
        self._of: dict[Expr, Region] = {}
        self._begins_after: dict[Call, list[Call]] = {}
        self.order = self._find(root)

    def of(self, e: Expr) -> Region | None:
        """The region that the node belongs to (a mark belongs to the region that it borders)."""
        region = self._of.get(e)
        if region is None or region.merged_into is None:
            return region
        path = []
        while region.merged_into is not None:
            path.append(region)
            region = region.merged_into
        for passed in path:
            passed.merged_into = region
        return region

    def at(self, mark: Expr) -> Region:
        """The region that a mark borders."""
        region = self.of(mark)
        assert region is not None
        return region

    def merge(self, source: Region, into: Region) -> None:
        """Makes one region of two. What one gives to the other is no longer an input or an output."""
        if source is into:
            return
        inner = self._edges(source, into)
        into.inputs.update(source.inputs)
        into.outputs.update(source.outputs)
        for begin in inner:
            into.inputs.pop(begin, None)
            into.outputs.pop(begin.args[0], None)  # type: ignore[call-overload]  # what is no output is not among them
        more, most = sorted((source.ends, into.ends), key=len)
        most += more
        into.ends = most
        into.size += source.size
        source.merged_into = into

    def _edges(self, source: Region, into: Region) -> list[Call]:
        """The marks of inputs of `into` that `source` made."""
        if len(source.ends) < len(into.inputs):
            return [b for e in source.ends for b in self._begins_after.get(e, ()) if b in into.inputs]
        return [b for b in into.inputs if self.of(b.args[0]) is source]

    def _find(self, root: Expr) -> list[Expr]:
        seen: set[Expr] = set()
        order: list[Expr] = []
        stack: list[Expr | None] = [root]
        while stack:
            e = stack.pop()
            if e is None:
                e = stack.pop()
                assert e is not None
                order.append(e)
                self._leave(e)
                continue
            if e in seen:
                continue
            seen.add(e)
            stack += (e, None, *children(e)[::-1])
        return order

    def _leave(self, e: Expr) -> None:
        if is_begin(e):
            self._open(e)
        elif is_end(e):
            self._close(e)
        elif isinstance(e, _JOINING):
            self._join(e)

    def _open(self, begin: Call) -> None:
        region = Region(len(self.all), compiler_of(begin))
        region.inputs[begin] = None
        self._add(begin, region)
        self.all.append(region)
        if is_end(begin.args[0]):
            self._begins_after.setdefault(begin.args[0], []).append(begin)

    def _add(self, e: Expr, region: Region) -> None:
        self._of[e] = region
        region.size += 1

    def _close(self, end: Call) -> None:
        region = self.of(end.args[0])
        compiler = compiler_of(end)
        if region is None:
            raise IrError(f"a region of {compiler} ends here, but none begins before", end.span)
        if region.compiler != compiler:
            raise IrError(f"a region of {region.compiler} ends here as one of {compiler}", end.span)
        self._add(end, region)
        region.outputs[end] = None
        region.ends.append(end)

    def _join(self, e: Expr) -> None:
        used = e.args if isinstance(e, Call) else children(e)
        open_args = [a for a in used if not is_end(a)]
        regions = [self.of(a) for a in open_args]
        region = next((r for r in regions if r is not None), None)
        if region is None:
            return
        for arg, other in zip(open_args, regions, strict=True):
            if other is None:
                message = f"this belongs to no region, but what is used beside it to one of {region.compiler}"
                raise IrError(message, arg.span or e.span, help="mark it with annotation.compiler_begin")
            other = self.of(arg)
            assert other is not None
            if other.compiler != region.compiler:
                message = f"this comes from a region of {other.compiler}, what is used beside it from one of {region.compiler}"
                raise IrError(message, arg.span or e.span)
            self.merge(other, region)
        self._add(e, region)


def is_empty(region: Region, begin: Call) -> bool:
    """True if the region holds nothing but this mark, so that its input is its output."""
    return not region.ends and len(region.inputs) == 1 and region.size == 1 and begin in region.inputs


def unclosed_edge(regions: Regions) -> tuple[Expr, Region] | None:
    """A node that uses something inside a region without a mark between them, with that region."""
    for e in regions.order:
        for c in children(e):
            region = regions.of(c)
            if region is None or is_end(c) or regions.of(e) is region or (is_begin(c) and is_empty(region, c)):
                continue
            return e, region
    return None
