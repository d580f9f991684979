"""Constants of equal content: one of them is kept.

Lowering gives equal constants of one shape one slot. Constants that are equal only in another shape, or that became equal when
their layouts were chosen, meet here.
"""

from __future__ import annotations

import hashlib

from ..tir.program import Program, Slot

_LOOKED_AT = 16
"""Elements that tell most constants apart, without a look at all of them."""


def share_equal_constants(program: Program) -> None:
    """Puts the first of several constants with the same bytes, of the same dtype, into the place of the others."""
    groups: dict[tuple[str, int, bytes], list[Slot]] = {}
    for c in program.constants:
        if c.forward is None and c.data is not None:
            groups.setdefault((c.dtype, c.nbytes, c.data.ravel()[:_LOOKED_AT].tobytes()), []).append(c)
    for alike in groups.values():
        if len(alike) < 2:
            continue
        kept: dict[bytes, Slot] = {}
        for c in alike:
            first = kept.setdefault(hashlib.sha256(c.data.tobytes()).digest(), c)
            if first is not c:
                c.forward = first
