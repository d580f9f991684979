"""Patterns of operators for fusion."""

from __future__ import annotations

import enum


class Pattern(enum.IntEnum):
    """The fusion of an operator with its neighbours (TVM's `OpPatternKind`)."""

    ELEMWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    COMM_REDUCE = 3
    OUT_ELEMWISE_FUSABLE = 4
    TUPLE = 7
    OPAQUE = 8
