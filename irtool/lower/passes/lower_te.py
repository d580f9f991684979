"""LowerTE: the sequence that makes a Relay module one of loop nests and calls of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...passes.core.base import Composite, Pass, register_pass
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

    First, target kinds with a lowering hook lower their functions; then kernels become loop nests in the module, and calls of
    kernels become calls of these; finally, the constants of loop nests become an attribute of the module. Run FuseOps first;
    LabelOps adds the hashes of kernels that their loop nests carry, and PlanDevices their targets.

    The module gets the attributes `main_func_info`, the memory use of `@main` per target (see `irtool info --storage`);
    `device_contexts`, the compilers of external functions by name; and `constants`.

    Options:
        module_name: prefix of the names of loop nests.
    """

    module_name: str = "tvmgen_default"

    def passes(self) -> Sequence[Pass]:
        return RelayToTIRTargetHook(), LowerTensorExpr(self.module_name), InferType(), ExtractPrimFuncConstants()
