"""Values of expressions: tensors, tuples of them, and names for nodes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...diagnostics import Span
from ...ir import TensorType, TupleType, Type
from ...ir.types import tuple_leaves
from .graph import Value
from .no_form import NoForm
from .site import element_type


def label_of(span: Span | None, what: str) -> str:
    """A name for nodes: that of the place in the text, with `what`."""
    if span is None:
        return what
    return span.name or f"{what}:{span.line}:{span.column}"


def flatten(value: Any) -> list[Value]:
    """The tensors of a value, in order."""
    values: list[Value] = []
    stack = [value]
    while stack:
        v = stack.pop()
        if isinstance(v, tuple) and not isinstance(v, Value):
            stack.extend(reversed(v))
        else:
            values.append(v)
    return values


def nested(leaves: Iterable[Any], t: Type | None) -> Any:
    """Values as the tuples that a type says; a tensor's is the value itself. What is no tuple is a leaf."""
    source = iter(leaves)
    done: list[list[Any]] = [[]]
    stack: list[Any] = [t]
    while stack:
        step = stack.pop()
        if isinstance(step, TupleType):
            done.append([])
            stack.append(None)
            stack.extend(reversed(step.fields))
        elif step is None:
            fields = tuple(done.pop())
            done[-1].append(fields)
        else:
            done[-1].append(next(source, None))
    return done[0][0]


def leaves_of(t: Type | None) -> list[Type]:
    """The types in a tuple, in order; of another type itself, of none at all nothing."""
    return [] if t is None else list(tuple_leaves(t))


def tensor_leaves(t: Type | None) -> list[TensorType]:
    """The same, if all are tensors that ONNX has. Raises NoForm if one is not."""
    tensor_types = []
    for leaf in leaves_of(t):
        if not isinstance(leaf, TensorType):
            raise NoForm("there is something in it that is no tensor")
        element_type(leaf.dtype)
        tensor_types.append(leaf)
    return tensor_types
