"""Deductions between partly known shapes and dtypes of arguments and results, forwards and backwards.

Partial inference asks operators for it (`Operator.deduce_shapes`, `Operator.deduce_dtypes`). A shape is None if even the
rank is unknown, else a tuple with None for each dimension that is; a list stands for a tuple of tensors. The dtype of a
tensor is None if it is unknown. `?` counts as unknown: nothing is concluded from it.

All functions here conclude only what must hold in every program that the type rules accept. They return what they were
given with more filled in; RelationError where two things that are known contradict each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from ..ir.dims import Dim, plain
from .errors import RelationError

Shape: TypeAlias = "tuple[Dim | None, ...] | None"
"""Dimensions that are known, and None for those that are not; None if the rank is not."""

Known: TypeAlias = "Shape | list[Any]"
"""The shape of a tensor, or the list of those of a tuple's fields."""

Facts: TypeAlias = "tuple[list[Any], Any]"
"""What is known of the arguments and of the result."""


def show_known(shape: Known) -> str:
    """`(1, _, 3)`; `_` for an unknown extent."""
    if shape is None:
        return "_"
    if isinstance(shape, list):
        return f"({', '.join(map(show_known, shape))})"
    return f"({', '.join('_' if d is None else str(d) for d in shape)})"


def show_dtype(dtype: Any) -> str:
    """A dtype, `_` where it is unknown; `(float32, _)` of a tuple."""
    if isinstance(dtype, list):
        return f"({', '.join(map(show_dtype, dtype))})"
    return dtype or "_"


def is_settled(shape: Known) -> bool:
    """True if every dimension is known."""
    return isinstance(shape, tuple) and None not in shape


def meet_dims(a: Dim | None, b: Dim | None, what: str = "a dimension") -> Dim | None:
    """The dimension that is both; RelationError where two numbers differ."""
    if a is None or b is None:
        return b if a is None else a
    if isinstance(a, int) and isinstance(b, int) and a != b:
        raise RelationError(f"{what} is {a} and {b}")
    return a if isinstance(a, int) else b


def meet(*shapes: Shape) -> Shape:
    """The shape that is all of them; RelationError where they contradict each other."""
    result: Shape = None
    for shape in shapes:
        if shape is None or isinstance(shape, list):
            continue
        if result is None:
            result = shape
        elif len(result) != len(shape):
            raise RelationError(f"the shapes {show_known(result)} and {show_known(shape)} differ in rank")
        else:
            what = f"the shapes {show_known(result)} and {show_known(shape)} differ: axis"
            result = tuple(meet_dims(a, b, f"{what} {i}") for i, (a, b) in enumerate(zip(result, shape, strict=True)))
    return result


def tie_shapes(args: Sequence[Known], out: Known, names: Sequence[str], tied: Iterable[str]) -> Facts:
    """The arguments of these names (and "result") have one shape."""
    known_shapes = list(args)
    tied_indices = [i for i, n in enumerate(names[: len(known_shapes)]) if n in tied]
    shapes = [known_shapes[i] for i in tied_indices] + ([out] if "result" in tied else [])
    one = meet(*[s for s in shapes if not isinstance(s, list)])
    for i in tied_indices:
        known_shapes[i] = one if not isinstance(known_shapes[i], list) else known_shapes[i]
    return known_shapes, one if "result" in tied and not isinstance(out, list) else out


def tie_dtypes(args: Sequence[Any], out: Any, names: Sequence[str], tied: Iterable[str]) -> Facts:
    """The arguments of these names (and "result") hold one dtype, in every field where they are tuples."""
    dtypes = list(args)
    # One name stands for all arguments that follow, where their number is not fixed.
    tied_indices = [i for i in range(len(dtypes)) if names and names[min(i, len(names) - 1)] in tied]
    leaves = [d for i in tied_indices for d in dtype_leaves(dtypes[i])] + (
        dtype_leaves(out) if "result" in tied else []
    )
    known = list(dict.fromkeys(d for d in leaves if d is not None))
    if len(known) > 1:
        raise RelationError(f"the data types {known[0]} and {known[1]} differ")
    if not known:
        return dtypes, out
    for i in tied_indices:
        dtypes[i] = _all_of(dtypes[i], known[0])
    return dtypes, _all_of(out, known[0]) if "result" in tied else out


def dtype_leaves(dtype: Any) -> list[str | None]:
    """The dtypes in a nest of lists, in order."""
    result: list[str | None] = []
    stack = [dtype]
    while stack:
        d = stack.pop()
        if isinstance(d, list):
            stack.extend(reversed(d))
        else:
            result.append(d)
    return result


def _all_of(dtype: Any, known: str) -> Any:
    return [_all_of(d, known) for d in dtype] if isinstance(dtype, list) else known


def broadcast_known(args: Sequence[Known], out: Known) -> Facts:
    """Shapes that broadcast to the result's.

    Axes are counted from the back. The result has the largest rank; an axis of it has the number that an argument has
    there which is not 1. Backwards: where it is 1 all are, and where all arguments but one have 1 the last has its number.
    """
    if any(isinstance(s, list) for s in (*args, out)):
        return list(args), out
    shapes: list[Any] = list(args)
    ranks = [None if s is None else len(s) for s in shapes]
    if out is None and None not in ranks:
        out = (None,) * max(r for r in ranks if r is not None)
    if out is None:
        return shapes, out
    rank = len(out)
    if any(r is not None and r > rank for r in ranks):
        raise RelationError(f"{show_known(out)} has a smaller rank than the tensor that is broadcast to it")
    open_ = [i for i, r in enumerate(ranks) if r is None]
    if rank == 0:
        shapes = [()] * len(shapes)
    elif len(open_) == 1 and all(r < rank for r in ranks if r is not None):
        shapes[open_[0]] = (None,) * rank
    result = list(out)
    rows = [None if s is None else list(s) for s in shapes]
    for back in range(1, rank + 1):
        column = [None if r is None else 1 if len(r) < back else r[-back] for r in rows]
        wide = [d for d in column if isinstance(d, int) and d != 1]
        if wide:
            result[-back] = meet_dims(result[-back], wide[0], f"axis {rank - back} of the result")
        elif all(isinstance(d, int) for d in column):
            result[-back] = meet_dims(result[-back], 1, f"axis {rank - back} of the result")
        o = result[-back]
        unknown = [i for i, d in enumerate(column) if d is None]
        others_are_one = all(d == 1 for d in column if d is not None)
        for i in unknown:
            row = rows[i]
            if row is not None and len(row) >= back and (o == 1 or (len(unknown) == 1 and others_are_one)):
                row[-back] = o
    return [None if r is None else tuple(r) for r in rows], tuple(result)


def product_of(shape: Sequence[Dim | None]) -> int | None:
    """The number of elements, None if a dimension is no known number."""
    numbers = [plain(d) for d in shape if isinstance(d, int)]
    return math.prod(numbers) if len(numbers) == len(shape) else None


def fill_one(shape: Sequence[Dim | None], total: int | None) -> tuple[Dim | None, ...]:
    """The shape with its only unknown dimension such that it has `total` elements; as it was where that decides nothing."""
    unknown = [i for i, d in enumerate(shape) if d is None]
    others = product_of([d for d in shape if d is not None])
    if total is None or len(unknown) != 1 or not others:
        return tuple(shape)
    if total % others:
        raise RelationError(f"{total} elements do not fill {show_known(tuple(shape))}")
    return tuple(total // others if d is None else d for d in shape)


def window_input(out: Dim | None, kernel: Dim | None, stride: Dim, pads: tuple[Dim, Dim]) -> int | None:
    """The extent on which a window of extent `kernel` (dilated) has `out` positions; unique only for a stride of 1."""
    before, after = pads
    if stride != 1 or not isinstance(out, int) or not isinstance(kernel, int):
        return None
    if not isinstance(before, int) or not isinstance(after, int):
        return None
    result = plain(out) - 1 + kernel - before - after
    if result < 0:
        raise RelationError(f"no extent has {out} positions of a window of {kernel} with padding {list(pads)}")
    return result


def permuted(shape: Shape, source: str, target: str) -> Shape:
    """A shape stored in the layout `source`, in `target`; None unless one is a permutation of the other, axis by axis."""
    if shape is None or sorted(source) != sorted(target) or len(shape) != len(source):
        return None
    return tuple(shape[source.index(axis)] for axis in target)
