"""Pools of memory in flags: names in order, and sizes by name."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...diagnostics import UsageError, nearest
from ...tir.pools import Pool
from ..interface.names import Identifiers

_LARGEST = 1 << 40


def read_pools(flag: str, names: Sequence[str], sizes: Sequence[str]) -> tuple[Pool, ...]:
    """The pools of a flag.

    Args:
        flag: its name; that of the sizes is `FLAG_size_hint_bytes`.
        names: the names of the pools, the first one first.
        sizes: `NAME:BYTES`; a pool without a size, or with -1 bytes as in TVM, is as large as necessary.

    Raises:
        UsageError: a name is no identifier of C, a size is no number, or belongs to no pool.
    """
    option, hints = (text.replace("_", "-") for text in (flag, f"{flag}_size_hint_bytes"))
    for name in names:
        if not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII) or Identifiers().fresh(name) != name:
            raise UsageError(
                f"--{option}: {name!r} cannot be the name of a pool: it must be an identifier of C, and not a word of C"
            )
    if len({n.upper() for n in names}) < len(names):
        raise UsageError(
            f"--{option}: two pools have names that differ in the case of letters only: {', '.join(names)}"
        )
    known: dict[str, int | None] = {}
    for text in sizes:
        name, colon, size = text.partition(":")
        if name not in names:
            raise UsageError(f"--{hints}: unknown pool {name!r}", help=nearest(name, names) or _which(option, names))
        if not colon or not re.fullmatch(r"-1|[0-9]{1,13}", size) or not -1 <= int(size) <= _LARGEST or size == "0":
            raise UsageError(f"--{hints}: {text!r} is not NAME:BYTES", help=f"say, for example: --{hints}={name}:65536")
        if name in known:
            raise UsageError(f"--{hints}: the pool {name} has two sizes")
        known[name] = None if int(size) < 0 else int(size)
    return tuple(Pool(n, known.get(n)) for n in names)


def _which(option: str, names: Sequence[str]) -> str:
    return f"the pools are {', '.join(names)}" if names else f"name it with --{option} first"
