"""`irtool convert`: the same tensors in every format, and text with its constants outside computes the same."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import numpy as np
import pytest

import irtool as package
from irtool.ir.conversion import as_bfloat16_bits, dtype_name
from irtool.parser.array_folder import read_folder
from irtool.parser.params import read_params, write_params
from tests.command_line import irtool

NET = """#[version = "0.0.5"]
def @a_scale(%y: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {
  multiply(%y, meta[relay.Constant][0])
}

def @main(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {
  add(@a_scale(%x), multiply(meta[relay.Constant][1], 2f))
}
"""
FORMS = ("w.npz", "w.params", "w.safetensors", "folder/")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tensors() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {
        "conv/0.weight": rng.random((3, 2, 2), dtype="float32"),
        "b %": np.array(True),
        ".x:0": np.array([[1, -2]], "int8"),
        "none": np.zeros((0, 3), "float16"),
        "half": as_bfloat16_bits(np.array([16256, 49152], "uint16")),
    }


def read(path: str) -> dict[str, np.ndarray]:
    return read_folder(path) if os.path.isdir(path) else read_params(path)


@pytest.mark.parametrize("first,second", list(itertools.product(FORMS, FORMS)))
def test_every_format_to_every_other(first: str, second: str) -> None:
    pytest.importorskip("safetensors")
    pytest.importorskip("ml_dtypes")
    write_params("start.params", tensors())
    assert irtool("convert", "start.params", "-o", first)[0] == 0
    code, out, err = irtool("convert", first, "-o", f"again-{second}")
    assert (code, out, err) == (0, f"wrote again-{second} (5 tensors, 55 bytes)\n", "")
    actual = read(f"again-{second}")
    assert actual.keys() == tensors().keys()
    for name, array in tensors().items():
        assert dtype_name(actual[name]) == dtype_name(array), name
        assert actual[name].shape == array.shape and actual[name].tobytes() == array.tobytes(), name


def test_same_tensors_same_bytes(folder: Path) -> None:
    write_params("a.params", tensors())
    assert irtool("convert", "a.params", "-o", "b.params")[0] == 0
    assert (folder / "a.params").read_bytes() == (folder / "b.params").read_bytes()


def test_sources_are_put_together(folder: Path) -> None:
    np.savez("a.npz", a=np.ones(2))
    (folder / "dir").mkdir()
    np.save("dir/b.npy", np.zeros(3))
    (folder / "dir/notes.txt").write_text("not an array")
    assert irtool("convert", "a.npz", "dir", "-o", "all.params")[0] == 0
    assert list(read("all.params")) == ["a", "b"]
    code, _, err = irtool("convert", "a.npz", "all.params", "-o", "more.npz")
    assert code == 1 and "%a is given twice: by a.npz and by all.params" in err
    assert not (folder / "more.npz").exists()


@pytest.mark.parametrize("form", FORMS)
def test_constants_out_of_the_text_and_in_again(form: str, folder: Path) -> None:
    if "safetensors" in form:
        pytest.importorskip("safetensors")
    (folder / "bare.relay").write_text(NET)
    module = package.parse(NET)
    values = [np.full((2, 3), 3, "float32"), np.arange(6, dtype="float32").reshape(2, 3)]
    from irtool.printer.external import with_constants

    module = with_constants(module, {n: package.ir.Constant(v) for n, v in enumerate(values)})
    (folder / "net.relay").write_text(package.to_text(module))
    x = np.ones((2, 3), "float32")
    want = package.evaluate(package.infer_types(module), [x])
    code, _, err = irtool("convert", "net.relay", "-o", "out.relay", "--params-out", form)
    assert (code, err) == (0, "")
    text = (folder / "out.relay").read_text()
    assert "meta[" not in text and "2f" in text
    assert sorted(read(form.rstrip("/"))) == ["constant0", "constant1"]
    assert irtool("convert", "out.relay", form.rstrip("/"), "-o", "again.relay")[::2] == (0, "")
    again = package.infer_types(package.parse((folder / "again.relay").read_text()))
    assert [p.name for p in again["main"].params] == ["x"]
    np.testing.assert_array_equal(package.evaluate(again, [x]), want)
    printed = irtool("convert", "net.relay", "-o", "-", "--params-out", "again.npz")
    assert printed == (0, text, "")


def test_names_that_are_taken_and_kernels(folder: Path) -> None:
    text = NET.replace("%x", "%constant0")
    module = package.parse(text.replace("meta[relay.Constant][0]", "3f"))
    from irtool.printer.external import with_constants

    module = with_constants(module, {1: package.ir.Constant(np.ones((2, 3), "float32"))})
    (folder / "net.relay").write_text(package.to_text(module))
    assert irtool("convert", "net.relay", "-o", "out.relay", "--params-out", "w.npz")[0] == 0
    assert list(read("w.npz")) == ["constant1"]
    assert irtool("opt", "-p", "FuseOps", "net.relay", "-o", "fused.relay")[0] == 0
    assert irtool("convert", "fused.relay", "-o", "out.relay", "--params-out", "w2.npz")[0] == 0
    assert irtool("build", "--emit=c", "out.relay", "-o", "out/")[0] == 0


@pytest.mark.robustness("mistakes")
def test_bad_input(folder: Path) -> None:
    np.savez("a.npz", a=np.ones(2))
    (folder / "net.relay").write_text(
        NET.replace("meta[relay.Constant][0]", "1f").replace("meta[relay.Constant][1]", "1f")
    )
    (folder / "missing.relay").write_text(NET)
    (folder / "junk.params").write_bytes(b"\x00\xffjunk" * 20)
    (folder / "empty.npz").write_bytes(b"")
    (folder / "empty").mkdir()
    (folder / "full").mkdir()
    (folder / "full/x").write_text("kept")
    (folder / "bad").mkdir()
    (folder / "bad/a.npy").write_bytes(b"no")
    for words, code, message in [
        ("nothing.npz -o b.npz", 1, "cannot read nothing.npz"),
        ("junk.params -o b.npz", 1, "no .params, .npz or .safetensors file"),
        ("empty.npz -o b.npz", 1, "the file is empty"),
        ("empty -o b.npz", 1, "there is no .npy file in the folder"),
        ("bad -o b.npz", 1, "bad/a.npy"),
        ("a.npz -o full", 1, "cannot write full: Directory not empty"),
        ("a.npz -o no/such/b.npz", 1, "cannot write no/such/b.npz"),
        ("a.npz -o no/such/folder/", 1, "cannot write no/such/folder/"),
        ("a.npz -o b.txt", 2, "b.txt does not tell a format"),
        ("a.npz -o -", 2, "does not tell a format"),
        ("a.npz", 2, "-o"),
        ("a.npz -o b.npz --params-out c.npz", 2, "--params-out goes with Relay text"),
        ("net.relay -o out.relay", 2, "name the values of the parameters"),
        ("net.relay -o out.npz", 2, "-o FILE.relay --params-out out.npz"),
        ("a.npz net.relay -o out.relay", 2, "does not come first"),
        ("net.relay a.npz -o out.relay", 1, "@main has no parameter %a"),
        ("net.relay -o out.relay --params-out w.npz", 1, "no constants that could be parameters"),
        ("missing.relay -o out.relay --params-out w.npz", 1, "the values of 2 constants are missing"),
    ]:
        got, out, err = irtool("convert", *words.split())
        assert (got, out) == (code, "") and message in err, (words, got, err)
    assert (folder / "full/x").read_text() == "kept"
    assert not {"b.npz", "b.txt", "out.relay", "out.npz", "w.npz"} & set(os.listdir(folder))
    assert not [n for n in os.listdir(folder) if n.startswith(".")]
