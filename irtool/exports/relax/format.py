"""The format `relax`: a Python file with one module in TVMScript."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ...diagnostics import IrError, UsageError
from ...ir import Function, Module
from ...passes.core.mistakes import WrongPassOption
from ..base import Export, File, Request, export
from ..mistakes import NoCounterpart
from .constants import npz_parts
from .function import FunctionScript
from .prepare import prepare
from .program import Program


@export("relax")
@dataclass(frozen=True)
class Relax(Export):
    """TVMScript: a Python file with a Relax module, as `tvm.script` of TVM 0.27 parses it.

    The file defines `Module`; constants that are no scalars are in an `.npz` file beside it, which it loads.

    Options:
        weights: `constants` binds arrays of `--params` as constants; `parameters` leaves the parameters that they are for, and
            writes the arrays into the `.npz` file under the names of the parameters.
    """

    ending: ClassVar[str] = ".py"
    weights: str = "constants"

    def write(self, module: Module, request: Request) -> list[File]:
        if self.weights not in ("constants", "parameters"):
            raise UsageError(
                f"option weights of format relax: {self.weights} is neither constants nor parameters",
                code=WrongPassOption,
            )
        _refuse_lengths(module, request.entry)
        bound = self.weights == "constants"
        program = Program(prepare(module, request.entry, request.weights if bound else {}), request.entry)
        functions: list[list[str]] = []
        while program.waiting:
            functions.append(FunctionScript(program, program.waiting.pop()).lines())
        program.missing.check()
        arrays = program.tensors.arrays
        weights_path = os.path.splitext(request.output)[0] + ".npz"
        text = _file(program, functions, weights_path)
        files = [File(request.output, [text.encode()], is_text=True)]
        arrays_to_save: Mapping[str, Any] = arrays if bound else {**arrays, **request.weights}
        return [File(weights_path, npz_parts(dict(arrays_to_save))), *files] if arrays_to_save else files


def _refuse_lengths(module: Module, entry: str) -> None:
    """Raises IrError for lengths with bounds: Relax has open dimensions, and operators on formulas of them are written for these."""
    from ...infer.lengths import symbols_of_params

    function = module.functions.get(entry)
    if isinstance(function, Function) and (lengths := symbols_of_params(function)):
        names = ", ".join(s.name for s in lengths)
        raise IrError(
            f"@{entry} has lengths with bounds, {names}, and Relax has dimensions without",
            function.span,
            help="export the module with these extents open: without --shape or --dim for them",
            code=NoCounterpart,
        )


def _file(program: Program, written: Sequence[list[str]], weights_path: str) -> str:
    """The text of the Python file."""
    lines = ["# Made by irtool from Relay."]
    if program.tensors.arrays:
        lines += ["from pathlib import Path", ""]
        lines += ["import ml_dtypes  # bfloat16 for numpy"] if program.tensors.has_bfloat16 else []
        lines += ["import numpy as np"]
    lines += ["from tvm.script import ir as I"]
    lines += ["from tvm.script import relax as R"]
    functions = [*program.kernels.functions, *written]
    uses_tir = any("T." in line for function in functions for line in function)
    lines += ["from tvm.script import tirx as T"] if uses_tir else []
    if program.tensors.arrays:
        lines += ["", f"_constants = np.load(Path(__file__).with_name({weights_path!r}))"]
    lines += ["", "", "@I.ir_module", "class Module:"]
    for n, function in enumerate(functions):
        lines += [""] if n else []
        lines += [f"    {line}" for line in function]
    return "\n".join(lines) + "\n"
