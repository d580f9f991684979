"""`relay.create_executor`: the reference interpreter, or a build, behind TVM's interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..diagnostics import UsageError
from ..driver.build import build
from ..interp.evaluate import evaluate, evaluate_expr
from ..ir import Expr, Function, GlobalVar, Module
from .params import bind_params_by_name
from .tvm.nd import wrapped

_COMPILED = ("graph", "aot")


class Executor:
    """Evaluates the `@main` of a module, or an expression beside it: see `create_executor`."""

    def __init__(self, kind: str, module: Module, target: Any, params: Mapping[str, Any]) -> None:
        self.kind = kind
        self.mod = module
        self.target = target
        self.params = params

    def evaluate(self, expr: Expr | None = None, params: Mapping[str, Any] | None = None) -> Any:
        """A Python function for a function (of the module, its `@main`, without an expression); for another expression its
        value. A result is an array with `.numpy()`, a tuple of them, or the interpreter's form of other values."""
        if expr is None:
            return self._callable(self.mod, params)
        if isinstance(expr, GlobalVar):
            return self._callable(self.mod, params, expr.name)
        if isinstance(expr, Function):
            return self._callable(self.mod.with_function("main", expr), params)
        return wrapped(evaluate_expr(expr, self.mod))

    def _callable(self, module: Module, params: Mapping[str, Any] | None, entry: str = "main") -> Callable[..., Any]:
        weights = {**self.params, **(params or {})}
        if weights and entry == "main":
            module = bind_params_by_name(module, weights)
        names = [p.name for p in module[entry].params]
        compiled = build(module, None, self.target, entry=entry) if self.kind in _COMPILED else None

        def call(*args: Any, **named: Any) -> Any:
            inputs = {**dict(zip(names, args)), **named}
            if len(args) > len(names):
                raise UsageError(f"@{entry} takes {len(names)} arguments, not {len(args)}")
            return wrapped(compiled.run(inputs) if compiled is not None else evaluate(module, inputs, entry))

        return call


def create_executor(
    kind: str = "debug",
    mod: Module | Expr | None = None,
    device: Any = None,
    target: Any = "llvm",
    params: Mapping[str, Any] | None = None,
) -> Executor:
    """An executor: `debug` and `vm` interpret, `graph` and `aot` build. `device` is not looked at.

    Raises UsageError for another kind.
    """
    if kind not in ("debug", "vm", *_COMPILED):
        raise UsageError(f"there is no executor {kind}: write debug, vm, graph or aot")
    return Executor(kind, Module.of(mod) if mod is not None else Module(), target, params or {})
