"""The gradient of einsum: another einsum for each operand."""

from __future__ import annotations

import string

from ...ir import Expr, TensorType, Tuple, TupleGetItem, TupleType
from ...ops.base import call
from ...ops.einsum import parse_equation
from ..core.constants import array_constant
from .rule import GradientSite, gradient


@gradient("einsum")
def einsum(s: GradientSite) -> list[Expr]:
    """The product of the gradient and all other operands, summed over the labels that the operand lacks.

    Labels that only the operand has are those of ones, a label that it has twice is one of an identity matrix, and an axis of 1
    that was broadcast is summed over.
    """
    import numpy as np

    fields = s.types[0]
    assert isinstance(fields, TupleType)
    types = [t for t in fields.fields if isinstance(t, TensorType)]
    labels, result = parse_equation(s.attrs.equation, [len(t.shape) for t in types])
    extents: dict[str, int] = {}
    for term, t in zip(labels, types, strict=True):
        for label, extent in zip(term, t.static_shape, strict=True):
            extents[label] = max(extents.get(label, 1), extent) if extent else 0
    spare = [c for c in string.ascii_letters if c not in extents]
    gradients: list[Expr] = []
    for k, (term, t) in enumerate(zip(labels, types, strict=True)):
        operands: list[Expr] = [s.grad]
        terms = [result]
        for i, other in enumerate(labels):
            if i != k:
                operands.append(TupleGetItem(s.args[0], i))
                terms.append(other)
        target: list[str] = []
        for label, extent in zip(term, t.static_shape, strict=True):
            if extent == 1 != extents[label]:
                continue
            own = label
            if label in target:
                if not spare:
                    raise s.refuse("needs more labels than there are letters")
                own = spare.pop()
                operands.append(array_constant(np.eye(extents[label]), t.dtype))
                terms.append(label + own)
            elif not any(label in other for other in terms):
                operands.append(call("ones", shape=(extents[label],), dtype=t.dtype))
                terms.append(label)
            target.append(own)
        product = call("einsum", Tuple(tuple(operands)), equation=",".join(terms) + "->" + "".join(target))
        gradients.append(call("reshape_like", product, TupleGetItem(s.args[0], k)))
    return [Tuple(tuple(gradients))]
