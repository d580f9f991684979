"""Passes over lowered functions: `tir.Simplify`, `tir.UnrollLoop` … transform one loop nest at a time."""

from __future__ import annotations

from typing import Any, ClassVar

from ..diagnostics import UsageError, nearest
from ..ir import Module
from ..ops.base import coerce
from ..passes.core.base import Pass, wrong_result
from ..passes.core.context import PassContext
from ..passes.core.mistakes import WrongPassOption
from ..plugin import type_hints
from ..tir.stmt import PrimFunc


class PrimFuncPass(Pass):
    """A pass that transforms each loop nest of a module on its own. What is Relay, or kept as text, it never sees.

    Class attributes:
        key: the key of `PassContext.config` that has options of the pass under their names, as TVM reads them; empty for none.
    """

    key: ClassVar[str] = ""

    def transform(self, function: PrimFunc, module: Module, context: PassContext) -> PrimFunc:
        """The function after the pass; the same object if nothing changed."""
        raise NotImplementedError

    def apply(self, module: Module, context: PassContext) -> Module:
        functions = dict(module.functions)
        for name, function in module.functions.items():
            if isinstance(function, PrimFunc):
                functions[name] = self.transform(function, module, context)
                if not isinstance(functions[name], PrimFunc):
                    raise wrong_result(self, self.transform, functions[name], f"a PrimFunc for @{name}")
        return module.with_functions(functions)

    def option(self, context: PassContext, name: str) -> Any:
        """The value of an option: that of the pass, unless it is the default, else that of the context's `config`."""
        field = next(f for f in self.fields() if f.name == name)
        own = getattr(self, name)
        options = context.config.get(self.key) if self.key else None
        if not isinstance(options, dict):
            return own
        known = [f.name for f in self.fields()]
        for option in options:
            if option not in known:
                message = f"unknown option {option} in the config {self.key}"
                raise UsageError(message, help=nearest(option, known), code=WrongPassOption)
        if own != field.default or name not in options:
            return own
        try:
            return coerce(options[name], type_hints(type(self))[name])
        except (TypeError, ValueError) as error:
            message = f"option {name} in the config {self.key}: {error}"
            raise UsageError(message, code=WrongPassOption) from None
