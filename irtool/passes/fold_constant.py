"""FoldConstant: evaluates calls on constants at compile time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

from ..deferred import np
from ..diagnostics import IrError, Span
from ..ir import (
    Call,
    Constant,
    Expr,
    Function,
    If,
    MissingData,
    Module,
    Op,
    TensorType,
    Tuple,
    TupleGetItem,
    TupleType,
    Type,
    post_order,
)
from ..ir.attributes import formulas
from ..ir.dims import is_number
from ..ir.types import distinct_leaves
from ..ops.base import is_call_to, operators
from ..ops.dtypes import has_arrays
from .core.base import FunctionPass, register_pass
from .core.constants import array_constant
from .core.context import PassContext
from .core.folding_budget import FoldingBudget, current_budget
from .core.let_inlining import rewrite_lets
from .core.lexical_devices import without_device
from .core.primitive_functions import is_primitive
from .effects.purity import Effects
from .packed_weights import transposed_weights

_LARGEST = 1 << 28
"""Most elements of a folded constant; larger results stay calls, since calls can have results of any size."""


@register_pass("FoldConstant", level=2)
@dataclass(frozen=True)
class FoldConstant(FunctionPass):
    """Evaluates calls of operators on constants.

    ::

        add(2f, 3f)                          ⇒  5f
        let %x = 2f; add(%x, %y)             ⇒  add(2f, %y)
        if (True) { a } else { b }           ⇒  a
        (a, b).1                             ⇒  b
        shape_of(%x: Tensor[(2, 3), …])      ⇒  meta[relay.Constant][0]  (= [2, 3])

    Calls without arguments (`zeros(shape=…)`) stay, since the array may be much larger than the call, and so do calls whose results
    would together have more than 64 MiB beyond the constants that they replace. Stateful operators,
    bodies of primitive functions, and operators of the quantized dialect stay, too. Weights of `qnn.dequantize_blocks` stay packed: a
    transpose of them moves into the constants.

    Options:
        fold_qnn: also evaluate operators of the quantized dialect.
    """

    fold_qnn: bool = False

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        return fold_constants(function, module, self.fold_qnn)


@overload
def fold_constants(e: Function, module: Module | None = None, fold_qnn: bool = False) -> Function: ...
@overload
def fold_constants(e: Expr, module: Module | None = None, fold_qnn: bool = False) -> Expr: ...
def fold_constants(e: Expr, module: Module | None = None, fold_qnn: bool = False) -> Expr:
    """`e` with its constant parts evaluated. Needs types only for the shapes of the others."""
    return ConstantFolder(module, fold_qnn).run(e)


class ConstantFolder:
    """Evaluates calls on constants, from the operands to the results."""

    def __init__(self, module: Module | None, fold_qnn: bool = False) -> None:
        self.module = module
        self.fold_qnn = fold_qnn
        self.effects = Effects(module)
        self.budget = FoldingBudget()

    @overload
    def run(self, root: Function) -> Function: ...
    @overload
    def run(self, root: Expr) -> Expr: ...
    def run(self, root: Expr) -> Expr:
        self.budget = current_budget(root)
        self.inside = {e for f in post_order(root) if is_primitive(f) for e in post_order(f.body)}
        return rewrite_lets(root, lambda var, value: value if is_constant(value) else None, self.fold)

    def fold(self, old: Expr, new: Expr) -> Expr:
        """The replacement of `new`, which is `old` over folded children."""
        if old in self.inside:
            return new
        if isinstance(old, Call):
            return self.call(old, new)  # type: ignore[arg-type]  # `new` is `old` over its new children
        if isinstance(old, TupleGetItem):
            fields = without_device(new.tuple)  # type: ignore[attr-defined]  # `new` is `old` over its new children
            if not isinstance(fields, Tuple) or not self.effects.only_field(fields, old.index):
                return new
            return fields.fields[old.index]
        if isinstance(old, If):
            return _branch(new)  # type: ignore[arg-type]  # `new` is `old` over its new children
        return new

    def call(self, old: Call, new: Call) -> Expr:
        if not new.args or not isinstance(new.op, Op):
            return new
        operator = new.op.operator
        if operator.stateful:
            return new
        size = _static_shape_query(old)
        if size is not None:
            return size
        if not operator.folds or (operator.noncomputational and not (self.fold_qnn and _is_quantized(new))):
            return new
        if not all(is_constant_tree(a) for a in new.args):
            return transposed_weights(new) or new
        return self.evaluate(old, new)

    def evaluate(self, old: Call, new: Call) -> Expr:
        from ..interp.evaluate import evaluate_expr

        if not can_be_constant(old.checked_type):
            return new
        bare = Call(new.op, tuple(map(without_device, new.args)), new.attrs, new.type_args, new.span)
        if not self.budget.admits(bare, old.checked_type):
            return new
        try:
            value = evaluate_expr(bare, self.module)
        except IrError:
            return new
        return as_constant(value, old.checked_type, _place(old, new.args))


def _place(call: Call, args: Sequence[Expr]) -> Span | None:
    """The place of a folded call: that of the weight in it, of the call, or of an argument."""
    return _named(args) or call.span or next((a.span for a in args if a.span is not None), None)


def _named(args: Sequence[Expr]) -> Span | None:
    """The place of the largest constant among arguments that was a parameter: a weight, folded, is still that weight."""
    constants: list[Constant] = []
    stack = list(reversed(args))
    while stack:
        e = without_device(stack.pop())
        if isinstance(e, Tuple):
            stack.extend(reversed(e.fields))
        elif isinstance(e, Constant) and e.span is not None and e.span.name:
            constants.append(e)
    return max(constants, key=lambda e: e.data.size).span if constants else None  # type: ignore[union-attr]  # the data of the constant is there


def is_constant(e: Expr) -> bool:
    """A constant with known data, perhaps annotated with a device."""
    e = without_device(e)
    return isinstance(e, Constant) and not isinstance(e.data, MissingData)


def is_constant_tree(root: Expr) -> bool:
    """A constant, or a tuple (of tuples …) of constants."""
    stack = [root]
    while stack:
        e = without_device(stack.pop())
        if isinstance(e, Tuple):
            stack.extend(e.fields)
        elif not is_constant(e):
            return False
    return True


def _is_quantized(e: Call) -> bool:
    """True if the operator belongs to the quantized dialect and has a meaning in ordinary arithmetic."""
    return e.op_name.startswith("qnn.") and e.op_class.name in operators


def _static_shape_query(old: Call) -> Expr | None:
    """The result of shape_of and ndarray_size where the argument's type alone decides it."""
    if not is_call_to(old, "shape_of", "vm.shape_of", "ndarray_size"):
        return None
    t = old.args[0].checked_type
    if not isinstance(t, TensorType) or not all(map(is_number, t.shape)):
        return None
    dtype = old.attrs.dtype or "int32"
    if not has_arrays(dtype):
        return None
    if is_call_to(old, "ndarray_size"):
        return array_constant(np.asarray(math.prod(t.static_shape)), dtype)
    if not t.shape:  # its type is that of a scalar, as in TVM, and no constant of no elements is one
        return None
    return array_constant(np.asarray(t.shape, "int64"), dtype)


def can_be_constant(t: Type | None) -> bool:
    """True if tensors of the type, and tuples of them, can be written, and are worth making as far as the type is known."""
    return t is None or all(
        isinstance(x, TensorType)
        and has_arrays(x.dtype)
        and not formulas(x.shape)
        and (not x.is_static or math.prod(x.static_shape) <= _LARGEST)
        for x in distinct_leaves(t)
    )


def _branch(e: If) -> Expr:
    cond = without_device(e.cond)
    if not isinstance(cond, Constant) or isinstance(cond.data, MissingData):
        return e
    return e.true_branch if cond.data.reshape(-1)[0] else e.false_branch


def as_constant(value: Any, type: Type | None, span: Span | None = None) -> Expr:
    """The value of an evaluation as an expression: a constant, or a tuple (of tuples …) of constants, of that place."""
    done: list[Expr] = []
    stack: list[tuple[Any, Type | None, int]] = [(value, type, -1)]
    while stack:
        v, t, fields = stack.pop()
        if fields >= 0:
            field_values = done[len(done) - fields :]
            del done[len(done) - fields :]
            done.append(Tuple(tuple(field_values)))
        elif isinstance(v, tuple | list):
            types = t.fields if isinstance(t, TupleType) else (None,) * len(v)
            stack.append((None, None, len(v)))
            stack.extend((x, y, -1) for x, y in reversed(list(zip(v, types, strict=True))))
        else:
            done.append(_constant(np.asarray(v), t, span))
    return done[0]


def _compact(array: np.ndarray) -> np.ndarray:
    """The array, or a copy of it if it has elements several times or gaps between them. A permutation of axes stays a view: a transposed
    weight takes no memory beside the weight."""
    order = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
    if array.transpose(order).flags.c_contiguous:
        return array
    return np.ascontiguousarray(array).reshape(array.shape)


def _constant(array: np.ndarray, t: Type | None, span: Span | None) -> Constant:
    dtype = t.dtype if isinstance(t, TensorType) else str(array.dtype)
    if dtype == "bfloat16" and array.dtype != np.uint16:
        constant = array_constant(array, dtype)
    else:
        converted = array if dtype == "bfloat16" else array.astype(dtype, copy=False)
        constant = Constant(_compact(converted), dtype)
    return Constant(constant.data, dtype, None, span, TensorType(array.shape, dtype))
