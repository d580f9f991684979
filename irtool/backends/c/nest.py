"""Loop nests as C functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from ...selection.in_place import UnlessSame
from ...selection.kernel import KernelNest, Selection, is_variable
from ...selection.moves import moved_element
from ...selection.runs import WORDS, Run, Sum, last_step
from ...selection.streams import Fence
from ...selection.teams import Barrier, EachThread, OneThread, Shared
from ...selection.tiles import TileBlock, TileRegion
from ...selection.vectors import ir
from ...selection.vectors.lower import constant_indices, stores_of
from ...selection.vectors.types import width_for
from ...symbolic_int import bound
from ...tir.expr import Expr, Load, Select, post_order
from ...tir.kernel import Kernel, part_bytes
from ...tir.memory import CACHE_LINE
from ...tir.stmt import (
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
from ...tir.symbols import symbols_of_kernel
from ..c_types import enclose, stored_type, value_type
from ..formulas import matrix_tiles
from ..formulas.runs import sum_of
from ..formulas.support import (
    END_STREAM,
    FROM_BITS,
    KEEP_APART,
    KEEP_BRANCHES,
    KEEP_LOOP,
    KEEP_READS,
    LONG_WORD_AT,
    PREFETCH,
    READ_AGAIN,
    TO_BITS,
    WORD_AT,
    WRITE_OUT,
    Helper,
)
from ..formulas.vector_math import function_for
from ..formulas.vector_types import vector_type
from ..interface.names import Identifiers
from .certifiable.bounds import loop_bound
from .certifiable.expression import EssentialWriter
from .code import CodeBuilder, Directive, print_code
from .expression import Writer
from .matrix_tiles import TilePrinter
from .team import WORKER
from .threads import Ends, Threads
from .vectors import VectorPrinter

_MANY_SUMS = 12
"""The number of vectors of sums that leave few registers for others: three fourths of AVX2's."""


@dataclass(frozen=True)
class KernelText:
    """A kernel in C.

    Attributes:
        attributes: gcc's optimizations that are switched off for it (see `formulas.support`).
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
        """The definition of the function."""
        prefix = "".join(f"{a.name}\n" for a in self.attributes)
        return f"{prefix}{self.declare(linkage)} {{\n{self.body}\n}}\n"


def select_for_c(strict: bool, *, has_tiles: bool = True, has_team: bool = False) -> Selection:
    """The forms that C supports.

    Args:
        strict: functions of vectors have the results of libm.
        has_tiles: matrix tiles are not excluded.
        has_team: a team of threads runs the program.
    """
    return Selection(partial(function_for, strict=strict), for_c=True, tiles=has_tiles, team=has_team)


class KernelWriter:
    """Writes one kernel: `write()` returns its text."""

    def __init__(
        self,
        kernel: Kernel,
        name: str,
        strict: bool = False,
        has_twin: bool = True,
        has_team: bool = False,
        certifiable: bool = False,
    ) -> None:
        self.kernel = kernel
        self.certifiable = certifiable
        """True if the text keeps the rules of `certifiable`."""
        self.name = name
        self.has_twin = has_twin
        """True if vectorized loops are written as plain ones as well, for compilers without vectors."""
        self.nest = KernelNest(kernel, select_for_c(strict, has_tiles=has_twin, has_team=has_team))
        self.threads = Threads(kernel, self.nest.regions, strict, self.nest.in_team)
        self.symbols = [s.name for s in symbols_of_kernel(kernel)]
        self.names = Identifiers(name, "ws", WORKER, *self.symbols)
        self.index_type = "int64_t" if self.nest.is_wide else "int32_t"
        self.support: dict[Helper, None] = {}
        writer = EssentialWriter if certifiable else Writer
        self.expressions = writer(self.names, self.nest.simplify, self._load, self.support, self.index_type)
        self.code = CodeBuilder()
        self.used: set[str] = set()
        """Names of parameters that the body mentions."""
        self.places: dict[Buffer, str] = {}
        self.vector_types: dict[tuple[str, int], None] = {}
        self.vector_functions: dict[tuple[str, str, int], None] = {}
        self.vector = False
        """True while vectorized loops are written as vectors, which they are not in the twin."""
        self.registers: dict[ir.Register, str] = {}
        self.spilled: dict[str, str] = {}
        self.has_workspace = kernel.has_workspace

    @property
    def in_team(self) -> bool:
        """True if all threads of a team run the kernel."""
        return self.nest.in_team

    @property
    def head(self) -> str:
        """The declaration, without linkage and semicolon."""
        aliased = self.kernel.aliased
        restrict = "" if self.certifiable else "restrict "
        alone = {b: "" if b in aliased else restrict for b in self.kernel.params}
        params = [f"const {stored_type(b.numbers or b.dtype)} *{alone[b]}{self.places[b]}" for b in self.kernel.inputs]
        params += [f"{stored_type(b.dtype)} *{alone[b]}{self.places[b]}" for b in self.kernel.outputs]
        if self.has_workspace:
            params.append(f"unsigned char *{restrict}ws")
        params += [f"int64_t {s}" for s in self.symbols]
        if self.in_team:
            params.append(f"irt_worker *{WORKER}")
        return f"void {self.name}({', '.join(params) or 'void'})"

    @property
    def operand_types(self) -> list[str]:
        """The types of its tensors and its workspace, as pointers."""
        types = [f"const {stored_type(b.numbers or b.dtype)} *" for b in self.kernel.inputs]
        types += [f"{stored_type(b.dtype)} *" for b in self.kernel.outputs]
        return [*types, *(["unsigned char *"] if self.has_workspace else [])]

    def write(self) -> KernelText:
        """The text of the kernel."""
        for n, b in enumerate(self.kernel.params):
            self.places[b] = self.names.fresh(b.name or f"p{n}")
        if self.nest.has_vectors:
            self.vector = True
            self._body(self.nest.in_vectors())
            items = self.code.items
            if self.has_twin:
                self.code, self.vector = CodeBuilder(), False
                self._body(self.nest.in_scalars())
                items = [Directive("#if IRT_VECTOR"), *items, Directive("#else"), *self.code.items, Directive("#endif")]
        else:
            self._body(self.nest.in_scalars())
            items = self.code.items
        attributes = [KEEP_BRANCHES] if _reads_under_conditions(self.kernel.body) else []
        attributes += [KEEP_READS] if {WRITE_OUT, KEEP_LOOP} & self.support.keys() else []
        if not attributes and _sums_in_registers(self.kernel.body):
            attributes = [KEEP_APART]
        if self.certifiable:  # compiled without vectors, as the banner says
            attributes = []
        self.support.update(dict.fromkeys(attributes))
        names = [self.places[b] for b in self.kernel.params] + (["ws"] if self.has_workspace else [])
        unused = [f"  (void){n};" for n in names if n not in self.used]
        unused += [f"  (void){n};" for n in self.symbols]
        return KernelText(tuple(attributes), self.head, "\n".join([*unused, *print_code(items)]))

    # -- statements ----------------------------------------------------------------------------------------------------

    def _body(self, root: Stmt) -> None:
        """Statements by an explicit stack; a function on it runs after the statements of a part."""
        code = self.code
        threads = self.threads
        threads.begin(code, self.expressions)
        stack: list[Stmt | Callable[[], None]] = [root]
        while stack:
            s = stack.pop()
            if not isinstance(s, Stmt):
                s()
            elif isinstance(s, Seq):
                stack.extend(reversed(s.stmts))
            elif isinstance(s, Store):
                self._store(s)
            elif isinstance(s, Prefetch):
                self._prefetch(s)
            elif isinstance(s, Lowered) and isinstance(s.code, TileRegion):
                stack += [*self._begin_tiles(s.body, s.code), s.body]
            elif isinstance(s, Lowered) and isinstance(s.code, Shared | OneThread | EachThread):
                ends, inner = threads.enter(s.body, s.code)
                stack += [*ends, inner]
            elif isinstance(s, Lowered) and isinstance(s.code, UnlessSame):
                code.open(f"if ({self.place(s.code.source)} != {self.place(s.code.target)})")
                stack += [code.close, s.body]
            elif isinstance(s, Lowered):
                self._print(s.code)
            elif isinstance(s, For) and s.kind == VECTORIZED and self.vector:
                self._as_loop(s, stores_of(s), s.steps)
            elif isinstance(s, For):
                stack += [*threads.begin_region(s), code.close, s.body]
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

    def value(self, e: Expr) -> str:
        """The C expression; the statements that it needs are written first."""
        lines, (text,) = self.expressions.write([e])
        self.code.lines(lines)
        return text

    def place(self, b: Buffer) -> str:
        """The name of a buffer in expressions."""
        name = self.places[b]
        self.used.add(name)
        return f"((const {stored_type(b.dtype)} *)(const void *){name})" if b.numbers else name

    def _print_run(self, run: Run) -> None:
        """Sums of products of contiguous words, two words in a step, and a last single one for an odd number."""
        if run.whole < run.extent:
            self._sums(last_step(run, self.nest.simplify), "half_at")
        v = self.expressions.declare(run.var)
        self.code.open(f"for ({self.index_type} {v} = 0; {v} < {run.whole}; {v} += {WORDS})")
        self._sums(run.sums, "bytes_at")
        self.code.close()

    def _sums(self, sums: Sequence[Sum], read: str) -> None:
        """The addition of one step to several sums; shared operands are read once."""
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
            (lines, offsets), b = self.expressions.write(x.result.indices), x.result.buffer
            code.lines(lines)
            target = self._variable(b, x.result.indices) if self._is_variable(b) else f"{self.place(b)}[{offsets[0]}]"
            code.line(f"{target} = {self.expressions.helper(Helper(sum_of(x.dot)), target, *both)};")
        code.line("irt_end_step();")
        code.close()

    def _element(self, b: Buffer, offset: str) -> str:
        """The stored element at an index."""
        place = self.place(b)
        if not b.numbers:
            return f"{place}[{offset}]"
        word = LONG_WORD_AT if b.dtype == "int64" else WORD_AT[b.numbers]
        return self.expressions.helper(word, f"{place} + {enclose(offset)}")

    def _type(self, e: Expr) -> str:
        return self.expressions.type_of(e)

    def _for(self, s: For) -> None:
        extent = self.value(s.extent)
        v = self.expressions.declare(s.var)
        t = "int64_t" if s.var.dtype == "int64" else self.index_type
        if self.certifiable:
            self.code.open(f"for ({t} {v} = 0; {v} < {extent}; ++{v}) {loop_bound(self.kernel, s, self.nest.simplify)}")
            return
        self.code.lines(self.threads.pragma(s))
        if s.unroll and self.vector:
            self.code.line(self.expressions.helper(WRITE_OUT, extent))
        elif s.unroll is False and self.vector:
            self.support[KEEP_LOOP] = None
            self.code.line(KEEP_LOOP.name)
        self.code.open(f"for ({t} {v} = 0; {v} < {extent}; ++{v})")

    def _allocate(self, b: Buffer) -> bool:
        """Declares a buffer; True if a block was opened for it."""
        name = self.places[b] = self.names.fresh(b.name)
        if b.scope in (Scope.GLOBAL, Scope.THREAD):
            t = stored_type(b.dtype)
            offset = self.kernel.offset(b)
            part = self.threads.part(part_bytes(b)) if b.scope == Scope.THREAD else ""
            place = f"&ws[{offset}]" if self.certifiable else f"(ws + {offset}{part})"
            self.code.line(f"{t} *const {name} = ({t} *)(void *){place};")
            if bound(b.size) == 0:  # loops over nothing are left out, and with them what names the buffer
                self.code.line(f"(void){name};")
            self.used.add("ws")
            return False
        self.code.open()
        if b.scope == Scope.REGISTER and self.vector:
            self._declare_registers(b)
        elif b.ndim == 0:
            t = self.expressions.truth_type if b.dtype == "bool" else value_type(b.dtype)
            self.code.line(f"{t} {name};")
        else:
            aligned = (
                f" __attribute__((aligned({CACHE_LINE})))" if self.vector and bound(b.nbytes) >= CACHE_LINE else ""
            )
            self.code.line(f"{stored_type(b.dtype)} {name}[{max(1, bound(b.size))}]{aligned};")
        return True

    # -- registers and vectors -----------------------------------------------------------------------------------------

    def _is_variable(self, b: Buffer) -> bool:
        """True for a buffer whose elements are C variables."""
        return is_variable(b, self.vector)

    def _variable(self, b: Buffer, indices: Sequence[Expr]) -> str:
        if b.scope != Scope.REGISTER:
            return self.place(b)
        name = self.registers[b, constant_indices(indices[:-1])]
        return name if b.shape[-1] == 1 else f"{self.spilled[name]}[{self.expressions.variables[indices[-1]]}]"

    def _declare_registers(self, b: Buffer) -> None:
        register = self.nest.register_type(b)
        if register is not None:
            self.vector_types[register] = None
        t = value_type(b.dtype) if register is None else vector_type(*register)
        variables = list(self.nest.registers(b))
        if register is not None and len(variables) >= _MANY_SUMS:
            self.code.line(f"{self.expressions.helper(READ_AGAIN)};")
        for variable in variables:
            name = self.registers[variable] = self.names.fresh("_".join([b.name, *map(str, variable[1])]))
            self.code.line(f"{t} {name};")

    def _print(self, code: ir.Body | ir.CopySquare | Run | Fence | Barrier | TileBlock) -> None:
        """Vectors, sums of products of long words, a fence, a barrier, or a block of matrix tiles."""
        if isinstance(code, TileBlock):
            self._tile_block(code)
            return
        if isinstance(code, Run):
            self._print_run(code)
            return
        if isinstance(code, Barrier):
            self.threads.wait(code)
            return
        if isinstance(code, Fence):
            self.code.line(f"{self.expressions.helper(END_STREAM)};")
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
        return TilePrinter(self.code, self.expressions, self.place, self._for)

    def _begin_tiles(self, s: Stmt, region: TileRegion) -> Ends:
        """Configures registers in front of a loop with blocks of sums; every thread has its own."""
        loop = s.body if isinstance(s, Lowered) else s
        assert isinstance(loop, For)
        return self.threads.begin_tiles(loop, partial(self._tiles.begin, region.configuration), self._tiles.end)

    def _tile_block(self, block: TileBlock) -> None:
        """A block of sums."""
        kind = matrix_tiles.KINDS[block.signs]
        function = matrix_tiles.function(kind)
        if function is not None:
            self.vector_functions[function] = None
        self.vector_types.update(dict.fromkeys(matrix_tiles.types(kind)))
        self._tiles.write(block)

    def _statements(self, lines: Sequence[str], declares: bool) -> None:
        """Statements, in a block of their own if some of them declare variables."""
        if declares:
            self.code.open()
        self.code.lines(lines)
        if declares:
            self.code.close()

    def _as_loop(self, s: For, stores: Sequence[Store], count: int) -> None:
        """The loop over lanes; the registers that it accesses are in arrays during the loop."""
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
            t = vector_type(self.nest.vector_dtype(b), width)
            element = stored_type(b.dtype) if self.nest.is_bits(b, self.vector) else value_type(b.dtype)
            self.code.lines([f"{element} {array}[{width}];", f"*({t}_u *){array} = {name};"])
        v = self.expressions.declare(s.var)
        self.code.open(f"for ({self.index_type} {v} = 0; {v} < {count}; ++{v})")
        for store in stores:
            self._store(store)
        self.code.close()
        for name, (b, width, written) in touched.items():
            if written:
                self.code.line(f"{name} = *({vector_type(self.nest.vector_dtype(b), width)}_u *){self.spilled[name]};")
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
        lines, (value, *offsets) = self.expressions.write([s.value, *s.indices])
        if self.nest.is_bits(b, self.vector):
            value = self.expressions.helper(TO_BITS[b.dtype], value)
        elif b.dtype == "bool" and not local:
            value = f"({value}) ? 1u : 0u" if self.certifiable else f"(uint8_t)({value})"
        target = self._variable(b, s.indices) if local else f"{self.place(b)}[{offsets[0]}]"
        self._statements([*lines, f"{target} = {value};"], bool(lines))

    def _prefetch(self, s: Prefetch) -> None:
        self.support[PREFETCH] = None
        lines, offsets = self.expressions.write(s.place.indices)
        call = self.expressions.helper(PREFETCH, self.place(s.place.source), offsets[0])
        self._statements([*lines, f"{call};"], bool(lines))

    def _load(self, e: Load, indices: Sequence[str]) -> str:
        b = e.source
        is_variable = self._is_variable(b)
        text = self._variable(b, e.indices) if is_variable else self._element(b, indices[0])
        if self.nest.is_bits(b, self.vector):
            return self.expressions.helper(FROM_BITS[b.dtype], text)
        if self.certifiable and b.dtype == "bool" and not is_variable:
            return enclose(f"{text} != 0u")
        return text


def _sums_in_registers(body: Stmt) -> bool:
    """True if a loop updates vectors in registers."""
    return any(
        isinstance(x, Store) and x.buffer.scope == Scope.REGISTER
        for s in pre_order(body)
        if isinstance(s, For) and s.kind == VECTORIZED
        for x in pre_order(s.body)
    )


def _reads_under_conditions(body: Stmt) -> bool:
    """True if elements are read under a condition."""
    for s in pre_order(body):
        if isinstance(s, If):
            return True
        for e in post_order(*expressions(s)):
            if isinstance(e, Select) and e.lazy:
                if any(isinstance(x, Load) and x.indices for x in post_order(e.then, e.other)):
                    return True
    return False
