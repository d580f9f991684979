"""Operators that are worth a schedule, and imported models, compiled to C for all sorts of processors: each gives what the interpreter gives."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import irtool
from irtool.diagnostics import IrError
from irtool.interp.random_inputs import random_inputs
from irtool.ir import Module, TensorType, tuple_leaves
from tests.fuzz.agreement import LateError, limited
from tests.fuzz.compiled import Compiled, hostile, run_drawn, write_program
from tests.fuzz.harness import Program
from tests.fuzz.kernel_modules import KernelMaker, draw_target
from tests.fuzz.model_mutators import mutate_model
from tests.fuzz.model_seeds import wide_seeds

MOST_BYTES = 1 << 20
"""Of all inputs of a model."""


def run_kernels(seeds: Sequence[int]) -> Iterator[Compiled]:
    """The outcomes of the modules of these seeds, in order."""
    return run_drawn(seeds, draw_kernel)


def run_imports(seeds: Sequence[int]) -> Iterator[Compiled]:
    """The outcomes of the models of these seeds, in order."""
    return run_drawn(seeds, draw_import)


def draw_kernel(seed: int) -> Program | Compiled:
    """A module around one operator, its inputs and what the interpreter makes of them."""
    rng = random.Random(f"kernel {seed}")
    try:
        module = KernelMaker(seed).module()
    except IrError as error:
        return Compiled(seed, "unevaluated", str(error))
    inputs = [_spread(x, rng) for x in random_inputs(module["main"], seed)]
    return _program(f"k{seed}", seed, module, inputs, rng)


def draw_import(seed: int) -> Program | Compiled:
    """A model, as it is or mutated, random inputs and what the interpreter makes of them."""
    rng = random.Random(f"imported {seed}")
    model = rng.choice(wide_seeds())
    if rng.random() < 0.5:
        model = mutate_model(model, rng)
    try:
        with warnings.catch_warnings(), limited():
            warnings.simplefilter("ignore")
            module, weights = irtool.from_onnx(model)
            names = [p.name for p in module["main"].params]
            types = [p.checked_type for p in module["main"].params]
            if not all(isinstance(t, TensorType) and t.is_static for t in types):
                return Compiled(seed, "refused", "inputs whose shapes are not known")
            if sum(8 * int(np.prod(t.shape)) for t in types) > MOST_BYTES:
                return Compiled(seed, "large")
            values = random_inputs(module["main"], seed, module)
    except (IrError, LateError) as error:
        return Compiled(seed, "refused", str(error))
    inputs = [weights.get(n, x) for n, x in zip(names, values, strict=True)]
    return _program(f"i{seed}", seed, module, inputs, rng)


def _program(name: str, seed: int, module: Module, inputs: list[Any], rng: random.Random) -> Program | Compiled:
    if not all(isinstance(t, TensorType) and t.is_static for t in tuple_leaves(module["main"].ret_type)):
        return Compiled(seed, "refused", "not of tensors whose shapes are known")
    options = draw_target(rng)
    try:
        with limited(), np.errstate(all="ignore"):
            want = irtool.evaluate(module, inputs)
    except (IrError, LateError) as error:
        return Compiled(seed, "unevaluated", str(error))
    return Program(name, module, inputs, want, options, small_teams=rng.random() < 0.7)


def _spread(value: Any, rng: random.Random) -> Any:
    """Bytes of all values; of floats, some that are none now and then."""
    if value.dtype in ("int8", "uint8"):
        ends = np.iinfo(value.dtype)
        return np.random.default_rng(rng.randrange(1 << 32)).integers(
            ends.min, ends.max, value.shape, value.dtype, endpoint=True
        )
    return hostile(value, rng) if rng.random() < 0.2 else value


def write_kernel(outcome: Compiled, folder: Path) -> Path:
    """Writes the module and its inputs with the command that compares both; returns the file."""
    return write_program(outcome, folder, draw_kernel(outcome.seed), KernelMaker(outcome.seed).module(), "kernel")


def write_import(outcome: Compiled, folder: Path) -> Path:
    """Writes the imported module and its inputs with the command that compares both; returns the file."""
    program = draw_import(outcome.seed)
    assert isinstance(program, Program)
    return write_program(outcome, folder, program, program.module, "import")
