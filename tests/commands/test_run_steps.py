"""`irtool run` over several steps of a network with states."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.command_line import irtool

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(3), float32], %h: Tensor[(3), float32]) { %0 = add(%x, %h); (negative(%0), %0) }
"""


@pytest.fixture
def net(tmp_path: Path) -> Path:
    path = tmp_path / "net.relay"
    path.write_text(TEXT)
    np.save(tmp_path / "xs.npy", np.arange(12, dtype="float32").reshape(4, 3))
    np.save(tmp_path / "x.npy", np.ones(3, "float32"))
    np.savez(tmp_path / "first.npz", h=np.full(3, 10, "float32"))
    return path


@pytest.mark.parametrize("way", ["interp", "c"])
def test_inputs_of_each_step(net: Path, way: str) -> None:
    folder = net.parent
    code, _, messages = irtool(
        "run",
        net,
        "--state",
        "h=out1",
        "--steps",
        4,
        "--via",
        way,
        "--input",
        f"x={folder / 'xs.npy'}",
        "-o",
        folder / "o.npz",
    )
    assert code == 0, messages
    sums = -np.cumsum(np.arange(12, dtype="float32").reshape(4, 3), axis=0)
    np.testing.assert_array_equal(np.load(folder / "o.npz")["out0"], sums)


@pytest.mark.parametrize("way", ["interp", "c"])
def test_one_input_of_all_steps_after_first_values(net: Path, way: str) -> None:
    folder = net.parent
    words = ["--params", folder / "first.npz", "--input", f"x={folder / 'x.npy'}", "-o", folder / "o.npz"]
    code, _, messages = irtool("run", net, "--state", "h=out1", "--steps", 3, "--via", way, *words)
    assert code == 0, messages
    np.testing.assert_array_equal(np.load(folder / "o.npz")["out0"][:, 0], [-11, -12, -13])


def test_sanitized_programs_take_one_step(net: Path) -> None:
    words = ["run", net, "--state", "h=out1", "--via", "c", "--sanitize", "undefined"]
    assert irtool(*words)[0] == 0
    code, _, messages = irtool(*words, "--steps", 2)
    assert (code, "--runner and --sanitize run one step" in messages) == (2, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--steps", "2"], "--steps is for networks with states"),
        (["--state", "h=out1", "--steps", "3", "--input", "x=xs.npy"], "%x has values of 4 steps"),
        (["--state", "h=out1", "--input", "h=x.npy"], "%h is a state, which no input gives"),
        (["--state", "h"], "cannot read the state 'h'"),
        (["--state", "h=out1", "--state", "h=out0"], "--state is given twice for h"),
        (["--state", "q=out1"], "the state 'q' is no input of @main"),
    ],
)
def test_what_is_refused(net: Path, words: list[str], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(net.parent)
    code, _, messages = irtool("run", net.name, *words)
    assert code in (1, 2)
    assert message in messages


GROWING = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4), float32], %mask: Tensor[(?), float32], %past: Tensor[(?, 4), float32]) {
  %0 = concatenate((%past, %x), axis=0); (multiply(%mask, sum(%0, axis=[1])), sum(%0, axis=[0]), %0) }
"""
LENGTHS = ("--shape", "past=p<=8,4", "--shape", "mask=p+1", "--state", "past=out2")


@pytest.fixture
def growing(tmp_path: Path) -> Path:
    path = tmp_path / "growing.relay"
    path.write_text(GROWING)
    return path


def test_steps_of_states_that_grow(growing: Path) -> None:
    """Inputs have the extents of each step; outputs that differ from step to step are put behind each other."""
    out = growing.parent / "o.npz"
    code, text, messages = irtool("run", growing, *LENGTHS, "--steps", 5, "--compare", "interp,c", "-o", out)
    assert code == 0, messages
    assert "interp and c agree" in text + messages
    arrays = np.load(out)
    assert (arrays["out0"].shape, arrays["out1"].shape) == ((1 + 2 + 3 + 4 + 5,), (5, 4))


@pytest.mark.parametrize("way", ["interp", "c"])
def test_states_without_room(growing: Path, way: str) -> None:
    code, _, messages = irtool("run", growing, *LENGTHS, "--steps", 9, "--via", way)
    assert code == 1
    assert "the states have no room for the step: (p + 1) would be 9, and at most 8 is possible" in messages


def test_a_benchmark_begins_anew_when_states_are_full(growing: Path) -> None:
    code, text, messages = irtool("bench", growing, *LENGTHS, "--time", 0.01, "--rounds", 1)
    assert code == 0, messages
    assert "length.write" in text


@pytest.mark.parametrize("way", ["interp", "c"])
def test_saved_states_are_begun_with_again(net: Path, way: str) -> None:
    """Twice two steps are four steps."""
    folder = net.parent
    xs = np.load(folder / "xs.npy")
    common = ("run", net, "--state", "h=out1", "--via", way)
    states = folder / "states.npz"
    for first, more in ((0, ()), (2, ("--params", states))):
        np.save(folder / "part.npy", xs[first : first + 2])
        part = ("--steps", 2, "--input", f"x={folder / 'part.npy'}")
        code, _, messages = irtool(*common, *part, *more, "--save-states", states)
        assert code == 0, messages
    saved = np.load(states)
    assert list(saved) == ["h"]
    np.testing.assert_array_equal(saved["h"], xs.sum(axis=0))


def test_states_of_a_single_step(net: Path) -> None:
    states = net.parent / "states.npz"
    code, _, messages = irtool(
        "run", net, "--state", "h=out1", "--via=c", "--input", f"x={net.parent / 'x.npy'}", "--save-states", states
    )
    assert code == 0, messages
    np.testing.assert_array_equal(np.load(states)["h"], np.ones(3, "float32"))


def test_states_of_a_program_are_refused(net: Path) -> None:
    states = net.parent / "states.npz"
    code, _, messages = irtool(
        "run", net, "--state", "h=out1", "--via=c", "--sanitize=undefined", "--save-states", states
    )
    assert code == 2 and "give no states" in messages and not states.exists()
