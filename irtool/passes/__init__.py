"""Passes, one file for each; `core` holds base classes, contexts, pipelines, the runner and shared helpers.

Every registered pass is an attribute by its name: `passes.FuseOps(fuse_opt_level=2)`, `passes.qnn.Legalize()`.
"""

import importlib
import pkgutil
from typing import Any

from ..namespace import Namespace
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

_by_name = Namespace("irtool.passes", passes.find, passes.names)


def __getattr__(name: str) -> Any:
    if name in [m.name for m in pkgutil.iter_modules(__path__)]:
        return importlib.import_module(f"{__name__}.{name}")
    return getattr(_by_name, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(_by_name)})
