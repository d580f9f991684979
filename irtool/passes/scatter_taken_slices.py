"""ScatterTakenSlices: the loop that is TVM's gradient of `take` becomes one scatter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..diagnostics import IrError
from ..infer import infer_expr
from ..ir import Call, Constant, Expr, Function, If, Let, Module, TensorType, Tuple, TupleGetItem, post_order, rewrite
from ..ir.structural import structural_equal
from ..ops.base import call, is_call_to
from .core.base import FunctionPass, register_pass
from .core.constants import scalar_constant, single_value
from .core.context import PassContext
from .gradients.take import scatter_loop


@register_pass("ScatterTakenSlices", level=0, required=("InferType",))
@dataclass(frozen=True)
class ScatterTakenSlices(FunctionPass):
    """Replaces the loop over the indices that the gradient of `take` is by a scatter, or by a padded slice.

    ::

        let %while_loop = fn (%data_grad, %i) { if (%i < count) { %while_loop(…, %i + 1) } else { (%data_grad, %i) } };
        %while_loop(zeros_like(%data), [0]).0
            ⇒  scatter_nd(zeros_like(%data), expand_dims(%indices, axis=0), %grad, mode="add")

    The loop is slow, and as each step adds to a slice whose extent only the run knows, it cannot be compiled to C. A slice at one
    known index becomes `nn.pad`, which later operators read without storing it.
    """

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        named: dict[Expr, Constant] = {
            e.var: e.value for e in post_order(function) if isinstance(e, Let) and isinstance(e.value, Constant)
        }
        return rewrite(function, lambda old, new: _leave(old, new, named))


def _leave(old: Expr, new: Expr, named: Mapping[Expr, Constant]) -> Expr:
    if not isinstance(old, TupleGetItem) or not isinstance(new, TupleGetItem) or old.index != 0:
        return new
    before, after = old.tuple, new.tuple
    if not isinstance(before, Call) or not isinstance(before.op, Let) or len(before.args) != 2:
        return new
    loop = _loop_of(before.op)
    if loop is None or not _is_of_a_gradient(before.op, loop, before.args[1]):
        return new
    assert isinstance(after, Call) and isinstance(after.op, Let)
    rewritten = _loop_of(after.op)
    assert rewritten is not None
    place = _known_index(loop.indices, named) if _length(loop.indices) == 1 else None
    return _at_once(rewritten, after.args[0], place)


@dataclass(frozen=True)
class _Loop:
    """The parts of a loop that looks like one of a gradient: `axis` of a tensor is added to at `indices`, slice by slice."""

    shape: tuple[int, ...]
    dtype: str
    axis: int
    indices: Expr
    grad: Expr
    count: Expr
    one: Expr


def _loop_of(let: Let) -> _Loop | None:
    """The parts of a loop of the form that `scatter_loop` makes; None for one that has no such parts."""
    function = let.value
    if not isinstance(function, Function) or len(function.params) != 2 or let.body is not let.var:
        return None
    data, i = function.params
    body, t = function.body, data.type_annotation
    if not isinstance(body, If) or not isinstance(t, TensorType) or not t.is_static:
        return None
    again = body.true_branch
    if not isinstance(again, Call) or again.op is not let.var or len(again.args) != 2:
        return None
    condition, (updated, following) = body.cond, again.args
    if not is_call_to(condition, "squeeze") or not is_call_to(condition.args[0], "less"):
        return None
    if not is_call_to(updated, "strided_set") or not is_call_to(following, "add"):
        return None
    total, low = updated.args[1], updated.args[2]
    if not is_call_to(total, "add") or not is_call_to(total.args[1], "take") or not is_call_to(low, "concatenate"):
        return None
    piece, begin = total.args[1], low.args[0]
    axis = piece.attrs.axis
    if not isinstance(begin, Tuple) or axis is None or not 0 <= axis < len(begin.fields):
        return None
    index = begin.fields[axis]
    if not is_call_to(index, "take") or index.args[1] is not i:
        return None
    count, one = condition.args[0].args[1], following.args[1]
    return _Loop(t.static_shape, t.dtype, axis, index.args[0], piece.args[0], count, one)


def _is_of_a_gradient(let: Let, loop: _Loop, zero: Expr) -> bool:
    """True if the loop is the one that the gradient of `take` would be with these parts, and runs over all of the indices."""
    grad = loop.grad.checked_type
    if not isinstance(grad, TensorType) or not grad.is_static:
        return False
    length = _length(loop.indices)
    if length is None or grad.static_shape[loop.axis] != length:
        return False
    expected = scatter_loop(loop.shape, loop.dtype, loop.axis, loop.indices, loop.grad, loop.count, zero, loop.one)
    try:
        return structural_equal(infer_expr(expected), let)
    except IrError:
        return False


def _length(indices: Expr) -> int | None:
    """The number of indices in a vector; None where it is not known."""
    t = indices.checked_type
    return t.static_shape[0] if isinstance(t, TensorType) and t.is_static and len(t.shape) == 1 else None


def _at_once(loop: _Loop, result: Expr, place: int | None) -> Expr:
    """`result` with all slices added to it; `place` is the index of the only one, as far as it is known."""
    rank, axis = len(loop.shape), loop.axis
    if place is not None and is_call_to(result, "zeros_like") and 0 <= place < loop.shape[axis]:
        widths = [(place, loop.shape[axis] - 1 - place) if a == axis else (0, 0) for a in range(rank)]
        zero = scalar_constant(0, loop.dtype)
        return call("nn.pad", loop.grad, zero, pad_width=tuple(widths), pad_mode="constant")
    positions = call("expand_dims", loop.indices, axis=0)
    if axis == 0:
        return call("scatter_nd", result, positions, loop.grad, mode="add")
    front = (axis, *range(axis), *range(axis + 1, rank))
    back = (*range(1, axis + 1), 0, *range(axis + 1, rank))
    first, grad = (call("transpose", e, axes=front) for e in (result, loop.grad))
    return call("transpose", call("scatter_nd", first, positions, grad, mode="add"), axes=back)


def _known_index(indices: Expr, named: Mapping[Expr, Constant]) -> int | None:
    """The index that a vector of one index holds; None where it is not known. `named` are the constants that have names."""
    while is_call_to(indices, "reshape", "cast"):
        indices = indices.args[0]
    value = single_value(named.get(indices, indices))
    return None if value is None else int(value)
