"""Relay text in colour: a lexer for Pygments."""

from __future__ import annotations

import re
from typing import ClassVar

from pygments.lexer import RegexLexer, bygroups, default, words
from pygments.token import (
    Comment,
    Error,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Whitespace,
)

_NAME = r"[A-Za-z_][\w./:]*(?<![./:])"
_DTYPE = r"(?:bool|u?int\d*|b?float\d*|handle|void)(?:x\d+)?\b"


class RelayLexer(RegexLexer):
    """Lexer for Relay text, format 0.0.5. The metadata section is left uncoloured: it may be hundreds of megabytes."""

    name = "Relay"
    aliases: ClassVar[list[str]] = ["relay"]
    filenames: ClassVar[list[str]] = ["*.relay"]
    flags = re.MULTILINE

    tokens: ClassVar[dict] = {
        "root": [
            (r"\s+", Whitespace),
            (r"#\[metadata\]", Comment.Preproc, "metadata"),
            (r'(#\[)(version)(\s*=\s*)("[^"]*")(\])', bygroups(*[Comment.Preproc] * 5)),
            (r"/\*", Comment.Multiline, "comment"),
            (r"//.*?$", Comment.Single),
            (words(("def", "fn", "let", "free_var", "type", "extern"), suffix=r"\b"), Keyword.Declaration),
            (r"match\?|\b(?:if|else|match)\b", Keyword),
            (words(("ref", "ref_read", "ref_write"), suffix=r"(?=\s*\()"), Keyword),
            (words(("True", "False", "None"), suffix=r"\b"), Keyword.Constant),
            (r"-?(?:inf|nan)(?:f(?:16|32|64)?)\b", Number.Float),
            (
                r"\b(meta)(\[)([\w.]+)(\]\[)(\d+)(\])",
                bygroups(Name.Builtin, Punctuation, Name.Class, Punctuation, Number, Punctuation),
            ),
            (r"%\d+", Name.Variable.Instance),
            (rf"%{_NAME}", Name.Variable),
            (rf"@{_NAME}", Name.Function),
            (r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?f(?:16|32|64)?\b|\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+", Number.Float),
            (r"\d+(?:[iu](?:1|8|16|32|64))?\b", Number.Integer),
            (r'"', String.Double, "string"),
            (rf"\bTensor\b|{_DTYPE}", Keyword.Type),
            (r"\w+(?=\s*=(?![=>]))", Name.Attribute),
            (r"[A-Z]\w*", Name.Class),
            (r"[A-Za-z_][\w.]*(?=\s*\()", Name.Builtin),
            (r"[A-Za-z_][\w.]*", Name),
            (r"->|=>|==|!=|<=|>=|[-+*/<>=]", Operator),
            (r"[()\[\]{},;:.?]", Punctuation),
            (r".", Error),
        ],
        "comment": [
            (r"[^*/]+", Comment.Multiline),
            (r"/\*", Comment.Multiline, "#push"),
            (r"\*/", Comment.Multiline, "#pop"),
            (r"[*/]", Comment.Multiline),
        ],
        "string": [
            (r'[^"\\\n]+', String.Double),
            (r"\\(?:x[0-9a-fA-F]{2}|.)", String.Escape),
            (r'"', String.Double, "#pop"),
            default("#pop"),
        ],
        "metadata": [(r"(?s).+", Comment.Preproc)],
    }
