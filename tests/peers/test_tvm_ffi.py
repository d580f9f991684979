"""Libraries with `--api=tvm-ffi` in the package apache-tvm-ffi: tensors of DLPack in and out, and refusals as exceptions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.diagnostics import UsageError

DENSE = "def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) { nn.dense(%x, %w, units=4) }"
OPEN = "def @main(%x: Tensor[(?, 2), float32], %y: Tensor[(?, 2), float32]) { concatenate((%x, %y)) }"
KINDS = """def @main(%x: Tensor[(2), bool], %y: Tensor[(2), int8], %z: Tensor[(), uint16]) {
  (logical_not(%x), cast(%y, dtype="float64"), cast(%z, dtype="float16"))
}"""
TWO = "def @main(%x: Tensor[(2), float32]) { exp(%x) }\ndef @other(%x: Tensor[(2), int64]) { add(%x, 1i64) }"


@pytest.fixture(scope="module")
def ffi(request: pytest.FixtureRequest) -> Iterator[Any]:
    if not request.config.getoption("--peers"):
        pytest.skip("only with --peers")
    yield pytest.importorskip("tvm_ffi")


def load(ffi: Any, text: str, folder: Path, **options: Any) -> Any:
    options = {"name": "net", "emit": "so", "api": "tvm-ffi", "cflags": "-Wall -Wextra -Werror -pedantic", **options}
    irtool.build(irtool.parse(text), out_dir=folder, **options)
    return ffi.load_module(str(folder / "net.so"))


def taken(ffi: Any, *arrays: np.ndarray[Any, Any]) -> list[Any]:
    return [ffi.from_dlpack(a) for a in arrays]


X = np.arange(6, dtype=np.float32).reshape(2, 3)
W = np.arange(12, dtype=np.float32).reshape(4, 3)


def test_a_run_writes_into_the_caller_s_tensor(ffi: Any, tmp_path: Path) -> None:
    module, out = load(ffi, DENSE, tmp_path), np.zeros((2, 4), np.float32)
    module["net_run"](*taken(ffi, X, W, out))
    np.testing.assert_array_equal(out, X @ W.T)


def test_weights_from_a_file(ffi: Any, tmp_path: Path) -> None:
    module, out = load(ffi, DENSE, tmp_path, params={"w": W}, weights="file"), np.zeros((2, 4), np.float32)
    with pytest.raises(RuntimeError, match="net: the weights are not set"):
        module["net_run"](*taken(ffi, X, out))
    with pytest.raises(RuntimeError, match="cannot be opened"):
        module["net_load_weights"]("no")
    with pytest.raises(TypeError, match="takes the path of a file"):
        module["net_load_weights"](1)
    module["net_load_weights"](str(tmp_path / "net.bin"))
    module["net_run"](*taken(ffi, X, out))
    np.testing.assert_array_equal(out, X @ W.T)


def test_lengths_are_those_of_the_tensors(ffi: Any, tmp_path: Path) -> None:
    module = load(ffi, OPEN, tmp_path, shapes={"x": ("m<=4", 2), "y": ("n<=4", 2)})
    x, y, out = np.ones((1, 2), np.float32), np.full((2, 2), 2, np.float32), np.zeros((3, 2), np.float32)
    module["net_run"](*taken(ffi, x, y, out))
    np.testing.assert_array_equal(out, np.concatenate([x, y]))
    with pytest.raises(ValueError, match=r"net: out, .*: the tensor has another shape"):
        module["net_run"](*taken(ffi, y, y, out))
    long = np.ones((9, 2), np.float32)
    with pytest.raises(RuntimeError, match="net: a length is outside of its bounds"):
        module["net_run"](*taken(ffi, long, y, np.zeros((11, 2), np.float32)))


def test_dtypes(ffi: Any, tmp_path: Path) -> None:
    module = load(ffi, KINDS, tmp_path)
    outs = [np.zeros(2, bool), np.zeros(2), np.zeros((), np.float16)]
    module["net_run"](*taken(ffi, np.array([True, False]), np.array([-1, 5], np.int8), np.array(7, np.uint16), *outs))
    assert [o.tolist() for o in outs] == [[False, True], [-1.0, 5.0], 7.0]


def test_several_entries(ffi: Any, tmp_path: Path) -> None:
    module, out = load(ffi, TWO, tmp_path, entry=("main", "other")), np.zeros(2, np.int64)
    module["net_run_other"](*taken(ffi, np.array([1, 2]), out))
    assert out.tolist() == [2, 3]


@pytest.mark.parametrize(
    ("x", "kind", "message"),
    [
        (X.astype(np.float64), TypeError, "the tensor has another dtype"),
        (X[0], TypeError, "the tensor has another rank"),
        (X.T.copy().T, TypeError, "the tensor is not contiguous"),
        (np.zeros((3, 2), np.float32), ValueError, "the tensor has another shape"),
        (1, TypeError, "the argument is no tensor"),
    ],
)
def test_wrong_tensors_are_refused(ffi: Any, x: Any, kind: type[Exception], message: str, tmp_path: Path) -> None:
    module, out = load(ffi, DENSE, tmp_path), np.full((2, 4), 7, np.float32)
    tensor = ffi.from_dlpack(x) if isinstance(x, np.ndarray) else x
    with pytest.raises(kind, match=rf"net: x, float32\[2, 3\]: {message}"):
        module["net_run"](tensor, *taken(ffi, W, out))
    assert (out == 7).all()


def test_a_wrong_number_of_tensors_is_refused(ffi: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="net: 3 tensors are expected: x, w, out"):
        load(ffi, DENSE, tmp_path)["net_run"](*taken(ffi, X))


def test_torch_tensors(ffi: Any, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    module, out = load(ffi, DENSE, tmp_path), torch.zeros((2, 4))
    module["net_run"](torch.from_numpy(X), torch.from_numpy(W), out)
    np.testing.assert_array_equal(out.numpy(), X @ W.T)


def test_states_are_refused(tmp_path: Path) -> None:
    text = "def @main(%x: Tensor[(3), float32], %h: Tensor[(3), float32]) { let %n = tanh(add(%x, %h)); (%n, %n) }"
    with pytest.raises(UsageError, match="the interface of tvm-ffi has tensors, and @main has states"):
        irtool.build(irtool.parse(text), out_dir=tmp_path, api="tvm-ffi", states={"h": "out1"})
