"""Values from several files and options, values that nobody gave, and what is said of both."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tests.command_line import irtool

pytestmark = pytest.mark.promise("nothing invented in silence")

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32], %b: Tensor[(4), float32]) {
  nn.bias_add(nn.dense(%x, %w, units=None), %b)
}
"""
X = np.arange(6, dtype="float32").reshape(2, 3)
W = np.arange(12, dtype="float32").reshape(4, 3) - 5
B = np.arange(4, dtype="float32")


@pytest.fixture
def net(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("n.relay").write_text(TEXT)
    np.save("x.npy", X)
    np.savez("x.npz", x=X, data=X + 1)
    np.savez("w.npz", w=W)
    np.savez("b.npz", b=B)
    np.savez("wb.npz", w=W, b=B)
    np.savez("short.npz", b=B.astype("float16"))
    np.savez("double.npz", b=B.astype("float64"))
    return "n.relay"


WAYS = {
    "weights in two files": ("--params=w.npz", "--params=b.npz", "--input=x=x.npy"),
    "inputs in two files": ("--params=w.npz", "--inputs=b.npz", "--input=x=x.npz"),
    "an array of an archive": ("--inputs=w.npz", "--inputs=b.npz", "--input=x=x.npz:x"),
    "each by itself": ("--input=x=x.npy", "--input=w=w.npz", "--input=%b=wb.npz"),
    "converted": ("--params=w.npz", "--params=short.npz", "--input=x=x.npy"),
}


@pytest.mark.parametrize("via", ["interp", "c"])
@pytest.mark.parametrize("way", WAYS)
def test_files_add_up(way: str, via: str, net: str, quick_compiles: None) -> None:
    code, _, err = irtool("run", net, f"--via={via}", "--no-random", *WAYS[way], "-o", "out.npz")
    assert code == 0, err
    note = "note: %b is float32, and its value is float16: it was converted, which loses nothing\n"
    assert err == (note if way == "converted" else "")
    np.testing.assert_allclose(np.load("out.npz")["out0"], X @ W.T + B)


@pytest.mark.parametrize("command", ["opt", "check", "build"])
def test_weights_add_up_in_every_command(command: str, net: str, quick_compiles: None) -> None:
    more = {"opt": (), "check": ("--target=c",), "build": ("--emit=c", "-o", "out", "--input=x")}[command]
    code, out, err = irtool(command, net, "--params=w.npz", "--params=short.npz", *more)
    assert code == 0, err
    assert err.count("note: %b is float32, and its value is float16") == 1
    if command == "opt":
        assert "%w" not in out and "%b" not in out


def test_a_build_from_the_cache_repeats_its_notes(net: str, quick_compiles: None) -> None:
    for _ in range(2):
        code, _, err = irtool("build", net, "--params=w.npz", "--params=short.npz", "--emit=c", "-o", "out")
        assert code == 0, err
        assert err.count("note: %b is float32") == 1


TWICE = {
    "in two files": (("--params=w.npz", "--params=wb.npz"), 1, "%w is given twice: by w.npz and by wb.npz"),
    "the same file": (("--params=wb.npz", "--params=wb.npz"), 1, "%w, and 1 more is given twice"),
    "in files of inputs": (("--inputs=w.npz", "--inputs=wb.npz"), 1, "%w is given twice: by w.npz and by wb.npz"),
    "as weight and input": (("--params=w.npz", "--inputs=wb.npz"), 1, "%w is given twice: by w.npz and by wb.npz"),
    "in file and option": (("--inputs=x.npz", "--input=x=x.npy"), 1, "%x is given twice: by x.npz and by x.npy"),
    "as weight and option": (("--params=w.npz", "--input=w=wb.npz"), 1, "%w is given twice: by w.npz and by wb.npz"),
    "in two options": (("--input=x=x.npy", "--input=%x=x.npz"), 2, "--input is given twice for %x"),
    "two shapes": (("--shape=x=2,3", "--shape=x=3,2"), 2, "--shape is given twice for %x"),
    "two dtypes": (("--dtype=x=float32", "--dtype=%x=int8"), 2, "--dtype is given twice for %x"),
}


@pytest.mark.parametrize("command", ["run", "opt", "check", "build"])
@pytest.mark.parametrize("case", TWICE)
def test_a_name_given_twice_is_an_error(case: str, command: str, net: str) -> None:
    arguments, expected, message = TWICE[case]
    if command == "build" and any(a.startswith("--input=") for a in arguments):
        pytest.skip("names an input there, and no file")
    out = ("-o", "out") if command == "build" else ()
    code, _, err = irtool(command, net, *arguments, *out)
    assert (code, message in err) == (expected, True), err


def test_names_of_an_archive(net: str) -> None:
    code, _, err = irtool("run", net, "--via=c", "--input", "w=x.npz")
    assert code == 1
    assert "x.npz: error: the file has no array w; it has x, data" in err
    assert "help: --input w=x.npz:x takes that one" in err
    code, _, err = irtool("run", net, "--via=c", "--input", "x=x.npz:dat")
    assert code == 1 and "no array dat" in err and "did you mean data?" in err
    code, _, err = irtool("run", net, "--input", "x=x.npy:x")
    assert code == 1 and "there is one array in the file" in err
    code, _, err = irtool("run", net, "--input", "x=absent.npz:x")
    assert code == 1 and "cannot read absent.npz:x" in err


def test_random_values_are_named(net: str) -> None:
    _, _, err = irtool("run", net)
    assert err == "note: 3 of 3 parameters are random (seed 0): %x, %w, %b\n"
    _, _, err = irtool("run", net, "--params=wb.npz", "--seed=7")
    assert err == "note: 1 of 3 parameters is random (seed 7): %x\n"
    _, _, err = irtool("run", net, "--params=wb.npz", "--input=x=x.npy")
    assert err == ""
    many = ", ".join(f"%p{i}: float32" for i in range(9))
    Path("many.relay").write_text(f'#[version = "0.0.5"]\ndef @main({many}) {{ add(%p0, %p8) }}\n')
    np.savez("p.npz", p0=np.float32(1))
    _, _, err = irtool("run", "many.relay", "--params=p.npz")
    assert err == "note: 8 of 9 parameters are random (seed 0)\n"


@pytest.mark.parametrize("options", [("--check-values",), ("--instrument=CheckValues",), ("--check-values=3",)])
def test_random_values_that_passes_are_compared_on_are_named(options: tuple[str, ...], net: str) -> None:
    code, _, err = irtool("opt", "--passes=FuseOps,FastMath", *options, net)
    seeds = "seeds 0 to 2" if "3" in options[0] else "seed 0"
    note = f"note: passes are compared on made-up values: 3 of 3 parameters of @main are random ({seeds}): %x, %w, %b\n"
    assert (code, err) == (0, note)
    _, _, err = irtool("opt", "--passes=FuseOps", *options, "--params=wb.npz", net)
    assert "1 of 1 parameter of @main is random" in err


def test_random_values_that_modules_are_compared_on_are_named(net: str) -> None:
    code, out, err = irtool("diff", "--values", net, net)
    assert (code, out) == (0, "the values are equal\n")
    assert err == "note: 3 of 3 parameters of @main are random (seed 0): %x, %w, %b\n"
    assert irtool("diff", "--values", "--quiet", net, net) == (0, "", "")


@pytest.mark.parametrize("way", ["--via=interp", "--via=c", "--compare=interp,c"])
def test_nothing_random_where_it_is_refused(way: str, net: str) -> None:
    code, out, err = irtool("run", net, way, "--no-random", "--params=w.npz", "-o", "out.npz")
    assert code == 1 and not out
    assert re.findall(r"(\d+:\d+): error\[E0404\]: there is no value for the parameter %(\w)", err) == [
        ("2:11", "x"),
        ("2:69", "b"),
    ]
    assert "--input x=FILE.npy" in err
    assert not Path("out.npz").exists()
    code, _, err = irtool("run", net, "--no-random", "--missing-constants=random")
    assert code == 2 and "--no-random" in err


def test_a_dynamic_shape_has_a_place_and_a_hint(net: str) -> None:
    Path("d.relay").write_text('#[version = "0.0.5"]\ndef @main(%t: (Tensor[(?, 3), float32], int32)) { tanh(%t.0) }\n')
    code, _, err = irtool("run", "d.relay")
    assert code == 1
    assert "d.relay:2:11: error: cannot make a random value for %t.0" in err
    assert "for example: --shape t.0=1,3" in err
    code, _, err = irtool("run", "d.relay", "--shape=t.0=2,3")
    assert code == 0, err


def test_constants_that_stand_in_are_counted(net: str) -> None:
    Path("c.relay").write_text(
        '#[version = "0.0.5"]\ndef @main(%x: Tensor[(3), float32]) '
        "{ add(%x, meta[relay.Constant][0] /* ty=Tensor[(3), float32] */) }\n"
    )
    for how, note in (("random", "1 constant is random (seed 0)"), ("zeros", "1 constant is zero")):
        _, _, err = irtool("run", "c.relay", f"--missing-constants={how}")
        assert f"note: {note}: the data was cut off" in err
        _, _, err = irtool("build", "c.relay", "--emit=c", "-o", "out", f"--missing-constants={how}")
        assert f"note: {note}: the data was cut off" in err
