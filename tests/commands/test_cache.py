"""`irtool cache`: builds that are kept are listed, and removed by age; nothing else is."""

from __future__ import annotations

import json
import os
import tempfile
import time
from pathlib import Path

import pytest

from tests.command_line import irtool

NET = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(4), float32]) { add(%x, NUMBERf) }\n'
DAY = 24 * 3600


@pytest.fixture
def builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of two builds, the first unused for ten days."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = tmp_path / "cache" / "irtool" / "builds"
    for number, age in ((1, 10 * DAY), (2, 0)):
        (tmp_path / "net.relay").write_text(NET.replace("NUMBER", str(number)))
        before = set(root.iterdir()) if root.exists() else set()
        assert (
            irtool("build", str(tmp_path / "net.relay"), "--emit=c", "--cache", "-q", "-o", str(tmp_path / "out"))[0]
            == 0
        )
        (new,) = set(root.iterdir()) - before
        os.utime(new, (time.time() - age,) * 2)
    return root


def listed(*words: str) -> list[dict]:
    code, out, err = irtool("cache", *words, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)["builds"]


def test_builds_are_listed(builds: Path) -> None:
    rows = listed()
    assert {r["key"] for r in rows} == {f.name for f in builds.iterdir()}
    assert all("net.c" in r["files"] and r["bytes"] > 0 for r in rows)
    assert len(listed("--older-than", "5")) == 1 and listed("--older-than", "20") == []
    code, out, _ = irtool("cache")
    assert (
        code == 0 and out.splitlines()[0].split() == ["used", "size", "key", "files"] and f"{builds}: 2 builds, " in out
    )


def test_old_builds_are_removed_first_by_age_then_all(builds: Path) -> None:
    (new,) = {r["key"] for r in listed()} - {r["key"] for r in listed("list", "--older-than", "5")}
    code, out, _ = irtool("cache", "clear", "--older-than", "5")
    assert code == 0 and out.startswith("removed 1 build (")
    assert [r["key"] for r in listed()] == [new]
    assert irtool("cache", "clear")[0] == 0 and list(builds.iterdir()) == []
    assert irtool("cache")[1] == f"{builds}: empty\n"


def test_without_a_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "nowhere"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert irtool("cache", "clear")[:2] == (0, "removed 0 builds (0 B)\n")
    assert not (tmp_path / "nowhere").exists()
    assert irtool("cache", "--older-than", "-1")[0] == 2


def test_folders_of_killed_processes_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folders = [tmp_path / n for n in ("irtool-old", "irtool-new", "irtool-bug", "other-old")]
    for folder in folders:
        folder.mkdir()
        (folder / ("reproducer.relay" if "bug" in folder.name else "kernel.c")).touch()
        if "new" not in folder.name:
            os.utime(folder, (time.time() - 2 * DAY,) * 2)
    (tmp_path / "irtool-link").symlink_to("other-old")
    code, out, _ = irtool("cache", "clear")
    assert code == 0 and out == "removed 0 builds (0 B), 1 temporary folder\n"
    assert [f.exists() for f in folders] == [False, True, True, True] and (folders[3] / "kernel.c").exists()
