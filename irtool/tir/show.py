"""Expressions and loop nests as indented text, for messages and debuggers."""

from __future__ import annotations

from hashlib import sha256

from .expr import Binary, Call, Cast, Const, Expr, Load, Not, Reduce, Select, Var, children, post_order
from .stmt import Allocate, AllocateConst, Annotate, For, If, Let, Lowered, Prefetch, PrimFunc, Seq, Stmt, Store, While

_LIMIT = 2000


def show_expr(root: Expr) -> str:
    """One line; a node used several times is written out each time, up to a limit."""
    if not isinstance(root, Expr):
        return repr(root)
    done: dict[Expr, str] = {}
    for e in post_order(root):
        parts = [done[k] for k in children(e)]
        text = _one(e, parts)
        done[e] = text if len(text) <= _LIMIT else "…"
    return done[root]


def _one(e: Expr, parts: list[str]) -> str:
    if isinstance(e, Const):
        return (
            str(bool(e.value))
            if e.dtype == "bool"
            else f"{e.value!r}" + ("" if e.dtype in ("int32", "float32") else f":{e.dtype}")
        )
    if isinstance(e, Var):
        return e.name
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
        return f"{e.source.name}[{', '.join(parts)}]"
    assert isinstance(e, Reduce)
    return f"{e.reducer.name}.{e.index}({', '.join(parts)}, axis=[{', '.join(a.name for a in e.axes)}])"


def show_stmt(root: Stmt, indent: int = 0) -> str:
    """Indented text, two blanks a level."""
    lines: list[str] = []
    stack: list[tuple[Stmt | str, int]] = [(root, indent)]
    while stack:
        s, depth = stack.pop()
        pad = "  " * depth
        if isinstance(s, str):
            lines.append(pad + s)
        elif isinstance(s, Seq):
            stack.extend((k, depth) for k in reversed(s.stmts))
        elif isinstance(s, Store):
            where = ", ".join(show_expr(i) for i in s.indices)
            lines.append(f"{pad}{s.buffer.name}[{where}] = {show_expr(s.value)}")
        elif isinstance(s, Prefetch):
            lines.append(f"{pad}prefetch {show_expr(s.place)}")
        elif isinstance(s, For):
            kind = ("" if s.kind == "serial" else f" {s.kind}") + {None: "", True: " written out", False: " kept"}[
                s.unroll
            ]
            lines.append(f"{pad}for {s.var.name} in {show_expr(s.extent)}{kind}:")
            stack.append((s.body, depth + 1))
        elif isinstance(s, If):
            lines.append(f"{pad}if {show_expr(s.cond)}:")
            if s.other is not None:
                stack += [(s.other, depth + 1), ("else:", depth)]
            stack.append((s.then, depth + 1))
        elif isinstance(s, While):
            lines.append(f"{pad}while {show_expr(s.cond)}:")
            stack.append((s.body, depth + 1))
        elif isinstance(s, Let):
            lines.append(f"{pad}{s.var.name}: {s.var.dtype} = {show_expr(s.value)}")
            stack.append((s.body, depth))
        elif isinstance(s, Allocate):
            b = s.buffer
            lines.append(f"{pad}allocate {b.name}: {b.dtype}[{', '.join(map(str, b.shape))}] {b.scope}")
            stack.append((s.body, depth))
        elif isinstance(s, AllocateConst):
            b = s.buffer
            data = sha256(s.data.tobytes()).hexdigest()[:16]
            lines.append(f"{pad}constant {b.name}: {b.dtype}[{', '.join(map(str, b.shape))}] sha256 {data}")
            stack.append((s.body, depth))
        elif isinstance(s, Annotate):
            lines.append(f"{pad}{s.key} of {s.buffer.name}: {show_expr(s.value)}")
            stack.append((s.body, depth))
        elif isinstance(s, Lowered):
            lines.append(f"{pad}lowered:")
            stack.append((s.body, depth + 1))
    return "\n".join(lines)


def show_function(f: PrimFunc) -> str:
    """Header and body."""
    params = ", ".join(f"{b.name}: {b.dtype}[{', '.join(map(str, b.shape))}]" for b in f.params)
    return f"def {f.name}({params}):\n{show_stmt(f.body, 1)}"
