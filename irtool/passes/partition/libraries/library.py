"""The definition of a library, and conditions that several libraries share."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ....ir import Call, Expr, TensorType, TupleGetItem, children
from ....ops.base import operator_name
from ....ops.layout import Layout
from ...dataflow import DFPattern, is_constant, is_op

Check = Callable[[Call], bool]
"""Says of a call, whose arguments are typed, whether the library takes it."""

Composite = tuple[str, DFPattern, Callable[[Any], bool]]
"""The name of a composite function, its pattern, and whether the node that it matched is wanted."""


@dataclass(frozen=True)
class Library:
    """The patterns and operators that a library takes over.

    Attributes:
        name: the name of the target, and of the table of patterns.
        composites: makes the composite functions, in the order in which they are tried.
        operators: the operators that it takes by themselves, each with its condition.
        optimize: the pipeline for functions made for the library.
    """

    name: str
    composites: Callable[[], Sequence[Composite]]
    operators: Mapping[str, Check] = field(default_factory=dict)
    optimize: str = ""


def biased(y: DFPattern) -> DFPattern:
    """`y` with a constant bias behind it."""
    return is_op("nn.bias_add")(y, is_constant())


def always(e: Expr) -> bool:
    """No condition."""
    return True


def tensor(e: Expr) -> TensorType:
    """The type of a tensor."""
    t = e.checked_type
    assert isinstance(t, TensorType)
    return t


def first_call(e: Expr, *names: str) -> Call | None:
    """The first call of one of these operators, from `e` along first arguments, or None."""
    while True:
        if isinstance(e, TupleGetItem):
            e = e.tuple
        elif not isinstance(e, Call) or operator_name(e) in names:
            return e if isinstance(e, Call) else None
        elif not e.args:
            return None
        else:
            e = e.args[0]


def find_call(e: Expr, *names: str) -> Call:
    """The nearest such call, in an expression of which a pattern requires one.

    A pattern of an operator that commutes matches its operands the other way round, too.
    """
    call = first_call(e, *names)
    if call is None:
        call = next(c for c in _by_distance(e) if operator_name(c) in names)
    return call


def _by_distance(e: Expr) -> Iterator[Call]:
    """The calls that `e` is made of, those that are fewer calls away first."""
    waiting, seen = deque([e]), {e}
    while waiting:
        e = waiting.popleft()
        if isinstance(e, Call):
            yield e
        following = [k for k in dict.fromkeys(children(e)) if k not in seen]
        seen.update(following)
        waiting.extend(following)


def is_depthwise(conv: Call) -> bool:
    """True if a convolution has one output channel for each input channel, and a group for each."""
    data, weight, attrs = tensor(conv.args[0]), tensor(conv.args[1]), conv.attrs
    channels = _extent(data, attrs.data_layout, "C")
    return channels == _extent(weight, attrs.kernel_layout, "O") == attrs.groups


def _extent(t: TensorType, layout: str, letter: str) -> Any:
    """The extent of an axis, its blocks taken together."""
    product: Any = 1
    for axis, extent in zip(Layout.parse(layout).axes, t.shape, strict=True):
        if axis.primal == letter:
            product = product * extent
    return product
