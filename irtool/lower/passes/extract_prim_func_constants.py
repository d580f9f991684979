"""ExtractPrimFuncConstants: the constants of loop nests are collected on the module."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...ir import Constant, Module
from ...passes.core.base import ModulePass, register_pass
from ...passes.core.context import PassContext
from ...tir.stmt import AllocateConst, PrimFunc, Stmt, pre_order, rewrite_stmt


@register_pass("ExtractPrimFuncConstants", level=0, info_name="tir.ExtractPrimFuncConstants")
@dataclass(frozen=True)
class ExtractPrimFuncConstants(ModulePass):
    """Numbers the constants of loop nests and collects them in the module attribute `constants`.

    ::

        constant(c0: Pointer(global float32), float32, [2]), data = meta[relay.Constant][0];
            ⇒
        constant(c0: Pointer(global float32), float32, [2]), data = meta[relay.Constant][0], irmod_storage_idx = 0;

    Equal constants share a number. Numbering continues after existing entries of the attribute; the pass is idempotent.
    """

    def transform(self, module: Module, context: PassContext) -> Module:
        collected = _Constants(list(module.attrs.get("constants", ())))
        before = len(collected.all)
        functions = {n: collected.number(f) if isinstance(f, PrimFunc) else f for n, f in module.functions.items()}
        after = module.with_functions(functions)
        return (
            after
            if len(collected.all) == before
            else after.with_attrs({**after.attrs, "constants": tuple(collected.all)})
        )


class _Constants:
    def __init__(self, constants: list[Constant]) -> None:
        self.all = constants
        self._numbers = {_identity(c): n for n, c in reversed(list(enumerate(constants)))}

    def number(self, f: PrimFunc) -> PrimFunc:
        """The loop nest with its constants numbered; those from outside first."""
        for s in pre_order(f.body):
            if isinstance(s, AllocateConst) and _identity(s) not in self._numbers:
                self._numbers[_identity(s)] = len(self.all)
                self.all.append(Constant(s.data, s.buffer.dtype))
        return f.with_body(rewrite_stmt(f.body, self._numbered))

    def _numbered(self, s: Stmt) -> Stmt:
        if not isinstance(s, AllocateConst) or s.storage_index == self._numbers[_identity(s)]:
            return s
        return AllocateConst(s.buffer, s.data, s.body, self._numbers[_identity(s)])


def _identity(s: AllocateConst | Constant) -> tuple[Any, ...]:
    data: Any = s.data
    return s.dtype if isinstance(s, Constant) else s.buffer.dtype, data.shape, data.tobytes()
