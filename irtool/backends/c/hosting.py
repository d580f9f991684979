"""Host functions as C: kernel calls, branches, loops, copies and calls of each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...symbolic_int import Symbol
from ...tir.conditions import LengthCondition
from ...tir.errors import VALUE_ERROR
from ...tir.program import (
    CONSTANT,
    PARAM,
    RESULT,
    STATE,
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
    Switch,
    steps,
)
from ...tir.region import Collect, RegionStep
from ...tir.value_notes import BYTES
from ..c_types import byte_count, stored_type
from ..interface.names import Identifiers
from .certifiable.hosts import StaticFrame
from .frame import ARENA, END, POOLS, Frame
from .line_directives import first_place, point_at
from .region import BEFORE, LIMIT, REGION, write_step
from .team import WORKER
from .variant import Variant


class HostWriter:
    """Writes one function of a variant of the network. `constant` gives the C expression of a constant, `table` the symbol
    of the table of objects, `noted` are the numbers of lengths that runs leave notes about."""

    def __init__(
        self,
        function: HostFunction,
        variant: Variant,
        names: Identifiers,
        constant: Callable[[Slot], str],
        *,
        checks_frame: bool,
        in_team: bool = False,
        table: str = "",
        noted: Mapping[Symbol, int] = {},  # never changed
        pool_of_notes: int | None = None,
        certifiable: bool = False,
        line_directives: bool = False,
    ) -> None:
        self.line_directives = line_directives
        self.certifiable = certifiable
        self.noted = noted
        self.note = f"{END} - {BYTES}" if pool_of_notes is None else f"{POOLS}[{pool_of_notes}]"
        self.function = function
        self.variant = variant
        self.constant = constant
        self.checks_frame = checks_frame
        self.in_team = in_team
        self.frame = StaticFrame(function) if certifiable else Frame(function)
        self.symbols = variant.symbols
        self.in_region = variant.uses_region
        own = (REGION, BEFORE, LIMIT) if self.in_region else ()
        self.collect = table, variant.writes_handles
        self.names = names.inner(ARENA, END, POOLS, WORKER, *own, *self.symbols)
        self.places: dict[Slot, str] = {s: self.names.fresh(s.name) for s in function.params}
        self.places.update({s: self.names.fresh(s.name) for s in function.results})
        self.places.update({s.slot: self.names.fresh(s.slot.name) for s in function.states})
        steps_of_body = steps(function.body)
        can_fail = not certifiable and any(isinstance(s, CallFunction) for s in steps_of_body)
        self.error = self.names.fresh("error") if can_fail else ""
        self.next_body = (
            self.names.fresh("next_body")
            if any(isinstance(s, Loop) and len(s.bodies) > 1 for s in steps_of_body)
            else ""
        )
        self.declared: list[str] = [f"  int {self.error};"] if self.error else []
        self.declared += [f"  int {self.next_body} = 0;"] if self.next_body else []
        self.used: set[str] = set()

    @property
    def signature(self) -> str:
        """The declaration, without semicolon."""
        f = self.function
        params = [f"int64_t {s}" for s in self.symbols]
        params += [f"const {stored_type(s.dtype)} *{self.places[s]}" for s in f.params]
        params += [f"{stored_type(s.dtype)} *{self.places[s]}" for s in f.results]
        params += [f"{stored_type(s.slot.dtype)} *{self.places[s.slot]}" for s in f.states]
        params += self.frame.declarations
        params += [f"irt_region *{REGION}"] if self.in_region else []
        params += [f"irt_worker *{WORKER}"] if self.in_team else []
        result = "void" if self.certifiable else "int"
        return f"static {result} {self.variant.functions[f.name]}({', '.join(params)})"

    def write(self) -> str:
        """The text of the function."""
        f = self.function
        body = self._steps()
        lines = [f"{self.signature} {{", *self.declared]
        if self.checks_frame and (check := self.frame.check()):
            lines.append(check)
            self.used |= {ARENA, END}
        handed = [*map(self.places.__getitem__, f.arguments), *self.frame.names]
        lines += [f"  (void){n};" for n in handed if n not in self.used]
        lines += [f"  (void){n};" for n in self.symbols]
        lines += [f"  (void){WORKER};"] if self.in_team else []
        lines += [f"  (void){REGION};"] if self.in_region else []
        collects = any(isinstance(s, Collect) for s in steps(f.body))
        if collects:
            lines.insert(1, f"  int64_t {LIMIT} = {BEFORE} + ({REGION}->stack - {BEFORE}) / 2;")
        if collects or f.releases:
            lines.insert(1, f"  const int64_t {BEFORE} = {REGION}->top;")
        if f.releases:
            body.append(f"  {REGION}->top = {BEFORE};")
        return "\n".join([*lines, *body, *([] if self.certifiable else ["  return 0;"]), "}", ""])

    def _steps(self) -> list[str]:
        """Statements by an explicit stack; a string on it is a line to write. The innermost loop's number of bodies decides how
        its next iteration is chosen."""
        lines: list[str] = []
        bodies = 0
        stack: list[tuple[Any, int]] = [(s, 1) for s in reversed(self.function.body)]
        while stack:
            s, depth = stack.pop()
            pad = "  " * depth
            if isinstance(s, str):
                lines.append(pad + s)
            elif isinstance(s, RunKernel):
                place = first_place([s]) if self.line_directives else None
                lines += point_at(place, [pad + self._run(s)])
            elif isinstance(s, CallFunction):
                lines.append(pad + self._call(s))
            elif isinstance(s, Fail):
                lines.append(f"{pad}return {s.code};")
            elif isinstance(s, RegionStep):
                region_lines = write_step(
                    s,
                    self._place,
                    lambda x: byte_count(x.resolve().nbytes),
                    self.next_body,
                    self.names.fresh,
                    self.collect,
                )
                lines += [pad + line for line in region_lines]
            elif isinstance(s, SetLengths):
                lines += [pad + line for line in _set_lengths(s, self._place(s.values), self.noted, self.note)]
                self.used.update({POOLS if self.frame.function.in_pools else END} if self.noted else ())
            elif isinstance(s, CopySlot):
                if not s.is_in_place:
                    unused = "(void)" if self.certifiable else ""
                    lines.append(
                        f"{pad}{unused}memcpy({self._place(s.target)}, {self._place(s.source)}, {byte_count(s.target.nbytes)});"
                    )
            elif isinstance(s, Branch):
                lines.append(f"{pad}if ({self._condition(s.cond)}) {{")
                stack += [("}", depth), *((x, depth + 1) for x in reversed(s.other))]
                if s.other:
                    stack.append(("} else {", depth))
                stack += [(x, depth + 1) for x in reversed(s.then)]
            elif isinstance(s, Switch):
                lines.append(f"{pad}switch (*{self._place(s.number)}) {{")
                stack += _switch(s, depth)
            elif isinstance(s, Loop):
                bodies = len(s.bodies)
                stack += _loop(s, depth, self.next_body)
            else:
                assert isinstance(s, Again)
                if bodies > 1:
                    lines.append(f"{pad}{self.next_body} = {s.body};")
                lines.append(f"{pad}continue;")
        return lines

    def _run(self, s: RunKernel) -> str:
        """The statement that runs a kernel, or shares it with threads."""
        name, scratch, symbols = self.variant.kernel(s.kernel)
        args = self._arguments(s)
        if scratch:
            self.used.add(self.frame.begin)
            args.append(self.frame.address(s.workspace))
        task = self.variant.tasks.get(s.kernel)
        args += symbols if task is None else [f"&{x}" for x in symbols]
        if task is None:
            return f"{name}({', '.join(args)});"
        operands = f"(const void *const []){{{', '.join(args)}}}"
        # In a block of their own, the addresses share the stack with those of the next kernel.
        return f"{{ irt_share({WORKER}, {task}, {operands}); }}"

    def _call(self, s: CallFunction) -> str:
        """The statement that calls a function, and returns its error."""
        callee, called = self.variant.program.functions[s.function], self.variant.functions[s.function]
        self.used.update(self.frame.names)
        args = [
            *self.symbols,
            *self._arguments(s),
            *self.frame.handed(s.frame, callee),
            *([REGION] if self.in_region else []),
            *([WORKER] if self.in_team else []),
        ]
        if self.certifiable:
            return f"{called}({', '.join(args)});"
        return f"if (({self.error} = {called}({', '.join(args)})) != 0) return {self.error};"

    def _condition(self, cond: Slot | LengthCondition) -> str:
        zero = " != 0u" if self.certifiable else ""
        return f"*{self._place(cond)}{zero}" if isinstance(cond, Slot) else str(cond)

    def _arguments(self, s: RunKernel | CallFunction) -> list[str]:
        return [self._place(x) for x in (*s.inputs, *s.outputs)]

    def _place(self, slot: Slot) -> str:
        """The C expression of a slot's address; the first use of a temporary declares it."""
        slot = slot.resolve()
        if slot.kind == CONSTANT:
            return self.constant(slot)
        name = self.places.get(slot)
        if name is None:
            assert slot.kind not in (PARAM, RESULT, STATE)
            name = self.places[slot] = self.names.fresh(slot.name)
            self.used.add(self.frame.begin)
            t = stored_type(slot.dtype)
            address = self.frame.address(slot.offset or 0)
            shape = ", ".join(map(str, slot.shape))
            self.declared.append(f"  {t} *const {name} = ({t} *)(void *)({address}); /* [{shape}] */")
        self.used.add(name)
        return name


def _set_lengths(s: SetLengths, values: str, noted: Mapping[Symbol, int], place_of_note: str) -> list[str]:
    lines = []
    for symbol, place in zip(s.symbols, s.places, strict=True):
        n = symbol.name
        outside = f"if ({n} < {symbol.low} || {n} > {symbol.high})"
        lines.append(f"{n} = {values}[{place}];")
        if symbol not in noted:
            lines.append(f"{outside} return {VALUE_ERROR};")
            continue
        lines += [
            f"{outside} {{",
            f"  const int64_t note[2] = {{{noted[symbol]}, {n}}};",
            f"  memcpy({place_of_note}, note, {BYTES});",
            f"  return {VALUE_ERROR};",
            "}",
        ]
    return lines


def _switch(s: Switch, depth: int) -> list[tuple[Any, int]]:
    """The lines of arms and the steps between them, last first."""
    inner: list[tuple[Any, int]] = []
    for n, arm in enumerate(s.arms):
        inner.append((f"case {n}:" if n < len(s.arms) - 1 else "default:", depth + 1))
        inner += [*((x, depth + 2) for x in arm), ("break;", depth + 2)]
    return [*inner, ("}", depth)][::-1]


def _loop(s: Loop, depth: int, next_body: str) -> list[tuple[Any, int]]:
    """The lines of a loop and the steps between them, last first: with one body, or with one of several in each iteration."""
    if len(s.bodies) == 1:
        inner = [(x, depth + 1) for x in s.bodies[0]]
    else:
        inner = [(f"switch ({next_body}) {{", depth + 1)]
        for n, body in enumerate(s.bodies):
            inner.append((f"case {n}:" if n < len(s.bodies) - 1 else "default:", depth + 1))
            inner += [*((x, depth + 2) for x in body), ("break;", depth + 2)]
        inner.append(("}", depth + 1))
    return [("for (;;) {", depth), *inner, ("break;", depth + 1), ("}", depth)][::-1]
