"""Recurrent layers, at random."""

from __future__ import annotations

import numpy as np

from .build import Tensor
from .cases import Drawing, draws


def state(d: Drawing, shape: tuple[int, ...], dtype: str = "float32", **q: object) -> int:
    i = d.add(Tensor(f"s{len(d.tensors)}", shape, dtype, is_variable=True, **q))
    d.operands.append(i)
    return i


def real(d: Drawing, *shape: int, present: bool = True) -> None:
    if present:
        d.constant(d.values(shape, "float32", -1, 1), "float32")
    else:
        d.absent()


@draws("RNN UNIDIRECTIONAL_SEQUENCE_RNN", "float32")
def rnn(d: Drawing) -> None:
    batch, depth, units, steps = d.shape(4, 4)
    major = d.choice(True, False)
    if d.operator == "RNN":
        d.input((batch, depth))
        d.set("RNNOptions", FusedActivationFunction=d.choice(1, 4))
    else:
        d.input((steps, batch, depth) if major else (batch, steps, depth))
        d.set("SequenceRNNOptions", FusedActivationFunction=d.choice(1, 4), TimeMajor=major)
    real(d, units, depth)
    real(d, units, units)
    real(d, units)
    state(d, (batch, units))
    d.output()


@draws("BIDIRECTIONAL_SEQUENCE_RNN", "float32")
def bidirectional_rnn(d: Drawing) -> None:
    batch, depth, units, steps = d.shape(4, 4)
    major, merged = d.choice(True, False), d.choice(True, False)
    d.input((steps, batch, depth) if major else (batch, steps, depth))
    for _ in range(2):
        real(d, units, depth)
        real(d, units, units)
        real(d, units)
        state(d, (batch, units))
    for _ in range(3):
        d.absent()
    d.output()
    if not merged:
        d.output()
    d.set("BidirectionalSequenceRNNOptions", TimeMajor=major, FusedActivationFunction=4, MergeOutputs=merged)


def lstm_weights(d: Drawing, depth: int, cells: int, outputs: int) -> None:
    cifg, peephole = d.choice(True, False), d.choice(True, False)
    for k in range(4):
        real(d, cells, depth, present=k > 0 or not cifg)
    for k in range(4):
        real(d, cells, outputs, present=k > 0 or not cifg)
    for k in range(3):
        real(d, cells, present=peephole and (k > 0 or not cifg))
    for k in range(4):
        real(d, cells, present=k > 0 or not cifg)
    real(d, outputs, cells, present=outputs != cells)
    real(d, outputs, present=outputs != cells and d.choice(True, False))


@draws("LSTM UNIDIRECTIONAL_SEQUENCE_LSTM", "float32")
def lstm(d: Drawing) -> None:
    batch, depth, cells, steps = d.shape(4, 4)
    outputs = d.choice(cells, cells + 1)
    major = d.choice(True, False)
    clips = {"CellClip": d.choice(0.0, 0.8), "ProjClip": d.choice(0.0, 0.5)}
    if d.operator == "LSTM":
        d.input((batch, depth))
        d.set("LSTMOptions", FusedActivationFunction=4, **clips)
    else:
        d.input((steps, batch, depth) if major else (batch, steps, depth))
        d.set("UnidirectionalSequenceLSTMOptions", FusedActivationFunction=4, TimeMajor=major, **clips)
    lstm_weights(d, depth, cells, outputs)
    state(d, (batch, outputs))
    state(d, (batch, cells))
    d.output()


@draws("LSTM", "float32/basic")
def basic(d: Drawing) -> None:
    batch, depth, cells = d.shape(3, 4)
    d.input((batch, depth))
    d.input((batch, cells))
    real(d, 4 * cells, depth + cells)
    real(d, 4 * cells)
    d.input((batch, cells))
    for _ in range(4):
        d.output()
    d.set("LSTMOptions", FusedActivationFunction=4, KernelType=1)
    d.version = 2


@draws("BIDIRECTIONAL_SEQUENCE_LSTM", "float32")
def bidirectional_lstm(d: Drawing) -> None:
    batch, depth, cells, steps = d.shape(4, 4)
    major, merged = d.choice(True, False), d.choice(True, False)
    d.input((steps, batch, depth) if major else (batch, steps, depth))
    for _ in range(2):
        lstm_weights(d, depth, cells, cells)
    for _ in range(4):
        state(d, (batch, cells))
    for _ in range(9):
        d.absent()
    d.output()
    if not merged:
        d.output()
    d.set("BidirectionalSequenceLSTMOptions", FusedActivationFunction=4, TimeMajor=major, MergeOutputs=merged)


@draws("SVDF", "float32 int8")
def svdf(d: Drawing) -> None:
    batch, depth, units, memory, rank = (*d.shape(3, 4), d.integer(2, 5), d.integer(1, 2))
    filters = units * rank
    d.input((batch, depth))
    if d.dtype == "float32":
        real(d, filters, depth)
        real(d, filters, memory)
        real(d, units, present=d.choice(True, False))
        state(d, (batch, memory * filters))
        d.output()
    else:
        d.constant(d.rng.integers(-127, 128, (filters, depth)), "int8", scale=0.01)
        d.constant(d.rng.integers(-3000, 3000, (filters, memory)), "int16", scale=0.0003)
        d.constant(d.rng.integers(-3000, 3000, units), "int32", scale=1e-6)
        state(d, (batch, memory * filters), "int16", scale=0.0005)
        d.output(scale=0.02)
    d.set("SVDFOptions", Rank=rank, FusedActivationFunction=1 if d.dtype == "int8" else d.choice(0, 1))
    d.version = 3 if d.dtype == "int8" else 1


@draws("FULLY_CONNECTED CONV_2D", "float32/int8")
def dynamic_range(d: Drawing) -> None:
    """Weights of 8 bits with real data: results are within the kernel's own rounding of the data to 8 bits."""
    d.tolerance = 0.05
    if d.operator == "CONV_2D":
        d.input((1, 6, 6, 3))
        d.constant(d.rng.integers(-127, 128, (4, 3, 3, 3)), "int8", scale=np.full(4, 0.002), axis=0)
        real(d, 4)
        d.set("Conv2DOptions", Padding=0, StrideW=1, StrideH=1)
        d.version = 5
    else:
        d.input((2, 12))
        d.constant(d.rng.integers(-127, 128, (5, 12)), "int8", scale=0.004)
        real(d, 5)
        d.set("FullyConnectedOptions", AsymmetricQuantizeInputs=d.choice(True, False))
        d.version = 9
    d.output()
