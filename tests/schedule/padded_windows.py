"""Programs of one layer with constant weights, and their work after partitioning."""

from __future__ import annotations

import numpy as np

import irtool
from irtool.driver.parameters import bind_weights
from irtool.driver.prepare import prepare
from irtool.lower import lower_module
from irtool.schedule.pipeline import SCHEDULE
from irtool.tir.forms import Reduction
from irtool.tir.program import Program
from irtool.tir.vector_target import VectorTarget

TARGET = VectorTarget(64)


def program_of(call: str, x: tuple[int, ...], weights: np.ndarray) -> tuple[Program, irtool.Module]:
    types = ", ".join(f"%{n}: Tensor[({', '.join(map(str, s))}), float32]" for n, s in (("x", x), ("w", weights.shape)))
    module = bind_weights(
        irtool.infer_types(irtool.parse(f"def @main({types}) {{ {call} }}")), {"w": weights}, ("main",), None
    )
    return lower_module(prepare(module)), module


def changed(program: Program) -> Program:
    for stage in SCHEDULE:
        if stage.name in ("PartitionPaddedWindows", "SliceConstants"):
            stage.run(program, TARGET)
    return program


def work(program: Program) -> int:
    return sum(f.work for k in program.kernels for f in k.stages if isinstance(f, Reduction))


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(-4, 5, shape).astype("float32")
