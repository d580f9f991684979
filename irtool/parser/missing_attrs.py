"""Attributes of operators that a text refers to and does not hold: `nn.dense(%x, %w, meta[relay.attrs.DenseAttrs][0])`.

Such attributes are an instance of a subclass of the operator's class. It is read and printed like any other; what the
operator does with it cannot be known, so its type rule decides nothing, and evaluating it is an error that says why.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from ..diagnostics import IrError
from ..ir import Call, Module, post_order
from ..ir.meta import MetaNode
from ..ops.base import Operator


def without_values(operator: type[Operator], record: MetaNode) -> Operator:
    """Attributes that are all in that record, which is missing. Raises IrError if the operator has others, or none."""
    if record.type_key != operator.attrs_name or not operator.fields():
        have = f"a {operator.attrs_name}" if operator.fields() else "no attributes"
        raise IrError(f"{operator.name} has {have}, not a {record.type_key}")
    return _of(operator, {f.name: record for f in operator.fields()})


def with_missing_values(attrs: Operator) -> Operator:
    """The same attributes, as undecided ones where one that the operator's meaning depends on is missing."""
    from ..plugin import type_hints

    operator = type(attrs)
    hints = type_hints(operator)
    values = {f.name: getattr(attrs, f.name) for f in operator.fields()}
    lacking = any(_is_missing(v) for n, v in values.items() if hints.get(n, Any) is not Any)
    return _of(operator, values) if lacking else attrs


def undecided_call(module: Module) -> Call | None:
    """A call of the module whose attributes are not known, or None."""
    for f in module.relay_functions.values():
        for e in post_order(f):
            if isinstance(e, Call) and type(e.attrs) in _OPEN_SUBCLASSES.values():
                return e
    return None


def _is_missing(value: Any) -> bool:
    stack = [value]
    while stack:
        v = stack.pop()
        if isinstance(v, MetaNode) and v.missing is not None:
            return True
        if isinstance(v, tuple | list):
            stack.extend(v)
    return False


def _of(operator: type[Operator], values: dict[str, Any]) -> Operator:
    return _open_subclass(operator)(**values)


_OPEN_SUBCLASSES: dict[type[Operator], type[Operator]] = {}


def _open_subclass(operator: type[Operator]) -> type[Operator]:
    """The subclass of undecided attributes; made once, since attributes are equal within one class only."""
    result = _OPEN_SUBCLASSES.get(operator)
    if result is not None:
        return result

    def relate(self: Any, types: Any, reporter: Any) -> None:
        return None

    def refuse(self: Any, *args: Any, **options: Any) -> Any:
        raise IrError(f"attributes of {operator.name} are in a metadata section that the text does not have")

    def reduce(self: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _of, (operator, {f.name: getattr(self, f.name) for f in dataclasses.fields(self)})

    body = {"relate": relate, "evaluate": refuse, "compute": refuse, "__reduce__": reduce, "__doc__": operator.__doc__}
    result = _OPEN_SUBCLASSES[operator] = type(operator.__name__, (operator,), body)
    return result
