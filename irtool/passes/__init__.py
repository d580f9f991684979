"""Passes: what one is (`base`), the context (`context`), the runner, pipelines, and one file for each pass."""

from .base import FunctionPass, ModulePass, Pass, PassList, Sequential, is_optimizable, passes, register_pass
from .context import PassContext, PassInfo, PassInstrument
from .pipeline import parse_pipeline
from .runner import ApplyPassToFunction, run_pass, run_passes

__all__ = [
    "ApplyPassToFunction",
    "FunctionPass",
    "ModulePass",
    "Pass",
    "PassContext",
    "PassInfo",
    "PassInstrument",
    "PassList",
    "Sequential",
    "is_optimizable",
    "parse_pipeline",
    "passes",
    "register_pass",
    "run_pass",
    "run_passes",
]
