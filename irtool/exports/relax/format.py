"""The format `relax`: a Python file with one module in TVMScript."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...ir import Expr, Function, Module, post_order
from ..base import Export, File, Request, export
from ..unsupported import Unsupported


@export("relax")
@dataclass(frozen=True)
class Relax(Export):
    """TVMScript: a Python file with a Relax module, as `tvm.script` of TVM 0.27 parses it."""

    ending: ClassVar[str] = ".py"

    def write(self, module: Module, request: Request) -> list[File]:
        missing = Unsupported("Relax")
        for function in module.functions.values():
            if isinstance(function, Function):
                for e in post_order(function.body):
                    _note(missing, e)
        missing.check()
        raise NotImplementedError


def _note(missing: Unsupported, e: Expr) -> None:
    if type(e).__name__.startswith("Ref"):
        missing.add("a reference", "Relax has no mutable cells", e.span)
