"""`@FILE` on a command line: the words in a file, as compilers take them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from ..diagnostics import UsageError
from .mistakes import BadValue


def expand(arguments: Sequence[str]) -> list[str]:
    """The arguments with the words of FILE in place of `@FILE`, and so on in these.

    Words are separated by blanks and line ends; quotes and backslashes protect them as in a shell. Where no such file can be read, the
    word stays as it is, as GCC and LLVM do: names of functions begin with `@`, too. Raises UsageError for a file that names itself, and
    for one that is no text or has an open quote.
    """
    return list(_expanded(arguments))


def _expanded(arguments: Sequence[str]) -> Iterator[str]:
    stack = [iter(arguments)]
    names: list[str] = []
    while stack:
        word = next(stack[-1], None)
        if word is None:
            stack.pop()
            names = names[: len(stack) - 1]
            continue
        words = _words(word, names) if word.startswith("@") and len(word) > 1 else None
        if words is None:
            yield word
        else:
            stack.append(iter(words))
            names.append(word[1:])


def _words(word: str, names: Sequence[str]) -> list[str] | None:
    """The words of the file that a word names; None if there is no such file. `names`: the files around it."""
    path = word[1:]
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except OSError:
        return None
    except UnicodeDecodeError:
        raise UsageError(f"{word}: the file is not UTF-8 text", code=BadValue) from None
    if path in names:
        raise UsageError(f"{word}: the file takes in itself", code=BadValue)
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UsageError(f"{word}: {str(error).lower()}", code=BadValue) from None
