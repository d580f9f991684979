"""How operators may be fused."""

from __future__ import annotations

import enum


class Pattern(enum.IntEnum):
    """How an operator may be fused with its neighbours (TVM's `OpPatternKind`)."""

    ELEMWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    COMM_REDUCE = 3
    OUT_ELEMWISE_FUSABLE = 4
    TUPLE = 7
    OPAQUE = 8
