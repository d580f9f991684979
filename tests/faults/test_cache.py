"""A cache whose entries are damaged in every way that a disk, a user or another program knows."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import irtool
from tests.command_line import irtool as command
from tests.driver.programs import dense

pytestmark = [pytest.mark.promise("faults"), pytest.mark.robustness("faults")]

FILES = ("build.json", "files/net.c", "files/net.bin")


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x10
    path.write_bytes(data)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def device(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def missing(path: Path) -> None:
    path.unlink()


def unreadable(path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    path.chmod(0)


def longer(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b" ")


EACH = (truncate, flip, empty, folder, pipe, device, loop, missing, unreadable, longer)


@pytest.fixture
def entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The entry of a build in a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    build(tmp_path / "first")
    (path,) = (tmp_path / "cache" / "irtool" / "builds").iterdir()
    return path


def build(out: Path) -> irtool.Artifact:
    module, weights, _ = dense()
    return irtool.build(module, weights, out_dir=out, name="net", weights="file", emit="c", cache=True)


def assert_replaced(entry: Path, tmp_path: Path) -> None:
    """What is damaged is built again, and that is kept."""
    assert not build(tmp_path / "second").cached
    assert build(tmp_path / "third").cached
    assert [p.name for p in entry.parent.iterdir()] == [entry.name]
    for name in ("net.h", "net.c", "net.bin"):
        want = (tmp_path / "first" / name).read_bytes()
        assert (tmp_path / "second" / name).read_bytes() == (tmp_path / "third" / name).read_bytes() == want


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("damage", EACH, ids=lambda f: f.__name__)
def test_a_damaged_entry_is_replaced(damage: Callable[[Path], None], file: str, entry: Path, tmp_path: Path) -> None:
    damage(entry / file)
    assert_replaced(entry, tmp_path)


@pytest.mark.parametrize("text", [b"", b"[]", b"null", b'{"files": {}}', b"[" * 100_000, b"\xff\xfe", b"{}\n"])
def test_a_description_that_is_another(text: bytes, entry: Path, tmp_path: Path) -> None:
    (entry / "build.json").write_bytes(text)
    assert_replaced(entry, tmp_path)


def test_shapes_of_a_description_are_not_believed(entry: Path, tmp_path: Path) -> None:
    """They say how much memory a run reads and writes."""
    text = (entry / "build.json").read_text()
    assert '["x", [1, 16], "float32"]' in text
    (entry / "build.json").write_text(text.replace('["x", [1, 16], "float32"]', '["x", [1, 17], "float32"]'))
    assert_replaced(entry, tmp_path)


@pytest.mark.parametrize("damage", [pipe, loop, empty, device], ids=lambda f: f.__name__)
def test_something_else_in_the_place_of_an_entry(damage: Callable[[Path], None], entry: Path, tmp_path: Path) -> None:
    shutil.rmtree(entry)
    entry.touch()
    damage(entry)
    assert_replaced(entry, tmp_path)


def test_what_is_written_to_an_output_does_not_reach_the_cache(entry: Path, tmp_path: Path) -> None:
    want = (tmp_path / "first" / "net.bin").read_bytes()
    for n in ("one", "two"):
        build(tmp_path / n)
        with open(tmp_path / n / "net.bin", "r+b") as file:
            file.write(b"overwritten")
    artifact = build(tmp_path / "three")
    assert artifact.cached and (tmp_path / "three" / "net.bin").read_bytes() == want


def test_a_build_says_that_it_is_from_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    source = tmp_path / "e.relay"
    source.write_text('#[version = "0.0.5"]\ndef @main(%x: Tensor[(4), float32]) { exp(%x) }\n')
    arguments = ["build", "--emit=c", source, "-o", tmp_path / "out"]
    first, second, third = (command(*arguments, *more)[1] for more in ([], [], ["--no-cache"]))
    assert " built in " in first and " from the cache in " in second and " built in " in third


@pytest.mark.parametrize("place", ["a file", "a pipe", "/dev/full", "/proc", "relative", "a loop"])
def test_a_cache_that_cannot_be_is_no_error(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    if place == "a file":
        cache.touch()
    elif place == "a pipe":
        os.mkfifo(cache)
    elif place == "a loop":
        cache.symlink_to("cache")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", place if place in ("/dev/full", "/proc", "relative") else str(cache))
    for n in range(2):
        assert len(build(tmp_path / str(n)).files) == 3
    assert not Path("relative").exists()


def test_no_home_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # as for a user without an entry
    monkeypatch.chdir(tmp_path)
    for n in range(2):
        assert not build(tmp_path / str(n)).cached
    assert not (tmp_path / "~").exists()


def test_what_killed_processes_left_goes_after_a_day(entry: Path, tmp_path: Path) -> None:
    old, fresh = entry.parent / "unfinished-old", entry.parent / "unfinished-fresh"
    for left in (old, fresh):
        (left / "files").mkdir(parents=True)
    os.utime(old, (1, 1))
    module, weights, _ = dense()
    irtool.build(module, {**weights, "b": np.zeros(32, "float32")}, emit="c", cache=True)
    assert fresh.exists() and not old.exists()
