"""Hints about a function's parameters from outside: shapes, dtypes, or both, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..diagnostics import Diagnostic, IrError, Span, nearest
from ..ir import (
    Expr,
    Function,
    IncompleteType,
    Let,
    Module,
    TensorType,
    TupleType,
    Type,
    Var,
    leaf_paths,
    post_order,
    rebuild_type,
    rewrite,
    substitute,
    with_binders,
)
from ..ir.types import has_static_shapes
from ..ir.untyped import without_types
from .mistakes import UnfitTypeGiven


@dataclass
class HintedParams:
    """Types of the parameters of a function after hints.

    Attributes:
        types: the types of those that are wholly known, hints and annotations together.
        shapes, dtypes: of parameters of which only one of both is known.
    """

    types: dict[Var, Type] = field(default_factory=dict)
    shapes: dict[Var, tuple[int, ...]] = field(default_factory=dict)
    dtypes: dict[Var, str] = field(default_factory=dict)


def read_hints(
    function: Function, entry: str, shapes: Mapping[str, Sequence[int]], dtypes: Mapping[str, str]
) -> HintedParams:
    """Hints by the names of parameters, `t.0` for fields of tuples, merged with annotations.

    Raises IrError, listing all of them, for names that are no parameters and for what contradicts an annotation.
    """
    result = HintedParams()
    problems: list[Diagnostic] = []
    for name in dict.fromkeys([*shapes, *dtypes]):
        shape = tuple(shapes[name]) if name in shapes else None
        _read_hint(function, entry, name, shape, dtypes.get(name), result, problems)
    if problems:
        raise IrError(problems)
    return result


def _read_hint(
    function: Function,
    entry: str,
    name: str,
    shape: tuple[int, ...] | None,
    dtype: str | None,
    hinted: HintedParams,
    problems: list[Diagnostic],
) -> None:
    by_name = {p.name: p for p in function.params}
    param, path = by_name.get(name), ""
    while param is None and (cut := name[: len(name) - len(path)].rfind(".")) > 0:
        param, path = by_name.get(name[:cut]), name[cut:]
    if param is None:
        known = nearest(name, by_name)
        problems.append(
            Diagnostic(f"@{entry} has no parameter %{name}", place_of_params(function), help=known, code=UnfitTypeGiven)
        )
        return
    old = hinted.types.get(param) or param.type_annotation or param.checked_type
    old = None if isinstance(old, IncompleteType) else old
    leaves = {p: t for t, p in leaf_paths(old)} if old is not None else {}
    written = leaves.get(path)
    if isinstance(old, TupleType) and path not in leaves:
        fields = ", ".join(f"{param.name}{p}=…" for p in list(leaves)[:4])
        problems.append(
            Diagnostic(f"%{name} is no tensor: %{param.name} is {old!r}", param.span, help=fields, code=UnfitTypeGiven)
        )
    elif path and path not in leaves:
        is_ = f"it is {old!r}" if old is not None else "its type is not known"
        problems.append(
            Diagnostic(f"%{param.name} is no tuple that has a field {path[1:]}: {is_}", param.span, code=UnfitTypeGiven)
        )
    elif shape is not None and (trouble := contradiction(written, shape)) is not None:
        problems.append(
            Diagnostic(f"%{name} cannot have the shape {list(shape)}: {trouble}", param.span, code=UnfitTypeGiven)
        )
    elif dtype is not None and isinstance(written, TensorType) and written.dtype != dtype:
        problems.append(Diagnostic(f"%{name} cannot hold {dtype}: it is {written!r}", param.span, code=UnfitTypeGiven))
    elif isinstance(written, TensorType):
        hinted.types[param] = _with_leaf(
            old, path, TensorType(shape if shape is not None else written.shape, dtype or written.dtype)
        )
    elif written is not None and not isinstance(written, IncompleteType):
        problems.append(Diagnostic(f"%{name} is no tensor: it is {written!r}", param.span, code=UnfitTypeGiven))
    elif shape is not None and dtype is not None:
        hinted.types[param] = _with_leaf(old, path, TensorType(shape, dtype))
    elif path:
        other = "dtype" if dtype is None else "shape"
        problems.append(
            Diagnostic(f"%{name} needs a {other} as well: its type is not known", param.span, code=UnfitTypeGiven)
        )
    elif shape is not None:
        hinted.shapes[param] = shape
    elif dtype is not None:
        hinted.dtypes[param] = dtype


def contradiction(written: Any, shape: Sequence[int]) -> str | None:
    """The contradiction of a shape to the annotated type, or None; unknown dimensions take any number."""
    if not isinstance(written, TensorType):
        return None
    if len(written.shape) != len(shape):
        return f"it is {written!r}, of rank {len(written.shape)} and not {len(shape)}"
    for n, (d, required) in enumerate(zip(written.shape, shape)):
        if isinstance(d, int) and d != required:
            return f"it is {written!r}, and axis {n} is {d}"
    return None


def annotate_params(module: Module, entry: str, types: Mapping[Var, Type]) -> Module:
    """The module with these annotations of parameters of `entry`; whatever followed from others is inferred again."""
    if not types:
        return module
    function = module.functions[entry]
    assert isinstance(function, Function)
    renamed: dict[Var, Expr] = {p: Var(p.name, t, p.span, None, p.virtual_device) for p, t in types.items()}
    params: Any = tuple(renamed.get(p, p) for p in function.params)
    body = without_types(substitute(_without_open_shapes(function.body), renamed))
    # The result stays as it is declared, unless inference wrote that, or it leaves open what is known now.
    keeps = function.checked_type is None and function.ret_type is not None and has_static_shapes(function.ret_type)
    ret_type = function.ret_type if keeps else None
    whole = Function(
        params, body, ret_type, function.type_params, function.attrs, function.span, None, function.virtual_device
    )
    return module.with_function(entry, whole)


def _without_open_shapes(body: Expr) -> Expr:
    """The body without annotations of `let`s that leave extents open: inference wrote them, or finds narrower types now."""
    lets = {e.var for e in post_order(body) if isinstance(e, Let)}
    renamed = {
        v: Var(v.name, None, v.span, None, v.virtual_device)
        for v in lets
        if v.type_annotation is not None and not has_static_shapes(v.type_annotation)
    }
    if not renamed:
        return body
    memo: dict[Expr, Expr] = dict(renamed.items())
    return rewrite(body, lambda old, new: with_binders(new, renamed), memo=memo)


def place_of_params(function: Function) -> Span | None:
    """The place of a function's parameters, or of the function itself."""
    spans = [p.span for p in function.params if p.span is not None]
    return spans[0] if spans else function.span


def _with_leaf(t: Any, path: str, leaf: TensorType) -> Any:
    """The type with the tensor at this place in its tuples replaced."""
    spine: list[tuple[TupleType, int]] = []
    for number in path.split(".")[1:]:
        spine.append((t, int(number)))
        t = t.fields[int(number)]
    result: Any = leaf
    for whole, n in reversed(spine):
        result = rebuild_type(whole, (*whole.fields[:n], result, *whole.fields[n + 1 :]))
    return result
