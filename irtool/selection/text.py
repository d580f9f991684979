"""The nest of a kernel in the forms of back ends, as plain text: the output of `irtool build --emit=isel`.

::

    @dense = kernel(x: float32[4, 64], w: float32[64, 8]) -> (out: float32[4, 8]) {
      for ax0 in 2 {
        allocate acc: float32x8[2] in registers
        …
        vector ax1, 8 lanes, 2 steps written out {
          %0: float32x8 = splat(x[(ax0 * 128) + k])
          let %1: float32x8 = load(w[k * 8])
          %2: float32x8 = acc[0]
          %3: float32x8 = %0 * %1
          %4: float32x8 = %2 + %3
          acc[0] = %4
          …

An element of memory has one offset. `let` marks a vector that several steps use, and that is a variable.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from ..tir.expr import Binary, Call, Cast, Expr, Load, Select, Var
from ..tir.kernel import Kernel
from ..tir.show import Item, NestText, show_node
from ..tir.stmt import VECTORIZED, Allocate, Buffer, For, Lowered, Scope, Seq, Stmt, Store, pre_order
from ..tir.texts import expression_texts
from .in_place import UnlessSame
from .kernel import KernelNest, Selection
from .runs import WORDS, Run, Words, last_step
from .streams import Fence
from .teams import Barrier, EachThread, OneThread, Shared
from .tiles import Configuration, TileBlock, TileRegion, register_shapes
from .vectors import ir
from .vectors.types import VectorType

Line = tuple[str, int]
"""A line, and its indentation."""

_TERMS = ("+", "-")

_LONG = 2000
"""Characters from which on a shared part of an expression gets a line of its own."""


def selected_text(selection: Selection, kernel: Kernel) -> str:
    """The text of a kernel after selection."""
    return SelectedText(KernelNest(kernel, selection)).kernel()


def body_text(body: ir.Body) -> str:
    """The steps of one vectorized loop."""
    return "\n".join("  " * depth + line for line, depth in SelectedText()._body(body))


class SelectedText(NestText):
    """Prints one kernel; names are unique in it."""

    begin, end = " {", "}"

    def __init__(self, nest: KernelNest | None = None) -> None:
        self.nest = nest
        self._names: dict[Var | Buffer, str] = {}
        self._counts: dict[str, int] = {}
        self._owner: Stmt = Seq(())
        """The statement whose expressions are printed."""
        self._shared_parts: list[str] = []
        """Lines of shared parts of expressions, to be put in front of the line that uses them."""

    def kernel(self) -> str:
        """The whole kernel: parameters, operators, strategy, and its nest."""
        assert self.nest is not None
        k = self.nest.kernel
        params, results = (", ".join(self._parameter(b) for b in buffers) for buffers in (k.inputs, k.outputs))
        body = [f"  // {line}" for line in _about(k)] + self.lines(self.nest.selected(), 1)
        return "\n".join([f"@{k.name} = kernel({params}) -> ({results}) {{", *body, "}", ""])

    # -- names and expressions -----------------------------------------------------------------------------------------

    def name(self, x: Var | Buffer) -> str:
        known = self._names.get(x)
        if known is None:
            known = self._names[x] = self._fresh(x.name)
        return known

    def _fresh(self, hint: str) -> str:
        count = self._counts.get(hint)
        if count is None:
            self._counts[hint] = 0
            return hint
        while f"{hint}_{count + 1}" in self._counts:
            count += 1
        self._counts[hint] = count + 1
        return self._fresh(f"{hint}_{count + 1}")

    def expression(self, e: Expr) -> str:
        return _bare(expression_texts(self._owner, self._node, self._shortened, _LONG)(e))

    def _node(self, e: Expr, parts: list[str]) -> str:
        """An expression over the texts of its operands, with parentheses where these change the meaning."""
        if isinstance(e, Load) and not e.indices:
            return self.name(e.source) if isinstance(e.source, Buffer) else e.source.name
        has_name = isinstance(e, Binary) and e.op.isalpha() and e.op not in ("and", "or")
        if has_name or isinstance(e, Load | Call | Cast | Select):
            return show_node(e, [*map(_bare, parts)], self.name)
        if isinstance(e, Binary) and e.op in _TERMS:
            inside = ("*", *_TERMS), ("*",)
            parts = [
                _bare(text) if isinstance(x, Binary) and x.op in ops else text
                for x, text, ops in zip((e.a, e.b), parts, inside)
            ]
        return show_node(e, parts, self.name)

    def _shortened(self, e: Expr, text: str, may_be_named: bool) -> str:
        if not may_be_named:
            return text
        name = self._fresh("t")
        self._shared_parts.append(f"{name}: {e.dtype} = {_bare(text)}")
        return name

    def _line(self, text: str, depth: int = 0) -> list[Line]:
        """A line behind those of the shared parts of its expressions."""
        before, self._shared_parts = self._shared_parts, []
        return [(x, depth) for x in (*before, text)]

    def _parameter(self, b: Buffer) -> str:
        numbers = f" of {b.numbers}" if b.numbers else ""
        return f"{self.name(b)}: {b.dtype}{list(b.shape)}{numbers}"

    # -- statements ----------------------------------------------------------------------------------------------------

    def statement(self, s: Stmt) -> Sequence[Item]:
        self._owner = s
        items = self._statement(s)
        before, self._shared_parts = self._shared_parts, []
        return [*((x, 0) for x in before), *items]

    def _statement(self, s: Stmt) -> Sequence[Item]:
        if isinstance(s, Store) and not s.indices:
            return [(f"{self.name(s.buffer)} = {self.expression(s.value)}", 0)]
        if isinstance(s, Allocate):
            return [(self._allocate(s.buffer), 0), (s.body, 0)]
        if isinstance(s, For):
            return self.block(self._loop(s), s.body)
        if not isinstance(s, Lowered):
            return super().statement(s)
        code = s.code
        if isinstance(code, ir.Body):
            return [(f"vector{_lanes(s.body)} {{", 0), *self._body(code, 1), ("}", 0)]
        if isinstance(code, ir.CopySquare):
            return self._line(self._square(code))
        if isinstance(code, Run):
            return self._run(code)
        if isinstance(code, Shared):
            return self.block(self._shared_loops(code), code.loops[-1].body)
        if isinstance(code, OneThread | EachThread):
            return self.block("one thread" if isinstance(code, OneThread) else "every thread", s.body)
        if isinstance(code, UnlessSame):
            return self.block(
                f"unless {self.name(code.source)} and {self.name(code.target)} are the same memory", s.body
            )
        if isinstance(code, TileRegion):
            return self.block(f"matrix tiles{_configured(code.configuration)}", s.body)
        if isinstance(code, TileBlock):
            return self._tile_block(code)
        assert isinstance(code, Fence | Barrier)
        return [("fence" if isinstance(code, Fence) else "barrier", 0)]

    def _loop(self, s: For) -> str:
        assert self.nest is not None
        head = f"for {self.name(s.var)} in {self.expression(s.extent)}"
        if s.kind == VECTORIZED:
            return f"{head} lanes, one by one"
        if not self.nest.selection.for_c:
            return head
        hint = {None: "", True: " written out", False: " kept"}[s.unroll if self.nest.has_vectors else None]
        return f"{head}{' parallel' if self.nest.regions.is_region(s) else ''}{hint}"

    def _shared_loops(self, shared: Shared) -> str:
        loops = ", ".join(f"{self.name(s.var)} in {s.steps}" for s in shared.loops)
        each = f", {shared.parts} parts of {shared.share} {'step' if shared.share == 1 else 'steps'}"
        halved = f", one half of {self.name(shared.halved.var)} first" if shared.halved is not None else ""
        return f"for {loops} shared by threads{each}{halved}"

    def _allocate(self, b: Buffer) -> str:
        assert self.nest is not None
        shape, where = list(b.shape), "in a variable" if b.ndim == 0 else "on the stack"
        dtype = b.dtype
        if b.scope == Scope.REGISTER and self.nest.has_vectors:
            t = self.nest.register_type(b)
            dtype = dtype if t is None else _type(t)
            shape, where = shape[:-1], "in registers"
        elif b.scope in (Scope.GLOBAL, Scope.THREAD):
            where = f"at workspace[{self.nest.kernel.offset(b)}]"
            where += ", one for each thread" if b.scope == Scope.THREAD else ""
        return f"allocate {self.name(b)}: {dtype}{shape or ''} {where}"

    # -- vectors -------------------------------------------------------------------------------------------------------

    def _body(self, body: ir.Body, depth: int = 0) -> list[Line]:
        """The steps of a body; those of a part of a `Pick` in a block of their own."""
        values: dict[ir.Value, str] = {}
        lines: list[Line] = []
        stack: list[tuple[ir.Step | _Result | str, int]] = [(s, depth) for s in reversed(body.steps)]
        while stack:
            s, level = stack.pop()
            if isinstance(s, str):
                lines.append((s, level))
            elif isinstance(s, ir.Pick):
                lines += self._line(f"{_declared(s, values)} = if {self.expression(s.cond)} {{", level)
                inside: list[tuple[ir.Step | _Result | str, int]] = []
                for part, end in ((s.then, "} else {"), (s.other, "}")):
                    inside += [*((x, level + 1) for x in part.steps), (_Result(part, values), level + 1), (end, level)]
                stack += reversed(inside)
            elif isinstance(s, _Result):
                lines.append((s.text(), level))
            else:
                lines += self._line(self._step(s, values), level)
        return lines

    def _step(self, s: ir.Step, values: dict[ir.Value, str]) -> str:
        if isinstance(s, ir.Assign):
            return f"{self._register(s.register)} = {values[s.value]}"
        if isinstance(s, ir.StoreVector):
            more = [*_every(s.stride, 1), *([] if s.is_whole else [f"count={s.count}"])]
            return f"store({', '.join([self._place(s.buffer, s.base), values[s.value], *more])})"
        text = self._value(s, values)
        return f"{_declared(s, values)} = {text}"

    def _value(self, v: ir.Value, values: dict[ir.Value, str]) -> str:
        if isinstance(v, ir.Lanes):
            return "lane()"
        if isinstance(v, ir.Splat):
            return f"splat({self.expression(v.scalar)})"
        if isinstance(v, ir.Build):
            return f"build({', '.join(map(self.expression, v.scalars))})"
        if isinstance(v, ir.Read):
            return self._register(v.register)
        if isinstance(v, ir.LoadVector):
            return self._load(v)
        used = [values[x] for x in ir.operands(v)]
        if isinstance(v, ir.Arithmetic | ir.Compare):
            return f"{used[0]} {v.op} {used[1]}"
        if isinstance(v, ir.Logic) and len(used) == 2:
            return f"{used[0]} {v.op} {used[1]}"
        if isinstance(v, ir.Shift):
            return f"{used[0]} {v.op} {v.amount}"
        if isinstance(v, ir.LookUp):
            return f"look_up({self.name(v.buffer)}, {used[0]})"
        name = f"@{v.function[0]}" if isinstance(v, ir.Apply) else v.op if isinstance(v, ir.Unary | ir.Logic) else ""
        return f"{name or type(v).__name__.lower()}({', '.join(used)})"

    def _load(self, v: ir.LoadVector) -> str:
        more = [f"places={list(v.places)}"] if v.places else _every(v.stride, 1) if v.channel is None else []
        more += [] if v.channel is None else [f"channel {v.channel.number} of {v.channel.count}"]
        more += [] if v.is_whole else [f"count={v.count}"]
        more += [word for word, holds in (("words", v.words), ("once", v.once), ("held", v.stays_in_register)) if holds]
        return f"load({', '.join([self._place(v.buffer, v.base), *more])})"

    def _place(self, b: Buffer, offset: Expr) -> str:
        return f"{self.name(b)}[{self.expression(offset)}]"

    def _register(self, register: ir.Register) -> str:
        b, indices = register
        return f"{self.name(b)}{list(indices) if indices else ''}"

    def _square(self, s: ir.CopySquare) -> str:
        source, target = self._place(s.source, s.start), self._place(s.target, s.to)
        streams = ", past the caches" if s.streams else ""
        size = f"{s.type.lanes} x {s.columns} {s.type.dtype}"
        return f"transpose({target}, stride={s.down}, {source}, stride={s.rows}, {size}{streams})"

    # -- sums of long words, matrix tiles ------------------------------------------------------------------------------

    def _run(self, run: Run) -> list[Line]:
        """The last step first, if it stands alone, as it is executed."""
        assert self.nest is not None
        lines: list[Line] = []
        if run.whole < run.extent:
            for x in last_step(run, self.nest.simplify):
                lines += self._line(self._sum(x.result, x.dot, x.words, 1))
        lines.append((f"run {self.name(run.var)} in {run.whole}, {WORDS} steps at once {{", 0))
        for x in run.sums:
            lines += self._line(self._sum(x.result, x.dot, x.words, WORDS), 1)
        return [*lines, ("}", 0)]

    def _sum(self, result: Store, dot: str, words: Iterable[Words], count: int) -> str:
        target = f"{self.name(result.buffer)}[{', '.join(map(self.expression, result.indices))}]"
        loads = []
        for w in words:
            load = f"load({self._place(w.buffer, w.first)}, count={count})"
            loads.append(load if w.cond is None else f"if_then_else({self.expression(w.cond)}, {load}, 0)")
        return f"{target} += @{dot}({', '.join(loads)})"

    def _tile_block(self, b: TileBlock) -> list[Line]:
        assert self.nest is not None
        tiles, height, columns, lanes = b.acc.shape
        own = _configured(b.configuration) if b.configures else ""
        head = f"tile sums {self.name(b.acc)}, {tiles} x {columns} tiles of {height} x {lanes}{own} {{"
        lines: list[Line] = self._line(head)
        for depth, s in enumerate(b.sums, 1):
            lines += self._line(f"for {self.name(s.var)} in {self.expression(s.extent)} {{", depth)
        inner = len(b.sums) + 1
        simplify = self.nest.simplify
        rows = [(b.data, b.place(b.data, n, 0, simplify)) for n in range(tiles)]
        weights = [(b.weights, b.place(b.weights, 0, n, simplify)) for n in range(columns)]
        for label, places, dtype, stride in (("a", rows, b.signs[0], b.a_row), ("b", weights, b.signs[1], b.b_row)):
            for n, (e, offset) in enumerate(places):
                load = f"tile_load({self._operand(e, offset)}, stride={stride})"
                lines += self._line(f"%{label}{n}: {dtype} tile = {load}", inner)
        lines += [
            (f"{self.name(b.acc)}[{a}, {c}] += %a{a} * %b{c}", inner) for a in range(tiles) for c in range(columns)
        ]
        return [*lines, *(("}", depth) for depth in range(inner - 1, -1, -1))]

    def _operand(self, e: Load, offset: Expr) -> str:
        assert isinstance(e.source, Buffer)
        return self._place(e.source, offset)


class _Result:
    """An entry of the work list: the result of a part of a `Pick`, which is named once its steps are printed."""

    def __init__(self, part: ir.Body, values: dict[ir.Value, str]) -> None:
        self.part = part
        self.values = values

    def text(self) -> str:
        assert self.part.result is not None
        return f"-> {self.values[self.part.result]}"


def _declared(v: ir.Value, values: dict[ir.Value, str]) -> str:
    """The name of a new value, with its type."""
    values[v] = f"%{len(values)}"
    return f"{'let ' if v.named else ''}{values[v]}: {_type(v.type)}"


def _type(t: VectorType) -> str:
    return f"{t.dtype}x{t.lanes}"


def _bare(text: str) -> str:
    """An operation without its parentheses."""
    return text[1:-1] if text[:1] == "(" else text


def _every(stride: int, usual: int) -> list[str]:
    return [] if stride == usual else [f"stride={stride}"]


def _lanes(body: Stmt) -> str:
    """The loops over lanes of the steps: their variable, their lanes, and their number."""
    loops = [s for s in pre_order(body) if isinstance(s, For) and s.kind == VECTORIZED]
    if not loops:
        return ""
    names = ", ".join(dict.fromkeys(s.var.name for s in loops))
    lanes = " or ".join(map(str, sorted({s.steps for s in loops})))
    return f" {names}, {lanes} lanes" + (f", {len(loops)} steps written out" if len(loops) > 1 else "")


def _configured(configuration: Configuration) -> str:
    """The sizes of registers, grouped by equal size; empty if they are configured elsewhere."""
    numbered = groupby(enumerate(register_shapes(configuration)) if configuration else (), lambda x: x[1])
    texts: list[str] = []
    for (rows, size), group in numbered:
        numbers = [n for n, _ in group]
        texts.append(f"{numbers[0]} to {numbers[-1]}: {rows} rows of {size} bytes")
    return f", registers {', '.join(texts)}" if texts else ""


def _about(k: Kernel) -> Sequence[str]:
    """Lines about a kernel: operators, strategy, workspace."""
    made_of = [", ".join(k.operators)] if k.operators else []
    chosen = [f"{k.choice.strategy}: {k.choice.reason}"] if k.choice.reason else []
    return [*made_of, *chosen, *([f"workspace of {k.workspace} bytes"] if k.has_workspace else [])]
