"""CanonicalizeCast: every user of a widening cast gets a cast of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeGuard

from ..ir import Call, Expr, Function, Module, Op, TensorType, children, rewrite
from ..ops.base import Pattern, is_call_to
from .core.base import FunctionPass, register_pass
from .core.context import PassContext
from .simplify.casts import kind_and_bits


@register_pass("CanonicalizeCast", level=3, required=("InferType",))
@dataclass(frozen=True)
class CanonicalizeCast(FunctionPass):
    """Duplicates casts to a wider type for each elementwise or broadcasting user.

    ::

        %0 = cast(%x, dtype="float32"); (exp(%0), log(%0))
            ⇒  (exp(cast(%x, dtype="float32")), log(cast(%x, dtype="float32")))

    After fusion, each kernel reads the narrow type; otherwise one of them would store the wide type.
    """

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        repeated = _repeated_uses(function)
        if not repeated:
            return function

        def leave(old: Expr, new: Expr) -> Expr:
            if old not in repeated:
                return new
            assert isinstance(new, Call)
            args = tuple(_copy(a) if i in repeated[old] else a for i, a in enumerate(new.args))
            return Call(new.op, args, new.attrs, new.type_args, new.span)

        return rewrite(function, leave)


def _copy(e: Expr) -> Expr:
    assert isinstance(e, Call)
    return Call(e.op, e.args, e.attrs, e.type_args, e.span)


def _repeated_uses(root: Expr) -> dict[Expr, set[int]]:
    """For each call, the operands that are widening casts which an earlier call has used already.

    "Earlier" is as one reads: an operand is used before the next one is looked at.
    """
    repeated: dict[Expr, set[int]] = {}
    seen: set[Expr] = set()
    used: set[Expr] = set()
    stack: list[tuple[Expr, int]] = [(root, -1)]
    while stack:
        e, operand = stack.pop()
        if operand >= 0:
            assert isinstance(e, Call)
            cast = e.args[operand]
            if cast in used:
                repeated.setdefault(e, set()).add(operand)
            used.add(cast)
        elif e not in seen:
            seen.add(e)
            if not _merges_casts(e):
                stack.extend((c, -1) for c in reversed(children(e)))
                continue
            for i, arg in reversed(list(enumerate(e.args))):
                if _is_widening(arg):
                    stack.append((e, i))
                stack.append((arg, -1))
    return repeated


def _merges_casts(e: Expr) -> TypeGuard[Call]:
    """True if fusion would take a cast into the kernel of this call."""
    if not isinstance(e, Call) or not isinstance(e.op, Op):
        return False
    pattern = e.op.operator.pattern
    return pattern is not None and pattern <= Pattern.BROADCAST


def _is_widening(e: Expr) -> bool:
    if not is_call_to(e, "cast"):
        return False
    source = e.args[0].checked_type
    return isinstance(source, TensorType) and kind_and_bits(source.dtype)[1] < kind_and_bits(e.attrs.dtype)[1]
