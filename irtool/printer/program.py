"""A compiled module as text: its kernels as loop nests, its constants, and its functions as steps over slots of memory.

::

    @main = host(x: float32[1, 4], w: float32[4, 4]) -> (result: float32[1, 4]) {
      frame 128
      t0: float32[1, 4] = frame[0]
      @fused_nn_dense(x, w, t0), workspace = frame[64]
      if c {
        @fused_tanh(t0, result)
      } else {
        result = t0
      }
    }

A step lists its inputs before its outputs. Offsets and sizes are in bytes, after memory planning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..tir.conditions import LengthCondition
from ..tir.kernel import Kernel
from ..tir.program import (
    CONSTANT,
    TEMP,
    Again,
    Branch,
    CallFunction,
    CopySlot,
    Fail,
    HostFunction,
    Loop,
    Program,
    RunKernel,
    SetLengths,
    Slot,
    Step,
    Switch,
    steps,
)
from ..tir.region import Collect, Decide, Decision, Give, MakeObject, Pop, Push, ReadObject, RegionStep, WriteObject
from .tir import LoopNestPrinter


def program_text(program: Program, kernel_text: Callable[[Kernel], str] | None = None) -> str:
    """The text of a program: constants (without their values), kernels, functions, callers before callees; `kernel_text` gives
    kernels another text than that of their loop nests."""
    text = kernel_text or nest_text
    constants = {c: n for n, c in zip(_distinct(c.name for c in program.constants), program.constants)}
    parts = []
    if constants:
        parts.append("\n".join(f"@{n} = constant({_tensor(c)})" for c, n in constants.items()) + "\n")
    parts += [text(k) for k in program.kernels]
    parts += [_HostPrinter(constants).function(f) for f in reversed(program.functions.values())]
    return "\n".join(parts)


def nest_text(kernel: Kernel) -> str:
    """The scheduled loop nest of a kernel; names are unique in it."""
    return LoopNestPrinter().kernel(kernel) + "\n"


def _tensor(slot: Slot) -> str:
    return f"{slot.dtype}[{', '.join(map(str, slot.shape))}]"


def _distinct(names: Any) -> list[str]:
    """The names, each with a number behind it if it was there before."""
    taken: set[str] = set()
    result = []
    for hint in names:
        name, count = hint or "t", 0
        while name in taken:
            count += 1
            name = f"{hint or 't'}_{count}"
        taken.add(name)
        result.append(name)
    return result


class _HostPrinter:
    """Prints functions over the constants of a program."""

    def __init__(self, constants: dict[Slot, str]) -> None:
        self.constants = constants
        self.names: dict[Slot, str] = {}
        self.lines: list[str] = []

    def function(self, f: HostFunction) -> str:
        """`@name = host(…) -> (…) { … }`, with its frame and its temporaries first."""
        slots = list(dict.fromkeys(s.resolve() for s in (*f.outer, *_slots(f.body))))
        own = [s for s in slots if s not in self.constants]
        self.names = {
            **{s: f"@{n}" for s, n in self.constants.items()},
            **dict(zip(own, _distinct(s.name for s in own))),
        }
        params = ", ".join(self._declared(s) for s in f.params)
        results = ", ".join(self._declared(s) for s in f.results)
        self.lines = [f"@{f.name} = host({params}) -> ({results}) {{"]
        for state in f.states:
            self.lines.append(f"  state {self._declared(state.slot)} = {self._name(state.next)}")
        if f.frame_bytes:
            self.lines.append(f"  frame {f.frame_bytes}")
        for s in own:
            if s.kind == TEMP:
                place = "" if s.offset is None else f" = frame[{s.offset}]"
                self.lines.append(f"  {self._declared(s)}{place}")
        self._body(f.body)
        self.lines.append("}\n")
        return "\n".join(self.lines)

    def _declared(self, slot: Slot) -> str:
        return f"{self._name(slot)}: {_tensor(slot.resolve())}"

    def _name(self, slot: Slot) -> str:
        slot = slot.resolve()
        if slot not in self.names:  # a result that nothing computes but a constant that is in no list any more
            assert slot.kind == CONSTANT
            return slot.name
        return self.names[slot]

    def _condition(self, cond: Slot | LengthCondition) -> str:
        return self._name(cond) if isinstance(cond, Slot) else str(cond)

    def _all(self, slots: Sequence[Slot]) -> str:
        return ", ".join(map(self._name, slots))

    def _body(self, body: Sequence[Step]) -> None:
        stack: list[tuple[Step | str, int]] = [(s, 1) for s in reversed(body)]
        while stack:
            s, depth = stack.pop()
            if isinstance(s, str):
                self.lines.append("  " * depth + s)
            elif isinstance(s, Branch):
                inner: list[tuple[Step | str, int]] = [(f"if {self._condition(s.cond)} {{", depth)]
                inner += [(x, depth + 1) for x in s.then]
                inner += [("} else {", depth), *((x, depth + 1) for x in s.other), ("}", depth)]
                stack += reversed(inner)
            elif isinstance(s, Switch):
                inner = [(f"switch ({self._name(s.number)}) {{", depth)]
                for n, arm in enumerate(s.arms):
                    inner += [(f"case {n} {{", depth + 1), *((x, depth + 2) for x in arm), ("}", depth + 1)]
                stack += reversed([*inner, ("}", depth)])
            elif isinstance(s, Loop):
                inner = [(f"loop ({self._all(s.state)}) {{", depth)]
                for n, body in enumerate(s.bodies):
                    inner += [(f"body {n} {{", depth + 1), *((x, depth + 2) for x in body), ("}", depth + 1)]
                stack += reversed([*inner, ("}", depth)])
            else:
                self.lines.append("  " * depth + self._step(s))

    def _region_step(self, s: RegionStep) -> str:
        inputs, outputs = self._all(s.inputs), self._all(s.outputs)
        if isinstance(s, MakeObject):
            return f"{outputs} = new {s.layout.name}({inputs})"
        if isinstance(s, ReadObject):
            path = "".join(f"[{n}]" for n in s.path)
            return f"{outputs} = {inputs}{path}[{', '.join(str(f.offset) for f in s.fields)}]"
        if isinstance(s, WriteObject):
            return (
                f"{self._name(s.inputs[0])}[{', '.join(str(f.offset) for f in s.fields)}] = {self._all(s.inputs[1:])}"
            )
        if isinstance(s, Collect):
            return f"collect, keeping {outputs}" if s.outputs else "collect"
        if isinstance(s, Decide):
            return f"{outputs} = decide {'; '.join(self._decision(n, d, s) for n, d in enumerate(s.decisions))}"
        if isinstance(s, Push):
            return f"push ({inputs}), then body {s.body}"
        if isinstance(s, Give):
            return f"{outputs} = give {inputs}" if s.inputs else "give"
        return f"pop ({outputs})" if isinstance(s, Pop) else f"resume, keeping {inputs}"

    def _decision(self, number: int, d: Decision, s: Decide) -> str:
        place = f"tag({self._name(s.inputs[d.root])}{''.join(f'[{n}]' for n in d.path)})"
        cases = [(str(tag), n) for tag, n in d.cases] + [("else", d.other)]
        ways = (f"{tag} {f'go {n}' if n >= 0 else -1 - n}" for tag, n in cases)
        return f"{number}: {place} {', '.join(ways)}"

    def _step(self, s: RunKernel | CallFunction | Fail | SetLengths | CopySlot | Again | RegionStep) -> str:
        if isinstance(s, RegionStep):
            return self._region_step(s)
        if isinstance(s, Fail):
            return f"fail ({self._all(s.outputs)})"
        if isinstance(s, CopySlot):
            return f"{self._name(s.target)} = {self._name(s.source)}"
        if isinstance(s, SetLengths):
            names = ", ".join(x.name for x in s.symbols)
            places = ", ".join(map(str, s.places))
            return f"set {names} = {self._name(s.values)}[{places}]"
        if isinstance(s, Again):
            loop_state = f", keeping {self._all(s.unchanged)}" if s.unchanged else ""
            return f"again body {s.body}{loop_state}"
        called, place = (s.kernel.name, "") if isinstance(s, RunKernel) else (s.function, f", frame = frame[{s.frame}]")
        if isinstance(s, RunKernel) and s.kernel.has_workspace:
            place = f", workspace = frame[{s.workspace}]"
        return f"@{called}({self._all([*s.inputs, *s.outputs])}){place}"


def _slots(body: Sequence[Step]) -> list[Slot]:
    """The slots that steps mention, in order."""
    slots: list[Slot] = []
    for s in steps(body):
        slots += (*s.reads, *s.writes)
    return slots
