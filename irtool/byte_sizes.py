"""Numbers of bytes as people write them, on command lines, in options of targets and in files of boards."""

from __future__ import annotations

import re

_UNITS = " KMG"


def read_size(text: object) -> int | None:
    """The bytes of `65536`, `64K`, `64KiB` or `1.3G`, in powers of 1024 and rounded down; None for another text, such as `1.5`."""
    form = (
        re.fullmatch(r"(\d{1,15})(?:\.(\d{1,9}))?\s*([KMG]?)(?:i?B)?", text, re.IGNORECASE | re.ASCII)
        if isinstance(text, str)
        else None
    )
    if form is None:
        return None
    scale, fraction = 1024 ** _UNITS.index(form[3].upper() or " "), form[2] or ""
    nbytes, rest = divmod(int(form[1] + fraction) * scale, 10 ** len(fraction))
    return None if rest and scale == 1 else nbytes


def show_size(nbytes: int) -> str:
    """`64K`, `4M`, or the number: as `read_size` reads it."""
    for unit, shift in (("M", 20), ("K", 10)):
        if nbytes and nbytes % (1 << shift) == 0:
            return f"{nbytes >> shift}{unit}"
    return str(nbytes)
