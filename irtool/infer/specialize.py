"""Giving a module the types that its own text leaves open: from hints, from values of inputs, from weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..diagnostics import Diagnostic, IrError
from ..ir import Function, IncompleteType, Module, TensorType, TupleType, Type, Var, global_names
from ..ir.conversion import dtype_name
from ..ir.tensor_names import input_shapes
from ..trampoline import trampoline
from .equal_lengths import with_equal_lengths
from .hints import annotate_params, read_hints
from .infer import in_order, infer_known_types
from .mistakes import AssumedDtype
from .open_types import has_unknowns


def specialize(
    module: Module,
    entry: str = "main",
    shapes: Mapping[str, Sequence[int]] | None = None,
    dtypes: Mapping[str, str] | None = None,
    params: Mapping[str, Any] | None = None,
    values: Mapping[str, Any] | None = None,
    warn: Callable[[Diagnostic], None] | None = None,
) -> Module:
    """The module with known facts of the parameters of `entry` written into their annotations.

    Args:
        shapes, dtypes: by name, `t.0` for fields of tuples. A shape alone takes its dtype from what the module does with
            the parameter; where that does not decide it, it is float32, of which `warn` is told.
        params: weights by name. Nothing is annotated with their types, but others follow from them.
        values: of inputs, by name: a parameter whose type the module does not decide has that of its value.
        warn: called with each assumption.

    Raises IrError if there is no such function or parameter, or where what is given contradicts what is written.
    """
    shapes, dtypes, values = dict(shapes or {}), dict(dtypes or {}), dict(values or {})
    if not shapes and not dtypes and not values:
        return module
    function = module.functions.get(entry)
    if not isinstance(function, Function):
        raise IrError(f"there is no function @{entry}")
    known_shapes = {p.name: rows for p, rows in input_shapes(function).items()}
    shapes = {n: s for n, s in shapes.items() if known_shapes.get(n) != [tuple(s)]}
    numbers: dict[str, str] = {}
    for name, t in _types_of_values(module, entry, values).items():
        if isinstance(t, TensorType):
            shapes.setdefault(name, t.shape)  # type: ignore[arg-type]  # the shape of a value: its dimensions are numbers
            if isinstance(values[name], int | float):
                numbers[name] = t.dtype
            else:
                dtypes.setdefault(name, t.dtype)
        elif name not in shapes and name not in dtypes:
            module = annotate_params(module, entry, {p: t for p in module[entry].params if p.name == name})
    module = annotate_params(module, entry, read_hints(module[entry], entry, shapes, dtypes).types)
    equal = with_equal_lengths(module, entry, warn)
    if equal is not module:
        # The types have these shapes, in which some lengths are others.
        typed = {p.name for p in equal[entry].params if p.type_annotation is not None}
        module, shapes = equal, {n: s for n, s in shapes.items() if n.partition(".")[0] not in typed}
    rest = read_hints(module[entry], entry, shapes, dtypes)
    new_types: dict[Var, Type] = {}
    if rest.shapes or rest.dtypes or infer_open(module):
        from .partial import infer_partial

        weights = {n: a for n, a in (params or {}).items() if n not in shapes and n not in dtypes}
        names = {p.name for p in module[entry].params}
        partial = infer_partial(module, shapes, dtypes, {n: a for n, a in weights.items() if n in names}, entry)
        for p, q in zip(module[entry].params, partial.module[entry].params, strict=True):
            if p.name in weights or p.type_annotation is not None:
                continue
            if q.checked_type is not None:
                new_types[p] = q.checked_type
            elif p in rest.shapes:
                new_types[p] = TensorType(rest.shapes[p], numbers.get(p.name, "float32"))
                if warn is not None and p.name not in numbers:
                    message = f"nothing says the dtype of %{p.name}: float32 is taken"
                    warn(
                        Diagnostic(
                            message, p.span, "warning", help=f"--dtype {p.name}=… says another", code=AssumedDtype
                        )
                    )
    return annotate_params(module, entry, new_types)


def infer_open(module: Module) -> bool:
    """True if types stay open, or contradict each other for lack of facts."""
    try:
        return bool(infer_known_types(module)[1])
    except IrError:
        return True


def param_types(module: Module, entry: str) -> dict[str, Type]:
    """The types of the parameters of `entry`, by name, that are annotated or follow from the rest of the module."""
    function = module.functions.get(entry)
    if not isinstance(function, Function):
        return {}
    written = {p.name: p.checked_type or p.type_annotation for p in function.params}
    if None in written.values():
        try:
            typed, _ = infer_known_types(module)
            for p in typed[entry].params:
                written[p.name] = written[p.name] or p.checked_type
        except IrError:
            pass  # some rules refuse operands without types
    return {n: t for n, t in written.items() if t is not None and not has_unknowns(t)}


def require_types(module: Module, entries: Iterable[str]) -> Module:
    """The module, typed. Raises IrError for open types in the functions that the entries reach; others may have some."""
    typed, open_types = infer_known_types(module)
    if open_types:
        reached: set[str] = set()
        stack = [e for e in entries if e in typed.functions]
        while stack:
            name = stack.pop()
            if name not in reached:
                reached.add(name)
                f = typed.functions.get(name)
                stack.extend(global_names(f) if isinstance(f, Function) else ())
        errors = [d for n, d in open_types.items() if n in reached]
        if errors:
            raise IrError(in_order(errors))
    return typed


def _types_of_values(module: Module, entry: str, values: Mapping[str, Any]) -> dict[str, Type]:
    """The types of values of parameters whose types the module does not decide."""
    if not values:
        return {}
    known = param_types(module, entry)
    names = {p.name for p in module[entry].params}
    return {n: t for n, v in values.items() if n in names - set(known) and (t := type_of_value(v)) is not None}


_NUMBERS = {bool: "bool", int: "int32", float: "float32"}
"""The dtypes of Python's numbers, as in Relay text."""


def type_of_value(value: Any) -> Type | None:
    """The type of an array, of a Python number, or of a tuple of them. None of anything else."""
    return trampoline(_type_of_value(value))


def _type_of_value(value: Any) -> Any:
    """Written as if recursive: see `trampoline`."""
    if isinstance(value, tuple):
        fields = []
        for v in value:
            fields.append((yield _type_of_value(v)))
        return TupleType(tuple(IncompleteType() if f is None else f for f in fields))
    if isinstance(value, bool | int | float):
        return TensorType((), _NUMBERS[type(value)])
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return TensorType(tuple(int(d) for d in value.shape), dtype_name(value))
    return None


__all__ = ["param_types", "require_types", "specialize", "type_of_value"]
