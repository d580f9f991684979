"""`irtool diff`: where modules differ, in words and places; exit codes of diff(1)."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

import irtool as library
from irtool.ir import Constant, Module, rewrite
from irtool.ir.difference import differences
from tests.command_line import irtool

pytestmark = pytest.mark.promise("differences")

SAMPLES = sorted((Path(__file__).parent.parent.parent / "samples").glob("*.relay"))
HEAD = '#[version = "0.0.5"]\n'
PAIRS = {
    "exp on the left, log on the right": ("def @main(%x: int32) { exp(%x) }", "def @main(%x: int32) { log(%x) }"),
    "attribute axis: [0] on the left, [1] on the right": (
        "def @main(%x: Tensor[(2, 2), int32]) { sum(%x, axis=[0]) }",
        "def @main(%x: Tensor[(2, 2), int32]) { sum(%x, axis=[1]) }",
    ),
    "the type of %x: int32 on the left, int64 on the right": ("def @main(%x: int32) { %x }", "def @main(%y: int64) { %y }"),
    "the type of %v": ("{ let %v: int32 = 1; %v }", "{ let %v: int64 = 1; %v }"),
    "1 on the left, 2 on the right": ("def @main() { (1, 3) }", "def @main() { (2, 3) }"),
    "%x on the left, %y on the right": ("fn (%x: int32, %y: int32) { %x }", "fn (%x: int32, %y: int32) { %y }"),
    "a tuple on the left, add(…) on the right": ("fn (%x: int32) { (%x, %x) }", "fn (%x: int32) { add(%x, %x) }"),
    "2 fields on the left, 3 on the right": ("fn (%x: int32) { (%x, %x) }", "fn (%x: int32) { (%x, %x, %x) }"),
    "field 0 on the left, field 1 on the right": ("fn (%x: (int32, int32)) { %x.0 }", "fn (%x: (int32, int32)) { %x.1 }"),
    "1 parameters on the left, 2 on the right": ("fn (%x: int32) { %x }", "fn (%x: int32, %y: int32) { %x }"),
    "the function's attribute Primitive is 1 on the left only": ("fn (%x: int32, Primitive=1) { %x }", "fn (%x: int32) { %x }"),
    "only the left module has this function": ("def @f() { 1 } def @main() { 1 }", "def @main() { 1 }"),
    "only the right module has this function": ("def @main() { 1 }", "def @f() { 1 } def @main() { 1 }"),
    "@f on the left, @g on the right": (
        "def @f() { 1 } def @g() { 1 } def @main() { @f() }",
        "def @f() { 1 } def @g() { 1 } def @main() { @g() }",
    ),
    "the patterns differ": (
        "type D { A, B } def @main(%d: D) { match (%d) { A => 1, B => 2 } }",
        "type D { A, B } def @main(%d: D) { match (%d) { B => 1, A => 2 } }",
    ),
    "the definitions of the type D differ": (
        "type D { A, B } def @main(%d: D) { %d }",
        "type D { A, B(int32) } def @main(%d: D) { %d }",
    ),
    "only the left module has the type D": ("type D { A } def @main() { 1 }", "def @main() { 1 }"),
    "differ in sharing": (
        "fn (%x: int32) { %0 = negative(%x); add(%0, %0) }",
        "fn (%x: int32) { add(negative(%x), negative(%x)) }",
    ),
    "an if on the left, a match": ("fn (%c: bool) { if (%c) { 1 } else { 2 } }", "fn (%c: bool) { match (%c) { _ => 1 } }"),
}  # fmt: skip


def write(folder: Path, *texts: str) -> list[Path]:
    paths = [folder / name for name in ("a.relay", "b.relay")]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(HEAD + text + "\n")
    return paths


@pytest.mark.parametrize("message", PAIRS)
@pytest.mark.parametrize("is_swapped", [False, True])
def test_what_differs_is_said_with_its_place(message: str, is_swapped: bool, tmp_path: Path) -> None:
    texts = PAIRS[message]
    a, b = write(tmp_path, *(texts[::-1] if is_swapped else texts))
    code, out, err = irtool("diff", "--no-infer", a, b)
    assert code == 1, err
    assert "difference: " in out
    if not is_swapped:
        assert message in out
    if "sharing" not in message:
        assert "a.relay:2:" in out or "b.relay:2:" in out
    assert irtool("diff", "--no-infer", "-q", a, b) == (1, "", err)
    assert irtool("diff", "--no-infer", a, a)[:2] == (0, "equal\n")


def changed(module: Module, index: tuple[int, ...], by: float) -> Module:
    def leave(old, new):
        if isinstance(new, Constant) and new.data.ndim == len(index):
            data = new.data.copy()
            data[index] += by
            return Constant(data, new.dtype)
        return new

    return module.with_functions({n: rewrite(f, leave) for n, f in module.functions.items()})


def test_constants_are_compared_by_element_and_never_printed(tmp_path: Path) -> None:
    module = library.parse(next(s for s in SAMPLES if s.stem == "constants").read_text())
    a, b = tmp_path / "a.relay", tmp_path / "b.relay"
    a.write_text(library.to_text(module))
    b.write_text(library.to_text(changed(module, (1, 0, 2, 2), 0.25)))
    code, out, _ = irtool("diff", a, b)
    assert code == 1
    assert (
        "@main … meta[relay.Constant][0]: 1 of 18 elements differ, largest 0.25 at [1, 0, 2, 2]: -0.125 on the left"
        in out
    )
    assert "b64ndarrays" not in out and "---" not in out
    b.write_text(library.to_text(changed(changed(module, (1, 0, 2, 2), 0.25), (1,), -1.0)))
    out = irtool("diff", a, b)[1]
    assert "meta[relay.Constant][1]: 1 of 2 elements differ, largest 1 at [1]" in out


@pytest.mark.parametrize(
    ("one", "two", "message"),
    [
        (np.array([1, 2], "int32"), np.array([1, 5], "int32"), "1 of 2 elements differ, largest 3 at [1]"),
        (np.array([0, 255], "uint8"), np.array([255, 255], "uint8"), "1 of 2 elements differ, largest 255 at [0]"),
        (np.array([np.nan, 1]), np.array([np.nan, np.inf]), "1 of 2 elements differ, largest inf at [1]"),
        (np.array([0.0, 1.0]), np.array([-0.0, 1.0]), "but for the signs of zeros"),
        (np.array([True, False]), np.array([True, True]), "1 of 2 elements differ, largest 1 at [1]"),
        (np.zeros((0, 2)), np.zeros((2, 0)), "float64[0, 2] on the left, float64[2, 0] on the right"),
        (np.zeros(2, "float32"), np.zeros(2, "float16"), "float32[2] on the left, float16[2] on the right"),
    ],
)
def test_how_constants_differ(one: np.ndarray, two: np.ndarray, message: str) -> None:
    problems = list(differences(*(Module.from_expr(Constant(a, a.dtype.name)) for a in (one, two))))
    assert [d.function for d in problems] == ["main"] and message in problems[0].message


def test_values(tmp_path: Path) -> None:
    a, b = write(
        tmp_path,
        "def @main(%x: Tensor[(3), float32]) { add(%x, %x) }",
        "def @main(%x: Tensor[(3), float32]) { multiply(%x, 2f) }",
    )
    assert irtool("diff", a, b)[0] == 1
    note = "note: 1 of 1 parameter of @main is random (seed 0): %x\n"
    assert irtool("diff", "--values", a, b) == (0, "the values are equal\n", note)
    b.write_text(b.read_text().replace("2f", "3f"))
    code, out, _ = irtool("diff", "--values", a, b)
    assert code == 1 and "@main: result differs by up to" in out
    b.write_text(b.read_text().replace("(3)", "(4)"))
    code, out, _ = irtool("diff", "--values", a, b)
    assert code == 1 and "take other parameters" in out


def test_trouble_is_2(tmp_path: Path) -> None:
    a, b = write(tmp_path, "def @main() { 1 }", "def @main( {")
    for words in ((a, tmp_path / "nowhere"), (tmp_path / "nowhere", a), (a, b), (a, tmp_path), ("-", "-"), (a,)):
        code, out, err = irtool("diff", *words)
        assert (code, out) == (2, "") and "rror" in err


@pytest.mark.parametrize("sample", SAMPLES, ids=[s.stem for s in SAMPLES])
def test_no_difference_is_found_where_there_is_none(sample: Path) -> None:
    module = library.infer_types(library.parse(sample.read_text()))
    again = library.infer_types(library.parse(library.to_text(module)))
    for name, f in module.functions.items():
        assert not list(differences(Module({name: f}), Module({name: again.functions[name]})))


def test_depth_and_length_take_neither_stack_nor_time(tmp_path: Path) -> None:
    lines = "".join(f"  %{n + 1} = exp(%{n});\n" for n in range(50_000))
    lets = "".join(f"let %v{n} = 1;\n" for n in range(20_000))
    texts = [
        f"def @main(%x: float32) {{\n  %0 = {op}(%x);\n{lines}  %50000\n}}\ndef @lets() {{\n{lets} {last}\n}}\n"
        for op, last in (("exp", 1), ("log", 2))
    ]
    a, b = (library.parse(HEAD + t) for t in texts)
    start = time.perf_counter()
    problems = list(differences(a, b))
    assert [d.message for d in problems] == ["exp on the left, log on the right", "1 on the left, 2 on the right"]
    assert time.perf_counter() - start < 20
