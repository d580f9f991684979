"""Loop nests as C functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

from ...schedule.graph.threads import shared_loops
from ...tir.expr import Call, Expr, Load, Select, post_order
from ...tir.kernel import Kernel, part_bytes
from ...tir.memory import CACHE_LINE
from ...tir.sharing import keeps_in_place, loop_bounds, updated_pairs
from ...tir.simplify import Simplifier
from ...tir.stmt import (
    PARALLEL,
    TILED,
    VECTORIZED,
    Allocate,
    Buffer,
    For,
    If,
    Let,
    Lowered,
    Prefetch,
    Scope,
    Seq,
    Stmt,
    Store,
    While,
    expressions,
    pre_order,
)
from ..c_types import enclose, stored_type, value_type
from ..formulas import matrix_tiles
from ..formulas.runs import sum_of
from ..formulas.support import (
    FROM_BITS,
    KEEP_APART,
    KEEP_BRANCHES,
    KEEP_LOOP,
    KEEP_READS,
    LONG_WORD_AT,
    PREFETCH,
    THREAD_NUMBER,
    TO_BITS,
    WORD_AT,
    WRITE_OUT,
    Helper,
)
from ..formulas.vector_math import function_for
from ..formulas.vector_types import vector_type
from ..interface.names import Identifiers
from ..moves import moved_element
from ..nests import all_buffers, computes_in_floats, flat, unroll, without_prefetches
from ..runs import WORDS, Run, Sum, find_run, last_step
from ..vectors import ir
from ..vectors.lower import FunctionOf, constant_indices, stores_of
from ..vectors.nest import NestLowering, lower_parts
from ..vectors.types import HALVES, held_dtype, width_for
from .code import CodeBuilder, Directive, print_code
from .denormals import BEGIN_REGION, BEGIN_THREAD, END_REGION, END_THREAD
from .expression import Writer
from .matrix_tiles import TilePrinter, begins_tiles, configurations, is_wide, read_block
from .narrow_scopes import narrow_scopes
from .shares import SharePrinter
from .short_loops import mark_short_loops
from .streams import fence_streams
from .team import LOOP_WORK, WORKER, Division, divide
from .vectors import VectorPrinter

_INDEX_LIMIT = 1 << 31


@dataclass(frozen=True)
class KernelText:
    """A kernel in C.

    Attributes:
        attributes: what gcc must not do to it (see `formulas.support`).
        head: the declaration, without linkage and semicolon.
        body: the lines between the braces.
    """

    attributes: tuple[Helper, ...]
    head: str
    body: str

    def declare(self, linkage: str = "static") -> str:
        """The declaration, without semicolon."""
        return f"{linkage} {self.head}"

    def define(self, linkage: str = "static") -> str:
        """The function."""
        kept = "".join(f"{a.name}\n" for a in self.attributes)
        return f"{kept}{self.declare(linkage)} {{\n{self.body}\n}}\n"


class KernelWriter:
    """Writes one kernel: `write()` gives its text."""

    def __init__(
        self,
        kernel: Kernel,
        name: str,
        strict: bool = False,
        has_twin: bool = True,
        in_team: bool = False,
    ) -> None:
        self.kernel = kernel
        self.name = name
        self.strict = strict
        self.has_twin = has_twin
        """Vectorized loops are there as plain ones as well, for compilers without vectors."""
        division = divide(kernel.body) if in_team else None
        self.in_team = division is not None
        """All threads of a team run it, see `team`."""
        self.opens = division is not None and not division.each
        """Threads may join after others have met: they fill no memory of their own first."""
        self.has_regions = not in_team and not 0 < kernel.macs < LOOP_WORK
        """Each of its loops that threads share is a parallel region of its own."""
        self.flushes = not strict and computes_in_floats([kernel])
        """Threads of its regions take denormal numbers for zeros."""
        self.division: Division | None = None
        self.waits = False
        self.names = Identifiers(name, "ws", WORKER)
        wide = any(b.size >= _INDEX_LIMIT for b in all_buffers(kernel))
        self.index_type = "int64_t" if wide else "int32_t"
        self.simplify = Simplifier(loop_bounds(kernel))
        self.support: dict[Helper, None] = {}
        self.expressions = Writer(self.names, self.simplify, self._load, self.support, self.index_type)
        self.code = CodeBuilder()
        self.used: set[str] = set()
        """Names of parameters that the body mentions."""
        self.places: dict[Buffer, str] = {}
        self.vector_types: dict[tuple[str, int], None] = {}
        self.vector_functions: dict[tuple[str, str, int], None] = {}
        self.has_vectors = any(isinstance(s, For) and s.kind == VECTORIZED for s in pre_order(kernel.body))
        self.vector = False
        """Vectorized loops are written as vectors: not in the twin."""
        self.registers: dict[ir.Register, str] = {}
        self.spilled: dict[str, str] = {}
        self.shared: dict[For, None] = {}
        self.tiled: For | None = None
        """The loop for whose blocks of sums registers of matrix tiles are configured."""
        self.configures_each = False
        """Blocks in it need several configurations."""
        self.has_workspace = kernel.has_workspace
        self.own = {
            s.buffer for s in pre_order(kernel.body) if isinstance(s, Allocate) and s.buffer.scope == Scope.THREAD
        }
        """Buffers in the workspace of which each thread has its part."""
        self.threads = kernel.placement.threads if kernel.placement else 1
        self.updated = updated_pairs(kernel, kernel.same_memory)

    @property
    def head(self) -> str:
        """The declaration, without linkage and semicolon."""
        placement = self.kernel.placement
        pairs = [*self.kernel.in_place, *(placement.overlapping if placement else ())]
        shared = {i for i, _ in pairs}
        written = {o for _, o in pairs}
        params = []
        for n, b in enumerate(self.kernel.inputs):
            alone = "" if n in shared else "restrict "
            params.append(f"const {stored_type(b.numbers or b.dtype)} *{alone}{self.places[b]}")
        for n, b in enumerate(self.kernel.outputs):
            alone = "" if n in written else "restrict "
            params.append(f"{stored_type(b.dtype)} *{alone}{self.places[b]}")
        if self.has_workspace:
            params.append("unsigned char *restrict ws")
        if self.in_team:
            params.append(f"irt_worker *{WORKER}")
        return f"void {self.name}({', '.join(params) or 'void'})"

    @property
    def operand_types(self) -> list[str]:
        """The types of its parameters but for the worker, as pointers."""
        types = [f"const {stored_type(b.numbers or b.dtype)} *" for b in self.kernel.inputs]
        types += [f"{stored_type(b.dtype)} *" for b in self.kernel.outputs]
        return [*types, *(["unsigned char *"] if self.has_workspace else [])]

    def write(self) -> KernelText:
        """The whole function."""
        for n, b in enumerate(self.kernel.params):
            self.places[b] = self.names.fresh(b.name or f"p{n}")
        if self.has_vectors:
            self.vector = True
            self._body(self._in_vectors(self.kernel.body))
            items = self.code.items
            if self.has_twin:
                self.code, self.vector = CodeBuilder(), False
                # It waits for its arithmetic, not for memory.
                self._body(self._in_scalars(without_prefetches(self.kernel.body)))
                items = [Directive("#if IRT_VECTOR"), *items, Directive("#else"), *self.code.items, Directive("#endif")]
        else:
            self._body(self._in_scalars(self.kernel.body))
            items = self.code.items
        attributes = [KEEP_BRANCHES] if _reads_under_conditions(self.kernel.body) else []
        attributes += [KEEP_READS] if {WRITE_OUT, KEEP_LOOP} & self.support.keys() else []
        if not attributes and _sums_in_registers(self.kernel.body):
            attributes = [KEEP_APART]
        self.support.update(dict.fromkeys(attributes))
        names = [self.places[b] for b in self.kernel.params] + (["ws"] if self.has_workspace else [])
        unused = [f"  (void){n};" for n in names if n not in self.used]
        return KernelText(tuple(attributes), self.head, "\n".join([*unused, *print_code(items)]))

    # -- statements ----------------------------------------------------------------------------------------------------

    def _body(self, root: Stmt) -> None:
        """Statements by an explicit stack; what is to be done after a part is a function on it."""
        code = self.code
        self.division = divide(root) if self.in_team else None
        self.waits = False
        stack = self._steps(root)
        while stack:
            s = stack.pop()
            if not isinstance(s, Stmt):
                s()
            elif self.division and (s in self.division.alone or s in self.division.each):
                self._wait()
                code.open(f"if (!{WORKER}->number)" if s in self.division.alone else "")
                self.waits = True
                stack += [partial(self._end_alone, self.division), s]
                self.division = None
            elif isinstance(s, Seq):
                stack.extend(reversed(s.stmts))
            elif isinstance(s, Store):
                self._store(s)
            elif isinstance(s, Prefetch):
                self._prefetch(s)
            elif self._begins_tiles(s):
                stack += [self._end_tiles, s]
            elif isinstance(s, Lowered):
                self._print(s.code)
            elif isinstance(s, For) and s.kind == VECTORIZED and self.vector:
                self._as_loop(s, stores_of(s), s.steps)
            elif self.division and isinstance(s, For) and s in self.division.shared:
                self._wait()
                ends, inner = self._shares.open(s)
                self.waits = True
                stack += [*ends, inner]
            elif self.division and isinstance(s, For) and s in self.division.common:
                self._wait()
                stack += [code.close, self._wait, s.body]
                self._for(s)
            elif isinstance(s, For):
                stack += [*self._region(s), code.close, s.body]
                self._for(s)
            elif isinstance(s, If):
                code.open(f"if ({self.value(s.cond)})")
                stack.append(code.close)
                if s.other is not None:
                    stack += [s.other, lambda: code.part("else")]
                stack.append(s.then)
            elif isinstance(s, While):
                code.open("for (;;)")
                code.line(f"if (!({self.value(s.cond)})) break;")
                stack += [code.close, s.body]
            elif isinstance(s, Let):
                value = self.value(s.value)
                code.line(f"const {self._type(s.var)} {self.expressions.declare(s.var)} = {value};")
                stack.append(s.body)
            else:
                assert isinstance(s, Allocate)
                if self._allocate(s.buffer):
                    stack.append(code.close)
                stack.append(s.body)

    def _steps(self, root: Stmt) -> list[Stmt | Callable[[], None]]:
        """The statements at the top of a nest, last first, those in conditions that change nothing in place."""
        stack: list[Stmt | Callable[[], None]] = []
        for top in reversed(root.stmts) if isinstance(root, Seq) else (root,):
            pair = keeps_in_place(top, self.updated) if self.updated else None
            stack += [top] if pair is None else [self.code.close, top, partial(self._unless_same, *pair)]
        return stack

    def _unless_same(self, source: Buffer, target: Buffer) -> None:
        """Begins a block that is left out where both buffers are the same memory."""
        self.code.open(f"if ({self.place(source)} != {self.place(target)})")

    def value(self, e: Expr) -> str:
        """The C expression; statements that it needs are written."""
        lines, (text,) = self.expressions.write([e])
        self.code.lines(lines)
        return text

    def place(self, b: Buffer) -> str:
        """What a buffer is called where it is used."""
        name = self.places[b]
        self.used.add(name)
        return f"((const {stored_type(b.dtype)} *)(const void *){name})" if b.numbers else name

    def _print_run(self, run: Run) -> None:
        """Sums of products of words that lie one after the other, two of each in a step, and the last one alone if there is one."""
        if run.whole < run.extent:
            self._sums(last_step(run, self.simplify), "half_at")
        v = self.expressions.declare(run.var)
        self.code.open(f"for ({self.index_type} {v} = 0; {v} < {run.whole}; {v} += {WORDS})")
        self._sums(run.sums, "bytes_at")
        self.code.close()

    def _sums(self, sums: Sequence[Sum], read: str) -> None:
        """What one step adds to several sums; what these have in common is read once."""
        code, words = self.code, {}  # type: CodeBuilder, dict[str, str]
        self.support[Helper("bytes")] = None
        code.open()
        for x in sums:
            both = []
            for w in x.words:
                value = f"irt_{read}({self.place(w.buffer)} + {enclose(self.value(w.first))})"
                if w.cond is not None:
                    value = f"{enclose(self.value(w.cond))} ? {value} : irt_no_bytes()"
                if value not in words:
                    words[value] = self.names.fresh("v")
                    code.line(f"const irt_bytes {words[value]} = {value};")
                both.append(words[value])
            (lines, at), b = self.expressions.write(x.result.indices), x.result.buffer
            code.lines(lines)
            target = self._variable(b, x.result.indices) if self._is_variable(b) else f"{self.place(b)}[{at[0]}]"
            code.line(f"{target} = {self.expressions.helper(Helper(sum_of(x.dot)), target, *both)};")
        code.line("irt_end_step();")
        code.close()

    def _element(self, b: Buffer, at: str) -> str:
        """What memory has at a place."""
        place = self.place(b)
        if not b.numbers:
            return f"{place}[{at}]"
        word = LONG_WORD_AT if b.dtype == "int64" else WORD_AT[b.numbers]
        return self.expressions.helper(word, f"{place} + {enclose(at)}")

    def _type(self, e: Expr) -> str:
        return self.expressions.type_of(e)

    def _region(self, s: For) -> list[Callable[[], None]]:
        """Begins the parallel region of a loop in which threads switch their mode first; what ends it."""
        if not self.flushes or not self._is_shared(s) or s is self.tiled:
            return []
        self.code.line(BEGIN_REGION)
        self._parallel(s)
        self.code.open()
        self.code.line(BEGIN_THREAD)
        return [self._end_region]

    def _end_region(self) -> None:
        self.code.line(END_THREAD)
        self.code.close()
        self.code.line(END_REGION)

    def _parallel(self, s: For) -> None:
        """Begins the parallel region of a loop."""
        pragma = f"#pragma omp parallel{_limit(self._most_threads(s))}"
        self.code.lines(map(Directive, ("#ifdef _OPENMP", pragma, "#endif")))

    def _is_shared(self, s: For) -> bool:
        """True for the outermost of loops that the threads of a region of their own share."""
        return s.kind == PARALLEL and s not in self.shared and self._is_region(s)

    def _for(self, s: For) -> None:
        extent = self.value(s.extent)
        v = self.expressions.declare(s.var)
        t = "int64_t" if s.var.dtype == "int64" else self.index_type
        if self._is_shared(s):
            loops = shared_loops(s)
            self.shared.update(dict.fromkeys(loops))
            share = self.kernel.shares.get(s.var)
            pragma = _pragma(loops, share, self.flushes or s is self.tiled, self._most_threads(s))
            self.code.lines(map(Directive, ("#ifdef _OPENMP", pragma, "#endif")))
        if s.unroll:
            self.code.line(self.expressions.helper(WRITE_OUT, extent))
        elif s.unroll is False:
            self.support[KEEP_LOOP] = None
            self.code.line(KEEP_LOOP.name)
        self.code.open(f"for ({t} {v} = 0; {v} < {extent}; ++{v})")

    def _is_region(self, s: For) -> bool:
        """True for a loop that is a parallel region of its own: not where the workspace has no parts for several threads."""
        return self.has_regions and (self.threads > 1 or not self._fills_own(s))

    def _most_threads(self, s: For) -> int:
        """How many threads may share a loop; 0: any number, as they have no parts of the workspace."""
        return self.threads if self._fills_own(s) else 0

    def _fills_own(self, s: For) -> bool:
        return bool(self.own) and any(isinstance(x, Allocate) and x.buffer in self.own for x in pre_order(s.body))

    def _wait(self) -> None:
        """Threads wait for each other if some may still be at what is above."""
        if self.waits:
            self.code.line(f"irt_wait({WORKER}, {int(self.opens)});")
        self.waits = False

    def _end_alone(self, division: Division) -> None:
        self.code.close()
        self.division = division

    @property
    def _shares(self) -> SharePrinter:
        return SharePrinter(self.kernel, self.code, self.names, self.expressions.declare, self.index_type)

    def _allocate(self, b: Buffer) -> bool:
        """Declares a buffer; True if a block was opened for it."""
        name = self.places[b] = self.names.fresh(b.name)
        if b.scope in (Scope.GLOBAL, Scope.THREAD):
            t = stored_type(b.dtype)
            placement = self.kernel.placement
            offset = placement.offsets.get(b, 0) if placement else 0
            part = self._part(part_bytes(b)) if b.scope == Scope.THREAD else ""
            self.code.line(f"{t} *const {name} = ({t} *)(void *)(ws + {offset}{part});")
            self.used.add("ws")
            return False
        self.code.open()
        if b.scope == Scope.REGISTER and self.vector:
            self._declare_registers(b)
        elif b.ndim == 0:
            self.code.line(f"{value_type(b.dtype)} {name};")
        else:
            aligned = f" __attribute__((aligned({CACHE_LINE})))" if self.vector and b.nbytes >= CACHE_LINE else ""
            self.code.line(f"{stored_type(b.dtype)} {name}[{max(1, b.size)}]{aligned};")
        return True

    def _part(self, size: int) -> str:
        """What leads from the first thread's part of a buffer to that of the thread that runs."""
        if self.threads == 1 or not (self.in_team or self.has_regions):
            return ""
        number = f"{WORKER}->number" if self.in_team else self.expressions.helper(THREAD_NUMBER)
        return f" + (size_t){number} * {size}u"

    # -- registers and vectors -----------------------------------------------------------------------------------------

    def _is_variable(self, b: Buffer) -> bool:
        """True for a buffer whose elements are C variables."""
        return (b.scope == Scope.LOCAL and b.ndim == 0) or (b.scope == Scope.REGISTER and self.vector)

    def _variable(self, b: Buffer, indices: Sequence[Expr]) -> str:
        if b.scope != Scope.REGISTER:
            return self.place(b)
        name = self.registers[b, constant_indices(indices[:-1])]
        return name if b.shape[-1] == 1 else f"{self.spilled[name]}[{self.expressions.variables[indices[-1]]}]"

    def _declare_registers(self, b: Buffer) -> None:
        lanes = width_for(b.shape[-1])
        t = value_type(b.dtype)
        if lanes > 1:
            t = vector_type(self._held(b), lanes)
            self.vector_types[self._held(b), lanes] = None
        for at in product(*map(range, b.shape[:-1])):
            self._declare_register((b, at), t)

    def _declare_register(self, register: ir.Register, t: str) -> None:
        b, at = register
        name = self.registers[register] = self.names.fresh("_".join([b.name, *map(str, at)]))
        self.code.line(f"{t} {name};")

    def _held(self, b: Buffer) -> str:
        return held_dtype(b.dtype, self.kernel.native_halves)

    def _is_bits(self, b: Buffer) -> bool:
        """True for a register of vectors that hold numbers as memory does."""
        return b.scope == Scope.REGISTER and b.shape[-1] > 1 and self._held(b) in HALVES

    def _in_vectors(self, body: Stmt) -> Stmt:
        """The nest with vectors in place of loops over lanes; blocks of matrix tiles stay loops."""

        def function(call: Call) -> FunctionOf:
            return function_for(call, self.strict)

        def rule(s: Stmt) -> Lowered | None:
            return Lowered(s, s) if self.has_twin and isinstance(s, For) and s.kind == TILED else self._run(s)

        body = unroll(flat(body, self.simplify, self._is_variable), self.simplify)
        body = mark_short_loops(body, self.simplify)
        return fence_streams(NestLowering(self.simplify, function, self.kernel.native_halves, rule).lower(body))

    def _in_scalars(self, body: Stmt) -> Stmt:
        body = flat(narrow_scopes(body), self.simplify, self._is_variable)
        return lower_parts(body, lambda s: self._run(s) or s)

    def _run(self, s: Stmt) -> Lowered | None:
        """Sums of products of words that lie one after the other."""
        run = find_run(s, self.simplify) if isinstance(s, For) else None
        return None if run is None else Lowered(s, run)

    def _print(self, code: ir.Body | ir.CopySquare | Run | Helper | For) -> None:
        """Vectors, sums of products of long words, a call of a support function, or a block of matrix tiles."""
        if isinstance(code, For):
            self._tile_block(code)
            return
        if isinstance(code, Run):
            self._print_run(code)
            return
        if isinstance(code, Helper):
            self.code.line(f"{self.expressions.helper(code)};")
            return
        printer = VectorPrinter(self.expressions, self.place, self._element, self.registers, self.vector_types)
        if isinstance(code, ir.CopySquare):
            self.vector_functions[code.function] = None
            lines = printer.print_square(code)
        else:
            self.vector_functions.update(dict.fromkeys(code.functions))
            lines = printer.print(code)
        self._statements(lines, printer.declares)

    @property
    def _tiles(self) -> TilePrinter:
        return TilePrinter(self.code, self.expressions, self.place, self._for, self.simplify)

    def _begins_tiles(self, s: Stmt) -> bool:
        """Begins the use of matrix tiles in front of the loop around their blocks; False for other statements."""
        loop = s.code if isinstance(s, Lowered) else s
        if not isinstance(loop, For) or self.tiled is not None or not (self.vector and self.has_twin):
            return False
        begins = begins_tiles(loop)
        if begins:
            self._begin_tiles(loop)
        return begins

    def _begin_tiles(self, s: For) -> None:
        """Configures registers for the blocks of sums in a loop; every thread has its own."""
        if self.division and s in self.division.shared:
            self._wait()
        self.tiled = s
        found = configurations(s, self.simplify)
        self.configures_each = len(found) > 1
        if self._switches_tiled:
            self.code.line(BEGIN_REGION)
        if s.kind == PARALLEL and self._is_region(s):
            self._parallel(s)
        self._tiles.begin(next(iter(found)) if len(found) == 1 else ())
        if self._switches_tiled:
            self.code.line(BEGIN_THREAD)

    @property
    def _switches_tiled(self) -> bool:
        """True if the loop with matrix tiles is a region whose threads switch their mode."""
        s = self.tiled
        return self.flushes and s is not None and s.kind == PARALLEL and self._is_region(s)

    def _end_tiles(self) -> None:
        if self._switches_tiled:
            self.code.line(END_THREAD)
        self._tiles.end()
        if self._switches_tiled:
            self.code.line(END_REGION)
        self.tiled = None

    def _tile_block(self, s: For) -> None:
        """A block of sums."""
        assert self.tiled is not None
        block = read_block(s, self.simplify, is_wide(s, self.tiled))
        function = matrix_tiles.function(block.kind)
        if function is not None:
            self.vector_functions[function] = None
        self.vector_types.update(dict.fromkeys(matrix_tiles.types(block.kind)))
        self._tiles.write(block, self.configures_each)

    def _statements(self, lines: Sequence[str], declares: bool) -> None:
        """Statements, in a block of their own if some of them declare variables."""
        if declares:
            self.code.open()
        self.code.lines(lines)
        if declares:
            self.code.close()

    def _as_loop(self, s: For, stores: Sequence[Store], count: int) -> None:
        """The loop over lanes; registers that it touches are put into arrays for its time."""
        touched: dict[str, tuple[Buffer, int, bool]] = {}
        reads = (e for store in stores for e in post_order(store.value) if isinstance(e, Load))
        accesses: list[Load | Store] = [*reads, *stores]
        for x in accesses:
            b = x.source if isinstance(x, Load) else x.buffer
            if b.scope == Scope.REGISTER and b.shape[-1] > 1:
                name = self.registers[b, constant_indices(x.indices[:-1])]
                written = isinstance(x, Store) or (name in touched and touched[name][2])
                touched[name] = (b, width_for(b.shape[-1]), written)
        self.code.open()
        for name, (b, width, _) in touched.items():
            array = self.spilled[name] = self.names.fresh(f"{name}_lanes")
            t = vector_type(self._held(b), width)
            element = stored_type(b.dtype) if self._is_bits(b) else value_type(b.dtype)
            self.code.lines([f"{element} {array}[{width}];", f"*({t}_u *){array} = {name};"])
        v = self.expressions.declare(s.var)
        self.code.open(f"for ({self.index_type} {v} = 0; {v} < {count}; ++{v})")
        for store in stores:
            self._store(store)
        self.code.close()
        for name, (b, width, written) in touched.items():
            if written:
                self.code.line(f"{name} = *({vector_type(self._held(b), width)}_u *){self.spilled[name]};")
        self.code.close()

    def _store(self, s: Store) -> None:
        b = s.buffer
        local = self._is_variable(b)
        moved = moved_element(s, self._is_variable)
        if moved is not None:
            lines, (source, target) = self.expressions.write([*moved.indices, *s.indices])
            line = f"{self.place(b)}[{target}] = {self.place(moved.source)}[{source}];"
            self._statements([*lines, line], bool(lines))
            return
        lines, (value, *at) = self.expressions.write([s.value, *s.indices])
        if b.dtype in HALVES and (not local or self._is_bits(b)):
            value = self.expressions.helper(TO_BITS[b.dtype], value)
        elif b.dtype == "bool" and not local:
            value = f"(uint8_t)({value})"
        target = self._variable(b, s.indices) if local else f"{self.place(b)}[{at[0]}]"
        self._statements([*lines, f"{target} = {value};"], bool(lines))

    def _prefetch(self, s: Prefetch) -> None:
        self.support[PREFETCH] = None
        lines, at = self.expressions.write(s.place.indices)
        call = self.expressions.helper(PREFETCH, self.place(s.place.source), at[0])
        self._statements([*lines, f"{call};"], bool(lines))

    def _load(self, e: Load, indices: Sequence[str]) -> str:
        b = e.source
        is_variable = self._is_variable(b)
        text = self._variable(b, e.indices) if is_variable else self._element(b, indices[0])
        if b.dtype in HALVES and (not is_variable or self._is_bits(b)):
            return self.expressions.helper(FROM_BITS[b.dtype], text)
        return text


def _limit(threads: int) -> str:
    """The clause of a parallel region by which it has so many threads at most; 0: any number."""
    most = "omp_get_max_threads()"
    return f" num_threads({most} < {threads} ? {most} : {threads})" if threads else ""


def _pragma(loops: Sequence[For], share: int | None, begun: bool, threads: int) -> str:
    """What makes threads share the iterations of perfectly nested loops: in parts, each taken by whoever is free. `begun`: a parallel
    region is around them already. `threads`: so many at most, see `_limit`.

    With as many iterations for each thread, all would wait for the one whose core has other work to do.
    """
    collapse = f" collapse({len(loops)})" if len(loops) > 1 else ""
    schedule = f" schedule(dynamic{f', {share}' if share else ''})"
    return f"#pragma omp {'' if begun else 'parallel '}for{collapse}{schedule}{'' if begun else _limit(threads)}"


def _sums_in_registers(body: Stmt) -> bool:
    """True if vectors in registers are updated in a loop."""
    return any(
        isinstance(x, Store) and x.buffer.scope == Scope.REGISTER
        for s in pre_order(body)
        if isinstance(s, For) and s.kind == VECTORIZED
        for x in pre_order(s.body)
    )


def _reads_under_conditions(body: Stmt) -> bool:
    """True if elements are read only where a condition holds."""
    for s in pre_order(body):
        if isinstance(s, If):
            return True
        for e in post_order(*expressions(s)):
            if isinstance(e, Select) and e.lazy:
                if any(isinstance(x, Load) and x.indices for x in post_order(e.then, e.other)):
                    return True
    return False
