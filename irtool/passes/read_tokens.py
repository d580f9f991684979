"""ReadTokens: a decoder of text takes tokens alone, and gives the scores behind the last one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..deferred import np
from ..diagnostics import IrError, nearest
from ..ir import (
    Call,
    Constant,
    Dim,
    Expr,
    Function,
    Module,
    TensorType,
    Tuple,
    Var,
    substitute,
    with_function,
    without_return_type,
)
from ..ir.tensor_names import OUTPUT_DIMS, parameters_by_input, without_inputs
from ..ops.base import attributes_of, call, is_call_to
from ..symbolic_int import symbol_of
from .core.base import ModulePass, register_pass
from .core.constants import array_constant
from .core.context import PassContext
from .core.mistakes import CannotTransform


@register_pass("ReadTokens", level=1)
@dataclass(frozen=True)
class ReadTokens(ModulePass):
    """Computes the mask and the positions of a decoder from the number of its tokens, and the scores of the last token only.

    ::

        def @main(%ids: Tensor[(1, n), int64], %mask: Tensor[(1, past + n), int64], %past: Tensor[(1, 8, past, 64), float32], …) {
          …; (nn.dense(%h, %head), %present) }          with tokens="ids"
            ⇒  def @main(%ids: Tensor[(1, n), int64], %past: Tensor[(1, 8, past, 64), float32], …) {
                 %0 = full(1i64, shape=[1, past + n]); …; (nn.dense(strided_slice(%h, …), %head), %present) }

    A mask is an input with an element for each token, those before among them, in integers or truth values: all count. Positions are integers with the
    shape of the tokens. Lengths have to be given (`--dim 'past<=512'`). Builds of the result have `NAME_prefill` and `NAME_decode`.

    Options:
        tokens: the input with the tokens, by the name of the parameter or of the model's input.
    """

    changes: ClassVar[str] = "interface"

    tokens: str = "input_ids"

    def transform(self, module: Module, context: PassContext) -> Module:
        function = module.functions.get("main")
        if not isinstance(function, Function):
            raise IrError("there is no @main that reads tokens", code=CannotTransform)
        names = parameters_by_input(function)
        tokens = next((p for p in function.params if p.name == names.get(self.tokens, self.tokens)), None)
        if tokens is None:
            all_names = [*(p.name for p in function.params), *names]
            help = nearest(self.tokens, all_names)
            raise IrError(f"@main has no input {self.tokens!r}", function.span, code=CannotTransform, help=help)
        shape = _shape(tokens)
        if len(shape) not in (1, 2) or not _is_whole(tokens) or shape[:-1] not in ((), (1,)):
            raise IrError(f"%{tokens.name} is no row of tokens: {_type(tokens)}", tokens.span, code=CannotTransform)
        count = shape[-1]
        computed = dict(_computed(function, tokens, count))
        body = _with_last_scores(function.body, count)
        changed = with_function(
            without_return_type(function),
            params=tuple(p for p in function.params if p not in computed),
            body=substitute(body, computed),
            attrs=without_inputs(_without_output_dims(function), function, lambda p: p in computed),
        )
        return module.with_function("main", changed)


def _without_output_dims(function: Function) -> dict[str, object]:
    return {name: value for name, value in function.attrs.items() if name != OUTPUT_DIMS}


def _type(p: Var) -> TensorType:
    t = p.checked_type or p.type_annotation
    if not isinstance(t, TensorType):
        raise IrError(f"%{p.name} is no tensor", p.span, code=CannotTransform)
    return t


def _shape(p: Var) -> tuple[Dim, ...]:
    return tuple(_type(p).shape)


def _is_whole(p: Var) -> bool:
    return _type(p).dtype in ("int32", "int64")


def _computed(function: Function, tokens: Var, count: Dim) -> Iterator[tuple[Var, Expr]]:
    """The masks and positions among the parameters, each with its expression."""
    past = _past(function, tokens, count)
    if past is None or not isinstance(count, int):
        return
    cache, axis, before = past
    for p in function.params:
        t = p.checked_type or p.type_annotation
        if p is tokens or not isinstance(t, TensorType):
            continue
        if (
            t.dtype in ("int32", "int64", "bool")
            and t.shape[:-1] in ((), (1,))
            and t.shape
            and t.shape[-1] == before + count
        ):
            one = array_constant(np.asarray(1), t.dtype)
            yield p, call("full", one, shape=list(t.shape), dtype=t.dtype, span=p.span)
        elif _is_whole(p) and t.shape == _type(tokens).shape:
            yield p, _positions(tokens, cache, axis, t)


def _past(function: Function, tokens: Var, count: Dim) -> tuple[Var, int, int] | None:
    """A parameter of rank 3 or more, its axis and its extent that is the number of tokens before: a length other than that of the tokens."""
    for p in function.params:
        t = p.checked_type or p.type_annotation
        if p is tokens or not isinstance(t, TensorType) or len(t.shape) < 3:
            continue
        for axis, d in enumerate(t.shape):
            if isinstance(d, int) and symbol_of(d) is not None and d is not count:
                return p, axis, d
    return None


def _positions(tokens: Var, cache: Var, axis: int, t: TensorType) -> Expr:
    """The number of tokens before, and on from there."""
    ones = call("full", array_constant(np.asarray(1), t.dtype), shape=list(t.shape), dtype=t.dtype)
    counted = call("cumsum", ones, axis=len(t.shape) - 1, dtype=t.dtype, exclusive=True)
    place = array_constant(np.asarray(axis), "int64")
    before = call("take", call("shape_of", cache, dtype="int64"), place, axis=0)
    return call("add", counted, before if t.dtype == "int64" else call("cast", before, dtype=t.dtype))


def _with_last_scores(body: Expr, count: Dim) -> Expr:
    """The result with the last row of the scores, its first part, alone."""
    scores = body.fields[0] if isinstance(body, Tuple) and body.fields else body
    t = scores.checked_type
    if not isinstance(t, TensorType) or len(t.shape) not in (2, 3) or t.shape[-2] is not count:
        raise IrError(
            f"the first result has no row of scores for each token: it is {t}", body.span, code=CannotTransform
        )
    last = _last_row(scores, count)
    return Tuple((last, *body.fields[1:]), body.span) if isinstance(body, Tuple) else last


def _last_row(e: Expr, count: Dim) -> Expr:
    """The last row along the axis before the last one, chosen before the operators that work on single rows."""
    row_operators: list[Call] = []
    while isinstance(e, Call):
        data = e.args[0] if e.args else None
        t = data.checked_type if data is not None else None
        works_on_rows = is_call_to(e, "nn.dense", "nn.matmul", "nn.bias_add", "add", "multiply", "cast", "reshape")
        if not works_on_rows or not isinstance(t, TensorType) or len(t.shape) < 2 or t.shape[-2] is not count:
            break
        if not _keeps_rows(e, t):
            break
        row_operators.append(e)
        e = e.args[0]
    t = e.checked_type
    assert isinstance(t, TensorType)
    axis = len(t.shape) - 2
    result: Expr = call("strided_slice", e, begin=[-1], end=[2**31 - 1], strides=[1], axes=[axis], span=e.span)
    for old in reversed(row_operators):
        attributes = attributes_of(old.attrs)
        if is_call_to(old, "reshape"):
            assert isinstance(old.checked_type, TensorType)
            shape = list(old.checked_type.shape)
            attributes = {**attributes, "newshape": [*shape[:-2], 1, shape[-1]]}
        result = call(old.op_name, result, *old.args[1:], span=old.span, **attributes)
    return result


def _keeps_rows(e: Call, t: TensorType) -> bool:
    """True if each row of the result is made of the same row of the first operand, whose type is `t`."""
    others: Sequence[Expr] = e.args[1:]
    out = e.checked_type
    if is_call_to(e, "nn.matmul") and e.attrs.transpose_a:  # type: ignore[union-attr]  # an operator's
        return False
    if is_call_to(e, "reshape"):
        leading = t.shape[:-2] in ((), (1,))
        return (
            isinstance(out, TensorType) and leading and out.shape[:-2] in ((), (1,)) and out.shape[-2:] == t.shape[-2:]
        )
    if is_call_to(e, "add", "multiply"):
        (other,) = others
        u = other.checked_type
        return isinstance(u, TensorType) and isinstance(other, Constant | Var) and len(u.shape) <= 1
    if is_call_to(e, "nn.bias_add"):
        return e.attrs.axis in (-1, len(t.shape) - 1)  # type: ignore[union-attr]  # as above
    return True
