"""A loop nest as words that are equal for nests of the same structure, with any names of variables and buffers.

Nests are equal here up to names and up to which equal expressions are one object.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from .expr import Binary, Call, Cast, Const, Expr, Load, Not, Select, Var, children, post_order
from .stmt import (
    Allocate,
    AllocateConst,
    Annotate,
    Buffer,
    For,
    If,
    Let,
    Prefetch,
    PrimFunc,
    Seq,
    Stmt,
    Store,
    While,
    expressions,
)
from .stmt import children as substatements


def structural_words(f: PrimFunc) -> list[Any]:
    """Words of parameters, attributes and body, in order."""
    writer = _Writer()
    writer.words.append(f"primfn {f.num_outputs}")
    for b in f.params:
        writer.words.append(f"param {writer.declare(b)} {b.dtype} {b.shape} {b.layout}")
    for was in f.preflattened:
        writer.words.append(f"was {was.dtype} {was.shape}")
    writer.statements(f.body)
    return [*writer.words, dict(sorted(f.attrs.items()))]


class _Writer:
    def __init__(self) -> None:
        self.words: list[str] = []
        self.numbers: dict[Any, int] = {}
        self.known: dict[tuple[Any, ...], int] = {}
        self.of: dict[Expr, int] = {}

    def declare(self, thing: Var | Buffer) -> int:
        return self.numbers.setdefault(thing, len(self.numbers))

    def statements(self, root: Stmt) -> None:
        stack: list[Stmt | str] = [root]
        while stack:
            s = stack.pop()
            if isinstance(s, str):
                self.words.append(s)
                continue
            values = [self.expression(e) for e in expressions(s)]
            self.words.append(f"{type(s).__name__} {self.about(s)} {values} {len(substatements(s))}")
            stack.extend(reversed(substatements(s)))

    def about(self, s: Stmt) -> str:
        if isinstance(s, For):
            return f"{self.declare(s.var)} {s.var.dtype} {s.kind}"
        if isinstance(s, Let):
            return f"{self.declare(s.var)} {s.var.dtype}"
        if isinstance(s, Allocate):
            b = s.buffer
            return f"{self.declare(b)} {b.dtype} {b.shape} {b.scope} {b.layout}"
        if isinstance(s, AllocateConst):
            b = s.buffer
            data = sha256(s.data.tobytes()).hexdigest()
            return f"{self.declare(b)} {b.dtype} {b.shape} {s.data.shape} {data} {s.storage_index}"
        if isinstance(s, Store):
            return str(self.declare(s.buffer))
        if isinstance(s, Annotate):
            return f"{self.declare(s.buffer)} {s.key}"
        assert isinstance(s, Prefetch | Seq | If | While)
        return ""

    def expression(self, root: Expr) -> int:
        """The number of an expression: equal ones have the same."""
        for e in post_order(root, known=self.of):
            key = (*self.node(e), *(self.of[k] for k in children(e)))
            number = self.known.get(key)
            if number is None:
                number = self.known[key] = len(self.known)
                self.words.append(f"{key}")
            self.of[e] = number
        return self.of[root]

    def node(self, e: Expr) -> tuple[Any, ...]:
        if isinstance(e, Const):
            return "const", e.dtype, e.value if isinstance(e.value, int) else float(e.value).hex()
        if isinstance(e, Var):
            return "var", self.declare(e), e.dtype
        if isinstance(e, Binary):
            return "binary", e.op, e.dtype
        if isinstance(e, Load):
            return "load", self.declare(e.source)
        if isinstance(e, Call):
            return "call", e.name, e.dtype
        if isinstance(e, Select):
            return "select", e.lazy
        assert isinstance(e, Cast | Not)
        return type(e).__name__, e.dtype
