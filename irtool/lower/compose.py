"""A primitive Relay function as a graph of tensor expressions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from .. import te
from ..diagnostics import Diagnostic, InternalError, IrError
from ..interp.mistakes import MissingConstant
from ..ir import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    MissingData,
    Op,
    TensorType,
    Tuple,
    TupleGetItem,
    TupleType,
    Type,
    Var,
    children,
    leaf_paths,
    post_order,
    tuple_leaves,
)
from ..ir.example_shapes import bounded_shape, example_shape
from ..ir.narrow import NARROW
from ..ir.types import has_static_shapes
from ..ops.base import RelationError, is_unknown
from ..ops.empty import compute_nothing, has_no_elements
from ..tir import dtypes
from .mistakes import DynamicShape, NoCounterpart, NoSuchElement
from .packed_constants import unpacked


@dataclass(frozen=True)
class TensorGraph:
    """The tensor expressions of a primitive function.

    `inputs` are placeholders: the parameters (tuples flattened), then one for each constant of `constants`, in order.
    `operators` are the calls in order of evaluation.
    """

    inputs: tuple[te.Tensor, ...]
    outputs: tuple[te.Tensor, ...]
    constants: tuple[Constant, ...]
    operators: tuple[Call, ...]


def flat_types(t: Type | None, what: Expr | None = None, read_only: bool = False) -> list[TensorType]:
    """The tensor types in `t`, tuples flattened. Raises IrError if there is another type, or, listing all of them, where
    dimensions are not known. Integers of 4 bits are `read_only`: kernels read constants of them, and store none."""
    tensor_types: list[TensorType] = []
    for x in tuple_leaves(t):  # type: ignore[arg-type]  # types have been inferred
        if not isinstance(x, TensorType):
            raise IrError(
                f"a value of type {x} cannot be represented in C",
                what.span if what is not None else None,
                code=NoCounterpart,
            )
        if x.is_static and not _is_scalar_dtype(x.dtype) and not (read_only and x.dtype in NARROW):
            shown = x.dtype or "no dtype"
            raise IrError(
                f"tensors of {shown} cannot be compiled to C",
                what.span if what is not None else None,
                help="constants may be of 4 bits: give weights by --params" if x.dtype in NARROW else None,
                code=NoSuchElement,
            )
        tensor_types.append(x)
    if not all(x.is_static for x in tensor_types):
        raise IrError(
            [
                _dynamic(x, path, what)
                for x, path in leaf_paths(t)  # type: ignore[arg-type]  # types have been inferred
                if isinstance(x, TensorType) and not x.is_static
            ]
        )
    return tensor_types


_HELD = {"bool": (1,), "float": (16, 32, 64), "bfloat": (16,), "int": (8, 16, 32, 64), "uint": (8, 16, 32, 64)}
"""Widths in bits of the numbers that C has, or that are held as integers of that width."""


def _is_scalar_dtype(dtype: str) -> bool:
    try:
        kind, width = dtypes.parts(dtype)
        return width in _HELD.get(kind, ())
    except TypeError:
        return False


def _dynamic(t: TensorType, path: str, what: Expr | None) -> Diagnostic:
    if isinstance(what, Var) and what.span is not None:
        return Diagnostic(
            f"the shape {t} is not static: compiling to C needs every dimension",
            what.span,
            help=f"give a shape, for example: {example_shape(what.name + path, t)}, or bounds, up to which a run "
            f"decides: {bounded_shape(what.name + path, t)}",
            code=DynamicShape,
        )
    producer = what
    while isinstance(producer, Call) and isinstance(producer.op, Function):
        producer = producer.op.body  # of a primitive function, the operator whose result it gives
    by = producer.op.name if isinstance(producer, Call) and isinstance(producer.op, Op | GlobalVar) else "this"
    return Diagnostic(
        f"{by} gives {t}, a shape that is not static: compiling to C needs every dimension",
        producer.span if producer is not None else None,
        subject=by,
        help=_FROM_VALUES if _is_from_values(producer) else _FROM_SHAPES,
        code=DynamicShape,
    )


_FROM_SHAPES = (
    "it follows from shapes, which --shape NAME=… pins or bounds, or from values, which --params makes constants"
)
_FROM_VALUES = "it follows from values: the interpreter runs it (--via=interp), or --params makes the values constants"


def _is_from_values(e: Expr | None) -> bool:
    """True for the call of an operator whose arguments have known shapes."""
    if not isinstance(e, Call) or not isinstance(e.op, Op) or not e.args:
        return False
    return all(a.checked_type is not None and has_static_shapes(a.checked_type) for a in e.args)


def compose(function: Function) -> TensorGraph:
    """The tensor expressions of a primitive function whose types are known.

    Raises IrError, listing all of them, if operators have no tensor expression.
    """
    inputs: list[te.Tensor] = []
    values: dict[Expr, list[te.Tensor]] = {}
    for p in function.params:
        values[p] = []
        for t in flat_types(p.checked_type or p.type_annotation, p, read_only=True):
            values[p].append(_input(_extents(t), t.dtype, f"p{len(inputs)}", inputs))
    constants: list[Constant] = []
    operators: list[Call] = []
    problems: list[Diagnostic] = []
    order = post_order(function.body)
    index = 0
    # Calls of composite functions are opened up where they stand; the list grows as they are met.
    order, aliases = _open_composites(order)
    while index < len(order):
        e = order[index]
        index += 1
        if e in values or isinstance(e, Op | Function):
            continue
        if e in aliases:
            values[e] = values.get(aliases[e], [])
            continue
        if isinstance(e, Constant):
            values[e] = [_constant(e, inputs, constants)]
        elif isinstance(e, Tuple):
            values[e] = [t for f in e.fields for t in values[f]]
        elif isinstance(e, TupleGetItem):
            values[e] = _item(values[e.tuple], e)
        elif isinstance(e, Call) and isinstance(e.op, Op):
            operators.append(e)
            try:
                values[e] = compute_call(e, [t for a in e.args for t in values[a]])
            except NotImplementedError as error:
                problems.append(Diagnostic(str(error), e.span))
                values[e] = [te.placeholder(_extents(t), t.dtype) for t in flat_types(e.checked_type, e)]
        else:
            raise IrError(f"{e!r} is not allowed in a primitive function", e.span, code=NoCounterpart)
    if problems:
        raise IrError(problems)
    return TensorGraph(tuple(inputs), tuple(values[function.body]), tuple(constants), tuple(operators))


def operator_calls(function: Function) -> list[Call]:
    """The calls of operators in a primitive function, in order of evaluation, as `TensorGraph.operators` has them."""
    return [e for e in _open_composites(post_order(function.body))[0] if isinstance(e, Call) and isinstance(e.op, Op)]


def _open_composites(order: list[Expr]) -> tuple[list[Expr], dict[Expr, Expr]]:
    """Evaluation order with the bodies of called function literals in place, and which node stands for which."""
    aliases: dict[Expr, Expr] = {}
    if not any(isinstance(e, Call) and isinstance(e.op, Function) for e in order):
        return order, aliases
    opened: list[Expr] = []
    seen: set[Expr] = set()
    stack: list[tuple[Expr, bool]] = [(order[-1], False)]
    while stack:
        e, ready = stack.pop()
        if e in seen:
            continue
        if ready:
            seen.add(e)
            opened.append(e)
            continue
        stack.append((e, True))
        if isinstance(e, Call) and isinstance(e.op, Function):
            # Parameters alias arguments; the call aliases the body.
            for p, a in zip(e.op.params, e.args):
                aliases[p] = a
            aliases[e] = e.op.body
            stack.append((e.op.body, False))
            for p, a in zip(reversed(e.op.params), reversed(e.args)):
                stack.append((p, False))
                stack.append((a, False))
        elif isinstance(e, Var) and e in aliases:
            continue
        else:
            stack.extend((k, False) for k in reversed(children(e)))
    return opened, aliases


def _extents(t: TensorType) -> list[int]:
    return list(t.static_shape)


def _constant(e: Constant, inputs: list[te.Tensor], constants: list[Constant]) -> te.Tensor:
    data = e.data
    if isinstance(data, MissingData):
        raise IrError(f"the data of constant {data.key}[{data.index}] is missing", e.span, code=MissingConstant)
    if data.size == 1 and str(data.dtype) == e.dtype:
        value = data.reshape(()).item()
        return te.compute(data.shape, lambda *i: te.const(value, e.dtype), name="constant")
    constants.append(e)
    return _input(data.shape, e.dtype, f"c{len(constants) - 1}", inputs)


def _input(shape: Sequence[int], dtype: str, name: str, inputs: list[te.Tensor]) -> te.Tensor:
    """The elements of an argument, whose placeholder joins `inputs`."""
    if dtype in NARROW:
        stored, elements = unpacked(shape, dtype, name)
        inputs.append(stored)
        return elements
    inputs.append(te.placeholder(shape, dtype, name=name))
    return inputs[-1]


def _item(fields: list[te.Tensor], e: TupleGetItem) -> list[te.Tensor]:
    t = e.tuple.checked_type
    assert isinstance(t, TupleType)
    return fields[t.leaves_of(e.index)]


def _computed(e: Call, arguments: Sequence[te.Tensor], result_types: Sequence[TensorType]) -> Any:
    """The result of a call's operator. Errors name the call: a type rule that accepts more is a bug."""
    try:
        if has_no_elements(result_types) and (nothing := compute_nothing(type(e.attrs), result_types)) is not None:
            return nothing
        return e.attrs.compute(list(arguments), e.checked_type)
    except (MemoryError, NotImplementedError):
        raise
    except IrError as error:
        if any(d.span is not None for d in error.diagnostics):
            raise
        raise IrError(
            [replace(d, message=f"{e.op!r}: {d.message}", span=e.span, subject=repr(e.op)) for d in error.diagnostics]
        ) from None
    except RelationError as error:
        raise IrError(f"{e.op!r}: {error}", e.span, code=NoCounterpart, subject=repr(e.op)) from None
    except Exception as error:
        unknown = next((f.name for f in e.attrs.fields() if is_unknown(getattr(e.attrs, f.name))), None)
        if unknown is not None:
            what = f"{e.op!r}: the attribute {unknown} is known only when the program runs"
            raise IrError(what, e.span, code=NoCounterpart, subject=repr(e.op)) from None
        types = ", ".join(str(a.checked_type) for a in e.args)
        what = f"{e.op!r} of {types} has no tensor expression for these types: {type(error).__name__}: {error}"
        raise InternalError(what, e.span) from error


def compute_call(e: Call, arguments: Sequence[te.Tensor]) -> list[te.Tensor]:
    """The tensors of an operator's call of known types. Raises IrError if their types are different."""
    types = flat_types(e.checked_type, e)
    for a in e.args:
        flat_types(a.checked_type, a, read_only=True)
    computed = _computed(e, arguments, types)
    tensors = list(computed) if isinstance(computed, tuple | list) else [computed]
    if len(tensors) != len(types):
        raise IrError(
            f"{e.op!r} computes {len(tensors)} tensors, but its type has {len(types)}", e.span, subject=repr(e.op)
        )
    for tensor, t in zip(tensors, types):
        if list(tensor.shape) != _extents(t) or tensor.dtype != t.dtype:
            have = f"({', '.join(map(str, tensor.shape))}) {tensor.dtype}"
            raise IrError(
                f"the tensor expression of {e.op!r} gives {have}, but its type is {t}", e.span, subject=repr(e.op)
            )
    return tensors
