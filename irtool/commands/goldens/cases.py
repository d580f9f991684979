"""The cases of a golden file: a file is split at lines `// -----`, and each part is a case.

What the first part says in RUN and REQUIRES lines holds for all cases; a case with RUN lines of its own runs those instead. A
first part of comments alone is the head of the file and no case. The text of a case stands on the lines that it has in the file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...files import open_text
from .directives import ERROR, REQUIRES, RUN, SEPARATOR, XFAIL, Directive, Mistake, marker_of, read_directives
from .expected_errors import Expectation, read_expectations

_BLOCK_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True)
class Case:
    """One case.

    Attributes:
        path: the golden file.
        number: 1 for the first; 0 if the file is one case.
        line: the first line of its part, 1-based.
        text: the file with the lines of other parts blank; None if the file is one case.
        runs: the command lines.
        errors: the expected errors; if there are any, every command line must fail.
        xfail: the reason for which it fails; empty if it should pass.
        requires: features without which it is skipped.
        mistakes: errors in its directives.
    """

    path: str
    number: int
    line: int
    text: str | None
    runs: tuple[str, ...]
    errors: tuple[Expectation, ...] = ()
    xfail: str = ""
    requires: tuple[str, ...] = ()
    mistakes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the case: the path, and its number behind `#`."""
        return f"{self.path}#{self.number}" if self.number else self.path


@dataclass(frozen=True)
class Part:
    """The lines of a file between two separators; `first` is the number of the first one."""

    first: int
    lines: list[str]
    directives: list[Directive]
    mistakes: list[Mistake]

    @property
    def text(self) -> str:
        """Its lines, each with the number that it has in the file: the lines before them are blank."""
        return "\n" * (self.first - 1) + "\n".join(self.lines) + "\n"

    def texts(self, name: str) -> list[str]:
        """The texts of its directives of that name."""
        return [d.text for d in self.directives if d.name == name]

    def has_text(self, marker: str) -> bool:
        """True if it is more than comments and blank lines."""
        rest = "\n".join(line for line in self.lines if not line.lstrip().startswith(marker))
        return bool((_BLOCK_COMMENT.sub("", rest) if marker == "//" else rest).strip())


def read_cases(path: str) -> list[Case]:
    """The cases of a golden file. Raises OSError."""
    with open_text(path, errors="surrogateescape", newline="") as source:
        lines = source.read().split("\n")
    marker = marker_of(path)
    parts = split_parts(lines, marker)
    if len(parts) == 1:
        return [_whole(path, parts[0], marker)]
    head = parts[0]
    is_head = not head.has_text(marker)
    cases = []
    for number, part in enumerate(parts[1:] if is_head else parts, 1):
        cases.append(_case(path, number, part, head, part.text, marker))
    if is_head:
        cases[0] = _blame_head(cases[0], head)
    return cases


def split_texts(text: str) -> list[str]:
    """The parts of a Relay text between lines `// -----`."""
    return ["\n".join(p) for p in _pieces(text.split("\n"))]


def _pieces(lines: list[str]) -> list[list[str]]:
    pieces: list[list[str]] = [[]]
    for line in lines:
        if line.startswith(("//", "#")) and SEPARATOR.fullmatch(line):
            pieces.append([])
        else:
            pieces[-1].append(line)
    return pieces


def part_of(lines: list[str], marker: str, first: int = 1) -> Part:
    """The part that these lines are, the first of which has that number."""
    return Part(first, lines, *read_directives(lines, marker, first))


def split_parts(lines: list[str], marker: str) -> list[Part]:
    """The parts of the lines of a file."""
    parts, first = [], 1
    for piece in _pieces(lines):
        parts.append(part_of(piece, marker, first))
        first += len(piece) + 1
    return parts


def _whole(path: str, part: Part, marker: str) -> Case:
    case = _case(path, 0, part, part, None, marker)
    if not case.runs and not case.mistakes:
        return _blamed(case, f"the file has no `{marker} RUN:` line")
    return case


def _case(path: str, number: int, part: Part, head: Part, text: str | None, marker: str) -> Case:
    errors, mistakes = read_expectations(part.directives, part.lines, part.first, marker)
    problems = part.mistakes + mistakes
    reasons = part.texts(XFAIL)
    if len(reasons) > 1:
        problems.append(Mistake(part.first, "there is more than one XFAIL"))
    own = part.texts(RUN)
    if number and not own and not part.has_text(marker):
        problems.append(Mistake(part.first, f"case {number} is empty"))
    elif number and not (own or head.texts(RUN)) and not problems:
        problems.append(
            Mistake(part.first, f"case {number} has no `{marker} RUN:` line, and neither has the first part")
        )
    required = part.texts(REQUIRES) if head is part else head.texts(REQUIRES) + part.texts(REQUIRES)
    return Case(
        path,
        number,
        part.first,
        text,
        tuple(own or head.texts(RUN)),
        tuple(errors),
        reasons[0] if reasons else "",
        tuple(dict.fromkeys(name.strip() for names in required for name in names.split(",") if name.strip())),
        tuple(map(str, sorted(problems, key=lambda m: m.line))),
    )


def _blame_head(case: Case, head: Part) -> Case:
    """The first case, with the mistakes in the head above it."""
    alone = [d for d in head.directives if d.name in (XFAIL, ERROR)]
    wrong = [Mistake(d.line, f"{d.name}: stands in a case, not in the head of the file") for d in alone]
    return _blamed(case, *map(str, head.mistakes + wrong))


def _blamed(case: Case, *mistakes: str) -> Case:
    return Case(**{**vars(case), "mistakes": (*mistakes, *case.mistakes)})
