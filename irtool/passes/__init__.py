"""Passes: what one is (`base`), the context (`context`), the runner, pipelines, and one file for each pass.

Every registered pass is an attribute by its name: `passes.FuseOps(fuse_opt_level=2)`, `passes.qnn.Legalize()`.
"""

import importlib
import pkgutil
from typing import Any

from ..namespace import Namespace
from .apply_pass_to_function import ApplyPassToFunction
from .base import (
    Composite,
    FunctionPass,
    ModulePass,
    Pass,
    PassList,
    is_optimizable,
    passes,
    register_pass,
)
from .config_option import ConfigOption
from .context import PassContext, PassInfo, PassInstrument
from .decorated import create_function_pass, create_module_pass, function_pass, module_pass
from .instruments import register_instrument
from .pipeline import parse_pipeline
from .run import run_passes
from .runner import run_pass
from .sequential import Sequential

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
]

_by_name = Namespace("irtool.passes", passes.find, passes.names)


def __getattr__(name: str) -> Any:
    if name in [m.name for m in pkgutil.iter_modules(__path__)]:
        return importlib.import_module(f"{__name__}.{name}")
    return getattr(_by_name, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(_by_name)})
