"""`com.microsoft.RotaryEmbedding`, against turning pairs of numbers one by one."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError
from tests.frontends.onnx.agreement import evaluated, parse

pytest.importorskip("onnx")

pytestmark = pytest.mark.promise("networks in ONNX")

BATCH, HEADS, LENGTH, SIZE, MOST = 2, 3, 4, 8, 10
SHAPES = {3: f"{BATCH},{LENGTH},{HEADS * SIZE}", 4: f"{BATCH},{HEADS},{LENGTH},{SIZE}"}


def graph(rank: int, half: int, places: str, attributes: str) -> str:
    caches = f"float[{MOST},{half}] c, float[{MOST},{half}] s"
    return f"""net (float[{SHAPES[rank]}] x, int64[{places}] p, {caches}) => (float y) {{
        y = com.microsoft.RotaryEmbedding<{attributes}>(x, p, c, s) }}"""


def rotated(x: np.ndarray, places: np.ndarray, angles: np.ndarray, interleaved: bool) -> np.ndarray:
    """`x` of shape (batch, heads, length, size), turned in pairs: neighbours, or the halves of what is turned."""
    result, half = x.copy(), angles.shape[1]
    for b, h, n, k in np.ndindex(x.shape[0], x.shape[1], x.shape[2], half):
        i, j = (2 * k, 2 * k + 1) if interleaved else (k, k + half)
        angle = angles[places[b, n], k]
        pair = complex(x[b, h, n, i], x[b, h, n, j]) * np.exp(1j * angle)
        result[b, h, n, i], result[b, h, n, j] = pair.real, pair.imag
    return result


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize(
    ("rank", "half", "start", "more"),
    [
        (4, SIZE // 2, None, ""),
        (4, SIZE // 4, None, ", scale=0.5"),
        (4, SIZE // 2, 5, ""),
        (3, SIZE // 2, 3, ""),
        (3, SIZE // 4, None, f", num_heads={HEADS}"),
    ],
)
def test_pairs_are_turned_by_the_angles_of_their_places(
    rank: int, half: int, start: int | None, more: str, interleaved: int
) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((BATCH, HEADS, LENGTH, SIZE)).astype("float32")
    angles = rng.uniform(-3, 3, (MOST, half))
    places = rng.integers(0, MOST, (BATCH, LENGTH))
    if start is not None:
        places = np.broadcast_to(start + np.arange(LENGTH), (BATCH, LENGTH))
    inputs = {
        "x": x if rank == 4 else x.transpose(0, 2, 1, 3).reshape(BATCH, LENGTH, -1),
        "p": places if start is None else np.array([start]),
        "c": np.cos(angles).astype("float32"),
        "s": np.sin(angles).astype("float32"),
    }
    text = graph(rank, half, "1" if start is not None else f"{BATCH},{LENGTH}", f"interleaved={interleaved}{more}")
    (actual,) = evaluated(parse(text, microsoft=True), inputs)
    expected = rotated(x, places, angles, bool(interleaved)) * (0.5 if "scale" in more else 1)
    expected = expected if rank == 4 else expected.transpose(0, 2, 1, 3).reshape(BATCH, LENGTH, -1)
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)


def test_packed_batches_are_refused() -> None:
    with pytest.raises(IrError, match="packed batches"):
        irtool.from_onnx(parse(graph(4, 4, "1", "is_packed_batching=1"), microsoft=True))
