"""Several values as one."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import Tuple
from .value import Value, apply


def concatenate(values: Sequence[Value], axis: int) -> Value:
    """The tensors one after the other along an axis."""
    if len(values) == 1:
        return values[0]
    return apply("concatenate", Tuple(tuple(v.expr for v in values)), axis=axis)
