"""The Einstein summation convention: `einsum` multiplies tensors and sums over the labels that the result lacks."""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import te
from ..deferred import np
from ..ir import TensorType, Type
from .base import Operator, Pattern, RelationError, Reporter, operator
from .dtypes import is_half
from .shapes import tensor_fields


def parse_equation(equation: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    """The labels of each operand and of the result, `...` spelled out with labels of its own.

    Without `->` the result has the labels that occur once, in alphabetical order, after those of `...`.
    Raises RelationError if the equation does not fit operands of these ranks.
    """
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise RelationError(f'the equation "{equation}" has {len(terms)} operands, but {len(ranks)} are given')
    spare = [c for c in string.ascii_uppercase + string.ascii_lowercase if c not in text]
    widest = max(
        [rank - len(term.replace("...", "")) for term, rank in zip(terms, ranks, strict=True) if "..." in term] + [0]
    )
    if widest > len(spare):
        raise RelationError(f'the equation "{equation}" needs more labels than there are letters')
    ellipsis = "".join(spare[:widest])

    labels = []
    for term, rank in zip(terms, ranks, strict=True):
        if "..." in term:
            hidden = rank - len(term.replace("...", ""))
            if hidden < 0 or term.count("...") > 1:
                raise RelationError(f'"{term}" does not fit an operand of rank {rank}')
            term = term.replace("...", ellipsis[len(ellipsis) - hidden :])
        if len(term) != rank or not all(c in string.ascii_letters for c in term):
            raise RelationError(f'"{term}" does not fit an operand of rank {rank}')
        labels.append(term)
    if not arrow:
        joined = "".join(labels)
        result = ellipsis + "".join(sorted(c for c in set(joined) if joined.count(c) == 1 and c not in ellipsis))
        return labels, result
    result = right.replace("...", ellipsis)
    for c in result:
        if result.count(c) > 1 or not any(c in term for term in labels):
            raise RelationError(f'the label {c} of the result of "{equation}" is repeated or unknown')
    return labels, result


@operator("einsum", "data", pattern=Pattern.INJECTIVE, attrs="EinsumAttrs", level=11)
@dataclass(frozen=True)
class Einsum(Operator):
    """Products of the operands' elements, summed over every label of `equation` that is not in the result's."""

    equation: str

    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """Operands of one dtype whose extents agree wherever they share a letter; the result's letters give its shape."""
        operands = tensor_fields(types[0], "data")
        if operands is None:
            return None
        if not operands:
            raise RelationError("einsum needs at least one operand")
        dtypes = sorted({t.dtype for t in operands})
        if len(dtypes) > 1:
            raise RelationError(f"the operands must have one data type, not {' and '.join(dtypes)}")
        labels, result = parse_equation(self.equation, [len(t.shape) for t in operands])
        extents = _extents(labels, [t.shape for t in operands])
        return TensorType(tuple(extents[c] for c in result), operands[0].dtype)

    def evaluate(self, data: Sequence[np.ndarray]) -> np.ndarray:
        labels, result = parse_equation(self.equation, [x.ndim for x in data])
        wide = [x.astype("float32") if is_half(x.dtype) else x for x in data]
        return np.asarray(np.einsum(",".join(labels) + "->" + result, *wide)).astype(data[0].dtype)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        labels, result = parse_equation(self.equation, [x.ndim for x in inputs])
        extents = _extents(labels, [x.shape for x in inputs])
        over = {c: te.reduce_axis(d, name=c) for c, d in extents.items() if c not in result}

        def element(*i: Any) -> Any:
            place = {**dict(zip(result, i, strict=True)), **over}
            total: Any = None
            for x, term in zip(inputs, labels, strict=True):
                factor = x[tuple(0 if d == 1 else place[c] for c, d in zip(term, x.shape, strict=True))]
                total = factor if total is None else total * factor
            return te.sum(total, axis=list(over.values())) if over else total

        return te.compute(out_type.shape, element, name="T_einsum", tag="einsum")


def _extents(labels: Sequence[str], shapes: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """The extent of each label; an extent of 1 gives way to another."""
    extents: dict[str, Any] = {}
    for term, shape in zip(labels, shapes, strict=True):
        for c, d in zip(term, shape, strict=True):
            if not isinstance(d, int):
                raise RelationError(f"the label {c} stands for {d}: einsum needs known extents")
            known = extents.setdefault(c, d)
            if known == 1:
                extents[c] = d
            elif d not in (1, known):
                raise RelationError(f"the label {c} stands for {known} and for {d}")
    return extents
