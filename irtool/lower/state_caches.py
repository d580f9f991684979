"""States that grow by concatenation, as caches: their memory has room for all rows, and a step writes its rows behind those of the steps before.

    def @main(%past: Tensor[(past, 8), float32], %x: Tensor[(n, 8), float32], state_outputs=[0, -1]) {
      %0 = concatenate((%past, %x)); %0 }

      ⇒   def @main(%past: Tensor[(512, 8), float32], %x: Tensor[(n, 8), float32], …) {
            %0 = length.write(%past, %x, axis=0, begin=past); %0 }

All else that read `%0` reads the first `past + n` rows, `length.cut(%0, shape=[past + n, 8])`. What read `%past` reads the first `past` rows, which
a write leaves as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..infer import infer_types
from ..ir import Call, Expr, Function, Module, Op, TensorType, Tuple, Var, rewrite, without_return_type
from ..ir.expr import with_function
from ..ir.tensor_names import WRITTEN_STATES, state_lengths, state_outputs
from ..ops.base import call
from ..symbolic_int import symbol_of


@dataclass(frozen=True)
class _Cache:
    """A state that grows.

    Attributes:
        param: its parameter.
        output: the number of its next value.
        rows: what is put behind it along `axis`.
        shapes: of the parameter, of its next value, and of its memory.
    """

    param: Var
    output: int
    rows: tuple[Expr, ...]
    axis: int
    shapes: tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]


def write_caches(module: Module, entry: str) -> Module:
    """The typed module whose entry writes rows into states that grow by concatenation; itself if none does."""
    function = module.functions.get(entry)
    if not isinstance(function, Function):
        return module
    changed = function
    while (cache := next(_caches(changed), None)) is not None:
        changed = _writing(changed, cache)
    return module if changed is function else infer_types(module.with_function(entry, changed))


def _caches(function: Function) -> Iterator[_Cache]:
    lengths = {symbol_of(d): (after, most) for d, after, most in state_lengths(function)}
    fields = _results(function)
    for p, n in state_outputs(function).items():
        t, joined = p.type_annotation or p.checked_type, fields[n] if n < len(fields) else None
        if not isinstance(t, TensorType) or not isinstance(joined, Call):
            continue
        if not isinstance(joined.op, Op) or joined.op.name != "concatenate" or not isinstance(joined.args[0], Tuple):
            continue
        first, *rows = joined.args[0].fields
        axis = joined.attrs.axis % len(t.shape)
        before = t.shape[axis]
        symbol = symbol_of(before) if isinstance(before, int) else None
        if first is not p or not rows or symbol not in lengths:
            continue
        old, new, memory = ((*t.shape[:axis], d, *t.shape[axis + 1 :]) for d in (before, *lengths[symbol]))
        yield _Cache(p, n, tuple(rows), axis, (old, new, memory))


def _results(function: Function) -> tuple[Expr, ...]:
    return function.body.fields if isinstance(function.body, Tuple) else (function.body,)


def _writing(function: Function, cache: _Cache) -> Function:
    """The function that writes the rows of one state.

    What these rows depend on reads the memory before it is written, all else afterwards.
    """
    t, axis = cache.param.type_annotation or cache.param.checked_type, cache.axis
    assert isinstance(t, TensorType)
    old, new, whole = cache.shapes
    memory = Var(cache.param.name, TensorType(whole, t.dtype), cache.param.span)
    joined = _results(function)[cache.output]
    memo: dict[Expr, Expr] = {cache.param: call("length.cut", memory, shape=old, span=joined.span)}
    rows = [rewrite(r, lambda e, changed: changed, memo=memo) for r in cache.rows]
    one = rows[0] if len(rows) == 1 else call("concatenate", Tuple(tuple(rows)), axis=axis, span=joined.span)
    written = call("length.write", memory, one, axis=axis, begin=old[axis], span=joined.span)
    memo[cache.param] = call("length.cut", written, shape=old, span=joined.span)
    memo[joined] = call("length.cut", written, shape=new, span=joined.span)
    results = [rewrite(r, lambda e, changed: changed, memo=memo) for r in _results(function)]
    results[cache.output] = written
    changed = with_function(
        function,
        params=tuple(memory if p is cache.param else p for p in function.params),
        body=Tuple(tuple(results), function.body.span) if isinstance(function.body, Tuple) else written,
        attrs={**function.attrs, WRITTEN_STATES: [*function.attrs.get(WRITTEN_STATES, ()), cache.param.name]},
    )
    return without_return_type(changed)
