"""Semantic tokens: each word of a text with its meaning, as an editor gets it."""

from __future__ import annotations

from irtool.lsp.analysis import analyse
from irtool.lsp.lines import Lines
from irtool.lsp.semantic_tokens import KINDS, encode, semantic_tokens

TEXT = """#[version = "0.0.5"]
type List[A] { Cons(A, List[A]), Nil }
def @main(%x: Tensor[(2, 3), float32], /* a /* b */ %no
 c */ %w: Tensor[(4, 3), float32]) {
  %0 = nn.dense(%x, %w, units=4);  // "no string"
  let %y = add(%0, 1.5e-3f);
  if (true) { @twice(%y) } else { %0 }
}
def @twice(%x: Tensor[(2, 4), float32]) { add(%x, %x) }
"""


def words(text: str) -> list[tuple[str, str, int]]:
    return [(text[t.start : t.end], t.kind, t.modifiers) for t in semantic_tokens(analyse(text))]


def test_kinds() -> None:
    tokens = words(TEXT)
    assert ("%x", "parameter", 1) in tokens and ("%x", "parameter", 0) in tokens
    assert ("%0", "variable", 1) in tokens and ("%0", "variable", 0) in tokens
    assert ("nn.dense", "function", 2) in tokens and ("@twice", "function", 1) in tokens
    assert ("units", "property", 0) in tokens and ("4", "number", 0) in tokens and ("1.5e-3f", "number", 0) in tokens
    assert ("List", "type", 1) in tokens and ("Cons", "enumMember", 1) in tokens
    assert ("let", "keyword", 0) in tokens and ("if", "keyword", 0) in tokens and ("float32", "type", 2) in tokens
    comments = [word for word, kind, _ in tokens if kind == "comment"]
    assert comments == ["/* a /* b */ %no", " c */", '// "no string"']
    assert "%no" not in {word for word, _, _ in tokens}


def test_places_are_differences_in_the_clients_units() -> None:
    text = "def @f(%x: int32) { /* \N{MATHEMATICAL ITALIC SMALL ALPHA} */ %x }\n"
    data = encode(semantic_tokens(analyse(text)), Lines(text))
    assert len(data) % 5 == 0
    line = column = 0
    seen = []
    units = text.encode("utf-16-le")
    for n in range(0, len(data), 5):
        down, right, length, kind, _ = data[n : n + 5]
        line, column = line + down, right + (0 if down else column)
        seen.append((units[2 * column : 2 * (column + length)].decode("utf-16-le"), KINDS[kind]))
    assert seen[0] == ("def", "keyword") and seen[-1] == ("%x", "parameter")


def test_a_text_with_errors_has_tokens() -> None:
    assert ("%x", "variable", 0) in words("def @main( { %x\n")
    assert words("/* never ends") == [("/* never ends", "comment", 0)]
    assert words("") == []
