"""A kind of target from outside that lowers its own functions: each outermost loop runs on its cores."""

from __future__ import annotations

from dataclasses import dataclass

from irtool.ir import Function, Module
from irtool.ir.target_kind import TargetKind, target_kind
from irtool.lower.loop_nests import loop_nest
from irtool.passes import PassContext
from irtool.tir.stmt import For, Stmt, seq


@target_kind("example_npu")
@dataclass(frozen=True)
class ExampleNpu(TargetKind):
    """An NPU for examples."""

    cores: int = 2

    def relay_to_tir(self, module: Module, context: PassContext) -> Module:
        """Functions of the module that are for it become loop nests; their `global_symbol`s are their names."""
        functions = dict(module.functions)
        for name, f in module.functions.items():
            if isinstance(f, Function) and f.attrs.get("Compiler") == self.name:
                assert context.target is not None
                nest = loop_nest(f, name, context.target)
                functions[name] = nest.with_body(self.spread(nest.body), cores=self.cores)
        return module.with_functions(functions)

    def spread(self, body: Stmt) -> Stmt:
        """The outermost loops, in parallel if there are several cores."""
        kind = "parallel" if self.cores > 1 else "serial"
        outermost = body.stmts if hasattr(body, "stmts") else (body,)
        return seq([For(s.var, s.extent, s.body, kind) if isinstance(s, For) else s for s in outermost])
