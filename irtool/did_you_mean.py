"""Suggestions for an unknown name among the known ones: `did you mean …?`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from difflib import SequenceMatcher

_MOST = 3
"""Names that are offered."""
_LEAST = 0.62
"""The similarity below which a name is not offered."""
_CLOSE = 0.17
"""How much less like than the best a name may be that is offered beside it."""
_TYPO = 0.9
"""From this similarity of letters on, a name is the one that was meant, misspelt: only its equals stand beside it."""
_SHORTEST = 3
"""Letters that a part of a name must have to count as such."""
_LETTERS_OF_A_MISTAKE = 3
"""Letters for each that may be wrong in a misspelt name: as many as clang and rustc allow."""
_LOOKED_AT = 5000
"""Known names that are compared; a module of a million functions must not make a message slow."""
_WORD = re.compile(r"[A-Z]*[a-z0-9]*|[^\W_]+")
_LEFT_OUT = str.maketrans("", "", "-_. ")


def nearest(name: str, known: Iterable[str]) -> str:
    """`did you mean A, B or C?` for the known names that are most like, or the empty string."""
    return ask(most_alike(name, known))


def ask(names: list[str]) -> str:
    """`did you mean A, B or C?`, or the empty string for no names."""
    if not names:
        return ""
    return f"did you mean {', '.join(names[:-1])}{' or ' if names[1:] else ''}{names[-1]}?"


def most_alike(name: str, known: Iterable[str]) -> list[str]:
    """Up to three known names that are like `name`, the likeliest first.

    A name that differs in case, `-`, `_` and `.` alone is the one that was meant, then one with the same last part
    (`conv2d` of `nn.conv2d`). Others are judged by the letters that they share in order, if every third at most is wrong; names
    that contain `name`, above all at the start of a word, come before those that merely look like it.
    """
    folded = _folded(name)
    candidates = list(islice(dict.fromkeys(known), _LOOKED_AT))
    same = sorted(k for k in candidates if _folded(k) == folded)
    if same:
        return same[:_MOST]
    last = _folded(name.rsplit(".", 1)[-1])
    tails = sorted(
        (k for k in candidates if "." in k + name and _folded(k.rsplit(".", 1)[-1]) == last), key=lambda k: (len(k), k)
    )
    if tails:
        return tails[:_MOST]
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(folded)
    scored = sorted((-score, k) for k in candidates if (score := _similarity(name, k, matcher)) >= _LEAST)
    if not scored:
        return []
    best = scored[0][1]
    matcher.set_seq1(_folded(best))
    least = -scored[0][0] - (0.01 if matcher.ratio() >= _TYPO else _CLOSE)
    return [k for score, k in scored[:_MOST] if -score >= least]


def _folded(name: str) -> str:
    return name.casefold().translate(_LEFT_OUT)


def _similarity(name: str, known: str, matcher: SequenceMatcher[str]) -> float:
    """From 0 to 1."""
    folded, other = _folded(name), _folded(known)
    if not folded or not other:
        return 0.0
    part = 0.0
    if len(folded) >= _SHORTEST and folded in other:
        starts = other.startswith(folded), any(w.startswith(folded) for w in _words(known, len(folded)))
        part = (0.9 if starts[0] else 0.85 if starts[1] else 0.75) + 0.1 * len(folded) / len(other)
    elif len(other) >= _SHORTEST and other in folded and _has_part(name, other):
        part = 0.5 + 0.4 * len(other) / len(folded)  # a few letters stand in many a long name by chance
    matcher.set_seq1(other)
    if matcher.real_quick_ratio() < _LEAST or matcher.quick_ratio() < _LEAST:
        return part
    return max(part, matcher.ratio()) if _is_misspelt(name, known) else part


def _has_part(name: str, part: str) -> bool:
    """True if folded letters are the beginning of a word of `name`, or its end."""
    return _folded(name).endswith(part) or any(w.startswith(part) for w in _words(name, len(part)))


def _is_misspelt(name: str, known: str) -> bool:
    """True if few letters turn one name into the other, beside their common first parts and parts that one of them leaves out."""
    first, second = name.split("."), known.split(".")
    if len(first) == 1 or len(second) == 1:
        first, second = first[-1:], second[-1:]
    while len(first) > 1 and len(second) > 1 and _folded(first[0]) == _folded(second[0]):
        del first[0], second[0]
    a, b = _folded("".join(first)), _folded("".join(second))
    return _edits(a, b) <= max(len(a), len(b), _LETTERS_OF_A_MISTAKE) // _LETTERS_OF_A_MISTAKE


def _edits(a: str, b: str) -> int:
    """The number of letters to be added, left out, replaced or swapped with the next one."""
    before, row = list[int](), list(range(len(b) + 1))
    for i, x in enumerate(a):
        before, above, row = row, before, [i + 1]
        for j, y in enumerate(b):
            least = min(before[j] + (x != y), before[j + 1] + 1, row[j] + 1)
            if i and j and x == b[j - 1] and y == a[i - 1]:
                least = min(least, above[j - 1] + 1)
            row.append(least)
    return row[-1]


def _words(known: str, least: int) -> list[str]:
    """The suffixes of a name from each start of a word, folded."""
    return [_folded(known[m.start() :])[: least + 1] for m in _WORD.finditer(known) if m.group()]
