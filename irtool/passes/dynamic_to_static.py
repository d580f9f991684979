"""DynamicToStatic: operators that take shapes as tensors become those that take them as attributes."""

from __future__ import annotations

from dataclasses import dataclass

from ..infer import infer_expr
from ..ir import Call, Constant, Expr, Function, Module, Op
from ..ops.base import op
from ..ops.dyn.base import Dynamic
from .base import FunctionPass, register_pass
from .constants import has_data, to_array
from .context import PassContext
from .fold_constant import ConstantFolder


@register_pass("DynamicToStatic", level=2)
@dataclass(frozen=True)
class DynamicToStatic(FunctionPass):
    """Makes operators of the `dyn` dialect static, where the tensors that they take shapes from can be computed now.

    ::

        dyn.reshape(%x, shape_of(%y: Tensor[(2, 3), …]))   ⇒   reshape(%x, newshape=[2, 3])

    Constants are folded as a part of this, and types inferred: a shape may become known only when another operator has
    become static.
    """

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        current: Expr = function
        while True:
            typed = infer_expr(current, module) if current.checked_type is None else current
            freezer = _Freezer(module)
            frozen = freezer.run(typed)
            if frozen is typed or not freezer.count:
                return frozen  # type: ignore[return-value]
            current = frozen


class _Freezer(ConstantFolder):
    """Folds constants, and makes each dynamic operator static as soon as its operands are constants."""

    count = 0

    def fold(self, old: Expr, new: Expr) -> Expr:
        if isinstance(new, Function) and (new is not old or new.virtual_device is not None):
            # The result may have become more static than it says; the device, too, is left to be planned again.
            return Function(new.params, new.body, None, new.type_params, new.attrs, new.span)
        return super().fold(old, new)

    def call(self, old: Call, new: Call) -> Expr:
        if isinstance(new.op, Op) and issubclass(new.op.operator, Dynamic):
            moving = new.attrs.moving
            if all(has_data(new.args[i]) for i in moving):
                values = [to_array(a) for i in moving if isinstance(a := new.args[i], Constant)]
                static = new.attrs.freeze(*values)
                rest = tuple(a for i, a in enumerate(new.args) if i not in moving)
                self.count += 1
                new = Call(op(static.name), rest, static, (), new.span)
        return super().call(old, new)
