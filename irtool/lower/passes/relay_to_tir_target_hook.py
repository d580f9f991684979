"""RelayToTIRTargetHook: kinds of targets that lower functions of their own do so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...ir import Function, Module, post_order
from ...ir.target import Target
from ...ir.target_kind import target_kinds
from ...passes.core.base import ModulePass, is_optimizable, register_pass
from ...passes.core.context import PassContext
from ..targets import targets_of


@register_pass("RelayToTIRTargetHook", level=0, required=("InferType",))
@dataclass(frozen=True)
class RelayToTIRTargetHook(ModulePass):
    """Calls the hook `relay_to_tir` of each target kind that a function names as its `Compiler`.

    ::

        def @npu_0(%p, Primitive=1, Compiler="npu", global_symbol="npu_0") { exp(%p) }
            ⇒  @npu_0 = primfn(p0_1: handle, T_exp_1: handle) -> () … { … }     or whatever the hook of npu makes of it

    Target kinds are plug-ins, see `docs/extending.md`; a compiler that is not a target kind, or has no such hook, is skipped.
    Each hook runs once for the whole module, in the order of the names of the functions that request it, including function
    literals called directly or bound by `let`. While a hook runs, the target of the context is the target of its kind named by
    the context or by a device of the module, or else the default target of its kind.
    """

    def transform(self, module: Module, context: PassContext) -> Module:
        for name in list(dict.fromkeys(_compilers(module))):
            cls = target_kinds.find(name)
            if cls is None or not cls.has_hook():
                continue
            named = (t for t in targets_of(module, context.target) if t.kind == name)
            target = next(named, None) or Target(name)
            kind = target.of_its_kind()
            assert kind is not None
            inner = context.overridden(target=target)
            module = kind.relay_to_tir(module, inner)
            context.warnings += inner.warnings
        return module


def _compilers(module: Module) -> Iterator[str]:
    """The compilers that functions are for, in order of the functions' names."""
    for _, function in sorted(module.functions.items(), key=lambda item: item[0]):
        if isinstance(function, Function):
            yield from _compiler(function)
        if is_optimizable(function):
            for e in post_order(function):
                if isinstance(e, Function) and e is not function:
                    yield from _compiler(e)


def _compiler(function: Function) -> Iterator[str]:
    name: Any = function.attrs.get("Compiler")
    if isinstance(name, str) and name:
        yield name
