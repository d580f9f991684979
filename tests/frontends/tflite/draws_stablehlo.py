"""Operators of StableHLO that have kernels, windows and boxes, at random."""

from __future__ import annotations

import numpy as np

from .build import Graph, Op, Tensor
from .cases import Drawing, draws


@draws("STABLEHLO_ADD STABLEHLO_MULTIPLY STABLEHLO_MAXIMUM STABLEHLO_MINIMUM", "float32 int32")
@draws("STABLEHLO_SHIFT_LEFT", "int32")
@draws("STABLEHLO_AND STABLEHLO_OR", "bool")
def binary(d: Drawing) -> None:
    shape = d.shape(d.integer(1, 4))
    d.input(shape)
    d.input(shape, low=0, high=0.5 if "SHIFT" in d.operator else 3)
    d.output(shape=shape)
    if "SHIFT" in d.operator:
        d.set("StablehloShiftLeftOptions")


@draws("STABLEHLO_CBRT", "float32")
def unary(d: Drawing) -> None:
    shape = d.shape(d.integer(1, 4))
    d.input(shape)
    d.output(shape=shape)


@draws("STABLEHLO_PAD", "float32 int32")
def pad(d: Drawing) -> None:
    shape = tuple(n + 2 for n in d.shape(d.integer(1, 3), 3))
    d.input(shape)
    d.constant(7, d.dtype)
    d.output()
    rows = [d.rng.integers(low, 3, len(shape)).astype(np.int64) for low in (-1, -1, 0)]
    d.set("StablehloPadOptions", EdgePaddingLow=rows[0], EdgePaddingHigh=rows[1], InteriorPadding=rows[2])


@draws("DILATE", "float32 int32 int8")
def dilate(d: Drawing) -> None:
    shape = d.shape(d.integer(1, 3), 4)
    d.input(shape, scale=None)
    d.constant(d.rng.integers(1, 4, len(shape)))
    d.constant(5, d.dtype)
    d.output(scale=None)
    d.set("DilateOptions")


@draws("REDUCE_WINDOW", "float32 int32 int8")
def window(d: Drawing) -> None:
    rank = d.integer(1, 3)
    shape = tuple(n + 4 for n in d.shape(rank, 3))
    d.input(shape, scale=None)
    d.constant(1, d.dtype)
    d.constant(d.rng.integers(1, 4, rank), "int64")
    d.constant(d.rng.integers(1, 3, rank), "int64")
    d.constant(d.rng.integers(1, 3, rank), "int64")
    d.output(scale=None)
    d.set("ReduceWindowOptions", ReduceFunction=d.choice(1, 2, 3, 4))


@draws("STABLEHLO_COMPOSITE", "float32")
def composite(d: Drawing) -> None:
    shape = d.shape(2)
    d.input(shape)
    d.input(shape)
    d.output(shape=shape)
    d.set("StableHLOCompositeOptions", Name="own.product", DecompositionSubgraphIndex=1)
    tensors = [Tensor(n, shape) for n in "abc"]
    d.graphs.append(Graph(tensors, [Op("MUL", [0, 1], [2], {}, "MulOptions")], [0, 1], [2], "product"))


@draws("NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5", "float32")
def suppression(d: Drawing) -> None:
    n = d.integer(3, 12)
    corner = d.values((n, 2), "float32", 0, 3)
    d.input((n, 4))
    d.data[0] = np.concatenate([corner, corner + d.values((n, 2), "float32", 0.5, 2)], axis=1)
    d.input((n,), low=0, high=1)
    d.constant(d.integer(1, n + 2))
    d.constant(0.4, "float32")
    d.constant(0.2, "float32")
    if d.operator.endswith("V5"):
        d.constant(d.choice(0.0, 0.5), "float32")
    d.output("int32")
    if d.operator.endswith("V5"):
        d.output()
    d.output("int32")
    d.set(f"NonMaxSuppression{d.operator[-2:]}Options")
