"""`relay.testing`: small networks with random weights, and passes on one expression.

mlp      a perceptron
resnet   residual networks of 18 and 34 layers
"""

from __future__ import annotations

import importlib
from typing import Any

from ...ir import Expr, Function, Module
from ...passes import Sequential


def run_opt_pass(expr: Expr, opt_pass: Any, import_prelude: bool = False) -> Expr:
    """The result of passes on an expression: of a function the function, else its body."""
    passes = opt_pass if isinstance(opt_pass, list | tuple) else [opt_pass]
    module = Module.from_expr(expr)
    if import_prelude:
        module = module.import_from_std("prelude.rly")
    entry = Sequential(list(passes))(module)["main"]
    return entry if isinstance(expr, Function) else entry.body


def run_infer_type(expr: Expr) -> Expr:
    """The expression with types."""
    from ...infer import infer_expr

    return infer_expr(expr)


def __getattr__(name: str) -> Any:
    if name in ("mlp", "resnet", "workload"):
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(
        f"relay.testing has no {name}: it has mlp and resnet; other networks come from ONNX (irtool.from_onnx)"
    )
