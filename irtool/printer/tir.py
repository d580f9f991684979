"""Loop nests as text, in the `@name = primfn(…)` form of TVM 0.10.

Every name is unique in the text of a module. A variable states its dtype where it first stands, and a buffer its memory,
dtype and shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..ir import Constant, TensorType
from ..ir.meta import MetaNode
from ..symbolic_int import SymbolicInt, bound
from ..tir.expr import Binary, Call, Cast, Const, Expr, Load, Not, Select, Var, const
from ..tir.kernel import Kernel
from ..tir.stmt import (
    Allocate,
    AllocateConst,
    Annotate,
    Buffer,
    For,
    If,
    Let,
    Prefetch,
    PrimFunc,
    Scope,
    Seq,
    Stmt,
    Store,
    While,
    expressions,
)
from ..tir.texts import expression_texts
from .attributes import target_text
from .literals import float_digits, string_literal
from .metadata import References

_LONG = 2000
"""A shared expression whose text is longer than this is written once, as a `let`."""

_ALIGNMENT = 64
"""Bytes: the alignment of memory that nothing is said about."""

_CALLS = frozenset(("floordiv", "floormod", "min", "max"))
_PROPAGATING = frozenset(("minimum", "maximum"))
_SIGNS = {"*": "*", "truncdiv": " / ", "truncmod": " % ", "and": " && ", "or": " || "}
_BITWISE = {"<<": "shift_left", ">>": "shift_right", "&": "bitwise_and", "|": "bitwise_or", "^": "bitwise_xor"}


class LoopNestPrinter:
    """Prints the functions of one text; the data of their constants is referred to in its metadata."""

    def __init__(self, references: References | None = None) -> None:
        self._references = references or References()
        self._constants: dict[tuple[int, str], Constant] = {}
        self._taken: dict[str, int] = {}
        self._offsets: Mapping[Buffer, int] = {}
        self._begin()

    def _begin(self) -> None:
        self.names: dict[Any, str] = {}
        self.pointers: dict[Buffer, str] = {}
        self.out: list[str] = []
        self.indent = 0

    def _unique(self, hint: str) -> str:
        name = hint if hint[:1].isalpha() else "v" + hint
        count = self._taken.get(name)
        if count is not None:
            stem = name
            while name in self._taken:
                count += 1
                name = f"{stem}_{count}"
            self._taken[stem] = count
        self._taken[name] = 0
        return name

    def kernel(self, kernel: Kernel) -> str:
        """A kernel of a program: how it was scheduled is among its attributes, offsets of scratch memory beside its buffers."""
        about: dict[str, Any] = {"global_symbol": kernel.name}
        if kernel.operators:
            about["operators"] = kernel.operators
        if kernel.choice.reason:
            about |= {"strategy": kernel.choice.strategy, "reason": kernel.choice.reason}
        if kernel.placement is not None:
            if kernel.has_workspace:
                about["workspace"] = kernel.workspace
            self._offsets = kernel.placement.offsets
        text = self.function(kernel.name, kernel, about)
        self._offsets = {}
        return text

    def function(self, name: str, f: PrimFunc, attrs: Mapping[str, Any] | None = None) -> str:
        """`@name = primfn(…) -> () … { … }`; with its own attributes, or others."""
        self._begin()
        for buffer in f.params:
            self.names[buffer] = self._unique(buffer.name)
        handles = [self._unique(buffer.name) for buffer in f.params]
        for buffer in f.params:
            self.pointers[buffer] = self._unique(buffer.name)
        stated = ",\n             ".join(
            f"{self.names[b]}: Buffer({self.pointers[b]}: Pointer({b.dtype}), {b.dtype}, {_list(b.shape)}, []{_index_map(b)})"
            for b in f.params
        )
        mapped = ", ".join(f"{h}: {self.names[b]}" for h, b in zip(handles, f.params, strict=True))
        mapped_before = ", ".join(
            f"{h}: {self._unique(b.name)}: Buffer({self.pointers[b]}, {b.dtype}, {_list(was.shape)}, [])"
            for h, b, was in zip(handles, f.params, f.preflattened)
        )
        if attrs is None:
            attrs = f.attrs if "global_symbol" in f.attrs else {"global_symbol": name, "tir.noalias": True, **f.attrs}
        self.out = [
            f"@{name} = primfn({', '.join(h + ': handle' for h in handles)}) -> ()",
            f"\n  attr = {{{', '.join(f'{string_literal(k)}: {_value(v)}' for k, v in attrs.items())}}}",
            f"\n  buffers = {{{stated}}}" if stated else "",
            f"\n  buffer_map = {{{mapped}}}" if mapped else "",
            f"\n  preflattened_buffer_map = {{{mapped_before}}}" if mapped_before else "",
        ]
        self.statements(f.body)
        return "".join(self.out)

    # statements: the work list holds statements, text, and changes of indentation

    def statements(self, root: Stmt) -> None:
        """Writes the body of a function, in braces."""
        stack: list[Any] = [_Block(root)]
        while stack:
            item = stack.pop()
            if isinstance(item, str):
                self.out.append(item)
            elif isinstance(item, int):
                self.indent += item
            elif isinstance(item, _Block):
                stack += reversed(self._block(item.stmt))
            elif item is _LINE:
                self._line()
            else:
                stack += reversed(self._statement(item))

    def _line(self) -> None:
        self.out.append("\n" + " " * self.indent)

    def _block(self, s: Stmt) -> list[Any]:
        inside = s.stmts if isinstance(s, Seq) else (s,)
        return [" {", 2, *(part for stmt in inside for part in (_LINE, stmt)), -2, _LINE, "}"]

    def _statement(self, s: Stmt) -> list[Any]:
        """The text of a statement up to its body, and the items still to be written."""
        text = expression_texts(s, self._expression, self._shortened, _LONG)
        if isinstance(s, Store):
            target = self._buffer(s.buffer)
            *indices, value = (text(e) for e in expressions(s))
            return [f"{target}[{', '.join(indices) or '0'}] = {value}"]
        if isinstance(s, Prefetch):
            return [
                f"prefetch({self._buffer(s.place.source)}, [{', '.join(f'{i}:({i} + 1)' for i in map(text, s.place.indices))}])"
            ]
        if isinstance(s, For):
            begin, extent = text(const(0, s.var.dtype)), text(s.extent)
            kind = "" if s.kind == "serial" else f' "{s.kind}"'
            mark = {None: "", True: " /* written out */", False: " /* kept */"}[s.unroll]
            return [f"for ({self._declare(s.var)}, {begin}, {extent}){kind}{mark}", _Block(s.body)]
        if isinstance(s, If):
            rest: list[Any] = [] if s.other is None else [" else", _Block(s.other)]
            return [f"if {text(s.cond)}", _Block(s.then), *rest]
        if isinstance(s, While):
            return [f"while ({text(s.cond)})", _Block(s.body)]
        if isinstance(s, Let):
            value = text(s.value)
            return [f"let {self._declare(s.var)} = {value}", _LINE, *self._after(s.body)]
        if isinstance(s, Allocate):
            return self._allocate(s)
        if isinstance(s, AllocateConst):
            return self._constant(s)
        if isinstance(s, Annotate):
            head = f"attr [{self._buffer(s.buffer)}] {string_literal(s.key)} = {text(s.value)}"
            is_one = isinstance(s.body, For | If | While | Store | Prefetch | Annotate)  # of which a text has an end
            return [head + ";", _LINE, s.body] if is_one else [head, _Block(s.body)]
        assert isinstance(s, Seq)
        return self._block(s)

    def _after(self, body: Stmt) -> list[Any]:
        """A body that is not put in braces: the statements, each on its line."""
        stmts = body.stmts if isinstance(body, Seq) else (body,)
        out: list[Any] = []
        for i, stmt in enumerate(stmts):
            out += [_LINE, stmt] if i else [stmt]
        return out

    def _allocate(self, s: Allocate) -> list[Any]:
        b = s.buffer
        name = self.pointers[b] = self._unique(b.name)
        self.names.pop(b, None)  # it may be allocated at another place, too
        head = f"allocate({name}: Pointer({b.scope} {b.dtype}), {b.dtype}, {_list(b.shape)}), storage_scope = {b.scope}"
        head += f", offset = {self._offsets[b]}" if b in self._offsets else ""
        head += _index_map(b)
        if isinstance(s.body, Seq):
            return [head, _Block(s.body)]
        return [head + ";", _LINE, s.body]

    def _constant(self, s: AllocateConst) -> list[Any]:
        b = s.buffer
        name = self.pointers[b] = self._unique(b.name)
        data = self._constants.setdefault(
            (id(s.data), b.dtype), Constant(s.data, b.dtype, checked_type=TensorType(s.data.shape, b.dtype))
        )
        head = f"constant({name}: Pointer(global {b.dtype}), {b.dtype}, {_list(s.data.shape)})"
        head += f", data = {self._references.refer(data)}"
        head += f", irmod_storage_idx = {s.storage_index}" if s.storage_index is not None else ""
        return [head, _Block(s.body)] if isinstance(s.body, Seq) else [head + ";", _LINE, s.body]

    # names

    def _declare(self, v: Var) -> str:
        name = self.names[v] = self._unique(v.name)
        return f"{name}: {v.dtype}"

    def _variable(self, v: Var) -> str:
        known = self.names.get(v)
        return self._declare(v) if known is None else known

    def _buffer(self, b: Buffer) -> str:
        known = self.names.get(b)
        if known is not None:
            return known
        name = self.names[b] = self._unique(b.name)
        scope = f', scope="{b.scope}"' if b.scope in (Scope.THREAD, Scope.LOCAL, Scope.REGISTER) else ""
        # Small allocations are aligned to their size, rounded down to a power of two.
        size = bound(b.nbytes)
        align = f", align={1 << (size.bit_length() - 1)}" if 0 < size < _ALIGNMENT else ""
        return f"{name}: Buffer({self.pointers.get(b, b.name)}, {b.dtype}, {_list(b.shape)}, []{scope}{align})"

    # expressions

    def _shortened(self, e: Expr, text: str, may_be_named: bool) -> str:
        if not may_be_named:
            return text
        name = self._unique("cse_var")
        self.out.append(f"let {name}: {e.dtype} = {text}")
        self._line()
        return name

    def _expression(self, e: Expr, parts: list[str]) -> str:
        if isinstance(e, Const):
            return str(e.value) if isinstance(e.value, SymbolicInt) else constant(e.value, e.dtype)
        if isinstance(e, Var):
            return self._variable(e)
        if isinstance(e, Binary):
            if e.op in _CALLS:
                return f"{e.op}({parts[0]}, {parts[1]})"
            if e.op in _PROPAGATING:
                return f"@tir.{e.op}({parts[0]}, {parts[1]}, dtype={e.dtype})"
            if e.op in _BITWISE:
                return f"@tir.{_BITWISE[e.op]}({parts[0]}, {parts[1]}, dtype={e.dtype})"
            return f"({parts[0]}{_SIGNS.get(e.op, f' {e.op} ')}{parts[1]})"
        if isinstance(e, Not):
            return f"!{parts[0]}"
        if isinstance(e, Cast):
            return f"cast({e.dtype}, {parts[0]})"
        if isinstance(e, Select):
            if e.lazy:
                return f"@tir.if_then_else({', '.join(parts)}, dtype={e.dtype})"
            return f"select({', '.join(parts)})"
        if isinstance(e, Load):
            return f"{self._buffer(e.source)}[{', '.join(parts) or '0'}]"
        assert isinstance(e, Call), f"{type(e).__name__} in a loop nest"
        return f"@tir.{e.name}({', '.join([*parts, f'dtype={e.dtype}'])})"


class _Block:
    """On the work list: a statement that is written in braces."""

    __slots__ = ("stmt",)

    def __init__(self, stmt: Stmt) -> None:
        self.stmt = stmt


_LINE = object()


def constant(value: int | float, dtype: str) -> str:
    """A literal: `3`, `3i64`, `0.5f32`, `True`."""
    if isinstance(value, SymbolicInt):
        return str(value)
    if dtype == "bool":
        return "True" if value else "False"
    if dtype == "int32":
        return str(int(value))
    kind = dtype.rstrip("0123456789")
    bits = dtype[len(kind) :]
    if kind in ("float", "bfloat"):
        return f"{float_digits(value, dtype if kind == 'float' else 'float32')}{kind.removesuffix('loat')}{bits}"
    return f"{int(value)}{kind[0]}{bits}"


def _list(shape: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, shape))}]"


def _index_map(b: Buffer) -> str:
    """The layout of a buffer in memory, if it is not row-major: the index there for an index of the buffer."""
    if b.layout is None:
        return ""
    axes = [f"i{n}" for n in range(b.ndim)]
    return f", index_map=({', '.join(axes)}) => ({', '.join(_digit(b, *d) for d in b.layout)})"


def _digit(b: Buffer, axis: int, divisor: int, extent: int) -> str:
    text = f"i{axis}" if divisor == 1 else f"floordiv(i{axis}, {divisor})"
    return text if divisor * extent >= b.shape[axis] else f"floormod({text}, {extent})"


def _value(value: Any) -> str:
    """The value of a function's attribute."""
    if isinstance(value, str):
        return string_literal(value)
    if isinstance(value, float):
        return float_digits(value) + "f64"
    if isinstance(value, MetaNode) and value.type_key == "Target":
        return target_text(value)
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{string_literal(str(k))}: {_value(v)}" for k, v in value.items()) + "}"
    return str(value) if isinstance(value, bool | int) or value is None else string_literal(str(value))
