"""Results in blocks that their extents do not fill: three channels in the layout `NCHW4c`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...ir import TensorType
from ..base import Operator
from ..known import Known
from ..layout import Layout, convert_shape
from ..shape.relayout import relayout


def unfilled(operator: Any, inputs: Sequence[Any], out_type: Any, layout: Layout, form: str) -> Any:
    """The tensor expression of an operator whose result, in `layout`, has blocks that are not full: there zeros stand.

    It is computed in the canonical layout `form` and stored in blocks then, so that no expression of an operator has to tell
    what exists from what fills up. None if all blocks are full.
    """
    if all(a.is_primal for a in layout.axes):
        return None
    plain: Operator = replace(operator, out_layout=form)
    whole = plain.relate([TensorType(x.shape, x.dtype) for x in inputs], Known())
    if not isinstance(whole, TensorType) or convert_shape(out_type.shape, layout, form) == whole.shape:
        return None
    return relayout(plain.compute(inputs, whole), form, layout, out_type.shape)
