"""Passes, one file for each; `core` holds base classes, contexts, pipelines, the runner and shared helpers.

Every registered pass is an attribute by its name: `passes.FuseOps(fuse_opt_level=2)`, `passes.qnn.Legalize()`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..namespace import Namespace, submodules

if TYPE_CHECKING:
    from .apply_pass_to_function import ApplyPassToFunction
    from .core.base import Composite, FunctionPass, ModulePass, Pass, PassList, is_optimizable, passes, register_pass
    from .core.bind import bind_params
    from .core.config_option import ConfigOption
    from .core.constants import scalar_constant
    from .core.context import PassContext, PassInfo, PassInstrument
    from .core.pipeline import parse_pipeline
    from .core.run import run_passes
    from .core.runner import run_pass
    from .core.sequential import Sequential
    from .decorated import create_function_pass, create_module_pass, function_pass, module_pass
    from .instruments import register_instrument

__all__ = [
    "ApplyPassToFunction",
    "Composite",
    "ConfigOption",
    "FunctionPass",
    "ModulePass",
    "Pass",
    "PassContext",
    "PassInfo",
    "PassInstrument",
    "PassList",
    "Sequential",
    "bind_params",
    "create_function_pass",
    "create_module_pass",
    "function_pass",
    "is_optimizable",
    "module_pass",
    "parse_pipeline",
    "passes",
    "register_instrument",
    "register_pass",
    "run_pass",
    "run_passes",
    "scalar_constant",
]

_HOMES = {
    "apply_pass_to_function": ["ApplyPassToFunction"],
    "core.base": [
        "Composite",
        "FunctionPass",
        "ModulePass",
        "Pass",
        "PassList",
        "is_optimizable",
        "passes",
        "register_pass",
    ],
    "core.bind": ["bind_params"],
    "core.config_option": ["ConfigOption"],
    "core.constants": ["scalar_constant"],
    "core.context": ["PassContext", "PassInfo", "PassInstrument"],
    "core.pipeline": ["parse_pipeline"],
    "core.run": ["run_passes"],
    "core.runner": ["run_pass"],
    "core.sequential": ["Sequential"],
    "decorated": ["create_function_pass", "create_module_pass", "function_pass", "module_pass"],
    "instruments": ["register_instrument"],
}
"""The module of each name: a build that the cache has imports few of them."""

_get = submodules(__name__, **_HOMES)


def _pass_of(name: str) -> Any:
    return _get("passes").find(name)


def _names() -> list[str]:
    return list(_get("passes").names())


_by_name = Namespace("irtool.passes", _pass_of, _names)


def __getattr__(name: str) -> Any:
    try:
        return _get(name)
    except AttributeError:
        return getattr(_by_name, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *dir(_by_name)})
