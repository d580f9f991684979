"""`irtool run --expect`, `--top` and `--dump-values`: outputs are compared, ranked, and intermediate values written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from irtool.commands.ulps import ulp_distance
from tests.command_line import irtool

NET = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) {
  let %a = exp(nn.relu(%x));
  let %s = split(%a, indices_or_sections=3, axis=1);
  (nn.softmax(add(%a, 1f)), %s.1)
}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "net.relay").write_text(NET)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    np.save("x.npy", np.array([[0, 1, 2], [3, 1, -1]], "float32"))
    assert irtool("run", "net.relay", "--input", "x=x.npy", "-o", "out.npz")[0] == 0
    return tmp_path


def run(*words: str) -> tuple[int, str, str]:
    return irtool("run", "net.relay", "--input", "x=x.npy", "-q", *words)


def test_outputs_that_agree() -> None:
    for way in ("interp", "c"):
        assert run("--expect=out.npz", f"--via={way}")[:2] == (0, "the outputs agree with out.npz\n")
    arrays = dict(np.load("out.npz"))
    np.savez("named.npz", p=arrays["out0"], q=arrays["out1"])
    assert run("--expect=named.npz")[0] == 0


def test_outputs_that_differ() -> None:
    arrays = dict(np.load("out.npz"))
    arrays["out0"][1, 2] += 0.5
    arrays["out1"][0, 0] = np.nextafter(arrays["out1"][0, 0], np.float32(9))
    np.savez("other.npz", **arrays)
    code, out, _ = run("--expect=other.npz")
    assert (
        code == 1
        and out.startswith("out0: 1 of 6 elements differ\n  [1, 2]  ")
        and " instead of 0.5 " in out
        and "(by 0.5, " in out
        and "out1" not in out
    )
    assert "out1: 1 of 2 elements differ" in run("--expect=other.npz", "--rtol=0", "--atol=0")[1]
    assert "out1" not in run("--expect=other.npz", "--rtol=0", "--atol=0", "--ulp=1")[1]
    assert run("--expect=other.npz", "--atol=0.6")[0] == 0
    np.savez("shape.npz", out0=arrays["out0"][:1], out1=arrays["out1"].astype("float64"))
    code, out, _ = run("--expect=shape.npz")
    assert code == 1
    assert out == "out0: float32[2, 3] instead of float32[1, 3]\nout1: float32[2, 1] instead of float64[2, 1]\n"
    np.savez("lacking.npz", out0=arrays["out0"])
    code, _, err = run("--expect=lacking.npz")
    assert code == 1 and "the file has no array out1; it has out0" in err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("--expect=none.npz", 1, "none.npz"),
        ("--expect=net.relay", 1, "net.relay"),
        ("--rtol=1", 2, "--rtol is for --expect"),
        ("--ulp=-1", 2, "--ulp"),
        ("--labels=names", 2, "--labels is for --top"),
        ("--top=2 --labels=none", 1, "cannot read none"),
        ("--dump-values=net.relay", 1, "cannot write to net.relay"),
    ],
)
def test_bad_input(words: str, code: int, message: str) -> None:
    got, _, err = run(*words.split())
    assert got == code and message in err


def test_scores() -> None:
    Path("names.txt").write_text("cat\ndog\n")
    code, out, _ = run("--top=2", "--labels=names.txt")
    want = np.load("out.npz")["out0"]
    assert code == 0
    assert [line.split() for line in out.splitlines()] == [
        ["row", "0:"], [f"{want[0, 2]:.4g}", "2"], [f"{want[0, 1]:.4g}", "1", "dog"],
        ["row", "1:"], [f"{want[1, 0]:.4g}", "0", "cat"], [f"{want[1, 1]:.4g}", "1", "dog"],
    ]  # fmt: skip


def test_intermediate_values() -> None:
    assert run("--dump-values=values") == (0, "", "")
    names = sorted(p.name for p in Path("values").iterdir())
    assert names == [
        "0000.nn.relu.npy", "0001.a.npy", "0002.s.0.npy", "0002.s.1.npy", "0002.s.2.npy", "0003.add.npy", "0004.nn.softmax.npy",
    ]  # fmt: skip
    x, expected = np.load("x.npy"), np.load("out.npz")
    np.testing.assert_array_equal(np.load("values/0000.nn.relu.npy"), np.maximum(x, 0))
    np.testing.assert_array_equal(np.load("values/0002.s.1.npy"), expected["out1"])
    np.testing.assert_array_equal(np.load("values/0004.nn.softmax.npy"), expected["out0"])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_units_in_the_last_place(dtype: str) -> None:
    one = np.array([1, 0, -0.0, 1, np.nan, np.nan, -1], dtype)
    tiny = np.nextafter(np.array(0, dtype), np.array(1, dtype))
    other = np.array([np.nextafter(one[0], one[0] * 2), -tiny, 0.0, 1, np.nan, 1, -1], dtype)
    assert ulp_distance(one, other).tolist() == [1, 1, 0, 0, 0, np.inf, 0]
    assert ulp_distance(one, np.zeros(7, "int32")) is None
