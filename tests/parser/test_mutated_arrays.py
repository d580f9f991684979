"""Files of arrays with bytes changed: read or refused with the name of the file, nothing else."""

from __future__ import annotations

import io
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irtool.diagnostics import IrError
from irtool.parser.arrays import read_npy, read_npz
from irtool.parser.safetensors import read_safetensors

TRIALS = 1500
PIECES = (
    b"\xff" * 8,
    b"\0" * 8,
    b"9" * 20,
    b"-1",
    b"[",
    b"(",
    b"{}",
    b"'",
    b'"',
    b"\n",
    b"'''",
    b"True",
    b"1e400",
    b",)",
)


def mutated(data: bytes, rng: random.Random) -> bytes:
    """A few bytes replaced, flipped, cut out, repeated or put in, most of them near the beginning, where headers are."""
    b = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        offset = rng.randrange(min(len(b), rng.choice((32, 128, len(b)))) or 1)
        match rng.randrange(5):
            case 0:
                b[offset : offset + 1] = bytes([rng.randrange(256)])
            case 1:
                b[offset : offset + 1] = bytes([b[offset] ^ 1 << rng.randrange(8)]) if b else b""
            case 2:
                del b[offset : offset + rng.choice((1, 2, 4, 16))]
            case 3:
                b[offset:offset] = b[offset : offset + rng.choice((1, 4, 20))]
            case _:
                b[offset:offset] = rng.choice(PIECES)
    return bytes(b)


def a_file(kind: str) -> tuple[bytes, Callable[[Any], Any]]:
    arrays = {"w": np.arange(32, dtype="float32").reshape(4, 8), "b": np.arange(4, dtype="int64")}
    buffer = io.BytesIO()
    if kind == "npy":
        np.save(buffer, arrays["w"])
        return buffer.getvalue(), read_npy
    if kind == "npz":
        np.savez_compressed(buffer, **arrays)
        return buffer.getvalue(), read_npz
    safetensors = pytest.importorskip("safetensors.numpy")
    return safetensors.save(arrays), read_safetensors


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["npy", "npz", "safetensors"])
def test_mutated_files_are_read_or_refused(kind: str, tmp_path: Path) -> None:
    data, read = a_file(kind)
    path = tmp_path / f"mutated.{kind}"
    seen: Counter[str] = Counter()
    for seed in range(TRIALS):
        path.write_bytes(mutated(data, random.Random(seed)))
        try:
            read(path)
            seen["read"] += 1
        except IrError as error:
            seen["refused"] += 1
            assert "mutated" in str(error)
    assert seen["read"] > 20 and seen["refused"] > 300
