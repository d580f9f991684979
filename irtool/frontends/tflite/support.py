"""Operators of a model without a form in Relay, found before anything is converted."""

from __future__ import annotations

from collections.abc import Sequence

from ...diagnostics import Diagnostic, IrError, nearest
from ..onnx.mistakes import UnsupportedNode
from .model import Model, Operator
from .operator import tflite_operators

_NAMED = 5
"""Operators whose outputs a message names."""


def require_support(model: Model) -> None:
    """Raises IrError with one message for each operator that has no form in Relay, and one for all custom operators."""
    by_type: dict[str, list[Operator]] = {}
    for graph in model.subgraphs:
        for operator in graph.operators:
            if refusal(operator.op_type) is not None:
                by_type.setdefault(operator.op_type, []).append(operator)
    custom = {n.removeprefix("CUSTOM:"): ops for n, ops in by_type.items() if n.startswith("CUSTOM:")}
    messages = [_message(model, n, ops) for n, ops in by_type.items() if not n.startswith("CUSTOM:")]
    if custom:
        first = next(iter(custom.values()))[0]
        shown = ", ".join(f"{name or 'without a name'} ({len(ops)} times)" for name, ops in custom.items())
        messages.append(
            Diagnostic(
                f"custom operators have no form in Relay: {shown}",
                first.place,
                help="replace them by operators of TensorFlow Lite, or cut the model in front of them",
                filename=model.name,
                code=UnsupportedNode,
                subject=first.op_type,
            )
        )
    if messages:
        raise IrError(messages)


def refusal(op_type: str) -> str | None:
    """Why an operator has no form in Relay; None if it has one, empty if no reason is known."""
    cls = tflite_operators.find(op_type) if not op_type.startswith(("CUSTOM:", "BUILTIN_")) else None
    if cls is None:
        return ""
    return cls.refusal or None


def _message(model: Model, op_type: str, operators: Sequence[Operator]) -> Diagnostic:
    count = "1 operator is" if len(operators) == 1 else f"{len(operators)} operators are"
    reason = refusal(op_type)
    return Diagnostic(
        f"no form in Relay is known for {op_type}, which {count}: {names_of(operators)}",
        operators[0].place,
        notes=(reason,) if reason else (),
        help="" if reason else nearest(op_type, tflite_operators.names()),
        filename=model.name,
        code=UnsupportedNode,
        subject=op_type,
    )


def names_of(operators: Sequence[Operator]) -> str:
    """The places of operators, the first of them."""
    named = [o.place.node for o in operators[:_NAMED] if o.place is not None]
    more = f" and {len(operators) - _NAMED} more" if len(operators) > _NAMED else ""
    return ", ".join(named) + more
