"""The body of a vectorized loop as text: a line for each step, parts of a `Pick` indented below it."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

from irtool.selection.vectors import ir
from irtool.selection.vectors.channels import Channel
from irtool.selection.vectors.types import VectorType
from irtool.tir.expr import Expr
from irtool.tir.show import show_expr
from irtool.tir.stmt import Buffer


def show_body(body: ir.Body) -> str:
    """`%0 = LoadVector(uint8x8, x, 4, 1, 8)` and so on; fields at their defaults are left out, `!` marks a value that is named."""
    names: dict[ir.Value, str] = {}
    lines: list[str] = []
    _show(body, names, lines, "")
    return "\n".join(lines)


def _show(body: ir.Body, names: dict[ir.Value, str], lines: list[str], pad: str) -> None:
    for s in body.steps:
        parts = [(f.name, getattr(s, f.name)) for f in fields(s) if f.init and _differs(f, getattr(s, f.name))]
        required = {f.name for f in fields(s) if f.default is MISSING}
        args = [
            _text(x, names) if name in required else f"{name}={_text(x, names)}"
            for name, x in parts
            if not isinstance(x, ir.Body)
        ]
        text = f"{type(s).__name__}({', '.join(args)})"
        if isinstance(s, ir.Value):
            names[s] = f"%{len(names)}"
            text = f"{names[s]}{'!' if s.named else ''} = {text}"
        lines.append(pad + text)
        for name, x in parts:
            if isinstance(x, ir.Body):
                lines.append(f"{pad}  {name}:")
                _show(x, names, lines, f"{pad}    ")
    if body.result is not None:
        lines.append(f"{pad}-> {names[body.result]}")


def _differs(field: Any, value: Any) -> bool:
    return field.default is MISSING or value != field.default


def _text(x: Any, names: dict[ir.Value, str]) -> str:
    if isinstance(x, ir.Value):
        return names[x]
    if isinstance(x, VectorType):
        return f"{x.dtype}x{x.lanes}"
    if isinstance(x, Buffer):
        return x.name
    if isinstance(x, Expr):
        return show_expr(x)
    if isinstance(x, Channel):
        return x.name
    if isinstance(x, tuple) and x and isinstance(x[0], ir.Value):
        return f"[{', '.join(names[v] for v in x)}]"
    if isinstance(x, tuple) and x and isinstance(x[0], Buffer):
        return f"{x[0].name}{list(x[1])}"
    return x[0] if isinstance(x, tuple) and isinstance(x[0], str) else str(x)
