"""Words and marks of a small part of C."""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"\s*(?:(?P<number>0[xX][0-9a-fA-F.]+(?:[pP][-+]?\d+)?[uUlLfF]*|(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?[uUlLfF]*)"
    r"|(?P<word>[A-Za-z_]\w*)|(?P<mark><<=|>>=|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[-+*/%&|^~!<>=?:;,.(){}\[\]]))"
)


def preprocess(text: str) -> str:
    """The text without comments, and with the last branch of each condition if that is an `#else`, otherwise no branch."""
    lines: list[str] = []
    stack: list[tuple[int, bool]] = []
    for line in re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL).split("\n"):
        word = line.strip()
        if word.startswith("#if"):
            stack.append((len(lines), False))
        elif word.startswith(("#elif", "#else")):
            first, _ = stack.pop()
            del lines[first:]
            stack.append((first, word.startswith("#else")))
        elif word.startswith("#endif"):
            first, others = stack.pop()
            del lines[len(lines) if others else first :]
        else:
            lines.append(line)
    return re.sub(r"__attribute__\(\((noinline, unused|unused)\)\)", "", "\n".join(lines))


class Tokens:
    """The tokens of a text, read one after the other."""

    def __init__(self, text: str) -> None:
        self.tokens = [m[m.lastgroup or 0] for m in _TOKEN.finditer(preprocess(text))]
        self.at = 0

    @property
    def token(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def step(self, expected: str = "") -> str:
        token = self.token
        assert not expected or token == expected, (
            f"expected {expected!r}, not {' '.join(self.tokens[self.at - 5 : self.at + 5])}"
        )
        self.at += 1
        return token

    def take(self, mark: str) -> bool:
        if self.token == mark:
            self.at += 1
            return True
        return False
