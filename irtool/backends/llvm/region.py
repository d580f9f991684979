"""Steps on the region as LLVM instructions: those that `backends.c.runtime.region` has in C."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from ...symbolic_int import bound
from ...tir.errors import REGION_ERROR, VALUES_FULL_ERROR
from ...tir.program import Slot
from ...tir.region import (
    HEADER,
    Collect,
    Decide,
    Field,
    Give,
    MakeObject,
    Pop,
    Push,
    ReadObject,
    RegionStep,
    WriteObject,
    frame_bytes,
    frame_fields,
)
from .builder import Builder
from .formulas import write_formula
from .library import Library
from .refusals import refuse

_TOP, _STACK, _END, _LEAST, _FROM, _VALUES = 0, 8, 16, 24, 32, 40
"""Offsets of the numbers at the beginning of a region, each an i64, and of the address of values; see `runtime/region.c`."""

MEMCPY = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"


def open_region(b: Builder, memory: str, end: str) -> None:
    """Writes the numbers at the beginning of a region from `memory` up to `end`, addresses."""
    first, last = (b.value(f"ptrtoint ptr {p} to i64") for p in (memory, end))
    size = b.value(f"and i64 {b.value(f'sub i64 {last}, {first}')}, -8", "bytes")
    least = b.value(f"sub i64 {size}, {HEADER}")
    numbers = ((_TOP, str(HEADER)), (_STACK, size), (_END, size), (_LEAST, least), (_FROM, str(HEADER)))
    for offset, value in numbers:
        b.do(f"store i64 {value}, ptr {b.value(f'getelementptr i8, ptr {memory}, i64 {offset}')}")


def end_of_objects(b: Builder, memory: str) -> str:
    """The end of the objects in a region."""
    return b.value(f"load i64, ptr {memory}, align 8", "end_of_objects")


def note_values(b: Builder, memory: str, values: str) -> None:
    """Notes in a region where its caller has values, and that the objects in it are theirs."""
    b.do(f"store i64 {end_of_objects(b, memory)}, ptr {b.value(f'getelementptr i8, ptr {memory}, i64 {_FROM}')}")
    b.do(f"store ptr {values}, ptr {b.value(f'getelementptr i8, ptr {memory}, i64 {_VALUES}')}")


class RegionWriter:
    """Writes the steps of one function; `place` gives the operand of a slot's address, `lengths` are the addresses of lengths that the
    function sets."""

    def __init__(
        self,
        b: Builder,
        place: Callable[[Slot], str],
        library: Library,
        collect: tuple[str, bool] = ("", False),
        lengths: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.b = b
        self.lengths = lengths
        self.table, self.written = collect
        self.before = self.limit = ""
        self.place = place
        self.library = library

    def top(self) -> str:
        """The end of the objects."""
        return self._number(_TOP)

    def release(self, before: str) -> None:
        """Takes back the objects behind that end."""
        self._set(_TOP, before)

    def write(self, s: RegionStep) -> None:
        """The instructions of a step; those of `Resume` are `next_body`."""
        if isinstance(s, MakeObject):
            handle = self.top()
            self._require(s.layout.size)
            self._set(_TOP, self.b.value(f"add i64 {handle}, {s.layout.size}"))
            word = s.layout.tag | s.layout.number << 32
            self.b.do(f"store i64 {word}, ptr {self._at(handle)}, align 8")
            self._put(handle, s.layout.fields, s.inputs)
            self.b.do(f"store i64 {handle}, ptr {self.place(s.outputs[0])}, align 8")
        elif isinstance(s, ReadObject):
            self._get(self._followed(self._handle(s.inputs[0]), s.path), s.fields, s.outputs)
        elif isinstance(s, WriteObject):
            self._put(self._handle(s.inputs[0]), s.fields, s.inputs[1:])
        elif isinstance(s, Decide):
            self._decide(s)
        elif isinstance(s, Collect):
            self._collect(s)
        elif isinstance(s, Push):
            self._require(frame_bytes(s.inputs))
            stack = self.b.value(f"sub i64 {self._number(_STACK)}, {frame_bytes(s.inputs)}", "stack")
            self._set(_STACK, stack)
            self.b.do(f"store i64 {s.body}, ptr {self._at(stack)}, align 8")
            self._put(stack, frame_fields(s.inputs), s.inputs)
        elif isinstance(s, Give):
            self._give(s)
        elif isinstance(s, Pop):
            stack = self._number(_STACK)
            # Lengths have the values of the call: the tensors that give them others are in the frame too.
            for f, x in zip(frame_fields(s.outputs), s.outputs, strict=True):
                self._copy(self.place(x), self._at(stack, f.offset), bound(x.resolve().nbytes))
            self._set(_STACK, self.b.value(f"add i64 {stack}, {frame_bytes(s.outputs)}"))

    def begin_turns(self) -> None:
        """Notes where the objects of the function begin, and from which end on they are taken back."""
        b = self.b
        self.before, self.limit = self.top(), b.slot("i64", "limit")
        free = b.value(f"sub i64 {self._number(_STACK)}, {self.before}")
        half = b.value(f"sdiv i64 {free}, 2")
        b.do(f"store i64 {b.value(f'add i64 {self.before}, {half}')}, ptr {self.limit}")

    def _collect(self, s: Collect) -> None:
        """The handles are put into a frame, and have new values there afterwards."""
        b, count = self.b, len(s.inputs)
        full, room, go = (b.fresh(n) for n in ("full", "room", "go"))
        limit = b.value(f"load i64, ptr {self.limit}", "limit_now")
        b.branch(b.value(f"icmp sge i64 {self.top()}, {limit}"), full, go)
        b.start(full)
        left = b.value(f"sub i64 {self._number(_STACK)}, {self.top()}")
        b.branch(b.value(f"icmp sge i64 {left}, {8 * count + 8}"), room, go)
        b.start(room)
        old = self._number(_STACK)
        stack = b.value(f"sub i64 {old}, {8 * count + 8}", "stack")
        self._set(_STACK, stack)
        frame = [(x, self._at(stack, 8 * n)) for n, x in enumerate(s.inputs, 1)]
        for x, inside in frame:
            b.do(f"store i64 {self._handle(x)}, ptr {inside}, align 8")
        arguments = f"ptr %region, ptr @{self.table}, i64 {self.before}, i64 {count}, i32 {int(self.written)}"
        after = b.value(f"call i64 {self.library.objects('irt_far_collect')}({arguments})")
        b.do(f"store i64 {after}, ptr {self.limit}")
        for x, inside in frame:
            b.do(f"store i64 {b.value(f'load i64, ptr {inside}, align 8')}, ptr {self.place(x)}, align 8")
        self._set(_STACK, old)
        b.start(go)

    def _give(self, s: Give) -> None:
        """The handles are put into an array, and have new values there afterwards."""
        b, count = self.b, len(s.inputs)
        handles = b.slot(f"[{max(1, count)} x i64]", "given")
        places = [b.value(f"getelementptr i8, ptr {handles}, i64 {8 * n}") for n in range(count)]
        for x, inside in zip(s.inputs, places, strict=True):
            b.do(f"store i64 {self._handle(x)}, ptr {inside}, align 8")
        values = b.value(f"load ptr, ptr {self._at(str(_VALUES))}, align 8", "values")
        arguments = f"ptr %region, ptr {values}, ptr @{self.table}, i64 {self._number(_FROM)}"
        arguments += f", ptr {handles}, i64 {count}, i32 {int(s.written)}"
        fits = b.value(f"call i32 {self.library.objects('irt_far_give')}({arguments})")
        refuse(b, b.value(f"icmp eq i32 {fits}, 0"), VALUES_FULL_ERROR)
        for x, inside in zip(s.outputs, places, strict=True):
            b.do(f"store i64 {b.value(f'load i64, ptr {inside}, align 8')}, ptr {self.place(x)}, align 8")

    def next_body(self) -> str:
        """The number, an i32, of the body that the last frame names."""
        number = self.b.value(f"load i64, ptr {self._at(self._number(_STACK))}, align 8")
        return self.b.value(f"trunc i64 {number} to i32", "next")

    def _decide(self, s: Decide) -> None:
        """A switch in a block of its own for each decision, and a block for each answer."""
        b = self.b
        out, end = self.place(s.outputs[0]), b.fresh("decided")
        labels = [b.fresh("decision") for _ in s.decisions]
        answers = {n: b.fresh("answer") for d in s.decisions for n in (*(n for _, n in d.cases), d.other) if n < 0}
        for label, d in zip(labels, s.decisions, strict=True):
            b.start(label)
            tag = self._tag(self._followed(self._handle(s.inputs[d.root]), d.path))
            cases = " ".join(f"i32 {t}, label %{answers.get(n) or labels[n]}" for t, n in d.cases)
            b.do(f"switch i32 {tag}, label %{answers.get(d.other) or labels[d.other]} [ {cases} ]")
            b.is_open = False
        for n, label in answers.items():
            b.start(label)
            b.do(f"store i32 {-1 - n}, ptr {out}")
            b.jump(end)
        b.start(end)

    def _tag(self, handle: str) -> str:
        """The tag of an object: in memory, or in the handle of one without fields."""
        b = self.b
        tag = b.slot("i32", "tag")
        own = b.value(f"trunc i64 {b.value(f'sub i64 -1, {handle}')} to i32")
        b.do(f"store i32 {own}, ptr {tag}")
        inside, known = b.fresh("inside"), b.fresh("known")
        b.branch(b.value(f"icmp slt i64 {handle}, 0"), known, inside)
        b.start(inside)
        word = b.value(f"load i64, ptr {self._at(handle)}, align 8")
        b.do(f"store i32 {b.value(f'trunc i64 {word} to i32')}, ptr {tag}")
        b.start(known)
        return b.value(f"load i32, ptr {tag}", "tag")

    def _require(self, size: int) -> None:
        """Returns an error unless that many bytes are free."""
        b = self.b
        free = b.value(f"sub i64 {self._number(_STACK)}, {self._number(_TOP)}")
        left = b.value(f"sub i64 {free}, {size}", "left")
        full, fits = b.fresh("full"), b.fresh("fits")
        b.branch(b.value(f"icmp slt i64 {left}, 0"), full, fits)
        b.start(full)
        b.ret(f"i32 {REGION_ERROR}")
        b.start(fits)
        least = self._number(_LEAST)
        lower = b.value(f"icmp slt i64 {left}, {least}")
        self._set(_LEAST, b.value(f"select i1 {lower}, i64 {left}, i64 {least}"))

    def _followed(self, handle: str, path: Sequence[int]) -> str:
        for field in path:
            handle = self.b.value(f"load i64, ptr {self._at(handle, field)}, align 8", "inside")
        return handle

    def _handle(self, slot: Slot) -> str:
        return self.b.value(f"load i64, ptr {self.place(slot)}, align 8", "handle")

    def _number(self, offset: int) -> str:
        return self.b.value(f"load i64, ptr {self._at(str(offset))}, align 8")

    def _set(self, offset: int, value: str) -> None:
        self.b.do(f"store i64 {value}, ptr {self._at(str(offset))}, align 8")

    def _at(self, handle: str, offset: int = 0) -> str:
        base = self.b.value(f"getelementptr i8, ptr %region, i64 {handle}", "at")
        return self.b.value(f"getelementptr i8, ptr {base}, i64 {offset}", "at") if offset else base

    def _put(self, handle: str, fields: Sequence[Field], slots: Sequence[Slot]) -> None:
        for f, x in zip(fields, slots):
            self._copy(self._at(handle, f.offset), self.place(x), x.resolve().nbytes)

    def _get(self, handle: str, fields: Sequence[Field], slots: Sequence[Slot]) -> None:
        for f, x in zip(fields, slots):
            self._copy(self.place(x), self._at(handle, f.offset), x.resolve().nbytes)

    def _copy(self, target: str, source: str, nbytes: int) -> None:
        self.library.outside(MEMCPY)
        size = write_formula(self.b, nbytes, self.lengths)
        self.b.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {size}, i1 false)")
