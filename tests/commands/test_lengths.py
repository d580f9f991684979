"""Lengths that a run decides, on the command line: how they are written, and what each command makes of them."""

from __future__ import annotations

import ctypes
import json
import re
from pathlib import Path

import numpy as np
import pytest

from tests.command_line import irtool

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(?, 6), float32], %y: Tensor[(?, 6), float32], input_dim_names=[["seq", ""], ["seq", ""]]) {
  %0 = tanh(%x);
  (add(%0, %y), sum(%0, axis=[1]))
}
"""
MODEL = """<ir_version: 8, opset_import: ["": 17]>
net (float[batch, seq, 4] x) => (float[batch, seq, 4] y)
<float[4, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}>
{
  z = MatMul(x, w)
  y = Relu(z)
}
"""


@pytest.fixture
def net(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A text whose first extents are one length; the folder is the current one."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.relay").write_text(TEXT)
    return "net.relay"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--dim", "seq<=0"), "--dim seq<=0: the bound of seq is 0: nothing would be left to compute\nhelp: write seq<=512"),
        (("--dim", "seq<=-4"), "the bound of seq is -4"),
        (("--dim", "seq<=abc"), "'abc' is no bound of seq\nhelp: write seq<=512"),
        (("--dim", "seq<=2.5"), "'2.5' is no bound of seq"),
        (("--dim", "seq<="), "cannot read the dimension 'seq<='"),
        (("--dim", "seq<5"), "cannot read the dimension 'seq<5'\nhelp: write NAME=1, NAME<=512 or NAME=1|4|8"),
        (("--dim", "seq<=4294967296"), "the largest one is 2147483647"),
        (("--dim", "9<=seq<=8"), "at least 9 and at most 8: no length is both"),
        (("--dim", "-1<=seq<=8"), "the least length of seq is -1: none is negative"),
        (("--dim", "length<=8"), "no dimension of a parameter of @main is called length\nhelp: its dimensions: seq"),
        (("--dim", "seqs<=8"), "no dimension of a parameter of @main is called seqs\nhelp: did you mean seq?"),
        (("--dim", "seq<=8", "--dim", "seq<=9"), "--dim is given twice for seq"),
        (("--dim", "seq<=8,seq=4"), "--dim is given twice for seq"),
        (("--dim", "seq<=8", "--shape", "x=seq<=9,6"), "seq has two bounds: seq<=8 and seq<=9\nhelp: one length has one bound"),
        (("--shape", "x=n<=8,6", "--shape", "y=n<=9,6"), "n has two bounds"),
        (("--shape", "x=?<=0,6"), "the bound of ? is 0"),
        (("--shape", "x=5-3,6"), "cannot read the shape 'x=5-3,6'"),
    ],
)  # fmt: skip
def test_wrong_bounds_are_wrong_usage(words: tuple[str, ...], message: str, net: str) -> None:
    code, out, err = irtool("build", net, *words)
    assert code == 2 and not out and message in err
    assert message in irtool("check", net, *words)[2]


@pytest.mark.parametrize(
    "words",
    [("--dim", "seq<=20"), ("--dim=1<=seq<=20",), ("--shape", "x=seq<=20,6", "--shape", "y=seq,6"), ("--shape", "x=seq<=20,6", "--dim", "seq<=20")],
)  # fmt: skip
def test_a_build_takes_any_length(words: tuple[str, ...], net: str, tmp_path: Path) -> None:
    assert irtool("build", net, *words, "-o", "out", "--name", "net")[0] == 0
    header = (tmp_path / "out" / "net.h").read_text()
    assert "int net_run(int64_t seq, const float *x, const float *y, float *out0, float *out1);" in header
    library = ctypes.CDLL(str(tmp_path / "out" / "net.so"))
    for length in (1, 7, 20):
        x, y = np.random.RandomState(length).randn(2, length, 6).astype("float32")
        total, sums = np.zeros((length, 6), "float32"), np.zeros(length, "float32")
        arrays = [a.ctypes.data_as(ctypes.c_void_p) for a in (x, y, total, sums)]
        assert library.net_run(ctypes.c_int64(length), *arrays) == 0
        np.testing.assert_allclose(total, np.tanh(x) + y, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(sums, np.tanh(x).sum(axis=1), rtol=1e-4, atol=1e-5)


def test_explain_says_which_stages_depend_on_a_length(net: str, tmp_path: Path) -> None:
    """In comments, which --schedule skips."""
    (tmp_path / "sound.relay").write_text(
        '#[version = "0.0.5"]\ndef @main(%x: Tensor[(1, 8, ?), float32], %w: Tensor[(16, 8, 3), float32]) '
        "{ nn.conv1d(%x, %w, padding=[1, 1], channels=16, kernel_size=[3]) }"
    )
    code, out, err = irtool("build", "sound.relay", "--emit=c", "--shape", "x=1,8,n<=9", "-o", "out", "--explain")
    lines = [x for x in (out + err).splitlines() if "it depends on a length" in x]
    assert code == 0 and lines
    assert all(re.match(r"# \w+ leaves tvmgen_default_fused_nn_conv1d unchanged; ", x) for x in lines)


def test_each_axis_without_a_name_is_a_length_of_its_own(net: str, tmp_path: Path) -> None:
    text = TEXT.replace("(add(%0, %y), sum(%0, axis=[1]))", "(%0, exp(%y))")
    (tmp_path / "two.relay").write_text(text)
    code, _, err = irtool(
        "build", "two.relay", "--shape", "x=?<=5,6", "--shape", "y=2<=?<=7,6", "-o", "out", "--name", "n", "--emit=c"
    )
    assert code == 0, err
    header = (tmp_path / "out" / "n.h").read_text()
    assert "int n_run(int64_t x_0, int64_t y_0, const float *x" in header
    assert re.findall(r"#define N_(?:X|Y)_0_M.*", header) == [
        "#define N_X_0_MIN 1", "#define N_X_0_MAX 5", "#define N_Y_0_MIN 2", "#define N_Y_0_MAX 7",
    ]  # fmt: skip


def test_run_compares_at_the_length_of_its_inputs(net: str, tmp_path: Path) -> None:
    code, out, err = irtool("run", net, "--dim", "seq<=20", "--compare", "interp,c")
    assert code == 0 and "float32[20, 6]" in out and "agree" in out, err
    for length in (1, 3):
        np.savez(tmp_path / "x.npz", **{n: np.ones((length, 6), "float32") for n in "xy"})
        code, out, err = irtool("run", net, "--dim", "seq<=20", "--compare", "interp,c", "--inputs", "x.npz")
        assert code == 0 and f"float32[{length}, 6]" in out and "agree" in out, err
    np.save(tmp_path / "one.npy", np.ones((4, 6), "float32"))
    code, out, err = irtool("run", net, "--dim", "seq<=20", "--via=c", "--input", "x=one.npy")
    assert code == 0 and "float32[4, 6]" in out and "1 of 2 parameters is random" in err
    np.save(tmp_path / "long.npy", np.ones((21, 6), "float32"))
    code, out, err = irtool("run", net, "--dim", "seq<=20", "--via=c", "--input", "x=long.npy")
    assert code == 1 and "axis 0" in err and "21" in err and "20" in err


def test_arrays_for_an_onnx_model_have_any_length_within_the_bounds(net: str, tmp_path: Path) -> None:
    """The array sets extents that nothing else sets: here the batch."""
    (tmp_path / "model.onnxtxt").write_text(MODEL)
    for length in (1, 8):
        np.save(tmp_path / "x.npy", np.ones((2, length, 4), "float32"))
        code, out, err = irtool(
            "run", "model.onnxtxt", "--dim", "seq<=8", "--compare", "interp,c", "--input", "x=x.npy"
        )
        assert code == 0 and f"float32[2, {length}, 4]" in out and "agree" in out, err
    np.save(tmp_path / "x.npy", np.ones((2, 9, 4), "float32"))
    code, out, err = irtool("run", "model.onnxtxt", "--dim", "seq<=8", "--via=c", "--input", "x=x.npy")
    assert code == 1 and "9" in err and "8" in err
    code, out, err = irtool("run", "model.onnxtxt", "--dim", "seq=8", "--via=c", "--input", "x=x.npy")
    assert code == 2 and "E1004" in err


def test_bench_has_a_row_for_each_of_several_lengths(net: str) -> None:
    words = ("--time", "0.001", "--rounds", "1", "--no-kernels", "--no-interp", "--json", "record.json")
    code, out, err = irtool("bench", net, "--dim", "seq<=20", *words)
    assert code == 0 and re.findall(r"at (seq=\d+)", out) == ["seq=1", "seq=5", "seq=10", "seq=20"], err
    rows = json.loads(Path("record.json").read_text())["by_length"]
    assert [r["lengths"] for r in rows] == [{"seq": n} for n in (1, 5, 10, 20)]
    assert irtool("bench", net, "--dim", "seq<=20", "--compare", "record.json", *words)[0] in (0, 1)
    assert irtool("bench", net, "--dim", "seq=20", *words)[0] == 0
    assert "by_length" not in json.loads(Path("record.json").read_text())


def test_info_shows_formulas_and_the_lengths_that_decide(tmp_path: Path, net: str) -> None:
    text = '%x: Tensor[(?, 64), float32], %c: bool, input_dim_names=[["seq", ""], []]'
    (tmp_path / "d.relay").write_text(
        f'#[version = "0.0.5"]\ndef @main({text}) {{ exp(if (%c) {{ tanh(%x) }} else {{ %x }}) }}\n'
    )
    code, out, err = irtool("info", "d.relay", "--memory", "--dim", "seq<=20")
    assert code == 0, err
    assert "a run decides seq, from 1 to 20: sizes are those at the upper bound" in out
    assert "dynamic: %x[0] (seq, 1<=seq<=20)" in out
    assert re.search(r"in use \(step \d\), decided by seq", out)
    assert re.search(r"5120  \S+ +\S+  float32\[seq, 64\]", out)
    pinned = irtool("info", "d.relay", "--memory", "--dim", "seq=20")[1]
    assert "decided by" not in pinned and "5120" in pinned
    record = json.loads(irtool("info", "d.relay", "--memory", "--dim", "seq<=20", "--json")[1])[0]
    assert record["cost"]["lengths"] == [{"name": "seq", "low": 1, "high": 20}]
    assert record["functions"]["main"]["parameter_bytes"] == 4 * 20 * 64 + 1


def test_an_open_shape_is_refused_with_a_bound_to_paste(tmp_path: Path, net: str) -> None:
    (tmp_path / "open.relay").write_text('#[version = "0.0.5"]\ndef @main(%x: Tensor[(?, 6), float32]) { exp(%x) }\n')
    code, _, err = irtool("build", "open.relay", "--emit=c", "-o", "out")
    assert code == 1 and "E0601" in err and "--shape 'x=?<=512,6'" in err
    assert irtool("build", "open.relay", "--emit=c", "-o", "out", "--shape", "x=?<=512,6")[0] == 0


def test_an_onnx_model_is_built_for_any_of_its_dimensions(tmp_path: Path, net: str) -> None:
    pytest.importorskip("onnx")
    (tmp_path / "net.onnxtxt").write_text(MODEL)
    code, _, err = irtool("build", "net.onnxtxt", "--dim", "batch<=3,seq<=9", "-o", "out", "--name", "net")
    assert code == 0, err
    library = ctypes.CDLL(str(tmp_path / "out" / "net.so"))
    w = np.arange(1, 17, dtype="float32").reshape(4, 4)
    for batch, seq in ((1, 1), (3, 9), (2, 5), (3, 1)):
        x = np.random.RandomState(batch + seq).randn(batch, seq, 4).astype("float32")
        y = np.zeros_like(x)
        pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (x, y)]
        assert library.net_run(ctypes.c_int64(batch), ctypes.c_int64(seq), *pointers) == 0
        np.testing.assert_allclose(y, np.maximum(x @ w, 0), rtol=1e-4, atol=1e-4)
    assert irtool("build", "net.onnxtxt", "--dim", "batch<=3,seq=9", "-o", "mixed", "--name", "net")[0] == 0
    assert "int net_run(int64_t batch, const float *x" in (tmp_path / "mixed" / "net.h").read_text()
    code, out, err = irtool("run", "net.onnxtxt", "--dim", "batch<=3", "--dim", "seq<=9", "--compare", "interp,c")
    assert code == 0 and "float32[3, 9, 4]" in out, err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("viz",), "tanh"),
        (("opt",), "Tensor[(seq, 6), float32]"),
        (("check", "--target=c"), "no errors"),
        (("diff", "net.relay", "--values"), "equal"),
        (("export", "-o", "net.onnx"), "wrote net.onnx"),
        (("build", "--precision=bfloat16", "--emit=c", "-o", "b"), "wrote b/net.h"),
        (("build", "--emit=mlf", "-o", "m"), "wrote m/net.tar"),
        (("tune", "-o", "t.json", "--trials=1", "--time=1s", "--each=0.001"), "wrote t.json"),
        (("info", "--storage"), "480"),
    ],
    ids=lambda x: "-".join(x)[:24] if isinstance(x, tuple) else "",
)
def test_other_commands_take_lengths(words: tuple[str, ...], text: str, net: str) -> None:
    if "export" in words:
        pytest.importorskip("onnx")
    code, out, err = irtool(words[0], net, *words[1:], "--dim", "seq<=20")
    assert code == 0 and text in out + err, out + err


def test_a_command_that_needs_a_number_says_so(net: str) -> None:
    code, _, err = irtool("export", net, "--to", "relax", "-o", "net.py", "--dim", "seq<=20")
    assert code == 1 and "@main has lengths with bounds, seq" in err and "help: export the module with these" in err
