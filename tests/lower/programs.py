"""Programs with and without loop nests, and values that must agree."""

from __future__ import annotations

import numpy as np

import irtool
from irtool.printer.text import VERSION
from irtool.tir.stmt import PrimFunc
from tests.lower.kernels import KERNELS

CHAIN = """def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32], %n: bool) {
  %0 = nn.relu(nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3]));
  %1 = if (%n) { nn.batch_flatten(%0) } else { reshape(negative(%0), newshape=[1, 256]) };
  (nn.softmax(%1), split(%1, indices_or_sections=2, axis=1), meta_free(%1))
}
def @meta_free(%y: Tensor[(1, 256), float32]) { sum(%y, axis=[1]) }
""".replace("meta_free(%1)", "@meta_free(%1)")

PROGRAMS = {
    **KERNELS,
    "a chain": CHAIN,
    "gather": "def @main(%x: Tensor[(5, 3), float32], %i: Tensor[(4), int32]) { take(%x, %i, axis=0) }",
    "top k": 'def @main(%x: Tensor[(3, 9), float32]) { topk(%x, k=2, axis=1, dtype="int32") }',
    "valid boxes": "def @main(%x: Tensor[(1, 4, 6), float32]) { vision.get_valid_counts(%x, 0.5f, score_threshold=0.5f, id_index=0, score_index=1) }",
    "a scatter": """def @main(%x: Tensor[(6), float32], %i: Tensor[(3), int64], %u: Tensor[(3), float32]) {
        scatter_elements(%x, %i, %u, axis=0, reduction="add") }""",
    "powers of integers": "def @main(%x: Tensor[(4), int32]) { power(%x, 3) }",
    "unsigned bytes": 'def @main(%x: Tensor[(4), uint8]) { cast(subtract(%x, cast(7, dtype="uint8")), dtype="int16") }',
}


def modules(name: str) -> tuple[irtool.Module, irtool.Module, list[np.ndarray]]:
    """A fused module, the same lowered, written and read, and inputs."""
    from irtool.interp.random_inputs import random_inputs

    fused = irtool.run_passes(irtool.parse(VERSION + PROGRAMS[name]), "FuseOps")
    lowered = irtool.parse(irtool.to_text(irtool.run_passes(fused, "LowerTE")))
    assert any(isinstance(f, PrimFunc) for f in lowered.functions.values())
    return fused, lowered, random_inputs(fused["main"], 1, fused)


def agree(want: object, got: object) -> None:
    if isinstance(want, tuple | list):
        assert isinstance(got, tuple | list) and len(got) == len(want)
        for a, b in zip(want, got, strict=True):
            agree(a, b)
        return
    a, b = np.asarray(want), np.asarray(got)
    assert (a.shape, a.dtype) == (b.shape, b.dtype)
    if a.dtype.kind == "f":
        loose = 1e-2 if a.dtype == np.float16 else 1e-5
        np.testing.assert_allclose(b.astype("float64"), a.astype("float64"), rtol=loose, atol=loose)
    else:
        np.testing.assert_array_equal(b, a)
