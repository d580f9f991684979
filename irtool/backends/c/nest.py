"""Loop nests as C functions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from ...schedule.threads import share_size, shared_loops
from ...tir.expr import Expr, Load, Select, post_order
from ...tir.kernel import Kernel
from ...tir.sharing import loop_bounds
from ...tir.simplify import Simplifier
from ...tir.stmt import (
    PARALLEL,
    VECTORIZED,
    Allocate,
    Buffer,
    For,
    If,
    Let,
    Scope,
    Seq,
    Stmt,
    Store,
    While,
    expressions,
    pre_order,
)
from ..c_types import stored_type, value_type
from ..formulas.vector_math import function_for
from ..formulas.vector_types import vector_type
from ..interface.names import Names
from ..nests import all_buffers, flat, unroll
from ..vectors import ir
from ..vectors.lower import constant_indices, lower_loop, stores_of
from ..vectors.types import HALVES, Scalar, held, width_for
from .expression import Writer
from .vectors import VectorPrinter

_INDEX_LIMIT = 1 << 31
_LINE = 64
"""Bytes of a cache line."""


class KernelWriter:
    """Writes one kernel: `write()` gives its text. `signature` and `workspace` say how it is called."""

    def __init__(self, kernel: Kernel, name: str, support: dict[str, None], strict: bool = False) -> None:
        self.kernel = kernel
        self.name = name
        self.strict = strict
        self.names = Names(name, "ws")
        wide = any(b.size >= _INDEX_LIMIT for b in all_buffers(kernel))
        self.index_type = "int64_t" if wide else "int32_t"
        self.simplify = Simplifier(loop_bounds(kernel))
        self.expressions = Writer(self.names, self.simplify, self._load, support, self.index_type)
        self.support = support
        self.lines: list[str] = []
        self.places: dict[Buffer, str] = {}
        self.vector_types: dict[tuple[str, int], None] = {}
        self.vector_functions: dict[tuple[str, str, int], None] = {}
        self.vector = False
        self.registers: dict[ir.Register, str] = {}
        self.spilled: dict[str, str] = {}
        self.shared: dict[For, None] = {}
        self.has_workspace = kernel.has_workspace

    @property
    def signature(self) -> str:
        """The declaration, without semicolon."""
        placement = self.kernel.placement
        pairs = [*self.kernel.in_place, *(placement.overlapping if placement else ())]
        shared = {i for i, _ in pairs}
        written = {o for _, o in pairs}
        params = []
        for n, b in enumerate(self.kernel.inputs):
            alone = "" if n in shared else "restrict "
            params.append(f"const {stored_type(b.dtype)} *{alone}{self.places[b]}")
        for n, b in enumerate(self.kernel.outputs):
            alone = "" if n in written else "restrict "
            params.append(f"{stored_type(b.dtype)} *{alone}{self.places[b]}")
        if self.has_workspace:
            params.append("unsigned char *restrict ws")
        return f"static void {self.name}({', '.join(params) or 'void'})"

    def write(self) -> str:
        """The whole function."""
        for n, b in enumerate(self.kernel.params):
            self.places[b] = self.names.fresh(b.name or f"p{n}")
        if any(isinstance(s, For) and s.kind == VECTORIZED for s in pre_order(self.kernel.body)):
            self.vector = True
            self._body(flat(unroll(self.kernel.body), self.simplify, self._is_variable))
            vector, self.lines, self.vector = self.lines, [], False
            self._body(flat(self.kernel.body, self.simplify, self._is_variable))
            lines = ["#if IRT_VECTOR", *vector, "#else", *self.lines, "#endif"]
        else:
            self._body(flat(self.kernel.body, self.simplify, self._is_variable))
            lines = self.lines
        kept = ""
        if _reads_under_conditions(self.kernel.body):
            self.support["irt_keep_branches"] = None
            kept = "irt_keep_branches\n"
        return f"{kept}{self.signature} {{\n" + "\n".join(lines) + "\n}\n"

    # -- statements ----------------------------------------------------------------------------------------------------

    def _body(self, root: Stmt) -> None:
        """Statements by an explicit stack; a string on it is a line to write."""
        stack: list[tuple[Any, int]] = [(root, 1)]
        while stack:
            s, depth = stack.pop()
            if isinstance(s, str):
                self.lines.append("  " * depth + s)
            elif isinstance(s, Seq):
                stack.extend((k, depth) for k in reversed(s.stmts))
            elif isinstance(s, Store):
                self._store(s, depth)
            elif isinstance(s, For) and s.kind == VECTORIZED and self.vector:
                self._vectorized(s, depth)
            elif isinstance(s, For):
                stack += [("}", depth), (s.body, depth + 1)]
                self._for(s, depth)
            elif isinstance(s, If):
                lines, (cond,) = self.expressions.write([s.cond])
                self._block(lines, depth)
                self.lines.append("  " * depth + f"if ({cond}) {{")
                if s.other is not None:
                    stack += [("}", depth), (s.other, depth + 1), ("} else {", depth), (s.then, depth + 1)]
                else:
                    stack += [("}", depth), (s.then, depth + 1)]
            elif isinstance(s, While):
                self.lines.append("  " * depth + "for (;;) {")
                lines, (cond,) = self.expressions.write([s.cond])
                self._block([*lines, f"if (!({cond})) break;"], depth + 1)
                stack += [("}", depth), (s.body, depth + 1)]
            elif isinstance(s, Let):
                lines, (value,) = self.expressions.write([s.value])
                self._block(lines, depth)
                name = self.expressions.declare(s.var)
                self.lines.append("  " * depth + f"const {self._type(s.var)} {name} = {value};")
                stack.append((s.body, depth))
            else:
                assert isinstance(s, Allocate)
                opened = self._allocate(s.buffer, depth)
                if opened:
                    stack += [("}", depth), (s.body, depth + 1)]
                else:
                    stack.append((s.body, depth))

    def _type(self, e: Expr) -> str:
        return self.expressions.type_of(e)

    def _block(self, lines: Sequence[str], depth: int) -> None:
        self.lines += ["  " * depth + x for x in lines]

    def _for(self, s: For, depth: int) -> None:
        lines, (extent,) = self.expressions.write([s.extent])
        self._block(lines, depth)
        v = self.expressions.declare(s.var)
        t = "int64_t" if s.var.dtype == "int64" else self.index_type
        if s.kind == PARALLEL and s not in self.shared:
            loops = shared_loops(s)
            self.shared.update(dict.fromkeys(loops))
            self.lines += ["#ifdef _OPENMP", _pragma(loops), "#endif"]
        self.lines.append("  " * depth + f"for ({t} {v} = 0; {v} < {extent}; ++{v}) {{")

    def _allocate(self, b: Buffer, depth: int) -> bool:
        """Declares a buffer; True if a block was opened for it."""
        name = self.places[b] = self.names.fresh(b.name)
        if b.scope == Scope.GLOBAL:
            t = stored_type(b.dtype)
            placement = self.kernel.placement
            offset = placement.offsets.get(b, 0) if placement else 0
            self._block([f"{t} *const {name} = ({t} *)(void *)(ws + {offset});"], depth)
            return False
        self._block(["{"], depth)
        if b.scope == Scope.REGISTER and self.vector:
            self._declare_registers(b, name, depth + 1)
        elif b.ndim == 0:
            self._block([f"{value_type(b.dtype)} {name};"], depth + 1)
        else:
            aligned = f" __attribute__((aligned({_LINE})))" if self.vector and b.nbytes >= _LINE else ""
            self._block([f"{stored_type(b.dtype)} {name}[{max(1, b.size)}]{aligned};"], depth + 1)
        return True

    # -- registers and vectors -----------------------------------------------------------------------------------------

    def _is_variable(self, b: Buffer) -> bool:
        """True for a buffer whose elements are C variables."""
        return (b.scope == Scope.LOCAL and b.ndim == 0) or (b.scope == Scope.REGISTER and self.vector)

    def _variable(self, b: Buffer, indices: Sequence[Expr]) -> str:
        if b.scope != Scope.REGISTER:
            return self.places[b]
        name = self.registers[b, constant_indices(indices[:-1])]
        return name if b.shape[-1] == 1 else f"{self.spilled[name]}[{self.expressions.variables[indices[-1]]}]"

    def _declare_registers(self, b: Buffer, name: str, depth: int) -> None:
        lanes = width_for(b.shape[-1])
        t = value_type(b.dtype)
        if lanes > 1:
            t = vector_type(held(b.dtype), lanes)
            self.vector_types[held(b.dtype), lanes] = None
        for at in product(*map(range, b.shape[:-1])):
            made = self.registers[b, at] = self.names.fresh("_".join([b.name, *map(str, at)]))
            self._block([f"{t} {made};"], depth)

    def _vectorized(self, s: For, depth: int) -> None:
        """A vectorized loop: as vectors, or as a loop where its body has no vector form."""
        stores = stores_of(s)
        count = int(s.extent.value)  # type: ignore[attr-defined]
        try:
            body = lower_loop(s, self.simplify, lambda call: function_for(call, self.strict))
        except Scalar:
            self._as_loop(s, stores, count, depth)
            return
        self.vector_functions.update(dict.fromkeys(body.functions))
        printer = VectorPrinter(self.expressions, self.places.__getitem__, self.registers, self.vector_types)
        lines = printer.print(body)
        if any(x.startswith(("const ", "irt_")) for x in lines):
            lines = ["{", *("  " + x for x in lines), "}"]
        self._block(lines, depth)

    def _as_loop(self, s: For, stores: Sequence[Store], count: int, depth: int) -> None:
        """The loop over lanes; registers that it touches are put into arrays for its time."""
        touched: dict[str, tuple[str, int, bool]] = {}
        reads = (e for store in stores for e in post_order(store.value) if isinstance(e, Load))
        accesses: list[Load | Store] = [*reads, *stores]
        for x in accesses:
            b = x.source if isinstance(x, Load) else x.buffer
            if b.scope == Scope.REGISTER and b.shape[-1] > 1:
                name = self.registers[b, constant_indices(x.indices[:-1])]
                written = isinstance(x, Store) or (name in touched and touched[name][2])
                touched[name] = (b.dtype, width_for(b.shape[-1]), written)
        self._block(["{"], depth)
        for name, (dtype, width, _) in touched.items():
            array = self.spilled[name] = self.names.fresh(f"{name}_lanes")
            t = vector_type(held(dtype), width)
            self._block([f"{value_type(dtype)} {array}[{width}];", f"*({t}_u *){array} = {name};"], depth + 1)
        v = self.expressions.declare(s.var)
        self._block([f"for ({self.index_type} {v} = 0; {v} < {count}; ++{v}) {{"], depth + 1)
        for store in stores:
            self._store(store, depth + 2)
        self._block(["}"], depth + 1)
        for name, (dtype, width, written) in touched.items():
            if written:
                self._block([f"{name} = *({vector_type(held(dtype), width)}_u *){self.spilled[name]};"], depth + 1)
        self._block(["}"], depth)

    def _store(self, s: Store, depth: int) -> None:
        b = s.buffer
        local = self._is_variable(b)
        lines, (value, *at) = self.expressions.write([s.value, *s.indices])
        if not local and b.dtype in HALVES:
            name = "irt_f2h" if b.dtype == "float16" else "irt_f2b"
            self.support[name] = None
            value = f"{name}({value})"
        elif b.dtype == "bool" and not local:
            value = f"(uint8_t)({value})"
        target = self._variable(b, s.indices) if local else f"{self.places[b]}[{at[0]}]"
        text = [*lines, f"{target} = {value};"]
        if lines:
            text = ["{", *("  " + x for x in text), "}"]
        self._block(text, depth)

    def _load(self, e: Load, indices: Sequence[str]) -> str:
        b = e.source
        if self._is_variable(b):
            return self._variable(b, e.indices)
        text = f"{self.places[b]}[{indices[0]}]"
        if b.dtype in HALVES:
            name = "irt_h2f" if b.dtype == "float16" else "irt_b2f"
            self.support[name] = None
            return f"{name}({text})"
        return text


def _pragma(loops: Sequence[For]) -> str:
    """What makes threads share the iterations of perfectly nested loops: in parts, each taken by whoever is free.

    With as many iterations for each thread, all would wait for the one whose core has other work to do.
    """
    collapse = f" collapse({len(loops)})" if len(loops) > 1 else ""
    return f"#pragma omp parallel for{collapse} schedule(dynamic, {share_size(loops)})"


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
