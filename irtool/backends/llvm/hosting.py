"""Functions of the network as LLVM functions: kernel calls, branches, loops, copies and calls of each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...symbolic_int import Symbol
from ...tir.dtypes import itemsize
from ...tir.errors import VALUE_ERROR, WORKSPACE_ERROR
from ...tir.kernel import Kernel
from ...tir.program import (
    CONSTANT,
    Again,
    Branch,
    CallFunction,
    CopySlot,
    Fail,
    HostFunction,
    Loop,
    RunKernel,
    SetLengths,
    Slot,
    Step,
    Switch,
    steps,
)
from ...tir.region import Collect, RegionStep, Resume
from ...tir.symbols import symbols_of_kernel
from ...tir.value_notes import BYTES
from .builder import Builder
from .formulas import arguments, parameters, write_condition, write_formula
from .library import Library
from .refusals import refuse, refuse_if_error
from .region import MEMCPY, RegionWriter


class HostWriter:
    """Writes one function. `constant` gives the operand of a constant's address; `lengths` are those of the program, which every
    function takes."""

    def __init__(
        self,
        function: HostFunction,
        symbols: Mapping[str, str],
        kernels: Mapping[Kernel, str],
        constant: Callable[[Slot, Builder], str],
        library: Library,
        checks_frame: bool,
        lengths: Sequence[Symbol],
        *,
        in_region: bool = False,
        collect: tuple[str, bool] = ("", False),
        noted: Mapping[Symbol, int] = {},  # never changed
    ) -> None:
        self.noted = noted
        self.function = function
        self.symbols = symbols
        self.kernels = kernels
        self.constant = constant
        self.library = library
        self.checks_frame = checks_frame
        self.lengths = lengths
        self.own = ["region"] if in_region else []
        self.b = Builder("arena", "arena_end", "entry", *self.own, *(s.name for s in lengths))
        self.places: dict[Slot, str] = {}
        self.set: dict[str, str] = {}
        """The addresses of lengths that the function sets."""
        self.region = RegionWriter(self.b, self._place, library, collect, self.set)

    def write(self) -> list[str]:
        """The text of the function, which returns 0, or 1 for a workspace that is too small."""
        f, b = self.function, self.b
        params = parameters(self.lengths)
        for s in f.arguments:
            self.places[s] = f"%{b.fresh(s.name)}"
            params.append(f"ptr {self.places[s]}")
        params += ["ptr %arena", "ptr %arena_end", *(f"ptr %{n}" for n in self.own)]
        if f.frame_bytes and self.checks_frame:
            begin, end = (b.value(f"ptrtoint ptr %{n} to i64") for n in ("arena", "arena_end"))
            frame = write_formula(b, f.frame_bytes)
            small = b.value(f"icmp ult i64 {b.value(f'sub i64 {end}, {begin}')}, {frame}", "small")
            refuse(b, small, WORKSPACE_ERROR)
        self._temporaries()
        if any(isinstance(s, Loop) for s in steps(f.body)):
            self.next_body = b.slot("i32", "next_body")
        before = self.region.top() if f.releases else ""
        if any(isinstance(s, Collect) for s in steps(f.body)):
            self.region.begin_turns()
        for length in f.lengths:
            self.set[length.name] = b.slot("i64", f"{length.name}_now")
            b.do(f"store i64 %{length.name}, ptr {self.set[length.name]}")
        self._steps()
        if f.releases:
            self.region.release(before)
        b.ret("i32 0")
        return b.text(f"define internal i32 @{self.symbols[f.name]}({', '.join(params)}) nounwind")

    def _temporaries(self) -> None:
        """Addresses in the frame, at the beginning of the function: any block may use them."""
        for s in steps(self.function.body):
            for slot in (*s.reads, *s.writes):
                slot = slot.resolve()
                if slot not in self.places and slot.kind != CONSTANT:
                    self.places[slot] = self._inside(slot.offset or 0, slot.name)

    def _inside(self, offset: int, hint: str = "at") -> str:
        if not offset:
            return "%arena"
        return self.b.value(f"getelementptr inbounds i8, ptr %arena, i64 {write_formula(self.b, offset)}", hint)

    def _place(self, slot: Slot) -> str:
        slot = slot.resolve()
        return self.constant(slot, self.b) if slot.kind == CONSTANT else self.places[slot]

    def _steps(self) -> None:
        """Steps by an explicit stack; a function on it runs after the steps of a part."""
        b = self.b
        stack: list[Step | Callable[[], Any]] = list(reversed(self.function.body))
        heads: list[tuple[str, int]] = []
        while stack:
            s = stack.pop()
            if callable(s):
                s()
            elif isinstance(s, RunKernel):
                args = self._arguments(s)
                if s.kernel.has_workspace:
                    args.append(f"ptr {self._inside(s.workspace)}")
                args += arguments(b, symbols_of_kernel(s.kernel), self.set)
                b.do(f"call void @{self.kernels[s.kernel]}({', '.join(args)})")
            elif isinstance(s, CallFunction):
                args = [
                    *arguments(b, self.lengths, self.set),
                    *self._arguments(s),
                    f"ptr {self._inside(s.frame)}",
                    "ptr %arena_end",
                    *(f"ptr %{n}" for n in self.own),
                ]
                error = b.value(f"call i32 @{self.symbols[s.function]}({', '.join(args)})", "error")
                refuse_if_error(b, error)
            elif isinstance(s, Fail):
                b.ret(f"i32 {s.code}")
                b.start(b.fresh("after"))
            elif isinstance(s, Resume):
                b.do(f"store i32 {self.region.next_body()}, ptr {self.next_body}")
                b.jump(heads[-1][0])
                b.start(b.fresh("after"))
            elif isinstance(s, RegionStep):
                self.region.write(s)
            elif isinstance(s, SetLengths):
                self._set(s)
            elif isinstance(s, CopySlot):
                if not s.is_in_place:
                    source, target = self._place(s.source), self._place(s.target)
                    self.library.outside(MEMCPY)
                    size = write_formula(b, s.target.nbytes, self.set)
                    b.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {size}, i1 false)")
            elif isinstance(s, Branch):
                self._branch(s, stack)
            elif isinstance(s, Switch):
                self._switch(s, stack)
            elif isinstance(s, Loop):
                self._loop(s, stack, heads)
            else:
                assert isinstance(s, Again)
                b.do(f"store i32 {s.body}, ptr {self.next_body}")
                b.jump(heads[-1][0])
                b.start(b.fresh("after"))

    def _set(self, s: SetLengths) -> None:
        b, values = self.b, s.values.resolve()
        kind = f"i{8 * itemsize(values.dtype)}"
        for symbol, place in zip(s.symbols, s.places, strict=True):
            address = b.value(f"getelementptr inbounds {kind}, ptr {self._place(values)}, i64 {place}")
            value = b.value(f"load {kind}, ptr {address}", symbol.name)
            if kind != "i64":
                value = b.value(f"{'zext' if values.dtype.startswith('u') else 'sext'} {kind} {value} to i64")
            tests = [
                b.value(f"icmp {t}") for t in (f"slt i64 {value}, {symbol.low}", f"sgt i64 {value}, {symbol.high}")
            ]
            end, go = b.fresh("outside"), b.fresh("inside")
            b.branch(b.value(f"or i1 {tests[0]}, {tests[1]}"), end, go)
            b.start(end)
            if symbol in self.noted:
                for offset, number in ((-BYTES, str(self.noted[symbol])), (8 - BYTES, value)):
                    note = b.value(f"getelementptr inbounds i8, ptr %arena_end, i64 {offset}")
                    b.do(f"store i64 {number}, ptr {note}, align 1")
            b.ret(f"i32 {VALUE_ERROR}")
            b.start(go)
            b.do(f"store i64 {value}, ptr {self.set[symbol.name]}")

    def _arguments(self, s: RunKernel | CallFunction) -> list[str]:
        return [f"ptr {self._place(x)}" for x in (*s.inputs, *s.outputs)]

    def _branch(self, s: Branch, stack: list[Any]) -> None:
        b = self.b
        then, other, end = (b.fresh(n) for n in ("then", "else", "end"))
        if isinstance(s.cond, Slot):
            byte = b.value(f"load i8, ptr {self._place(s.cond)}")
            b.branch(b.value(f"icmp ne i8 {byte}, 0"), then, other)
        else:
            b.branch(write_condition(b, s.cond, self.set), then, other)
        b.start(then)

        def to_other() -> None:
            b.jump(end)
            b.start(other)

        stack += [lambda: b.start(end), *reversed(s.other), to_other, *reversed(s.then)]

    def _switch(self, s: Switch, stack: list[Any]) -> None:
        b = self.b
        *others, last = labels = [b.fresh("arm") for _ in s.arms]
        end = b.fresh("end")
        number = b.value(f"load i32, ptr {self._place(s.number)}", "number")
        cases = " ".join(f"i32 {n}, label %{label}" for n, label in enumerate(others))
        b.do(f"switch i32 {number}, label %{last} [ {cases} ]")
        b.is_open = False
        stack.append(lambda: b.start(end))
        for label, arm in reversed(list(zip(labels, s.arms, strict=True))):
            stack += [lambda: b.jump(end), *reversed(arm), lambda label=label: b.start(label)]

    def _loop(self, s: Loop, stack: list[Any], heads: list[tuple[str, int]]) -> None:
        """A loop, each iteration of which has the body whose number the one before stored."""
        b = self.b
        head, end = b.fresh("loop"), b.fresh("end")
        bodies = [b.fresh("body") for _ in s.bodies]
        b.do(f"store i32 0, ptr {self.next_body}")
        b.start(head)
        number = b.value(f"load i32, ptr {self.next_body}")
        cases = " ".join(f"i32 {n}, label %{label}" for n, label in enumerate(bodies))
        b.do(f"switch i32 {number}, label %{end} [ {cases} ]")
        b.is_open = False
        heads.append((head, len(bodies)))

        def leave() -> None:
            heads.pop()
            b.start(end)

        stack.append(leave)
        for label, body in reversed(list(zip(bodies, s.bodies, strict=True))):
            stack += [lambda: b.jump(end), *reversed(body), lambda label=label: b.start(label)]
