"""Attributes of calls go back to their defaults."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ...ir import Call, Expr, Op
from ...ir.attributes import stated
from ...ops.base import attributes_of
from ..case import Case, nodes_of
from ..search import Search
from .replacing import rewritten


def default_attributes(search: Search) -> None:
    """`nn.conv2d(…, strides=[2, 2], padding=[1, 1, 1, 1]) ⇒ nn.conv2d(…)`, as far as types allow it."""
    case = search.best
    sites = [
        (e, name)
        for _, e in nodes_of(case.module)
        if isinstance(e, Call) and isinstance(e.op, Op) and dataclasses.is_dataclass(e.attrs)
        for name, _ in stated(e.attrs)
        if _has_default(e.attrs, name)
    ]

    def without(chosen: Sequence[tuple[Call, str]]) -> Case:
        removed: dict[Expr, list[str]] = {}
        for e, name in chosen:
            removed.setdefault(e, []).append(name)

        def leave(old: Expr, new: Expr) -> Expr:
            names = removed.get(old)
            if names is None or not isinstance(new, Call):
                return new
            attrs = new.op_class.make(attributes_of(new.attrs, *names))
            return Call(new.op, new.args, attrs, new.type_args, new.span)

        return rewritten(case, leave)

    search.keep_most(sites, without)


def _has_default(attrs: Any, name: str) -> bool:
    field = next(f for f in dataclasses.fields(attrs) if f.name == name)
    return field.default is not dataclasses.MISSING and not field.metadata.get("always stated")
