"""Digests of large files, and other texts that the cache keeps."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest

from irtool.driver.cache_folder import CachedTexts, cache_folder, file_digest

SIZE = 1 << 20


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file whose digest is kept, as if it had been written some time ago."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "large"
    path.write_bytes(bytes(SIZE))
    return path


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return file_digest(file)


def _age(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets an hour pass."""
    later = time.time_ns() + 3600 * 10**9
    monkeypatch.setattr(time, "time_ns", lambda: later)


def _hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are hashed from now on."""
    calls: list[str] = []
    hash_file = hashlib.file_digest

    def noted(file, kind):
        calls.append(file.name)
        return hash_file(file, kind)

    monkeypatch.setattr(hashlib, "file_digest", noted)
    return calls


def test_a_settled_file_is_hashed_once(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _age(monkeypatch)
    calls = _hashed(monkeypatch)
    assert _digest(large) == _digest(large) == hashlib.sha256(bytes(SIZE)).hexdigest()
    assert len(calls) == 1
    large.rename(large.with_name("other"))
    assert _digest(large.with_name("other")) == hashlib.sha256(bytes(SIZE)).hexdigest()


def test_a_file_just_written_is_hashed_again(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = _hashed(monkeypatch)
    _digest(large), _digest(large)
    assert len(calls) == 2


@pytest.mark.parametrize("keeps_time", [False, True])
def test_other_contents_of_the_same_size_are_seen(
    large: Path, monkeypatch: pytest.MonkeyPatch, keeps_time: bool
) -> None:
    _age(monkeypatch)
    _digest(large)
    before = os.stat(large)
    large.write_bytes(b"1" * SIZE)
    if keeps_time:  # as copying tools set the time of the file that they copied
        os.utime(large, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert _digest(large) == hashlib.sha256(b"1" * SIZE).hexdigest()


def test_damaged_texts_count_as_missing(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _age(monkeypatch)
    want = _digest(large)
    (text,) = (cache_folder() / "texts").iterdir()
    text.write_bytes(text.read_bytes().replace(want[:4].encode(), b"0000"))
    assert _digest(large) == want
    text.write_bytes(b"\xff")
    assert _digest(large) == want


def test_texts_of_a_folder_that_others_may_write_to_are_not_read(large: Path) -> None:
    texts = CachedTexts()
    texts.write("a", "key")
    assert texts.read("key") == "a"
    texts.folder.chmod(0o777)
    texts.write("b", "key")
    assert texts.read("key") is None


def test_texts_unused_for_the_longest_time_go(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("irtool.driver.cache_folder._MOST", 2)
    texts = CachedTexts()
    for n in range(3):
        texts.write(str(n), n)
        for file in texts.folder.iterdir():
            about = file.stat()
            os.utime(file, (about.st_atime, about.st_mtime - 10))
    assert [texts.read(n) for n in range(3)] == [None, "1", "2"]
    texts.remove_unused(time.time())
    assert [texts.read(n) for n in range(3)] == [None] * 3


def test_without_a_folder_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    CachedTexts().write("a", "key")
    assert CachedTexts().read("key") is None
