"""Loop nests as LLVM functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ...selection.in_place import UnlessSame
from ...selection.kernel import KernelNest, Selection, is_variable
from ...selection.moves import moved_element
from ...selection.vectors import ir
from ...selection.vectors.lower import constant_indices, stores_of
from ...symbolic_int import bound
from ...tir.expr import Expr, Load
from ...tir.kernel import Kernel
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
)
from ...tir.symbols import symbols_of_kernel
from ..formulas.support import FROM_BITS, TO_BITS
from ..formulas.vector_math import function_for
from .builder import Builder
from .expression import Expressions
from .formulas import parameters, write_formula
from .library import Library
from .types import stored_type, value_type, vector_type
from .vectors import VectorPrinter


def select_for_llvm(strict: bool) -> Selection:
    """The forms that LLVM IR supports. `strict`: only functions of vectors with the results of libm."""
    return Selection(partial(function_for, strict=strict))


class KernelWriter:
    """Writes one kernel: `write()` returns its lines. `symbol` is its name."""

    def __init__(self, kernel: Kernel, symbol: str, library: Library, strict: bool) -> None:
        self.kernel = kernel
        self.symbol = symbol
        self.library = library
        self.symbols = symbols_of_kernel(kernel)
        self.b = Builder(*(s.name for s in self.symbols))
        self.nest = KernelNest(kernel, select_for_llvm(strict))
        self.expressions = Expressions(self.b, library, self.nest.simplify, self._load, self.nest.is_wide, not strict)
        self.places: dict[Buffer, str] = {}
        self.registers: dict[ir.Register, str] = {}
        self.vector = self.nest.has_vectors

    def write(self) -> list[str]:
        """The text of the kernel."""
        k = self.kernel
        aliased = k.aliased
        params = []
        for n, buffer in enumerate(k.params):
            self.places[buffer] = f"%{self.b.fresh(buffer.name or f'p{n}')}"
            alone = "" if buffer in aliased else " noalias"
            params.append(f"ptr{alone}{' readonly' if n < len(k.inputs) else ''} {self.places[buffer]}")
        if k.has_workspace:
            self.workspace = f"%{self.b.fresh('ws')}"
            params.append(f"ptr noalias {self.workspace}")
        params += parameters(self.symbols)
        self._statements(self.nest.selected())
        self.b.ret("void")
        return self.b.text(f"define internal void @{self.symbol}({', '.join(params)}) nounwind")

    # -- statements ----------------------------------------------------------------------------------------------------

    def _statements(self, root: Stmt) -> None:
        """Statements by an explicit stack; a function on it runs after the statements of a part."""
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
            elif isinstance(s, Lowered) and isinstance(s.code, UnlessSame):
                then, end = self.b.fresh("then"), self.b.fresh("end")
                source, target = self.places[s.code.source], self.places[s.code.target]
                self.b.branch(self.b.value(f"icmp ne ptr {source}, {target}"), then, end)
                self.b.start(then)
                stack += [lambda end=end: self.b.start(end), s.body]  # type: ignore[misc]  # mypy infers no lambda with a default
            elif isinstance(s, Lowered):
                self._print(s.code)
            elif isinstance(s, For) and s.kind == VECTORIZED and self.vector:
                self._as_loop(s)
            elif isinstance(s, For):
                stack += [self._for(s), s.body]
            elif isinstance(s, If):
                self._if(s, stack)
            elif isinstance(s, While):
                head, body, end = (self.b.fresh(n) for n in ("while", "do", "done"))
                self.b.start(head)
                self.b.branch(self.expressions.write(s.cond), body, end)
                self.b.start(body)
                stack += [lambda head=head, end=end: self._close(head, end), s.body]  # type: ignore[misc]  # mypy infers no lambda with a default
            elif isinstance(s, Let):
                self.expressions.variables[s.var] = self.expressions.write(s.value)
                stack.append(s.body)
            else:
                assert isinstance(s, Allocate)
                self._allocate(s.buffer)
                stack.append(s.body)

    def _close(self, head: str, end: str) -> None:
        self.b.jump(head)
        self.b.start(end)

    def _for(self, s: For) -> Callable[[], None]:
        """Begins a loop, and returns the function that ends it."""
        b, t = self.b, self.expressions.type(s.var.dtype)
        extent = self.expressions.write(s.extent)
        head, body, end = (b.fresh(f"{s.var.name}_{n}") for n in ("loop", "body", "end"))
        before = b.block
        var, after = b.fresh(s.var.name), b.fresh(f"{s.var.name}_next")
        b.start(head)
        first_line = len(b.lines)
        b.branch(b.value(f"icmp slt {t} %{var}, {extent}", "more"), body, end)
        b.start(body)
        self.expressions.variables[s.var] = f"%{var}"

        def close() -> None:
            b.do(f"%{after} = add nsw {t} %{var}, 1")
            last = b.block
            b.jump(head)
            phis[first_line] = f"  %{var} = phi {t} [ 0, %{before} ], [ %{after}, %{last} ]"
            b.lines[first_line] = f"{phis[first_line]}\n{b.lines[first_line]}"
            b.start(end)

        phis: dict[int, str] = {}
        return close

    def _if(self, s: If, stack: list[Stmt | Callable[[], None]]) -> None:
        b = self.b
        then, end = b.fresh("then"), b.fresh("end")
        other = b.fresh("else") if s.other is not None else end
        b.branch(self.expressions.write(s.cond), then, other)
        b.start(then)
        if s.other is None:
            stack += [lambda: b.start(end), s.then]
            return

        def to_other() -> None:
            b.jump(end)
            b.start(other)

        stack += [lambda: b.start(end), s.other, to_other, s.then]

    def _allocate(self, buffer: Buffer) -> None:
        if buffer.scope in (Scope.GLOBAL, Scope.THREAD):
            self.places[buffer] = self.b.element(
                "i8", self.workspace, write_formula(self.b, self.kernel.offset(buffer))
            )
        elif buffer.scope == Scope.REGISTER and self.vector:
            register = self.nest.register_type(buffer)
            t = value_type(buffer.dtype) if register is None else vector_type(*register)
            for slot in self.nest.registers(buffer):
                self.registers[slot] = self.b.slot(t, "_".join([buffer.name, *map(str, slot[1])]))
        elif buffer.ndim == 0:
            self.places[buffer] = self.b.slot(value_type(buffer.dtype), buffer.name)
        else:
            align = CACHE_LINE if bound(buffer.nbytes) >= CACHE_LINE else 0
            self.places[buffer] = self.b.slot(
                f"[{max(1, bound(buffer.size))} x {stored_type(buffer.dtype)}]", buffer.name, align
            )

    # -- elements ------------------------------------------------------------------------------------------------------

    def _is_variable(self, b: Buffer) -> bool:
        """True for a buffer whose elements have stack slots of their own."""
        return is_variable(b, self.vector)

    def _slot(self, b: Buffer, indices: Sequence[Expr]) -> str:
        """The address of an element of such a buffer."""
        if b.scope != Scope.REGISTER:
            return self.places[b]
        place = self.registers[b, constant_indices(indices[:-1])]
        if b.shape[-1] == 1:
            return place
        element = stored_type(b.dtype) if self.nest.is_bits(b, self.vector) else value_type(b.dtype)
        return self.b.element(element, place, self.expressions.index(indices[-1]))

    def _store(self, s: Store) -> None:
        b, x = s.buffer, self.expressions
        moved = moved_element(s, self._is_variable)
        if moved is not None:
            value = self.b.value(f"load i16, ptr {self._element(moved.source, moved.indices)}")
            self.b.do(f"store i16 {value}, ptr {self._element(b, s.indices)}")
            return
        value = x.write(s.value)
        t = value_type(b.dtype)
        if x.type(s.value.dtype) != t and t != "i1":
            value = self.b.value(f"trunc i64 {value} to {t}")
        is_variable = self._is_variable(b)
        if self.nest.is_bits(b, self.vector):
            t, value = "i16", x.helper(TO_BITS[b.dtype], "i16", ("float", value))
        elif t == "i1" and not is_variable:
            t, value = "i8", self.b.value(f"zext i1 {value} to i8")
        place = self._slot(b, s.indices) if is_variable else self._element(b, s.indices)
        self.b.do(f"store {t} {value}, ptr {place}")

    def _element(self, b: Buffer, indices: Sequence[Expr]) -> str:
        """The address of an element in memory."""
        return self.b.element(stored_type(b.dtype), self.places[b], self.expressions.index(indices[0]))

    def _prefetch(self, s: Prefetch) -> None:
        buffer, index = s.place.source, s.place.indices[0]
        place = self.b.element(
            stored_type(buffer.dtype),
            self.places[buffer],
            self.expressions.index(index),
            inside=False,
        )
        self.library.outside("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        self.b.do(f"call void @llvm.prefetch.p0(ptr {place}, i32 0, i32 3, i32 1)")

    def _load(self, e: Load, indices: Sequence[str]) -> str:
        b, x = e.source, self.expressions
        is_variable = self._is_variable(b)
        if is_variable:
            place = self._slot(b, e.indices)
        else:
            place = self.b.element(stored_type(b.dtype), self.places[b], indices[0], x.type(e.indices[0].dtype))
        if self.nest.is_bits(b, self.vector):
            return x.helper(FROM_BITS[b.dtype], "float", ("i16", self.b.value(f"load i16, ptr {place}")))
        t = value_type(b.dtype)
        value = self.b.value(f"load {t if is_variable else stored_type(b.dtype)}, ptr {place}")
        if t == "i1" and not is_variable:
            return self.b.value(f"icmp ne i8 {value}, 0")
        return self._widened(value, b)

    def _widened(self, value: str, b: Buffer) -> str:
        t = self.expressions.type(b.dtype)
        return value if t == value_type(b.dtype) else self.b.value(f"sext i32 {value} to {t}")

    # -- vectors -------------------------------------------------------------------------------------------------------

    def _as_loop(self, s: For) -> None:
        """A loop over lanes without a vector form."""
        close = self._for(s)
        for store in stores_of(s):
            self._store(store)
        close()

    def _print(self, code: ir.Body | ir.CopySquare) -> None:
        printer = VectorPrinter(self.expressions, self.places.__getitem__, self.registers)
        if isinstance(code, ir.CopySquare):
            printer.print_square(code)
        else:
            printer.print(code)
