"""Names and what they refer to: in every text of the project, and in a text with each kind of name."""

from __future__ import annotations

from pathlib import Path

import pytest

from irtool.parser import read_with_diagnostics
from irtool.parser.symbols import read_symbols

ROOT = Path(__file__).resolve().parents[2]
TEXTS = sorted([*ROOT.glob("samples/*.relay"), *ROOT.glob("tests/golden/**/*.relay")])

TEXT = """#[version = "0.0.5"]
type List[A] { Cons(A, List[A]), Nil }
def @f[T](%x: T, %l: List[T]) -> T { match (%l) { Cons(%h, %t) => @f(%h, %t), Nil => %x } }
def /* the entry */ @main(%x: Tensor[(2, 3), float32]) {
  %0 = nn.relu(%x);
  let /* of two */ %y: Tensor[(2, 3), float32] = nn.relu(%0);
  %1 = add(%y, %0);
  %0 = fn (%x) { nn.relu(%x) }(%1);
  let %x = %0;
  @f(%x, Cons(%1, Nil))
}
"""

KNOWN = """\
type parameter A 2:11: 2:21 2:29
type List 2:6: 2:24 3:22
constructor Cons 2:16: 3:51 10:10
constructor Nil 2:34: 3:79 10:19
type parameter T 3:8: 3:15 3:27 3:34
variable %x 3:11: 3:86
variable %l 3:18: 3:45
variable %h 3:56: 3:70
variable %t 3:60: 3:74
function @f 3:5: 3:67 10:3
variable %x 4:27: 5:16
operator nn.relu -: 5:8 6:50 8:18
binding %0 5:3: 6:58 7:16
variable %y 6:20: 7:12
operator add -: 7:8
binding %1 7:3: 8:32 10:15
variable %x 8:12: 8:26
binding %0 8:3: 9:12
variable %x 9:7: 10:6
function @main 4:21:
"""


def test_names_have_definitions_and_uses() -> None:
    _, diagnostics, symbols = read_symbols(TEXT)
    assert not diagnostics
    lines = []
    for s in symbols.all:
        place = f"{s.definition.line}:{s.definition.column}" if s.definition is not None else "-"
        lines.append(f"{s.kind} {s.name} {place}: {' '.join(f'{u.line}:{u.column}' for u in s.uses)}".rstrip())
    assert lines == KNOWN.splitlines()


@pytest.mark.parametrize("path", TEXTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_places_hold_the_names(path: Path) -> None:
    """As reading finds them: no name is noted where another word stands, and what is said of the text stays the same."""
    text = path.read_text()
    module, diagnostics, symbols = read_symbols(text, "f")
    assert (module is None, list(map(str, diagnostics))) == (
        read_with_diagnostics(text, "f")[0] is None,
        list(map(str, read_with_diagnostics(text, "f")[1])),
    )
    starts = [p.start for s in symbols.all for p in s.places]
    assert len(starts) == len(set(starts)), "a place has one symbol"
    for s in symbols.all:
        assert all(text[p.start : p.end] == s.name for p in s.places)


def test_texts_with_errors_have_symbols() -> None:
    text = "def @main(%x: int32) {\n  %0 = add(%x, ;\n  let %y = %x;\n  add(%y, %z)\n}\n"
    module, diagnostics, symbols = read_symbols(text)
    assert module is None and diagnostics
    names = {s.name: len(s.uses) for s in symbols.all}
    assert names["%x"] == 2 and names["%y"] == 1
    undefined = next(s for s in symbols.all if s.name == "%z")
    assert undefined.definition is None and len(undefined.uses) == 1


@pytest.mark.parametrize(
    "offset, start", [(3, None), (4, 4), (5, 4), (6, 4), (7, None), (17, 17), (19, 17), (20, None)]
)
def test_a_place_is_found_by_its_characters_and_its_end(offset: int, start: int | None) -> None:
    _, _, symbols = read_symbols("fn (%p: int32) { %p }")
    match = symbols.at(offset)
    assert (match and match[1].start) == start
