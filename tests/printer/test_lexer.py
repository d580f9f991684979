"""The Pygments lexer: every character is coloured, none is lost."""

from __future__ import annotations

from pygments.token import Comment, Error, Keyword, Name, Number, String

from irtool.printer.lexer import RelayLexer

TEXT = r"""#[version = "0.0.5"]
type List[A] {
  Cons(A, List[A]),
  Nil,
}

def @main(%x: Tensor[(1, ?), float32] /* ty=Tensor[(1, ?), float32] /* nested */ */, Primitive=1, s="a\"b\xC3") {
  let %y.0: bool = True;
  %0 = nn.conv2d(%x, meta[relay.Constant][0], strides=[2, 2]) /* ty=float32 */;
  match? (%0) {
    Cons(%h, _) => { -inff },
  }
}

#[metadata]
{"root": 1}"""


def tokens() -> list[tuple[object, str]]:
    return list(RelayLexer().get_tokens(TEXT))


def test_nothing_is_lost_and_nothing_is_an_error():
    assert "".join(text for _, text in tokens()).rstrip("\n") == TEXT
    assert not [text for kind, text in tokens() if kind is Error]


def test_words_get_their_kinds():
    kinds = {text: kind for kind, text in tokens()}
    assert kinds["def"] is Keyword.Declaration
    assert kinds["@main"] is Name.Function
    assert kinds["%x"] is Name.Variable
    assert kinds["%y.0"] is Name.Variable
    assert kinds["%0"] is Name.Variable.Instance
    assert kinds["nn.conv2d"] is Name.Builtin
    assert kinds["float32"] is Keyword.Type
    assert kinds["strides"] is Name.Attribute
    assert kinds["match?"] is Keyword
    assert kinds["-inff"] is Number.Float
    assert kinds[r"\xC3"] is String.Escape
    assert kinds["#[metadata]"] is Comment.Preproc


def test_what_is_no_relay_is_an_error_and_does_not_stop_it():
    lexed = list(RelayLexer().get_tokens("%x $ %y"))
    assert (Error, "$") in lexed
    assert (Name.Variable, "%y") in lexed
