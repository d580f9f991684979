"""Which known names somebody may have meant by one that is not known."""

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
"""The likeness below which a name is not offered."""
_CLOSE = 0.17
"""How much less like than the best a name may be that is offered beside it."""
_TYPO = 0.9
"""From this likeness of letters on, a name is the one that was meant, misspelt: only its equals stand beside it."""
_SHORTEST = 3
"""Letters that a part of a name must have to count as such."""
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
    (`conv2d` of `nn.conv2d`). Others are judged by the letters that they share in order; names that contain `name`, above
    all at the start of a word, come before those that merely look like it.
    """
    wanted = _folded(name)
    candidates = list(islice(dict.fromkeys(known), _LOOKED_AT))
    same = sorted(k for k in candidates if _folded(k) == wanted)
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
    matcher.set_seq2(wanted)
    scored = sorted((-score, k) for k in candidates if (score := _likeness(wanted, k, matcher)) >= _LEAST)
    if not scored:
        return []
    best = scored[0][1]
    matcher.set_seq1(_folded(best))
    least = -scored[0][0] - (0.01 if matcher.ratio() >= _TYPO else _CLOSE)
    return [k for score, k in scored[:_MOST] if -score >= least]


def _folded(name: str) -> str:
    return name.casefold().translate(_LEFT_OUT)


def _likeness(wanted: str, known: str, matcher: SequenceMatcher[str]) -> float:
    """From 0 to 1."""
    other = _folded(known)
    if not wanted or not other:
        return 0.0
    part = 0.0
    if len(wanted) >= _SHORTEST and wanted in other:
        starts = other.startswith(wanted), any(w.startswith(wanted) for w in _words(known, len(wanted)))
        part = (0.9 if starts[0] else 0.85 if starts[1] else 0.75) + 0.1 * len(wanted) / len(other)
    elif len(other) >= _SHORTEST and other in wanted:
        part = 0.5 + 0.4 * len(other) / len(wanted)  # a few letters stand in many a long name by chance
    matcher.set_seq1(other)
    if matcher.real_quick_ratio() < _LEAST or matcher.quick_ratio() < _LEAST:
        return part
    return max(part, matcher.ratio())


def _words(known: str, least: int) -> list[str]:
    """What stands at each start of a word of a name to its end, folded."""
    return [_folded(known[m.start() :])[: least + 1] for m in _WORD.finditer(known) if m.group()]
