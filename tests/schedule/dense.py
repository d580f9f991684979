"""A dense layer as a loop nest, and the check of its values."""

from __future__ import annotations

import numpy as np

import irtool
from irtool import relay, te
from irtool.lower.lower_call import LoweredCall
from irtool.tir.stmt import PrimFunc


def lowered_dense() -> tuple[LoweredCall, list[np.ndarray]]:
    x, w = relay.var("x", shape=(6, 8)), relay.var("w", shape=(16, 8))
    tensors = [te.placeholder((6, 8), name="x"), te.placeholder((16, 8), name="w")]
    lowered = irtool.lower_call(relay.nn.dense(x, w, units=16), tensors, "llvm")
    chance = np.random.default_rng(0)
    return lowered, [chance.uniform(-1, 1, t.shape).astype("float32") for t in tensors]


def check(lowered: LoweredCall, nest: PrimFunc, inputs: list[np.ndarray]) -> None:
    """The nest, read again, gives in the interpreter and in C what the call gives."""
    module = irtool.parse(irtool.to_text(lowered.module(nest)))
    want = inputs[0] @ inputs[1].T
    np.testing.assert_allclose(irtool.evaluate(module, inputs), want, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(irtool.build(module).run(inputs), want, rtol=1e-5, atol=1e-5)
