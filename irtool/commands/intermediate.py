"""Every intermediate value of a function, by the interpreter."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..ir import Expr, Module


def intermediates(module: Module, entry: str, values: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Names and arrays of the values in the body of a function, in order; tuples are taken apart.

    Values inside of branches, clauses and other functions are not among them. A name is the number of the value, and the
    variable that it is bound to, or the operator: `0003.nn.conv2d`.
    """
    from ..infer import infer_types
    from ..interp.evaluate import evaluate
    from ..ir import Call, Constant, Let, Tuple, TupleGetItem, let_chain, post_order, with_function, without_return_type
    from ..ir.expr import LEAVES, Function, If, Match
    from ..ir.types import is_of_tensors
    from ..ir.values import value_leaves

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
    computed = evaluate(infer_types(every), values, entry=entry)
    width = max(4, len(str(len(named))))
    for n, (name, value) in enumerate(zip(named.values(), computed, strict=True)):
        leaves = value_leaves(value)
        plain = re.sub(r"[^\w.-]", "_", name)
        for i, leaf in enumerate(leaves):
            yield f"{n:0{width}d}.{plain}" + (f".{i}" if len(leaves) > 1 else ""), leaf
