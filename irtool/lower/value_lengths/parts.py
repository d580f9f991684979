"""Values as the tensors in them, and back."""

from __future__ import annotations

from collections.abc import Iterator

from ...infer.infer import infer_expr
from ...ir import Expr, TensorType, Tuple, TupleGetItem, TupleType, Type


def parts_of(e: Expr) -> list[Expr] | None:
    """The tensors of a value as expressions, tuples flattened; None for another value."""
    result: list[Expr] = []
    stack = [e]
    while stack:
        x = stack.pop()
        t = x.checked_type
        if isinstance(t, TensorType):
            result.append(x)
        elif isinstance(x, Tuple):
            stack.extend(reversed(x.fields))
        elif isinstance(t, TupleType):
            stack.extend(infer_expr(TupleGetItem(x, n)) for n in reversed(range(len(t.fields))))
        else:
            return None
    return result


def whole_of(t: Type | None, parts: Iterator[Expr]) -> Expr:
    """The tensors as the value of a type: nested tuples of them."""
    if not isinstance(t, TupleType):
        return next(parts)
    stack: list[tuple[TupleType, list[Expr]]] = [(t, [])]
    while True:
        form, fields = stack[-1]
        if len(fields) == len(form.fields):
            stack.pop()
            result = infer_expr(Tuple(tuple(fields)))
            if not stack:
                return result
            stack[-1][1].append(result)
            continue
        inner = form.fields[len(fields)]
        if isinstance(inner, TupleType):
            stack.append((inner, []))
        else:
            fields.append(next(parts))
