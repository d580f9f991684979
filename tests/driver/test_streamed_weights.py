"""Packed weights are made when they are stored, one after the other, and each once."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.schedule.layouts import packed
from irtool.schedule.strategies.winograd import stage
from irtool.tir.equal_data import EqualData, beginning

LAYERS = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 16, 12, 12), float32], %a: Tensor[(32, 16, 1, 1), float32], %b: Tensor[(64, 32, 1, 1), float32],
          %c: Tensor[(64, 64, 3, 3), float32]) {
  %0 = nn.relu(nn.conv2d(%x, %a, padding=[0, 0, 0, 0], channels=32, kernel_size=[1, 1]));
  %1 = nn.relu(nn.conv2d(%0, %b, padding=[0, 0, 0, 0], channels=64, kernel_size=[1, 1]));
  nn.conv2d(%1, %c, padding=[1, 1, 1, 1], channels=64, kernel_size=[3, 3])
}
"""


@pytest.mark.parametrize(("cached", "opt"), [(False, "balanced"), (True, "balanced"), (False, "speed")])
def test_each_weight_is_packed_once_and_dropped(
    cached: bool, opt: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    references: list[weakref.ref[Any]] = []
    most = 0

    def counted(name: str, change: Any) -> Any:
        def wrapped(*args: Any) -> Any:
            nonlocal most
            array = change(*args)
            references.append(weakref.ref(array))
            gc.collect()
            most = max(most, sum(r() is not None for r in references))
            return array

        return wrapped

    monkeypatch.setattr(packed, "_packed_view", counted("pack", packed._packed_view))
    monkeypatch.setattr(stage, "transform_weights", counted("transform", stage.transform_weights))
    monkeypatch.setattr(stage, "plain_weights", counted("plain", stage.plain_weights))
    module, g = irtool.parse(LAYERS), np.random.RandomState(0)
    shapes = {p.name: p.type_annotation.shape for p in module["main"].params}
    values = {n: g.uniform(-1, 1, [int(d) for d in s]).astype("float32") for n, s in shapes.items()}
    x = values.pop("x")
    built = irtool.build(module, values, weights="file", cache=cached, opt=opt, cflags="-O1", out_dir=tmp_path / "out")
    np.testing.assert_allclose(built.run([x]), irtool.evaluate(module, {"x": x, **values}), rtol=2e-3, atol=2e-3)
    assert len(references) == 3
    assert most <= 2  # the next one is made before the last one is let go


def test_data_is_read_as_a_whole_only_if_it_begins_like_other_data() -> None:
    read: list[int] = []
    arrays = [np.full(100, n, "float32") for n in (1, 2, 3, 1)]
    arrays[3][50] = 7
    contents: EqualData[int] = EqualData()
    for n, a in enumerate([*arrays, arrays[0].copy()]):

        def whole(n: int = n, a: Any = a) -> Any:
            read.append(n)
            return a

        index = contents.first(("float32", a.nbytes), beginning(a), whole, n)
        assert index == (0 if n == 4 else n)
    assert read == [0, 3, 4]


def test_weights_are_hashed_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    hashed: list[int] = []
    real, plain = hashlib.file_digest, hashlib.sha256

    def file_digest(file: Any, name: str) -> Any:
        hashed.append(os.fstat(file.fileno()).st_size)
        return real(file, name)

    class Counted:
        def __init__(self, data: Any = b"") -> None:
            self.inner, self.size = plain(data), len(data)

        def update(self, data: Any) -> None:
            self.size += memoryview(data).nbytes
            self.inner.update(data)

        def digest(self) -> bytes:
            hashed.append(self.size)
            return self.inner.digest()

        def hexdigest(self) -> str:
            hashed.append(self.size)
            return self.inner.hexdigest()

    module = irtool.parse(DENSE)
    weights = {"w": np.random.RandomState(0).uniform(-1, 1, (512, 512)).astype("float32")}
    monkeypatch.setattr(hashlib, "file_digest", file_digest)
    monkeypatch.setattr(hashlib, "sha256", Counted)
    built = irtool.build(module, weights, weights="file", cache=True, cflags="-O1", out_dir=tmp_path / "out")
    monkeypatch.undo()
    size = (tmp_path / "out" / "model.bin").stat().st_size
    assert size >= weights["w"].nbytes
    # The weights as they are given, for the key of the cache, and the file: for the cache and for what describes the build.
    assert sum(n >= weights["w"].nbytes for n in hashed) == 2, hashed
    assert not built.cached
    about = json.loads((tmp_path / "out" / "model.irtool.json").read_text())
    assert about["files"]["model.bin"] == [size, plain((tmp_path / "out" / "model.bin").read_bytes()).hexdigest()]
    (stored,) = (tmp_path / "cache").rglob("model.bin")
    assert stored.read_bytes() == (tmp_path / "out" / "model.bin").read_bytes()


DENSE = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 512), float32], %w: Tensor[(512, 512), float32]) { nn.dense(%x, %w, units=None) }
"""
