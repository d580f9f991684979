"""Inputs from Python: arrays just as the library takes them go straight to it, all others by the interpreter's rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irtool
from irtool.diagnostics import UsageError
from irtool.driver.signature import Signature
from tests.driver.programs import parse

TWO = parse(
    'def @main(%x: Tensor[(2, 3), float32], %n: Tensor[(3), int64]) { (add(%x, cast(%n, dtype="float32")), %n) }'
)
X, N = np.arange(6, dtype="float32").reshape(2, 3), np.array([1, 2, 3], "int64")


def _signature(module: Any) -> Signature:
    artifact = irtool.build(module)
    artifact.run([X, N])
    return artifact._signatures["main"]


def test_arrays_that_fit_are_handed_over_as_they_are() -> None:
    signature = _signature(TWO)
    for inputs in ([X, N], (X, N), {"x": X, "n": N}, {"n": N, "x": X}):
        arrays = signature.arrays(inputs)
        assert arrays[0] is X and arrays[1] is N


@pytest.mark.parametrize(
    "x",
    [
        np.asfortranarray(X),
        np.repeat(X, 2, axis=1)[:, ::2],
        X.astype(">f4"),
        X.tolist(),
        np.ma.masked_array(X),
        X.view(np.recarray),
        X.astype("float16"),
    ],
    ids=["columns", "strides", "bytes", "list", "masked", "subclass", "half"],
)
@pytest.mark.filterwarnings("ignore::irtool.diagnostics.ConversionWarning")
def test_all_others_are_converted_by_the_rule(x: Any) -> None:
    results = irtool.build(TWO).run({"x": x, "n": N})
    np.testing.assert_array_equal(results[0], X + N)


@pytest.mark.parametrize(
    "inputs",
    [[X], [X, N, N], {"x": X}, {"x": X, "m": N}, [X.T, N], [X, N.astype("float32")], [X[:1], N], [X, np.int64(3)]],
    ids=["few", "many", "missing", "unknown", "shape", "dtype", "extent", "rank"],
)
def test_what_does_not_fit_is_refused(inputs: Any) -> None:
    artifact = irtool.build(TWO)
    artifact.run([X, N])
    with pytest.raises(irtool.IrError, match=r"main|%x|%n"):
        artifact.run(inputs)


def test_arrays_that_cannot_be_written_and_empty_ones_are_read() -> None:
    x = X.copy()
    x.flags.writeable = False
    np.testing.assert_array_equal(irtool.build(TWO).run([x, N])[0], X + N)
    empty = parse("def @main(%x: Tensor[(0, 3), float32]) { (sum(%x), %x) }")
    total, same = irtool.build(empty).run([np.empty((0, 3), "float32")])
    assert total == 0 and same.shape == (0, 3)


def test_parameters_of_one_name_are_given_in_order() -> None:
    m = parse("def @main(%x: Tensor[(3), float32], %y: Tensor[(3), float32]) { subtract(%x, %y) }")
    x = np.ones(3, "float32")
    np.testing.assert_array_equal(irtool.build(m).run({"y": x * 3, "x": x}), x * -2)


def test_large_results_begin_at_lines_of_the_cache() -> None:
    module = parse("def @main(%x: Tensor[(512, 256), float32]) { nn.relu(%x) }")
    artifact, x = irtool.build(module), np.ones((512, 256), "float32")
    first, second = artifact.run([x]), artifact.run([x])
    assert first.ctypes.data % 64 == second.ctypes.data % 64 == 0
    assert not np.shares_memory(first, second) and first.flags.carray
    np.testing.assert_array_equal(first, second)


def test_later_runs_check_their_inputs_too() -> None:
    artifact = irtool.build(TWO)
    for _ in range(2):
        np.testing.assert_array_equal(artifact.run([X, N])[0], X + N)
        np.testing.assert_array_equal(artifact.run(x=X, n=N)[0], X + N)
        with pytest.raises(UsageError, match="runner"):
            artifact.run([X, N], runner=["qemu"])
        with pytest.raises(irtool.IrError, match="%n"):
            artifact.run([X, X])
