"""Open extents of Relay text that `import` wrote: 1 for the first one, with a note, where nobody says another."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import irtool

ONE = ("%x: Tensor[(?, 3), float32]", '[["batch", ""]]', "exp(%x)")
EQUAL = ("%x: Tensor[(?, ?, 3), float32]", '[["n", "n", ""]]', "exp(%x)")
TWO = ("%x: Tensor[(?, 3), float32], %y: Tensor[(?, 2), float32]", '[["n", ""], ["m", ""]]', "(exp(%x), exp(%y))")
LATER = ("%x: Tensor[(?, ?), float32]", '[["n", "length"]]', "exp(%x)")
SECOND = ("%x: Tensor[(3, ?), float32]", '[["", "length"]]', "exp(%x)")
NAMELESS = ("%x: Tensor[(?, 3), float32]", '[["", ""]]', "exp(%x)")


def run(folder: Path, text: tuple[str, str, str], *words: str) -> tuple[int, str, str]:
    params, names, body = text
    path = folder / "net.relay"
    path.write_text(f'#[version = "0.0.5"]\ndef @main({params}, input_dim_names={names}) {{ {body} }}\n')
    return irtool("run", str(path), *words)


@pytest.mark.parametrize(
    ("text", "shape", "note"),
    [
        (ONE, "float32[1, 3]", "batch is open: 1 is taken\nhelp: --dim batch=… says another"),
        (EQUAL, "float32[1, 1, 3]", "n is open: 1 is taken\nhelp: --dim n=… says another"),
        (TWO, "float32[1, 2]", "m and n are open: 1 is taken\nhelp: --dim m=… --dim n=… says another"),
    ],
)
def test_a_first_extent_with_a_name_is_1(tmp_path: Path, text: tuple[str, str, str], shape: str, note: str) -> None:
    for way in ("interp", "c"):
        code, out, err = run(tmp_path, text, f"--via={way}")
        assert code == 0 and shape in out and note in err


def test_what_the_command_line_says_is_taken(tmp_path: Path) -> None:
    code, out, err = run(tmp_path, ONE, "--dim", "batch=4")
    assert code == 0 and "float32[4, 3]" in out and "is open" not in err
    code, out, err = run(tmp_path, TWO, "--shape", "x=5,3")
    assert code == 0 and "float32[5, 3]" in out and "m is open" in err


@pytest.mark.parametrize(
    ("text", "shape"), [(LATER, "x=1,16"), (SECOND, "x=3,16"), (NAMELESS, "x=1,3")], ids=["later", "second", "nameless"]
)
def test_other_open_extents_are_refused_with_words_to_paste(
    tmp_path: Path, text: tuple[str, str, str], shape: str
) -> None:
    code, _, err = run(tmp_path, text)
    assert code == 1 and f"help: give an array, or a shape, for example: --shape {shape}" in err
    assert run(tmp_path, text, "--shape", shape)[0] == 0


FORMULAS = (
    "%x: Tensor[(?, 3), float32], %past: Tensor[(?, 3), float32], %mask: Tensor[(?), float32]",
    '[["seq", ""], ["past", ""], ["past+seq"]]',
    "multiply(concatenate((%past, %x), axis=0), expand_dims(%mask, axis=1))",
)


@pytest.mark.parametrize("way", ["interp", "c"])
def test_a_name_that_is_a_formula_follows_from_others(tmp_path: Path, way: str) -> None:
    code, out, err = run(tmp_path, FORMULAS, "--dim", "seq<=8", "--dim", "past=5", f"--via={way}")
    assert code == 0 and "float32[13, 3]" in out, err
    code, out, err = run(tmp_path, FORMULAS, "--dim", "seq,past=2", f"--via={way}")
    assert code == 0 and "float32[514, 3]" in out, err
    code, out, err = run(tmp_path, FORMULAS, "--dim", "seq=4", "--dim", "past=5", "--dim", "past+seq=9", f"--via={way}")
    assert code == 0 and "float32[9, 3]" in out, err


def test_a_text_with_formulas_reads_back_as_it_was_printed(tmp_path: Path) -> None:
    params, names, body = FORMULAS
    text = f'#[version = "0.0.5"]\ndef @main({params}, input_dim_names={names}) {{ {body} }}\n'
    (tmp_path / "net.relay").write_text(text)
    code, out, err = irtool("opt", "-p", "FoldConstant", str(tmp_path / "net.relay"))
    assert code == 0 and '["past+seq"]' in out, err
    (tmp_path / "again.relay").write_text(out)
    listings = []
    for name in ("net.relay", "again.relay"):
        code, out, err = irtool("info", str(tmp_path / name), "--dim", "2<=seq<=8:2", "--dim", "past=1|4")
        assert code == 0, err
        listings.append(out)
    assert listings[0].splitlines()[0] == listings[1].splitlines()[0]
    assert "Tensor[((seq + past)), float32]" in listings[0]


def test_counts_of_values_need_bounds(tmp_path: Path) -> None:
    code, _, err = run(tmp_path, ("%x: Tensor[(4, 3), float32]", "[]", "argwhere(%x)"), "--dim", "count_0")
    assert code == 2 and "a length that follows from values has bounds" in err
