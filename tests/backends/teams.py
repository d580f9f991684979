"""Inputs and results of the program that teams of threads run."""

from __future__ import annotations

import numpy as np

from irtool.backends.library import Library

GENERATOR = np.random.default_rng(0)

INPUTS = [
    GENERATOR.standard_normal(s).astype("float32") * scale
    for s, scale in (((130, 512), 1), ((192, 512), 0.1), ((192, 192), 0.1))
]

SHAPES = [(130, 192), (130,), (130, 130)]


def outputs() -> list[np.ndarray]:
    return [np.empty(s, "float32") for s in SHAPES]


def set_threads(library: Library, count: int) -> None:
    library._library.omp_set_num_threads(count)
