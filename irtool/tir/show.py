"""Expressions and loop nests as indented text, for messages and debuggers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256

from .expr import Binary, Call, Cast, Const, Expr, Load, Not, Reduce, Select, Var, children, post_order
from .stmt import (
    Allocate,
    AllocateConst,
    Annotate,
    Buffer,
    For,
    If,
    Let,
    Lowered,
    Prefetch,
    PrimFunc,
    Seq,
    Stmt,
    Store,
    While,
)

_LIMIT = 2000

Item = tuple[Stmt | str, int]
"""A part of a statement's text: a line, or a statement inside, and how much further it is indented."""


def show_expr(root: Expr) -> str:
    """One line; a node used several times is written out each time, up to a limit."""
    if not isinstance(root, Expr):
        return repr(root)
    done: dict[Expr, str] = {}
    for e in post_order(root):
        parts = [done[k] for k in children(e)]
        text = show_node(e, parts)
        done[e] = text if len(text) <= _LIMIT else "…"
    return done[root]


def show_node(e: Expr, parts: Sequence[str], name: Callable[[Var | Buffer], str] = lambda x: x.name) -> str:
    """The text of an expression over the texts of its children; `name` gives that of a variable or a buffer."""
    if isinstance(e, Const):
        return (
            str(bool(e.value))
            if e.dtype == "bool"
            else f"{e.value!r}" + ("" if e.dtype in ("int32", "float32") else f":{e.dtype}")
        )
    if isinstance(e, Var):
        return name(e)
    if isinstance(e, Binary):
        if e.op.isalpha() and e.op not in ("and", "or"):
            return f"{e.op}({parts[0]}, {parts[1]})"
        return f"({parts[0]} {e.op} {parts[1]})"
    if isinstance(e, Not):
        return f"not {parts[0]}"
    if isinstance(e, Cast):
        return f"{e.dtype}({parts[0]})"
    if isinstance(e, Select):
        return f"{'if_then_else' if e.lazy else 'select'}({', '.join(parts)})"
    if isinstance(e, Call):
        return f"{e.name}({', '.join(parts)})"
    if isinstance(e, Load):
        return f"{name(e.source) if isinstance(e.source, Buffer) else e.source.name}[{', '.join(parts)}]"
    assert isinstance(e, Reduce)
    return f"{e.reducer.name}.{e.index}({', '.join(parts)}, axis=[{', '.join(a.name for a in e.axes)}])"


class NestText:
    """Prints a nest, two blanks a level. Subclasses give statements, expressions and names other texts.

    Class attributes:
        begin, end: put behind the head of a block, and on a line of their own behind it; an empty `end` has no line.
    """

    begin, end = ":", ""

    def name(self, x: Var | Buffer) -> str:
        """The name of a variable or a buffer."""
        return x.name

    def expression(self, e: Expr) -> str:
        """An expression of a statement, on one line."""
        return show_expr(e)

    def lines(self, root: Stmt, indent: int = 0) -> list[str]:
        """The lines of a nest."""
        lines: list[str] = []
        stack: list[Item] = [(root, indent)]
        while stack:
            s, depth = stack.pop()
            if isinstance(s, str):
                lines.append("  " * depth + s)
            else:
                stack += reversed([(x, depth + further) for x, further in self.statement(s)])
        return lines

    def block(self, head: str, *inside: Stmt | str) -> list[Item]:
        """The lines of a block: its head, and its parts."""
        return [(f"{head}{self.begin}", 0), *((x, 1) for x in inside), *([(self.end, 0)] if self.end else [])]

    def statement(self, s: Stmt) -> Sequence[Item]:
        """A statement as lines and the statements in it."""
        text = self.expression
        if isinstance(s, Seq):
            return [(x, 0) for x in s.stmts]
        if isinstance(s, Store):
            return [(f"{self.name(s.buffer)}[{', '.join(map(text, s.indices))}] = {text(s.value)}", 0)]
        if isinstance(s, Prefetch):
            return [(f"prefetch {text(s.place)}", 0)]
        if isinstance(s, For):
            kind = "" if s.kind == "serial" else f" {s.kind}"
            hint = {None: "", True: " written out", False: " kept"}[s.unroll]
            return self.block(f"for {self.name(s.var)} in {text(s.extent)}{kind}{hint}", s.body)
        if isinstance(s, If):
            head = f"if {text(s.cond)}"
            if s.other is None:
                return self.block(head, s.then)
            end = f"{self.end} " if self.end else ""
            return [(f"{head}{self.begin}", 0), (s.then, 1), *self.block(f"{end}else", s.other)]
        if isinstance(s, While):
            return self.block(f"while {text(s.cond)}", s.body)
        if isinstance(s, Let):
            value = text(s.value)
            return [(f"{self.name(s.var)}: {s.var.dtype} = {value}", 0), (s.body, 0)]
        if isinstance(s, Allocate):
            return [(f"allocate {self.name(s.buffer)}: {_type(s.buffer)} {s.buffer.scope}", 0), (s.body, 0)]
        if isinstance(s, AllocateConst):
            data = sha256(s.data.tobytes()).hexdigest()[:16]
            return [(f"constant {self.name(s.buffer)}: {_type(s.buffer)} sha256 {data}", 0), (s.body, 0)]
        if isinstance(s, Annotate):
            return [(f"{s.key} of {self.name(s.buffer)}: {text(s.value)}", 0), (s.body, 0)]
        return self.block("lowered", s.body) if isinstance(s, Lowered) else []


def _type(b: Buffer) -> str:
    return f"{b.dtype}[{', '.join(map(str, b.shape))}]"


def show_stmt(root: Stmt, indent: int = 0) -> str:
    """Indented text, two blanks a level."""
    return "\n".join(NestText().lines(root, indent))


def show_function(f: PrimFunc) -> str:
    """Header and body."""
    params = ", ".join(f"{b.name}: {_type(b)}" for b in f.params)
    return f"def {f.name}({params}):\n{show_stmt(f.body, 1)}"
