"""Files of arrays, good and bad, given to every option that takes one."""

from __future__ import annotations

import io
import re
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from tests.command_line import irtool

pytestmark = pytest.mark.promise("inputs")

TEXT = (
    '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2, 3), float32], %w: Tensor[(2, 3), float32]) { subtract(%x, %w) }\n'
)
X = np.arange(6, dtype="float32").reshape(2, 3) - 2
W = np.full((2, 3), 0.5, "float32")


def npy(array: np.ndarray, **options: object) -> bytes:
    out = io.BytesIO()
    np.save(out, array, **options)
    return out.getvalue()


def archive(**members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, data in members.items():
            file.writestr(name.replace("_", "."), data)
    return out.getvalue()


def with_header(text: str, data: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    return b"\x93NUMPY" + version + struct.pack("<H", len(text)) + text.encode() + data


def twice(data: bytes) -> bytes:
    out = io.BytesIO()
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(out, "w") as file:
        file.writestr("w.npy", data)
        file.writestr("w.npy", data)
    return out.getvalue()


# What is in the file, and what is said of it; None: it is read, and is X.
ARRAYS = {
    "plain": (npy(X), None),
    "in columns": (npy(np.asfortranarray(X)), None),
    "big-endian": (npy(X.astype(">f4")), None),
    "big-endian in columns": (npy(np.asfortranarray(X.astype(">f4"))), None),
    "empty": (b"", "it is empty"),
    "half a magic number": (b"\x93NUM", "header is damaged"),
    "half a header": (npy(X)[:40], "header is damaged"),
    "half the data": (npy(X)[:-10], "cut off: float32[2, 3] takes 24 bytes, and 14 are there"),
    "no data": (npy(X)[:-24], "24 bytes, and 0 are there"),
    "two arrays": (npy(X) + npy(X), "more follow"),
    "text": (b"1 2 3\n4 5 6\n", "not an .npy file"),
    "objects": (npy(np.array([{}, 1], object), allow_pickle=True), "Python objects"),
    "records": (npy(np.zeros(2, [("a", "f4"), ("b", "i4")])), "records"),
    "records with a name in French": (
        with_header("{'descr': [('é', '<f4')], 'fortran_order': False, 'shape': (2,), }", version=b"\x03\x00"),
        "records",
    ),
    "words": (npy(np.array(["a", "b"])), "type <U1"),
    "complex numbers": (npy(X.astype("complex64")), "type complex64"),
    "times": (npy(np.zeros(2, "datetime64[s]")), "datetime64"),
    "too large a header": (with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (10**9, )}"), "damaged"),
    "too large a shape": (
        with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (999999999999,), }"),
        "cut off",
    ),
    "a negative shape": (
        with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (-1, -6), }", bytes(24)),
        "shape",
    ),
    "code for a header": (with_header("__import__('os').getpid()", bytes(24)), "header is damaged"),
    "other version": (with_header("{}", version=b"\x09\x00"), "version 9.0 of the format"),
    "wrong dtype": (npy(X.astype("float64")), "data types differ"),
    "integers": (npy(X.astype("int32")), "data types differ"),
    "wrong shape": (npy(X.T.copy()), "axis 0 is 2 and 3"),
    "wrong rank": (npy(X.ravel()), "the ranks are 2 and 1"),
    "no rank": (npy(np.float32(1)), "the ranks are 2 and 0"),
    "archive": (archive(x_npy=npy(X)), None),
    "archive of another array": (archive(y_npy=npy(X)), "has no array x; it has y"),
}


def plain(kind: str) -> bytes:
    return ARRAYS[kind][0]


# The same for files of arrays by name; the array is W.
ARCHIVES = {
    "plain": (archive(w_npy=npy(W)), None),
    "in columns": (archive(w_npy=npy(np.asfortranarray(W))), None),
    "big-endian": (archive(w_npy=npy(W.astype(">f4"))), None),
    "empty": (b"", "is empty"),
    "no archive": (b"PK\x03\x04 but no archive", "not a zip file"),
    "half an archive": (archive(w_npy=npy(W))[:-40], "not a zip file"),
    "array alone": (npy(W), "the .npy file of one array"),
    "without arrays": (archive(), "has no arrays"),
    "text in it": (archive(readme_txt=b"hello"), "in readme.txt: it is no array"),
    "same name twice": (twice(npy(W)), "in w.npy: it is there twice"),
    **{
        f"{kind} in it": (archive(w_npy=plain(kind)), message)
        for kind, message in (
            ("empty", "in w.npy: it is empty"),
            ("half a header", "header is damaged"),
            ("half the data", "cut off"),
            ("two arrays", "more follow"),
            ("text", "header is damaged"),
            ("objects", "Python objects"),
            ("records", "records"),
            ("words", "type <U1"),
            ("wrong dtype", ("float64[2, 3]", "Tensor[(2, 3), float64]")),
            ("wrong shape", ("float32[3, 2]", "Tensor[(3, 2), float32]")),
            ("no rank", ("float32[]", "Tensor[(), float32]")),
        )
    },
    "parameters cut off": (struct.pack("<QQQ", 0xF7E58D4F05049CB7, 0, 3), "cut off"),
    "other name": (archive(v_npy=npy(W)), "no parameter %v"),
}


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "n.relay"
    path.write_text(TEXT)
    return path


def outcome(file: Path, message: str | tuple[str, ...] | None, *arguments: object) -> None:
    """Checks what a command that is given the file does: it succeeds, or it names the file and says one of these."""
    code, _, err = irtool(*arguments)
    if message is None:
        assert code == 0, err
        return
    assert code == 1, (code, err)
    assert str(file) in err
    assert any(s in err for s in ((message,) if isinstance(message, str) else message)), err
    assert len(re.findall(r"error(\[\w+\])?:", err)) == 1


@pytest.mark.parametrize("kind", ARRAYS)
def test_one_array(kind: str, text: Path, tmp_path: Path) -> None:
    data, message = ARRAYS[kind]
    file = tmp_path / "given.npy"
    file.write_bytes(data)
    np.save(tmp_path / "w.npy", W)
    out = tmp_path / "out.npz"
    outcome(file, message, "run", f"--input=x={file}", f"--input=w={tmp_path / 'w.npy'}", "-o", out, text)
    assert out.exists() == (message is None)
    if message is None:
        np.testing.assert_array_equal(np.load(out)["out0"], X - W)


@pytest.mark.parametrize("command", ["run", "opt", "build"])
@pytest.mark.parametrize("kind", ARCHIVES)
def test_arrays_by_name(kind: str, command: str, text: Path, tmp_path: Path) -> None:
    data, message = ARCHIVES[kind]
    file = tmp_path / "given.npz"
    file.write_bytes(data)
    result = tmp_path / ("out.npz" if command == "run" else "out")
    options = {
        "run": ("-o", result),
        "opt": ("-o", result, "-p", "FoldConstant"),
        "build": ("-o", result, "--emit=c", "--no-cache", "-q"),
    }
    outcome(file, message, command, "--params", file, *options[command], text)
    assert result.exists() == (message is None)
    if message is None and command == "opt":
        import irtool as library

        module = library.parse(result.read_text())
        np.testing.assert_array_equal(library.evaluate(module, [X]), X - W)


@pytest.mark.parametrize("option", ["--input=x=", "--inputs=", "--params="])
def test_files_that_cannot_be_read(option: str, text: Path, tmp_path: Path) -> None:
    for path, message in ((tmp_path / "absent.npz", "No such file"), (tmp_path, "directory")):
        code, _, err = irtool("run", f"{option}{path}", text)
        assert code == 1
        assert str(path) in err and message in err


def test_a_scalar(tmp_path: Path) -> None:
    """An array without axes is read as one, from either kind of file."""
    path = tmp_path / "n.relay"
    path.write_text('#[version = "0.0.5"]\ndef @main(%x: int64) { add(%x, %x) }\n')
    np.save(tmp_path / "x.npy", np.array(21, ">i8"))
    np.savez(tmp_path / "x.npz", x=np.array(21))
    for option in (f"--input=x={tmp_path / 'x.npy'}", f"--inputs={tmp_path / 'x.npz'}"):
        code, out, err = irtool("run", option, path)
        assert (code, out) == (0, "out0: int64[]  42\n"), err


def test_bfloat16(tmp_path: Path) -> None:
    """numpy writes bfloat16 as two opaque bytes; its bits as uint16 mean the same."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    path = tmp_path / "n.relay"
    path.write_text('#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), bfloat16]) { add(%x, %x) }\n')
    value = np.array([1.5, -2], ml_dtypes.bfloat16)
    np.save(tmp_path / "named.npy", value)
    np.save(tmp_path / "bits.npy", value.view("uint16"))
    for name in ("named", "bits"):
        code, out, err = irtool("run", f"--input=x={tmp_path / name}.npy", path)
        assert (code, out) == (0, "out0: bfloat16[2]  3 -4\n"), err


@pytest.mark.parametrize("via", ["interp", "c"])
def test_both_ways_refuse_the_same(via: str, text: Path, tmp_path: Path, quick_compiles: None) -> None:
    """No way of running casts in silence."""
    np.save(tmp_path / "x.npy", X.astype("float64"))
    code, _, err = irtool("run", f"--via={via}", f"--input=x={tmp_path / 'x.npy'}", text)
    assert code == 1
    assert "data types differ" in err and "x.npy" in err


@pytest.mark.parametrize("via", ["interp", "c"])
def test_made_inputs_do_not_depend_on_names(via: str, tmp_path: Path, quick_compiles: None) -> None:
    """A text gives the same numbers after a pass that renames its parameters."""
    printed = []
    for names in ("a b c", "b a z", "x y x_1"):
        a, b, c = names.split()
        path = tmp_path / "n.relay"
        path.write_text(
            f'#[version = "0.0.5"]\ndef @main(%{a}: Tensor[(3), float32], %{b}: Tensor[(3), float32], '
            f"%{c}: (Tensor[(3), float32], Tensor[(3), float32])) {{ (subtract(%{a}, %{b}), %{c}.0, %{c}.1) }}\n"
        )
        code, out, err = irtool("run", f"--via={via}", path)
        assert code == 0, err
        printed.append(out)
    assert len(set(printed)) == 1
    assert len(set(printed[0].splitlines())) == 3  # and no two values are the same numbers
    code, other, _ = irtool("run", f"--via={via}", "--seed=1", path)
    assert other != printed[0]


def test_the_library_takes_any_order_of_bytes() -> None:
    import irtool as library

    module = library.parse(TEXT)
    swapped = np.asfortranarray(X.astype(">f4"))
    np.testing.assert_array_equal(library.evaluate(module, [swapped, W]), X - W)
