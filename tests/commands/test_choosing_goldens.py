"""`irtool test`: which files it runs, and its report for CI."""

from __future__ import annotations

import errno
import os
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from irtool.commands.goldens import cases
from tests.command_line import irtool

NET = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) { exp(%x) }\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    for name in ("conv", "dense", "sub/conv_again"):
        (tmp_path / f"{name}.relay").write_text("// RUN: irtool opt --types=none %s\n" + NET)
    assert irtool("test", "--update", ".")[0] == 0
    return tmp_path


def test_files_are_chosen_and_listed(folder: Path) -> None:
    assert irtool("test", "--list") == (0, "./conv.relay\n./dense.relay\n./sub/conv_again.relay\n", "")
    assert irtool("test", "--list", "-k", "conv", ".") == (0, "./conv.relay\n./sub/conv_again.relay\n", "")
    assert irtool("test", "-k", "dense", "-k", "again")[1] == "2 passed, 0 failed\n"
    (folder / "dense.relay.expected").write_text("other\n")
    assert irtool("test", "-k", "conv") == (0, "2 passed, 0 failed\n", "")
    assert irtool("test")[0] == 1


def test_the_report_has_every_file(folder: Path) -> None:
    (folder / "dense.relay.expected").write_text("<other> & \x1b more\n")
    code, out, _ = irtool("test", "--junit", "out.xml")
    assert code == 1 and out.endswith("2 passed, 1 failed\n")
    suite = ET.parse(folder / "out.xml").getroot()[0]
    assert {k: suite.get(k) for k in ("name", "tests", "failures", "errors")} == {
        "name": "irtool", "tests": "3", "failures": "1", "errors": "0",
    }  # fmt: skip
    cases = {(c.get("classname"), c.get("name")): c for c in suite}
    assert list(cases) == [(".", "conv.relay"), (".", "dense.relay"), ("./sub", "conv_again.relay")]
    assert all(float(c.get("time", "-1")) >= 0 for c in suite)
    (failure,) = cases[".", "dense.relay"]
    assert failure.get("message") == "--- expected" and "-<other> & ? more" in (failure.text or "")
    assert not len(cases[".", "conv.relay"])


@pytest.mark.robustness("mistakes")
def test_wrong_usage(folder: Path) -> None:
    for words, code, message in [
        ("-k nothing", 1, "no golden file in . has nothing in its path"),
        ("--list --update", 2, "--list runs nothing"),
        ("--list --junit x.xml", 2, "--list runs nothing"),
        ("--junit no/such/x.xml", 1, "cannot write no/such/x.xml"),
        ("-k", 2, "-k needs a value"),
    ]:
        got, _, err = irtool("test", *words.split())
        assert got == code and message in err, words


@pytest.mark.robustness("faults")
def test_what_cannot_be_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(folder / "pipe.relay")  # which nobody writes to
    (folder / "link.relay").symlink_to("nowhere.relay")
    assert irtool("test") == (0, "3 passed, 0 failed\n", "")
    (folder / "dense.relay.expected").unlink()
    (folder / "dense.relay.expected").mkdir()
    code, out, _ = irtool("test", "--update")
    assert code == 1 and "cannot read ./dense.relay.expected: Is a directory" in out and "2 passed" in out

    def refuse(path: str) -> list[object]:
        raise PermissionError(errno.EACCES, "Permission denied", path)

    monkeypatch.setattr(cases, "read_cases", refuse)
    assert irtool("test") == (1, "", "error[E0001]: cannot read ./conv.relay: Permission denied\n")
