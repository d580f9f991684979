"""Inputs of other libraries, by DLPack: shared where they are contiguous, refused where the processor does not read their memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError

TEXT = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2, 3), float32]) { exp(%x) }'
X = np.arange(6, dtype="float32").reshape(2, 3) / 8


class Foreign:
    """A tensor of a library without `__array__`."""

    def __init__(self, array: np.ndarray, device: tuple[int, int] = (1, 0)) -> None:
        self.array, self.device = array, device

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **options: Any) -> Any:
        if self.device[0] != 1:
            raise BufferError("no export")
        return self.array.__dlpack__(**options)


@pytest.mark.parametrize(
    "array",
    [X, np.asfortranarray(X), np.repeat(X, 2, 1)[:, ::2], X[::-1, ::-1][::-1, ::-1], np.broadcast_to(X[:1], (2, 3))],
    ids=["contiguous", "transposed", "strided", "reversed", "broadcast"],
)
def test_every_stride(array: np.ndarray) -> None:
    artifact = irtool.build(irtool.parse(TEXT))
    for _ in range(2):
        np.testing.assert_allclose(artifact.run([Foreign(array)]), np.exp(array), rtol=1e-6)
    np.testing.assert_allclose(irtool.evaluate(irtool.parse(TEXT), [Foreign(array)]), np.exp(array), rtol=1e-6)


def test_other_devices_dtypes_and_shapes_are_refused() -> None:
    artifact = irtool.build(irtool.parse(TEXT))
    with pytest.raises(IrError, match=r"%x is Tensor.* but its value is in the memory of the device CUDA 1") as error:
        artifact.run([Foreign(X, (2, 1))])
    assert "x.cpu()" in str(error.value.diagnostics[0].help)
    with pytest.raises(IrError, match="its value gives no array: no export"):
        artifact.run([Foreign(X, (3, 0))])
    with pytest.raises(IrError, match="float64"):
        artifact.run([Foreign(X.astype("float64"))])
    with pytest.raises(IrError, match="3, 2"):
        artifact.run([Foreign(np.ascontiguousarray(X.T))])


def test_results_give_dlpack() -> None:
    result = irtool.build(irtool.parse(TEXT)).run([X])
    np.testing.assert_array_equal(np.from_dlpack(result), result)
