"""LowerTE: the sequence that makes a Relay module one of loop nests and calls of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...passes.base import Composite, Pass, register_pass
from ...passes.infer_type import InferType
from .extract_prim_func_constants import ExtractPrimFuncConstants
from .lower_tensor_expr import LowerTensorExpr
from .relay_to_tir_target_hook import RelayToTIRTargetHook


@register_pass("LowerTE", level=0, required=("InferType",))
@dataclass(frozen=True)
class LowerTE(Composite):
    """Lowers the kernels of a module: RelayToTIRTargetHook, LowerTensorExpr, InferType, ExtractPrimFuncConstants.

    ::

        %0 = fn (%p0: Tensor[(4), float32], Primitive=1, hash="…") { add(%p0, %p0) };
        %0(%x)
            ⇒
        @tvmgen_default_fused_add = primfn(p0_1: handle, T_add_1: handle) -> ()
          attr = {"hash": "…", "target": Target(…), …} … {
          for (ax0: int32, 0, 4) {
            T_add[ax0] = (p0[ax0] + p0[ax0])
          }
        }
        call_lowered(@tvmgen_default_fused_add, (%x,), metadata={"relay_attrs"=…, "all_prim_fn_vars"=[…]})

    First, kinds of targets that lower functions of their own do so; then calls of kernels become calls of loop nests, which
    become functions of the module; at last, the constants that loop nests hold become an attribute of the module. FuseOps comes
    before it, LabelOps gives kernels the hashes that their loop nests carry, and PlanDevices says which target each is for.

    The module has the attributes `main_func_info`, what `@main` takes of the memory of each target (`irtool info --storage`
    shows it); `device_contexts`, the compilers of external functions by name; and `constants`.

    Options:
        module_name: what the names of the loop nests start with.
    """

    module_name: str = "tvmgen_default"

    def passes(self) -> Sequence[Pass]:
        return RelayToTIRTargetHook(), LowerTensorExpr(self.module_name), InferType(), ExtractPrimFuncConstants()
