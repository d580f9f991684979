"""Descriptions of kernels in words, for the comments of generated code."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from ..ir import Call, Expr, TensorType, Type, tuple_leaves
from ..ir.attributes import stated
from ..tir.program import Place

_LONGEST = 200
"""Characters of an attribute's value that are shown."""


def described_call(e: Call) -> str:
    """A call of an operator, as in `nn.conv2d(float32[1, 3, 8, 8], float32[4, 3, 3, 3]) -> float32[1, 4, 6, 6], kernel_size=[3, 3]`."""
    arguments = ", ".join(_shape(a.checked_type) for a in e.args)
    attributes = [f", {name}={_value(value)}" for name, value in stated(e.attrs)] if e.attrs else []
    return f"{e.op_name}({arguments}) -> {_shape(e.checked_type)}{''.join(attributes)}"


def places(calls: Sequence[Call]) -> tuple[Place, ...]:
    """The place of each call in its source, as in `net.relay:3:8`, without the folder; empty for a call without one."""
    return tuple(_place(e) for e in calls)


def _place(e: Expr) -> Place:
    if e.span is None:
        return Place("")
    line, column = e.span.source.position(e.span.start)
    return Place(f"{os.path.basename(e.span.source.name) or e.span.source.name}:{line}:{column}", e.span.node)


def _shape(t: Type | None) -> str:
    leaves = [f"{x.dtype}{list(x.shape)}" for x in tuple_leaves(t) if isinstance(x, TensorType)]  # type: ignore[arg-type]  # types have been inferred
    return leaves[0] if isinstance(t, TensorType) else f"({', '.join(leaves)})"


def _value(value: Any) -> str:
    if isinstance(value, tuple):
        value = list(value)
    text = str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
