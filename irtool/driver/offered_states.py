"""Inputs of a function that look like states: the pairs of an input and an output that `build --state auto` keeps, and `info` lists.

An output is the next value of an input of the same type, but for extents that a run decides, if it is an update of it (rows written, as
ONNX's TensorScatter does, or put behind it, of which CausalConvWithState keeps the last ones), or if their names in the model say so: `past_key_values.0.key` and `present.0.key`, `h0` and `hn`,
`state` and `state_out`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..ir import Call, Function, Op, TensorType, Tuple, Var, tuple_leaves
from ..ir.dims import is_number
from ..ir.tensor_names import input_names, output_names
from ..ops.base import is_call_to
from ..ops.indexing.scatter import ScatterAlongAxis, ScatterND

_NAMES = (
    (r"past_key_values?(?=$|\W|_)", ("present", "present_key_values", "present_key_value")),
    (r"past(?=$|\W|_)", ("present",)),
    (r"(?<=[a-z_])0$|^0$", ("n", "N")),
    (r"_in$", ("_out",)),
    (r"in_(?=\w)", ("out_",)),
    (r"^", ("new_", "next_", "out_", "output_", "updated_")),
    (r"$", ("_out", "_new", "_next", "_n", "N", "n", "_output", "_updated")),
)
"""Parts of names of inputs, and the parts in their place in names of outputs."""


def offered_states(f: Function) -> dict[str, int]:
    """The parameters of a typed function that look like states, by name, with the numbers of their next values."""
    types = list(tuple_leaves(f.body.known_type))
    fields = list(f.body.fields) if isinstance(f.body, Tuple) else [f.body]
    updated = {n: _updated(e) for n, e in enumerate(fields)} if len(fields) == len(types) else {}
    called, outputs = input_names(f), output_names(f)
    pairs: dict[str, int] = {}
    for p in f.params:
        t = p.checked_type or p.type_annotation
        if not isinstance(t, TensorType):
            continue
        names = set(_next_names(called.get(p, p.name)))
        for n, out in enumerate(types):
            is_next = updated.get(n) is p or (n < len(outputs) and outputs[n] in names)
            if is_next and isinstance(out, TensorType) and _may_follow(t, out) and n not in pairs.values():
                pairs[p.name] = n
                break
    return pairs


def _may_follow(t: TensorType, after: TensorType) -> bool:
    """True if a tensor of the second type may take the place of one of the first, as far as its extents are known."""
    if t.dtype != after.dtype or len(t.shape) != len(after.shape):
        return False
    return all(x == y or not is_number(x) or not isinstance(y, int) for x, y in zip(t.shape, after.shape))


def _next_names(name: str) -> Iterator[str]:
    """The names that the next value of an input may have."""
    for pattern, others in _NAMES:
        for other in others:
            changed = re.sub(pattern, other, name, count=1)
            if changed != name:
                yield changed


def _updated(e: object) -> Var | None:
    """The parameter of which an expression is an update."""
    while isinstance(e, Call) and isinstance(e.op, Op):
        if issubclass(e.op.operator, ScatterAlongAxis | ScatterND) or is_call_to(e, "strided_slice"):
            e = e.args[0]
        elif is_call_to(e, "concatenate") and isinstance(joined := e.args[0], Tuple) and joined.fields:
            e = joined.fields[0]
        else:
            break
    return e if isinstance(e, Var) else None
