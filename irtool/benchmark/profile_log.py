"""Logs of programs compiled with `-DNAME_PROFILE`: the calls of kernels with their times, and shares of kernels, operators and lines."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ..diagnostics import Code, IrError
from ..plugin.codes import code

_VERSION = "1"
_WRAPS = 1 << 32
"""Counts of a timer of 32 bits, after which it begins again."""


@code("E0018")
class BadProfile(Code):
    """A file without the log of a program that was compiled with `-DNAME_PROFILE`, or with one that ends early.

    `NAME_profile_write` prints such a log; programs of `irtool build --emit=exe` print it to standard error when they end.
    """

    example = """\
kernel 0 took 12 ms
"""
    command = "profile %s"


@dataclass(frozen=True)
class ProfiledKernel:
    """A kernel of a log.

    Attributes:
        name: its function in C.
        operators: its operators, with commas between them.
        uses: the calls of it in the text of the program.
        places: the place of each operator in the source, of all its uses, and the node of the model there, or an empty name.
    """

    name: str
    operators: str
    uses: int
    places: tuple[tuple[str, str], ...]

    @property
    def lines(self) -> str:
        """The lines of its operators, as in `net.relay:3, 4`; nodes of a model by their names; empty if unknown."""
        names: dict[str, None] = {}
        lines: defaultdict[str, dict[int, None]] = defaultdict(dict)
        for place, node in self.places:
            file, line, column = [*place.rsplit(":", 2), "", ""][:3]
            if node:
                names[node] = None
            elif line.isdigit() and column.isdigit():
                lines[file][int(line)] = None
            else:
                names[place] = None
        texts = [f"{file}:{', '.join(map(str, sorted(numbers)))}" for file, numbers in lines.items()]
        return "; ".join([*names, *texts])


@dataclass(frozen=True)
class Call:
    """One call: the number of its kernel, and when it began and ended, in counts of the clock from the first event on."""

    kernel: int
    begin: int
    end: int


@dataclass
class Profile:
    """A log.

    Attributes:
        name: the network.
        hz: counts of the clock in a second; 0: unknown, and times are counts.
        lost: calls before the first one of the log, for which the buffer had no room.
        calls: in the order in which they ended.
    """

    name: str
    hz: int
    lost: int = 0
    kernels: list[ProfiledKernel] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)


@dataclass(frozen=True)
class Share:
    """A part of the time.

    Attributes:
        label: a kernel, its operators, or lines.
        counts: counts of the clock.
        calls: calls of kernels.
        least: counts of the shortest call.
        most: counts of the longest one.
    """

    label: str
    counts: int
    calls: int
    least: int
    most: int


def read_profile(text: str, path: str) -> Profile:
    """The last log among the lines of a file; other output of the program may stand around it.

    Raises IrError for a file without a complete log.
    """
    lines = text.splitlines()
    begins = [n for n, line in enumerate(lines) if line.split("\t")[:1] == ["irtool-profile"]]
    if not begins:
        raise IrError(
            f"{path} has no log of a program that was compiled with -DNAME_PROFILE",
            help="its first line is `irtool-profile`; NAME_profile_write prints it",
            code=BadProfile,
        )
    profile: Profile | None = None
    for number, line in enumerate(lines[begins[-1] :], begins[-1] + 1):
        words = line.split("\t")
        try:
            if words[0] == "irtool-profile":
                profile = _begin(words)
            elif words == ["end"] and profile is not None:
                _unwrap(profile)
                return profile
            elif profile is not None:
                _read_line(profile, words)
        except (ValueError, IndexError) as error:
            raise IrError(f"{path}:{number}: {error or 'a damaged line'}", code=BadProfile) from None
    raise IrError(f"{path}:{len(lines)}: the log has no end", code=BadProfile)


def _begin(words: Sequence[str]) -> Profile:
    _, version, name = words
    if version != _VERSION:
        raise ValueError(f"a log of version {version}, and this irtool reads version {_VERSION}")
    return Profile(name, 0)


def _read_line(profile: Profile, words: Sequence[str]) -> None:
    """Adds a line to the profile; lines of other kinds are output of the program. Raises ValueError for a damaged one."""
    if words[0] == "hz":
        profile.hz = _number(words[1])
    elif words[0] == "lost":
        profile.lost = _number(words[1])
    elif words[0] == "kernel":
        _, number, name, operators, uses, *places = words
        if _number(number) != len(profile.kernels):
            raise ValueError(f"kernel {number} in place of {len(profile.kernels)}")
        pairs = tuple(zip(places[::2], places[1::2], strict=True))
        profile.kernels.append(ProfiledKernel(name, operators, _number(uses), pairs))
    elif words[0] == "event":
        kernel, begin, end = map(_number, words[1:])
        if kernel >= len(profile.kernels):
            raise ValueError(f"an event of kernel {kernel}, of {len(profile.kernels)}")
        profile.calls.append(Call(kernel, begin, end))


def _number(word: str) -> int:
    if not word.isascii() or not word.isdigit():
        raise ValueError(f"{word[:40]!r} is no number")
    return int(word)


def _unwrap(profile: Profile) -> None:
    """Makes times begin at 0, and go on where a timer of 32 bits begins again."""
    wraps, last, calls = 0, 0, []
    is_narrow = all(c.begin < _WRAPS and c.end < _WRAPS for c in profile.calls)
    for c in profile.calls:
        times = []
        for time in (c.begin, c.end):
            # Calls of several threads overlap by less than half of the timer's range.
            if is_narrow and time + wraps < last - _WRAPS // 2:
                wraps += _WRAPS
            times.append(time + wraps)
            last = max(last, time + wraps)
        calls.append(Call(c.kernel, *times))
    first = min((c.begin for c in calls), default=0)
    profile.calls = [Call(c.kernel, c.begin - first, c.end - first) for c in calls]


def shares(profile: Profile, by: str) -> list[Share]:
    """The time by `kernel`, `operator` (all operators of a kernel) or `line` of the source, most first."""
    grouped: defaultdict[str, list[int]] = defaultdict(list)
    for c in profile.calls:
        kernel = profile.kernels[c.kernel]
        label = {"kernel": kernel.name, "operator": kernel.operators, "line": kernel.lines}[by]
        grouped[label or "(unknown)"].append(c.end - c.begin)
    parts = [Share(label, sum(t), len(t), min(t), max(t)) for label, t in grouped.items()]
    return sorted(parts, key=lambda s: (-s.counts, s.label))


def to_perfetto(profile: Profile) -> str:
    """The calls as trace events that Perfetto and chrome://tracing read. Calls at the same time, of several threads, have tracks of their own."""
    scale = 1e6 / profile.hz if profile.hz else 1.0
    events: list[dict[str, object]] = [
        {"name": "process_name", "ph": "M", "pid": 1, "args": {"name": profile.name}},
    ]
    for track, c in _on_tracks(profile.calls):
        kernel = profile.kernels[c.kernel]
        events.append(
            {
                "name": kernel.operators or kernel.name,
                "ph": "X",
                "ts": round(c.begin * scale, 3),
                "dur": round((c.end - c.begin) * scale, 3),
                "pid": 1,
                "tid": track,
                "args": {"kernel": kernel.name, "source": kernel.lines},
            }
        )
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ns"}, indent=1) + "\n"


def _on_tracks(calls: Sequence[Call]) -> Iterator[tuple[int, Call]]:
    """The calls by their beginning, each with the number of the first track that is free then."""
    ends: list[int] = []
    for c in sorted(calls, key=lambda c: (c.begin, c.end)):
        track = next((n for n, end in enumerate(ends) if end <= c.begin), len(ends))
        ends[track : track + 1] = [c.end]
        yield track + 1, c
