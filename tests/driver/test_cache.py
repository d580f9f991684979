"""The build cache: hits, misses, damage, permissions, many processes at once."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.backends.toolchain.jobs import Jobs
from irtool.driver.build import build as driver_build
from irtool.driver.cache import BuildCache, Key
from irtool.driver.states import with_states
from irtool.passes.core.bind import bind_params
from tests.driver.programs import dense


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "irtool" / "builds"


def builds(cache: Path) -> list[str]:
    return sorted(p.name for p in cache.iterdir()) if cache.exists() else []


def test_a_hit_gives_the_same_files_and_does_not_build(cache: Path, tmp_path: Path) -> None:
    m, weights, x = dense()
    first = driver_build(m, weights, out_dir=tmp_path / "a", weights="file", cache=True)
    (key,) = builds(cache)
    second = driver_build(m, weights, out_dir=tmp_path / "b", weights="file", cache=True, instruments=(_Forbidden(),))
    assert builds(cache) == [key]
    for file in (tmp_path / "a").iterdir():
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes()
    assert json.loads(json.dumps(first.report)) == second.report
    np.testing.assert_array_equal(second.run([x]), first.run([x]))
    np.testing.assert_array_equal(second.run({"x": x}), first.run({"x": x}))


class _Forbidden:
    """An instrument that no pass may run under."""

    def __getattr__(self, name: str):
        raise AssertionError("passes ran")


def test_results_in_tuples_come_back_in_tuples(cache: Path) -> None:
    m = irtool.parse(
        '#[version = "0.0.5"]\ndef @main(%x: (Tensor[(2), float32], Tensor[(1), int8])) { (%x, (exp(%x.0),)) }'
    )
    x = (np.ones(2, "float32"), np.array([3], "int8"))
    first, second = (driver_build(m, cache=True).run([x]) for _ in range(2))
    assert isinstance(second, tuple) and len(second) == 2 and len(second[1]) == 1
    np.testing.assert_array_equal(first[1][0], second[1][0])
    np.testing.assert_array_equal(second[0][1], x[1])


def test_whatever_matters_makes_another_build(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    m, weights, _ = dense()
    other = irtool.parse('#[version = "0.0.5"]\ndef @main(%x: Tensor[(4), float32]) { exp(%x) }')
    cases = [
        (m, weights, {}),
        (other, None, {}),
        (m, {**weights, "b": weights["b"] + 1}, {}),
        (m, {"w": weights["w"]}, {}),
        (m, weights, {"name": "other"}),
        (m, weights, {"vector": "none"}),
        (m, weights, {"mcpu": "none"}),
        (m, weights, {"opt_level": 0}),
        (m, weights, {"weights": "split"}),
        (m, weights, {"testbench": True}),
    ]
    for n, (module, params, options) in enumerate(cases):
        driver_build(module, params, emit="c", cache=True, **options)
        assert len(builds(cache)) == n + 1, options
    monkeypatch.setenv("CFLAGS", "-g")
    driver_build(m, weights, emit="c", cache=True)
    assert len(builds(cache)) == len(cases) + 1
    driver_build(m, weights, emit="c")
    driver_build(m, {"b": weights["b"]}, emit="c", cache=False)
    assert len(builds(cache)) == len(cases) + 1


def test_constants_of_attributes_count(cache: Path) -> None:
    """The first values of states are attributes of the function."""
    text = """#[version = "0.0.5"]
    def @main(%x: Tensor[(3), float32], %h: Tensor[(3), float32]) { %0 = add(%x, %h); (negative(%0), %0) }"""
    module = with_states(irtool.infer_types(irtool.parse(text)), "main", {"h": "out1"})
    for n, first in enumerate((1, 2)):
        values = {"h": np.full(3, first, "float32")}
        artifact = driver_build(bind_params(module, values, "main"), cache=True)
        assert len(builds(cache)) == n + 1
        np.testing.assert_array_equal(artifact.instance().step([np.zeros(3, "float32")]), [-first] * 3)


def test_pieces_of_a_key_do_not_run_into_each_other() -> None:
    one, two = Key(), Key()
    one.add("ab", "c")
    two.add("a", "bc")
    assert one.digest != two.digest
    zeros, twice = Key(), Key()
    zeros.add_arrays({"x": np.zeros((2, 3), "float32")})
    twice.add_arrays({"x": np.zeros((3, 2), "float32")})
    assert zeros.digest != twice.digest


@pytest.mark.parametrize("damage", ["library", "about", "missing", "link"])
def test_a_damaged_build_is_built_again(damage: str, cache: Path, tmp_path: Path) -> None:
    m, weights, x = dense()
    want = driver_build(m, weights, cache=True).run([x])
    folder = cache / builds(cache)[0]
    if damage == "library":
        data = bytearray((folder / "files" / "model.so").read_bytes())
        data[len(data) // 2] ^= 1
        (folder / "files" / "model.so").write_bytes(bytes(data))
    elif damage == "about":
        (folder / "build.json").write_text('{"files": 3}')
    elif damage == "missing":
        (folder / "files" / "model.h").unlink()
    else:
        about = (folder / "build.json").read_text()
        (folder / "build.json").write_text(about.replace('"model.h"', '"../../../model.h"'))
    np.testing.assert_array_equal(driver_build(m, weights, cache=True).run([x]), want)


def test_the_folder_is_the_users_own(cache: Path) -> None:
    m, weights, _ = dense()
    driver_build(m, weights, emit="c", cache=True)
    assert stat.S_IMODE(os.stat(cache).st_mode) == 0o700
    cache.chmod(0o777)
    before = builds(cache)
    driver_build(m, weights, emit="c", name="other", cache=True)
    assert builds(cache) == before
    assert BuildCache(cache).load(before[0], None) is None  # type: ignore[arg-type]


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    m, weights, x = dense()
    assert driver_build(m, weights, cache=True).run([x]).shape == (1, 32)


def test_failures_are_not_kept(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    m, weights, _ = dense()
    monkeypatch.setenv("CFLAGS", "-no-such-flag")
    for _ in range(2):
        with pytest.raises(irtool.IrError, match="no-such-flag"):
            driver_build(m, weights, cache=True)
    assert not builds(cache)


def test_the_oldest_builds_go(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    m, weights, _ = dense()
    driver_build(m, weights, emit="c", name="a", cache=True)
    (first,) = builds(cache)
    os.utime(cache / first, (1, 1))
    driver_build(m, weights, emit="c", name="b", cache=True)
    assert first in builds(cache)
    monkeypatch.setenv("IRTOOL_CACHE_LIMIT", "10")
    time.sleep(0.01)
    driver_build(m, weights, emit="c", name="c", cache=True)
    assert len(builds(cache)) == 1 and first not in builds(cache)


def test_many_processes_at_once(cache: Path, tmp_path: Path) -> None:
    source = tmp_path / "m.relay"
    source.write_text('#[version = "0.0.5"]\ndef @main(%x: Tensor[(4), float32]) { exp(%x) }')
    command = [sys.executable, "-m", "irtool", "build", "--emit=c", "-q", str(source), "-o"]
    running = [subprocess.Popen([*command, str(tmp_path / f"out{n}")]) for n in range(4)]
    assert [p.wait(120) for p in running] == [0] * 4
    texts = {(tmp_path / f"out{n}" / "m.c").read_text() for n in range(4)}
    assert len(texts) == 1
    assert len(builds(cache)) == 1


NETWORK = """#[version = "0.0.5"]
def @main(%x: Tensor[(8, 64), float32], %v: Tensor[(64, 64), float32], %w: Tensor[(32, 64), float32]) {
  nn.softmax(nn.dense(tanh(nn.dense(%x, %v, units=64)), %w, units=32))
}
"""


def _compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sources that compilers are started for, from now on."""
    sources: list[str] = []
    start = Jobs.start

    def counted(self: Jobs, command: Sequence[str]) -> None:
        sources.extend(word for word in command if word.endswith(".c"))
        start(self, command)

    monkeypatch.setattr(Jobs, "start", counted)
    return sources


def _weights(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"v": rng.normal(size=(64, 64)).astype("float32"), "w": rng.normal(size=(32, 64)).astype("float32")}


def test_other_weights_compile_no_kernel(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("irtool.backends.c.units.UNIT_LENGTH", 500)
    module, x = irtool.parse(NETWORK), np.ones((8, 64), "float32")
    sources = _compilations(monkeypatch)
    driver_build(module, _weights(0), weights="file", cache=True)
    assert len(sources) > 2
    sources.clear()
    second = driver_build(module, _weights(1), weights="file", cache=True)
    assert not second.cached and sources == ["model_part0.c"], "it has the identity of the weights"
    plain = driver_build(module, _weights(1), weights="file")
    np.testing.assert_array_equal(second.run([x]), plain.run([x]))


def test_damaged_object_files_are_compiled_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module, x = irtool.parse(NETWORK), np.ones((8, 64), "float32")
    inputs = [x, *_weights(0).values()]
    expected = driver_build(module, cache=True).run(inputs)
    objects = sorted((cache.parent / "objects").iterdir())
    assert objects and stat.S_IMODE(objects[0].parent.stat().st_mode) == 0o700
    objects[0].write_bytes(objects[0].read_bytes()[:-9] + b"scratched")
    BuildCache().remove_unused(0)
    for folder in cache.iterdir():
        shutil.rmtree(folder)
    sources = _compilations(monkeypatch)
    again = driver_build(module, cache=True)
    assert not again.cached and len(sources) == 1
    np.testing.assert_array_equal(again.run(inputs), expected)
    assert BuildCache().remove_unused(time.time() + 1) and not list((cache.parent / "objects").iterdir())


def test_without_the_cache_no_object_file_is_kept(cache: Path) -> None:
    driver_build(irtool.parse(NETWORK))
    assert not (cache.parent / "objects").exists()
