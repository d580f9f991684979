"""Files that are no Relay text are called what they are, before a parser stumbles over them."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import numpy as np
import pytest

from tests.command_line import irtool

pytestmark = pytest.mark.promise("mistakes of newcomers")


def npz() -> bytes:
    out = io.BytesIO()
    np.savez(out, x=np.zeros(2))
    return out.getvalue()


def npy() -> bytes:
    out = io.BytesIO()
    np.save(out, np.zeros(2))
    return out.getvalue()


FILES = {
    "a zip archive": npz(),
    "an array of numpy": npy(),
    "compressed with gzip": gzip.compress(b"def @main() { 1 }"),
    "a parameter file": (0xF7E58D4F05049CB7).to_bytes(8, "little") + bytes(16),
    "a program or a library": b"\x7fELF\x02\x01\x01",
    "not UTF-8 but UTF-16": "def @main() { 1 }".encode("utf-16"),
    "Python": b"# a script\n\nimport tvm\nfrom tvm import relay\n",
    "JSON": b'{\n "nodes": []\n}\n',
    "MLIR": b"module {\n  func.func @main() { return }\n}\n",
    "a web page": b"<!DOCTYPE html><html></html>",
    "TVMScript": b"# from tvm.script import ir as I\n@I.ir_module\nclass Module:\n  pass\n",
}


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("command", ["check", "opt", "run", "info"])
def test_what_the_file_is_is_said(kind: str, command: str, tmp_path: Path) -> None:
    path = tmp_path / "net.relay"
    path.write_bytes(FILES[kind])
    code, out, err = irtool(command, path)
    assert (code, out) == (1, "")
    assert f"{path}: error[E0003]: this is {kind}" in err and "not Relay text" in err


@pytest.mark.parametrize(
    "text",
    [
        "// a comment\ndef @main(%x: int32) { %x }\n",
        '#[version = "0.0.5"]\ndef @main(%x: int32) { %x }\n',
        "fn (%import: int32) { %import }\n",
        "{ let %x = 1; %x }",
        "(1, 2)",
    ],
)
def test_relay_texts_are_none_of_these(text: str, tmp_path: Path) -> None:
    path = tmp_path / "net.relay"
    path.write_text(text)
    code, _, err = irtool("check", path)
    assert code == 0, err


def test_an_empty_file_and_binary_junk_are_named_once(tmp_path: Path) -> None:
    path = tmp_path / "net.relay"
    for content, message in (
        (b" \n", "the file is empty"),
        (b"abc\xff", "the file is not UTF-8 text (byte 3 is 0xff)"),
    ):
        path.write_bytes(content)
        _, _, err = irtool("check", path)
        assert err == f"{path}: error[E0001]: {message}\n"
