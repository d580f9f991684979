"""LowerTensorExpr: calls of kernels become calls of loop nests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...diagnostics import Diagnostic, IrError
from ...ir import Call, Function, Module, Op, TensorType, post_order, with_function
from ...ir.target import Target
from ...passes.core.base import ModulePass, is_optimizable, register_pass
from ...passes.core.context import PassContext
from ...passes.core.mistakes import PassRemark
from ...passes.core.primitive_functions import is_primitive
from ..function_info import main_func_info, nest_info
from ..loop_nests import LoopNests
from ..mistakes import DynamicShape
from ..targets import targets_of
from .call_lowering import CallLowering


@register_pass("LowerTensorExpr", level=0, required=("InferType",))
@dataclass(frozen=True)
class LowerTensorExpr(ModulePass):
    """Replaces each call of a kernel by `call_lowered`; loop nests of primitive functions become functions of the module.

    ::

        fn (%p0: Tensor[(4), float32], Primitive=1) { … }(%x)   ⇒  call_lowered(@tvmgen_default_fused_…, (%x,), …)
        @npu(%x)   with   def @npu(…, Primitive=1, Compiler="npu") { … }
            ⇒  call_lowered(@npu, (%x,), …)   with   def @npu(…, Extern=1) { … }
        @ext(%x)   with   def @ext(…, Extern=1) { … }           ⇒  call_lowered(@ext, (%x,), …)
        @k(%x)     with   @k = primfn(…) { … }                  ⇒  call_lowered(@k, (%x,), …)

    Calls of other functions and of lowered functions stay, as do `device_copy` and `debug`, which executors implement, and
    operators outside of kernels: run FuseOps first.

    Equal primitive functions for the same target share a loop nest, under the name that TVM gives it; it carries the hash of the
    kernel (LabelOps) and the target of the device that it is called on. The loop nests are plain: no schedule has been applied.
    Constants of several elements stay in them.

    Functions for other compilers are assumed to be compiled by these under their `global_symbol`; the remaining
    declarations are marked `Extern=1`.

    An operator without a loop nest, or a dynamic shape, is an error.

    Options:
        module_name: prefix of the names of loop nests.
    """

    module_name: str = "tvmgen_default"

    def transform(self, module: Module, context: PassContext) -> Module:
        targets = targets_of(module, context.target) or [Target("c")]
        nests = LoopNests(module, f"{self.module_name}_" if self.module_name else "")
        lowering = CallLowering(module, nests, targets)
        functions: dict[str, Any] = {}
        for name, f in module.functions.items():
            if isinstance(f, Function) and is_optimizable(f) and not is_primitive(f):
                f = lowering.run(f)
            functions[name] = f
        if nests.problems:
            raise IrError(list(dict.fromkeys(_dynamic_parameters(module) or nests.problems)))
        functions = _without_compiled(functions, lowering.external)
        functions |= {name: with_function(f, attrs={"Extern": 1}) for name, f in lowering.external.items()}
        functions |= lowering.existing_nests
        after = module.with_functions({**functions, **nests.functions})
        if after is module:
            _warn_of_operators(module, context)
        return after if after is module else after.with_attrs(_attributes(module, lowering, nests, targets))


def _warn_of_operators(module: Module, context: PassContext) -> None:
    """Notes a warning where nothing was lowered although there are operators."""
    nodes = (e for f in module.relay_functions.values() if is_optimizable(f) for e in post_order(f.body))
    call = next(
        (e for e in nodes if isinstance(e, Call) and isinstance(e.op, Op) and not e.op.operator.noncomputational), None
    )
    if call is not None:
        help = "FuseOps puts operators into kernels: --passes=FuseOps,LowerTE"
        context.note(
            Diagnostic("there is no kernel to lower, only operators", call.span, "warning", help=help, code=PassRemark)
        )


def _without_compiled(functions: dict[str, Any], external: dict[str, Function]) -> dict[str, Any]:
    """The functions but for those that another compiler compiles under another name, by which alone they are called now."""
    compiled = set(external.values())
    return {n: f for n, f in functions.items() if n in external or f not in compiled}


def _attributes(module: Module, lowering: CallLowering, nests: LoopNests, targets: list[Target]) -> dict[str, Any]:
    """The attributes of the module."""
    attrs = dict(module.attrs)
    info = main_func_info(module, targets)
    if info is not None:
        attrs["main_func_info"] = info
    metadata = {n: nest_info(f, nests.sources[n]) for n, f in nests.functions.items()}
    if metadata:
        attrs["function_metadata"] = {**attrs.get("function_metadata", {}), **metadata}
    compilers = {n: str(f.attrs["Compiler"]) for n, f in lowering.external.items()}
    if compilers:
        attrs["device_contexts"] = {**attrs.get("device_contexts", {}), **compilers}
    return attrs


def _dynamic_parameters(module: Module) -> list[Diagnostic]:
    """Diagnostics for parameters of dynamic shapes: the shapes of kernels come from them."""
    problems: list[Diagnostic] = []
    for f in module.relay_functions.values():
        for p in f.params if not is_primitive(f) else ():
            t = p.checked_type
            if isinstance(t, TensorType) and not t.is_static:
                problems.append(
                    Diagnostic(
                        f"the shape of %{p.name}, {t}, is not static: a loop nest needs every dimension",
                        p.span,
                        code=DynamicShape,
                    )
                )
    return problems
