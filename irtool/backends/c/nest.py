"""Loop nests as C functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...tir.expr import Const, Expr, Load, add, const, mul, rewrite
from ...tir.simplify import Simplifier
from ...tir.stmt import (
    PARALLEL,
    Allocate,
    Buffer,
    For,
    If,
    Let,
    PrimFunc,
    Seq,
    Stmt,
    Store,
    While,
    pre_order,
    rewrite_stmt,
)
from .expression import Writer
from .names import Names
from .scalars import HALVES, stored_type, value_type

_INDEX_LIMIT = 1 << 31


def flatten(buffer: Buffer, indices: Sequence[Expr]) -> Expr:
    """The row-major offset of an element."""
    total: Expr = const(0)
    for extent, i in zip(buffer.shape, indices):
        total = add(mul(total, extent), i)
    return total


class KernelWriter:
    """Writes one kernel: `write()` gives its text. `signature` and `workspace` say how it is called."""

    def __init__(self, kernel: PrimFunc, name: str, support: dict[str, None], static: bool = True) -> None:
        self.kernel = kernel
        self.name = name
        self.static = static
        self.names = Names(name, "ws")
        wide = any(b.size >= _INDEX_LIMIT for b in _buffers(kernel))
        self.index_type = "int64_t" if wide else "int32_t"
        self.simplify = Simplifier(_bounds(kernel))
        self.expressions = Writer(self.names, self.simplify, self._load, support, self.index_type)
        self.support = support
        self.lines: list[str] = []
        self.places: dict[Buffer, str] = {}
        self.has_workspace = bool(kernel.attrs.get("workspace"))

    def _flat(self, body: Stmt) -> Stmt:
        """The nest with every element addressed by one offset; equal parts of an expression become one node."""
        memo: dict[Expr, Expr] = {}

        def change(e: Expr) -> Expr:
            if isinstance(e, Load) and not _is_scalar(e.source):
                return Load(e.source, (flatten(e.source, e.indices),))
            return e

        def change_store(s: Stmt) -> Stmt:
            if isinstance(s, Store) and not _is_scalar(s.buffer):
                return Store(s.buffer, (self.simplify(flatten(s.buffer, s.indices)),), s.value)
            return s

        return rewrite_stmt(body, change_store, lambda e: self.simplify(rewrite(e, change, memo)))

    @property
    def signature(self) -> str:
        """The declaration, without semicolon."""
        shared = {i for i, _ in self.kernel.attrs.get("in_place", ())}
        written = {o for _, o in self.kernel.attrs.get("in_place", ())}
        params = []
        for n, b in enumerate(self.kernel.inputs):
            alone = "" if n in shared else "restrict "
            params.append(f"const {stored_type(b.dtype)} *{alone}{self.places[b]}")
        for n, b in enumerate(self.kernel.outputs):
            alone = "" if n in written else "restrict "
            params.append(f"{stored_type(b.dtype)} *{alone}{self.places[b]}")
        if self.has_workspace:
            params.append("unsigned char *restrict ws")
        return f"{'static ' if self.static else ''}void {self.name}({', '.join(params) or 'void'})"

    def write(self) -> str:
        """The whole function."""
        for n, b in enumerate(self.kernel.params):
            self.places[b] = self.names.fresh(b.name or f"p{n}")
        self._body(self._flat(self.kernel.body))
        return f"{self.signature} {{\n" + "\n".join(self.lines) + "\n}\n"

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
        if s.kind == PARALLEL:
            self.lines += ["#ifdef _OPENMP", "#pragma omp parallel for schedule(static)", "#endif"]
        self.lines.append("  " * depth + f"for ({t} {v} = 0; {v} < {extent}; ++{v}) {{")

    def _allocate(self, b: Buffer, depth: int) -> bool:
        """Declares a buffer; True if a block was opened for it."""
        name = self.places[b] = self.names.fresh(b.name)
        if b.scope == "arena":
            t = stored_type(b.dtype)
            offset = self.kernel.attrs["offsets"].get(b, 0)
            self._block([f"{t} *const {name} = ({t} *)(void *)(ws + {offset});"], depth)
            return False
        self._block(["{"], depth)
        if b.ndim == 0:
            self._block([f"{value_type(b.dtype)} {name};"], depth + 1)
        else:
            self._block([f"{stored_type(b.dtype)} {name}[{max(1, b.size)}];"], depth + 1)
        return True

    def _store(self, s: Store, depth: int) -> None:
        b = s.buffer
        local = _is_scalar(b)
        lines, (value, *at) = self.expressions.write([s.value, *s.indices])
        if not local and b.dtype in HALVES:
            name = "irt_f2h" if b.dtype == "float16" else "irt_f2b"
            self.support[name] = None
            value = f"{name}({value})"
        elif b.dtype == "bool" and not local:
            value = f"(uint8_t)({value})"
        target = self.places[b] if local else f"{self.places[b]}[{at[0]}]"
        text = [*lines, f"{target} = {value};"]
        if lines:
            text = ["{", *("  " + x for x in text), "}"]
        self._block(text, depth)

    def _load(self, e: Load, indices: Sequence[str]) -> str:
        b = e.source
        if not indices:
            return self.places[b]
        text = f"{self.places[b]}[{indices[0]}]"
        if b.dtype in HALVES:
            name = "irt_h2f" if b.dtype == "float16" else "irt_b2f"
            self.support[name] = None
            return f"{name}({text})"
        return text


def _is_scalar(b: Buffer) -> bool:
    """True for a scalar that lives in a C variable."""
    return b.scope == "local" and b.ndim == 0


def _buffers(kernel: PrimFunc) -> list[Buffer]:
    return [*kernel.params, *(s.buffer for s in pre_order(kernel.body) if isinstance(s, Allocate))]


def _bounds(kernel: PrimFunc) -> dict[Any, tuple[float, float]]:
    return {
        s.var: (0, int(s.extent.value) - 1)
        for s in pre_order(kernel.body)
        if isinstance(s, For) and isinstance(s.extent, Const)
    }
