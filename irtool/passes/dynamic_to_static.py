"""DynamicToStatic: operators that take shapes as tensors become those that take them as attributes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..diagnostics import IrError
from ..infer import infer_expr
from ..ir import Call, Expr, Function, Module, TensorType, TupleType, Type
from .core.base import FunctionPass, register_pass
from .core.context import PassContext
from .core.static_form import static_form
from .fold_constant import ConstantFolder


@register_pass("DynamicToStatic", level=2)
@dataclass(frozen=True)
class DynamicToStatic(FunctionPass):
    """Replaces operators of the `dyn` dialect by static ones if their shape arguments can be evaluated at compile time.

    ::

        dyn.reshape(%x, shape_of(%y: Tensor[(2, 3), …]))   ⇒   reshape(%x, newshape=[2, 3])

    Constant folding and type inference are part of the pass, since one operator may become static only after another.
    """

    def apply(self, module: Module, context: PassContext) -> Module:
        after = super().apply(module, context)
        if after is module:
            return module
        try:
            return context.infer(after)
        except IrError as error:
            # Nothing but shapes has changed, and those are what the operators give: the program said otherwise.
            first, *rest = error.diagnostics
            note = (
                "the shapes that are computed at run time can be computed now, and are not those that the program needs"
            )
            raise IrError([replace(first, notes=(*first.notes, note)), *rest]) from error

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        current = function
        while True:
            typed = infer_expr(current, module) if current.checked_type is None else current
            freezer = _Freezer(module)
            frozen = freezer.run(typed)
            if frozen is typed or not freezer.count:
                _require_declared(function, frozen)
                return frozen
            current = frozen


def _require_declared(before: Function, after: Function) -> None:
    """Refuses a function that returns something of other extents than it declares."""
    declared, returned = before.ret_type, after.body.checked_type
    if after is before or declared is None or returned is None:
        return
    stack: list[tuple[Type, Type]] = [(declared, returned)]
    seen: set[tuple[int, int]] = set()
    while stack:
        expected, actual = stack.pop()
        if isinstance(expected, TupleType) and isinstance(actual, TupleType) and (id(expected), id(actual)) not in seen:
            seen.add((id(expected), id(actual)))
            stack.extend(zip(expected.fields, actual.fields, strict=False))
        if not (isinstance(expected, TensorType) and isinstance(actual, TensorType)):
            continue
        extents = zip(expected.shape, actual.shape, strict=False)
        if len(expected.shape) != len(actual.shape) or any(
            isinstance(a, int) and isinstance(b, int) and a != b for a, b in extents
        ):
            raise IrError(f"this function is declared to return {declared}, and returns {returned}", before.span)


class _Freezer(ConstantFolder):
    """Folds constants, and makes each dynamic operator static as soon as its operands are constants."""

    count = 0

    def fold(self, old: Expr, new: Expr) -> Expr:
        if isinstance(new, Function) and (new is not old or new.virtual_device is not None):
            # The result may have become more static than it says; the device, too, is left to be planned again.
            return Function(new.params, new.body, None, new.type_params, new.attrs, new.span)
        return super().fold(old, new)

    def call(self, old: Call, new: Call) -> Expr:
        static = static_form(new)
        self.count += static is not new
        return super().call(old, static)
