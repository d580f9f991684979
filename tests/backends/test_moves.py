"""16-bit floats that are moved stay the bits that they are, and no conversion is written for them."""

from pathlib import Path

import numpy as np
import pytest

import irtool
from tests.backends.transposes import kernel_of

MOVES = {
    "channels apart": ("transpose(%x, axes=[2, 0, 1])", (8, 8, 3)),
    "channels together": ("transpose(%x, axes=[1, 2, 0])", (3, 8, 8)),
    "squares": ("transpose(%x, axes=[1, 0])", (40, 37)),
    "slice": ("strided_slice(%x, begin=[1, 3], end=[7, 9], strides=[1, 2], axes=[0, 1])", (8, 16)),
    "other end": ("reverse(%x, axis=1)", (3, 21)),
}
HEAD = '#[version = "0.0.5"]\ndef @main(%x: Tensor[{}, {}]) {{ {} }}'


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_no_conversion_is_written(move: str, dtype: str, tmp_path: Path) -> None:
    call, shape = MOVES[move]
    text = kernel_of(HEAD.format(shape, dtype, call), "x86-64-v3", tmp_path)
    assert not any(f in text for f in ("h2f", "f2h", "b2f", "f2b"))


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("vector", [True, False], ids=["vectors", "scalars"])
def test_every_bit_is_moved(move: str, vector: bool) -> None:
    """Of NaN as well: a conversion would make a signalling one quiet."""
    call, shape = MOVES[move]
    module = irtool.infer_types(irtool.parse(HEAD.format(shape, "float16", call)))
    bits = (np.arange(np.prod(shape)) * 97 + 0x7C00).astype("uint16").reshape(shape)
    (got,) = (irtool.build(module, vector=vector).run([bits.view("float16")]),)
    want = irtool.evaluate(module, [bits.view("float16")])
    np.testing.assert_array_equal(np.asarray(got).view("uint16"), np.asarray(want).view("uint16"))
