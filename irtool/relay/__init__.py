"""Relay programs built in Python, in the manner of `from tvm import relay`::

    from irtool import relay

    x = relay.var("x", shape=(1, 784))
    w = relay.var("w", shape=(784, 10), dtype="float32")
    y = relay.nn.relu(relay.nn.matmul(x, w) + 1.0)
    function = relay.Function(relay.analysis.free_vars(y), y)
    print(function)

Every operator is here under its name, `relay.nn.conv2d`, with TVM's order of arguments and its defaults in Python (`help` shows
them); beside them are the nodes and types of `irtool.ir`, `var`, `const`, `analysis`, `transform` (the passes) and `build`.
Other names of TVM raise an AttributeError with the replacement.

literals     var, const, and values that convert to expressions
forms        an operator as a function
signatures   where that function's arguments differ from the operator's in text
special      functions that do more than one call of an operator
arithmetic   `x + y`, and the types of expressions while they are built
analysis     free variables and the like
building     `build` in TVM's order; `executor`, `params`, `memory_pools`: what scripts do beside it
functors     ExprVisitor and ExprMutator; `scope_builder`, `dataflow_pattern`: further tools of TVM's
testing      small networks with random weights
uncaught     hints for uncaught errors about attributes of arrays and integers
tvm          names of TVM's top package
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any as _Anything

from ..ir import ANY
from ..ir.tvm_names import counterpart
from ..namespace import Namespace
from .uncaught import explain_uncaught

_FROM_IR = (
    "Call Constant Expr Function GlobalVar If Let Match Op RefCreate RefRead RefWrite Tuple TupleGetItem Var "
    "FuncType GlobalTypeVar IncompleteType RefType TensorType TupleType Type TypeCall TypeVar "
    "Clause PatternConstructor PatternTuple PatternVar PatternWildcard"
)
_WHERE = {
    **dict.fromkeys(_FROM_IR.split(), "irtool.ir"),
    "var": "irtool.relay.literals",
    "const": "irtool.relay.literals",
    "scalar_type": "irtool.relay.literals",
    "build": "irtool.relay.building",
    **dict.fromkeys(("ExprFunctor", "ExprMutator", "ExprVisitor"), "irtool.relay.functors"),
    **dict.fromkeys(("bind_params_by_name", "load_param_dict", "save_param_dict"), "irtool.relay.params"),
    "create_executor": "irtool.relay.executor",
    "ScopeBuilder": "irtool.relay.scope_builder",
    "lower_call": "irtool.lower.lower_call",
}
_MODULES = {
    "analysis": "irtool.relay.analysis",
    "transform": "irtool.passes",
    **dict.fromkeys(("expr", "ty", "function", "build_module", "expr_functor"), "irtool.relay"),
}
"""TVM spreads these names over modules; here each of these modules is `irtool.relay` itself."""


def _find(name: str) -> _Anything:
    from .forms import find_form

    return find_form(name)


def _names() -> list[str]:
    from .forms import form_names

    return form_names()


_operators = Namespace("irtool.relay", _find, _names)
op = _operators
"""`relay.op.nn.relu` is `relay.nn.relu`; `relay.op.get("nn.relu")` is the operator as a value."""


def _unknown_dimension() -> _Anything:
    """The unknown dimension: `relay.var("x", shape=(relay.Any(), 3))`."""
    return ANY


def __getattr__(name: str) -> _Anything:
    explain_uncaught()
    if name == "Any":
        return _unknown_dimension
    if name in _WHERE:
        value = getattr(importlib.import_module(_WHERE[name]), name)
    elif name in _MODULES:
        value = importlib.import_module(_MODULES[name])
    elif name in _own_modules():
        value = importlib.import_module(f"irtool.relay.{name}")
    else:
        try:
            return getattr(_operators, name)
        except AttributeError:
            hint = counterpart("relay", name)
            if not hint:
                raise
            raise AttributeError(f"irtool.relay has no attribute {name!r}: {hint}") from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), "Any", *_WHERE, *_MODULES, *dir(_operators)})


def _own_modules() -> list[str]:
    return [m.name for m in pkgutil.iter_modules(__path__)]
