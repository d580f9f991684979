"""Every intermediate value of a function: by the interpreter, and as a module that any way of running takes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ..ir import Expr, Module


class Value(NamedTuple):
    """A value of a function: the variable that it is bound to, or its operator, and its place: `net.relay:3:8`, or empty."""

    name: str
    place: str


def with_every_value(module: Module, entry: str) -> tuple[Module, list[Value]]:
    """The module, types inferred, with an entry that returns all values of its body as a tuple, and their names and places, in order.

    Values inside of branches, clauses and other functions are not among them.
    """
    from ..infer import infer_types
    from ..ir import Call, Constant, Let, Tuple, TupleGetItem, let_chain, post_order, with_function, without_return_type
    from ..ir.expr import LEAVES, Function, If, Match
    from ..ir.types import is_of_tensors

    f = module[entry]
    lets, result = let_chain(f.body)
    bound: dict[Expr, str] = {}
    named: dict[Expr, str] = {}
    for root in (*(let.value for let in lets), result):
        bound.update({let.value: let.var.name for let in lets if let.value is root})
        for e in post_order(root, enter=lambda e: not isinstance(e, Function | If | Let | Match)):
            if isinstance(e, (*LEAVES, Constant, Tuple, TupleGetItem, Function)) and e not in bound:
                continue
            if e.checked_type is not None and is_of_tensors(e.checked_type) and not isinstance(e, Constant):
                name = getattr(e.op, "name", "") if isinstance(e, Call) else type(e).__name__.lower()
                named[e] = bound.get(e) or name or "call"
    body: Expr = Tuple(tuple(named))
    for let in reversed(lets):
        body = Let(let.var, let.value, body, let.span)
    every = module.with_function(entry, with_function(without_return_type(f), body=body))
    return infer_types(every), [Value(name, _place(e)) for e, name in named.items()]


def _place(e: Expr) -> str:
    if e.span is None:
        return ""
    return f"{e.span.location} ({e.span.node})" if e.span.node else e.span.location


def intermediates(module: Module, entry: str, values: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Names and arrays of the values in the body of a function, in order; tuples are taken apart.

    A name is the number of the value, and the variable that it is bound to, or the operator: `0003.nn.conv2d`.
    """
    from ..interp.evaluate import evaluate
    from ..ir.values import value_leaves

    every, named = with_every_value(module, entry)
    computed = evaluate(every, values, entry=entry)
    width = max(4, len(str(len(named))))
    for n, (about, value) in enumerate(zip(named, computed, strict=True)):
        leaves = value_leaves(value)
        plain = re.sub(r"[^\w.-]", "_", about.name)
        for i, leaf in enumerate(leaves):
            yield f"{n:0{width}d}.{plain}" + (f".{i}" if len(leaves) > 1 else ""), leaf
