"""Habits from other languages, and Relay's form for them: help for words that cannot stand where they do."""

from __future__ import annotations

import re

_KEYWORDS = {
    "return": "there is no return: the last expression of a block is its value",
    "for": "there is no for: a loop is a function that calls itself, or an operator on whole tensors",
    "while": "there is no while: a loop is a function that calls itself",
    "var": "a local variable is written let %x = …;",
    "const": "a local variable is written let %x = …;",
    "func": "a function is written def @name(…) { … }",
}
_BEHIND = (  # the text in front of the word, the word, and the help
    (r";\s*$", r"\}", "the last line of a block is its value, and has no `;`"),
    (r"\breturn\s+$", r"", _KEYWORDS["return"]),
    (r"[(,]\s*[A-Za-z_]\w*\s*$", r":", "a parameter is written with %: %x: Tensor[(2, 3), float32]"),
    (r"%[A-Za-z_]\w*\s*$", r"=$", "a binding is written %0 = …; or let %y = …;"),
    (r"\b[A-Za-z_]\w*\s*$", r"=$", "a binding is written %0 = …; or let %y = …;"),
    (r"\bTensor\[\s*$", r"[\d?]", "the shape stands in brackets: Tensor[(2, 3), float32]"),
    (r":\s*\w+\s*$", r"[<\[]", "a tensor's type is written Tensor[(2, 3), float32]"),
    (r"\*\s*$", r"\*", "a power is written power(%x, 2f)"),
    (r"\bfn\s*$", r"@", "a global function is written def @name(…) { … }"),
    (r"[(,]\s*$", r"\[", "a list is an attribute, and is written by its name: newshape=[3, 2]"),
    (r"[\w)]\s*$", r"\[", "tensors have no index: take or strided_slice; a field of a tuple is written .0"),
)
_LONGEST = 200
"""Characters in front of the word that are looked at."""


def habit(text: str, start: int, word: str) -> str:
    """The help for `word` at offset `start` of a text; empty where nothing is known of it."""
    before = text[max(0, start - _LONGEST) : start]
    for behind, what, help in _BEHIND:
        if re.match(what, word) and re.search(behind, before):
            return help
    return ""


def keyword(name: str) -> str:
    """The help for a name that is a keyword elsewhere; empty for others."""
    return _KEYWORDS.get(name, "")
