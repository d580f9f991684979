"""RemoveStandaloneReshapes: kernels that only reshape go from lowered programs."""

from __future__ import annotations

from dataclasses import dataclass

from ..deferred import np
from ..ir import Constant, Expr, Function, Let, Module, TensorType, Var, post_order, rewrite
from ..ops.base import call, is_call_to
from .core.base import ModulePass, register_pass
from .core.config_option import ConfigOption
from .core.context import PassContext
from .core.kernel_calls import kernel_call
from .remove_unused_functions import reachable

ENABLE = "relay.remove_standalone_reshapes.enable"


@register_pass(
    "RemoveStandaloneReshapes",
    level=0,
    required=("InferType",),
    config={ENABLE: ConfigOption(bool, True, "run the pass")},
)
@dataclass(frozen=True)
class RemoveStandaloneReshapes(ModulePass):
    """Removes lowered kernels that only reshape the result of another kernel, and reuses its memory.

    ::

        let %x = on_device(call_lowered(@multiply, (%a, %b)), …);
        let %y = on_device(call_lowered(@reshape, (%x,), "relay.reshape_only"=1), …); …
            ⇒  %0 = call_lowered(@multiply, (%a, %b));
               let %x = on_device(%0, …); let %y = on_device(%0, …); …

    A reshape whose argument is not a variable bound to the result of a kernel stays: there is no kernel that could write
    to the place directly. Where the reshape really has another shape, a view (`vm.reshape_tensor`) stands in its place,
    which copies nothing. Afterwards functions that `main` does not reach are removed. A module without `main` is left
    alone; with the pass option `relay.remove_standalone_reshapes.enable=0` every module is.
    """

    def transform(self, module: Module, context: PassContext) -> Module:
        main = module.functions.get("main")
        if not isinstance(main, Function) or not context.option(ENABLE, True):
            return module
        after = module.with_function("main", _without_reshapes(main, module))
        entries = ["main", *(n for n in module.functions if n in context.exported)]
        reached = reachable(after, entries)
        return after.with_functions({n: f for n, f in after.functions.items() if n in reached})


def _without_reshapes(function: Function, module: Module) -> Function:
    kernels = {e.var: e.value for e in post_order(function) if isinstance(e, Let) and _is_kernel_result(e.value)}
    if not kernels:
        return function
    rewritten: dict[Expr, Expr] = {}

    def leave(old: Expr, new: Expr) -> Expr:
        if is_call_to(new, "call_lowered"):
            new = _without_reshape(old, new)
        rewritten[old] = new
        return new

    def _without_reshape(old: Expr, new: Expr) -> Expr:
        kernel = kernel_call(new, module, {})
        source = kernel.args[0] if kernel is not None and kernel.only_reshapes and kernel.args else None
        if not isinstance(source, Var) or source not in kernels:
            return new
        producer = kernels[source]
        if old.checked_type == producer.checked_type:
            return rewritten[producer.args[0]]  # type: ignore[attr-defined]  # the result of a kernel is a call
        shape = old.checked_type.shape if isinstance(old.checked_type, TensorType) else ()
        if not shape or not all(isinstance(d, int) for d in shape):
            return new
        extents = Constant(np.array(shape, np.int64))
        return call("vm.reshape_tensor", source, extents, newshape=shape, span=old.span)

    return rewrite(function, leave)


def _is_kernel_result(value: Expr) -> bool:
    return is_call_to(value, "on_device") and is_call_to(value.args[0], "call_lowered")
