"""Primitive functions that take fields of tuples, each on its own, in the place of whole tuples.

A kernel then has the buffers that it reads as its parameters, and functions that do the same with different fields of a tuple are
equal: they share a kernel.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Expr, Function, TupleGetItem, Var, children, post_order, rewrite, with_function, with_type

Path = tuple[int, ...]


@dataclass(frozen=True)
class Field:
    """A tensor of an argument: of that number, at that path of fields."""

    argument: int
    path: Path = ()


def take_fields(function: Function) -> tuple[Function, list[Field]]:
    """A primitive function of the used fields only, and the fields of the first one's arguments to hand it.

    The types of all expressions are known, and are known of the new ones. It is the same function where it uses each parameter as a
    whole::

        fn (%p: (A, B, C)) { tanh(%p.1) }   ⇒   fn (%p: B) { tanh(%p) }, of field 1 of argument 0
    """
    fields: dict[Expr, Field] = {p: Field(n) for n, p in enumerate(function.params)}
    order = post_order(function.body)
    whole: set[Field] = {fields[e] for e in (function.body,) if e in fields}
    for e in order:
        if isinstance(e, TupleGetItem) and e.tuple in fields:
            taken_from = fields[e.tuple]
            fields[e] = Field(taken_from.argument, (*taken_from.path, e.index))
            whole |= {fields[e]} if e is function.body else set()
        else:
            whole.update(fields[k] for k in children(e) if k in fields)
    outermost = [f for f in whole if not any(Field(f.argument, f.path[:n]) in whole for n in range(len(f.path)))]
    outermost.sort(key=lambda f: (f.argument, f.path))
    if outermost == [Field(n) for n in range(len(function.params))]:
        return function, outermost
    params: dict[Field, Var] = {}
    replaced: dict[Expr, Expr] = {}
    chosen = set(outermost)
    for e, f in fields.items():
        if f in chosen:
            t = e.checked_type or (e.type_annotation if isinstance(e, Var) else None)
            param = params.get(f)
            if param is None:
                name = function.params[f.argument].name
                param = params[f] = Var("_".join([name, *map(str, f.path)]), t, e.span, t)
            replaced[e] = param
    body = rewrite(function.body, with_type, memo=replaced)
    return with_function(function, params=tuple(params[f] for f in outermost), body=body), outermost
