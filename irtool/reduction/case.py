"""Cases: a module and the pipeline that runs on it; and their size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from ..diagnostics import IrError
from ..infer import infer_types
from ..ir import (
    Call,
    Constant,
    Expr,
    Function,
    If,
    Let,
    Match,
    MissingData,
    Module,
    RefCreate,
    RefRead,
    RefWrite,
    TensorType,
    Type,
    children,
    global_names,
    post_order,
    rewrite,
    tuple_leaves,
    without_return_type,
)
from ..ir.attributes import stated
from ..ir.verify import verify

_PARTS = (Call, Function, If, Let, Match, RefCreate, RefRead, RefWrite)


class Size(NamedTuple):
    """The size of a case, the most important numbers first. Every accepted step makes it smaller, so a reduction ends.

    Attributes:
        passes: in the pipeline; one that runs others counts as many.
        parts: calls, functions, branches, `let`s and references.
        data: constants that are no scalars.
        nodes: all of them and their uses, parameters and the fields of their types included.
        elements: the sum of the logarithms of the sizes of parameters and constants, with their axes.
        unusual: tensors that are no float32, and constants with other numbers than zeros.
        marks: the facts in annotations and attributes.
        letters: of the pipeline.
    """

    passes: int
    parts: int
    data: int
    nodes: int
    elements: float
    unusual: int
    marks: int
    letters: int


@dataclass(frozen=True, eq=False)
class Case:
    """A module, well typed, and the passes that run on it, as pipeline texts.

    `context` has arguments of `run_passes` under which they run.
    """

    module: Module
    passes: tuple[str, ...] = ()
    context: Mapping[str, Any] = field(default_factory=dict)

    def run(self, instruments: Sequence[Any] = ()) -> Module:
        """The module after the passes. Raises their errors."""
        from ..passes import run_passes

        return run_passes(
            self.module,
            list(self.passes),
            **{**self.context, "instruments": [*self.context.get("instruments", ()), *instruments]},
        )

    def with_module(self, module: Module) -> Case:
        """The same pipeline on another module."""
        return replace(self, module=module)

    def with_function(self, name: str, function: Function) -> Case:
        """The same with another function of that name."""
        return self.with_module(self.module.with_function(name, function))

    def typed(self) -> Case | None:
        """The case with types inferred and the module verified; None if it is not well typed.

        New functions have the result types of their bodies, with any types before.
        """
        module = self.module
        changed = {n: _with_open_result(n, f) for n, f in module.relay_functions.items() if f.checked_type is None}
        try:
            module = infer_types(module.with_functions({**module.functions, **changed}))
        except IrError:
            return None
        if verify(module):
            return None
        return self if module is self.module else self.with_module(module)

    @property
    def operators(self) -> int:
        """The number of calls."""
        return sum(isinstance(e, Call) for _, e in nodes_of(self.module))

    @cached_property
    def size(self) -> Size:
        """See `Size`."""
        parts = nodes = data = unusual = marks = 0
        elements = 0.0
        for _, e in nodes_of(self.module):
            nodes += 1 + len(children(e))
            parts += isinstance(e, _PARTS)
            marks += _marks(e)
            for t in _own_types(e):
                if isinstance(e, Function):
                    nodes += 1
                if isinstance(t, TensorType):
                    extents = [d if isinstance(d, int) else _UNKNOWN for d in t.shape]
                    elements += math.log2(1 + math.prod(extents)) + len(extents)
                    unusual += t.dtype != "float32"
            if isinstance(e, Constant) and not isinstance(e.data, MissingData):
                data += e.data.ndim > 0
                unusual += has_numbers(e)
        passes = sum(_MANY if runs_others(text) else 1 for text in self.passes)
        nodes += len(self.module.type_definitions)
        return Size(passes, parts, data, nodes, round(elements, 6), unusual, marks, sum(map(len, self.passes)))


def _with_open_result(name: str, f: Function) -> Function:
    """The function without types of results that follow from bodies; recursive functions keep theirs."""
    if name in global_names(f):
        return f

    def leave(old: Expr, new: Expr) -> Expr:
        is_new = isinstance(new, Function) and new.checked_type is None and new.ret_type is not None
        return without_return_type(new) if is_new and isinstance(new, Function) else new

    return rewrite(f, leave)


_UNKNOWN = 1024
"""What an extent that is not known counts."""
_MANY = 1000
"""What a pass that runs others counts."""


def runs_others(text: str) -> bool:
    """True for a named pipeline, and for `func(…)`."""
    return "<" in text.partition("{")[0] or text.startswith("func(")


def has_numbers(e: Constant) -> bool:
    """True if a constant holds anything but zeros."""
    return not isinstance(e.data, MissingData) and bool(e.data.tobytes().strip(b"\0"))


def _marks(e: Expr) -> int:
    if isinstance(e, Call):
        return len(stated(e.attrs)) if e.attrs is not None else 0
    if isinstance(e, Let):
        return int(e.var.type_annotation is not None)
    return len(e.attrs) if isinstance(e, Function) else 0


def _own_types(e: Expr) -> Iterator[Type]:
    """The types of a node's parameters, or of a constant."""
    types = [p.checked_type or p.type_annotation for p in e.params] if isinstance(e, Function) else []
    types += [e.checked_type] if isinstance(e, Constant) else []
    for t in types:
        if t is not None:
            yield from tuple_leaves(t)


def nodes_of(module: Module) -> Iterator[tuple[str, Expr]]:
    """Every node of every function in Relay, each with the name of the function; functions in order, children first."""
    for name, f in module.relay_functions.items():
        for e in post_order(f):
            yield name, e
