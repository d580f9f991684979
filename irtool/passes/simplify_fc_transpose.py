"""SimplifyFCTranspose: weights that are transposed before a dense layer are given transposed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..ir import Call, Expr, Function, Module, TensorType, Var, rewrite
from ..ops.base import is_call_to
from .core.base import FunctionPass, register_pass
from .core.context import PassContext
from .core.replaced_weights import with_new_parameters


@register_pass("SimplifyFCTranspose", level=4, required=("DeadCodeElimination",))
@dataclass(frozen=True)
class SimplifyFCTranspose(FunctionPass):
    """Replaces `transpose(w)` in front of a dense layer by a parameter that holds the transposed weight.

    ::

        nn.dense(%x, transpose(%w, axes=[1, 0]))   with target_weight_name=["w"]   ⇒  nn.dense(%x, %w.T)
    """

    changes: ClassVar[str] = "interface"

    target_weight_name: tuple[str, ...]

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        made_once: dict[Var, Var] = {}

        def leave(old: Expr, new: Expr) -> Expr:
            if not is_call_to(new, "nn.dense") or not isinstance(new, Call):
                return new
            flipped = new.args[1]
            if not is_call_to(flipped, "transpose") or not isinstance(flipped, Call):
                return new
            weight = flipped.args[0]
            if not isinstance(weight, Var) or weight.name not in self.target_weight_name:
                return new
            t = weight.checked_type or weight.type_annotation
            assert isinstance(t, TensorType) and len(t.shape) == 2, "nn.dense and transpose say so"
            transposed = Var(f"{weight.name}.T", TensorType((t.shape[1], t.shape[0]), t.dtype), weight.span)
            return Call(new.op, (new.args[0], made_once.setdefault(weight, transposed)), new.attrs, (), new.span)

        rewritten = rewrite(function, leave)
        assert isinstance(rewritten, Function)
        return rewritten if rewritten is function else with_new_parameters(rewritten)
