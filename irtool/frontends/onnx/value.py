"""Values of an ONNX graph while it becomes Relay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...deferred import np
from ...diagnostics import IrError
from ...infer.infer import infer_expr
from ...ir import Constant, Dim, Expr, MissingData, TensorType, Tuple, TupleGetItem, TupleType, Type, Var
from ...ir.attributes import formulas
from ...ir.conversion import as_bfloat16_bits
from ...ops.base import call
from ...passes.core.constants import array_constant
from ...symbolic_int import SymbolicInt
from .elements import Narrow
from .lengths import extents_in
from .mistakes import DamagedModel, UnknownExtent, UnsupportedNode


def output_values(result: Expr | Value | Sequence[Expr | Value | None]) -> list[Any]:
    """The values of outputs, in order: the one, those of a tuple's fields, or all of a sequence; None for one without a conversion."""
    if isinstance(result, Expr):
        result = Value.of(result)
    if isinstance(result, Value):
        t = result.type
        if isinstance(t, TupleType):
            result = [TupleGetItem(result.expr, i) for i in range(len(t.fields))]
        else:
            result = [result]
    return [Value.of(r) if isinstance(r, Expr) else r for r in result]


def parameter_array(v: Var, array: np.ndarray) -> np.ndarray:
    """The value of a parameter; bits of bfloat16 are marked as such."""
    t = v.type_annotation
    return as_bfloat16_bits(array) if isinstance(t, TensorType) and t.dtype == "bfloat16" else array


@dataclass(frozen=True, eq=False)
class Value:
    """A value of the graph: a typed expression.

    Attributes:
        expr: the expression; it has a `checked_type`.
        known: its elements where they are known while importing: those of constants, of initializers, and of what was
            computed from these. bfloat16 as its bits.
        parameter: True for an initializer that is a parameter of `@main`: its elements are known, and may be others
            when the program runs, so only what decides shapes may look at them.
        settled: True where it is computed from constants and initializers alone, so that a build knows it.
        narrow: the type of the elements in ONNX, where Relay does not have it and holds them in a wider one.
        items: of a sequence, its tensors; the expression is then the tuple of them.
    """

    expr: Expr
    known: np.ndarray | None = None
    parameter: bool = False
    samples: tuple[np.ndarray, ...] | None = None
    """Its elements for some choices of the extents that are not known: see `partial`."""
    narrow: Narrow | None = None
    settled: bool = False
    items: tuple[Value, ...] | None = None
    lengths: np.ndarray | None = None
    """Its elements where they follow from lengths that only the run knows, an array of objects: see `lengths`."""
    doubt: str = ""
    """The comparison of lengths on which its elements depend, where that has no certain outcome."""
    weights: Any = None
    """Of a parameter, the table of all parameters that are weights: see `packed_weights`."""
    guessed: bool = False
    """True where the rank is a guess, since extents that are open decide it: see `waiting`."""

    @staticmethod
    def sequence(items: Sequence[Value]) -> Value:
        """The sequence of these tensors."""
        return replace(Value.of(Tuple(tuple(i.expr for i in items))), items=tuple(items))

    @staticmethod
    def of(expr: Expr) -> Value:
        """The value of an expression, whose type is inferred if it has none."""
        expr = expr if expr.checked_type is not None else infer_expr(expr)
        data = expr.data if isinstance(expr, Constant) else None
        return Value(expr, None if isinstance(data, MissingData) else data)

    @staticmethod
    def constant(array: Any, dtype: str | None = None) -> Value:
        """A constant of these elements. Raises IrError for lengths that only the run knows."""
        if isinstance(array, SymbolicInt | list | tuple) and formulas(array):
            raise IrError("a number is needed in place of a length that only the run knows", code=UnknownExtent)
        array = np.asarray(array)
        if dtype == "bfloat16" and array.dtype == np.uint16:
            return Value.of(Constant(array, dtype))
        return Value.of(array_constant(array, dtype or str(array.dtype)))

    @property
    def type(self) -> Type:
        """The type of the expression."""
        assert self.expr.checked_type is not None
        return self.expr.checked_type

    @property
    def tensor(self) -> TensorType:
        """The type of a tensor. Raises IrError for a sequence."""
        t = self.type
        self.require_tensor()
        if not isinstance(t, TensorType):
            raise IrError(f"a tensor is expected, not {t}", code=UnsupportedNode)
        return t

    def require_tensor(self) -> None:
        """Raises IrError for a sequence."""
        if self.items is not None:
            raise IrError(f"a tensor is expected, not a sequence of {len(self.items)} tensors", code=DamagedModel)

    @property
    def dtype(self) -> str:
        """The type of the elements."""
        return self.tensor.dtype

    @property
    def shape(self) -> tuple[Dim, ...]:
        """The extents; unknown ones are no integers."""
        return self.tensor.shape

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.tensor.shape)

    @property
    def is_weight(self) -> bool:
        """True if a build knows the elements: those of constants, initializers, and results computed from these."""
        return self.known is not None or self.settled

    def require_rank(self, rank: int, what: str, or_more: bool = False) -> None:
        """Raises IrError, naming the tensor by `what`, unless it has so many axes (`or_more`: or more)."""
        if self.rank != rank and not (or_more and self.rank > rank):
            least = "at least " if or_more else ""
            raise IrError(f"{what} has the type {self.tensor}: its rank must be {least}{rank}", code=DamagedModel)

    def extents(self, what: str, rank: int | None = None, least: int = 0) -> tuple[int, ...]:
        """The extents as integers. Raises IrError, naming the tensor by `what`, if one is unknown, or if there are not
        `rank` of them, or not the `least` number.
        """
        self.require_rank(least if rank is None else rank, what, or_more=rank is None)
        if not all(isinstance(d, int) for d in self.shape):
            raise IrError(f"{what} has the type {self.tensor}: its extents must be known", code=UnknownExtent)
        return self.shape  # type: ignore[return-value]  # all of them are integers

    def extent(self, axis: int, what: str) -> int:
        """The extent along one axis. Raises IrError, naming the tensor by `what`, if it is unknown."""
        d = self.shape[self.axis(axis, f"the axis of {what}")]
        if not isinstance(d, int):
            raise IrError(
                f"{what} has the type {self.tensor}: the extent of axis {axis} must be known", code=UnknownExtent
            )
        return d

    def is_determined(self, what: str) -> bool:
        """True if its elements are numbers, or formulas of lengths that only the run knows.

        Raises IrError, naming the input by `what`, if they depend on a comparison of lengths without a certain outcome.
        """
        if self.doubt:
            raise IrError(
                f"{what} depends on {self.doubt}, which holds for some lengths only",
                help="bound the length so that the comparison has one outcome",
                code=UnknownExtent,
            )
        return self.known is not None or self.lengths is not None

    def array(self, what: str) -> np.ndarray:
        """The elements. Raises IrError, naming the input by `what`, if they are not known."""
        if self.lengths is not None:
            raise IrError(
                f"{what} depends on a length that only the run knows: it must be known before", code=UnknownExtent
            )
        if self.known is None:
            raise IrError(f"{what} is computed while the program runs: it must be known before", code=UnknownExtent)
        return self.known

    def ints(self, what: str) -> tuple[int, ...]:
        """The elements of a vector of integers, or of a scalar; those that follow from lengths are formulas.

        Raises IrError if they are not known, or no integers.
        """
        if self.lengths is not None and self.lengths.ndim <= 1:
            return tuple(extents_in(self.lengths))
        array = self.array(what)
        if array.dtype.kind not in "iu" or array.ndim > 1:
            raise IrError(f"{what} is a tensor of {array.dtype} of rank {array.ndim}, not a list of integers")
        return tuple(int(x) for x in array.ravel())

    def number(self, what: str) -> int:
        """The one element, an integer or a formula of lengths. Raises IrError if it is not known, or there are others."""
        if self.lengths is not None and self.lengths.size == 1:
            return extents_in(self.lengths)[0]
        array = self.array(what)
        if array.dtype.kind not in "iu" or array.size != 1:
            raise IrError(
                f"{what} is a tensor of {array.dtype} of {array.size} elements, not one integer", code=DamagedModel
            )
        return int(array.reshape(()))

    def axis(self, axis: int, what: str = "axis", rank: int | None = None) -> int:
        """An axis counted from the front. Raises IrError if the tensor, or one of `rank` axes, does not have it."""
        rank = self.rank if rank is None else rank
        if not -rank <= axis < rank:
            raise IrError(f"{what} is {axis}, and the tensor has {rank} axes")
        return axis % rank

    def axes(self, axes: Sequence[int], what: str = "axes", rank: int | None = None) -> tuple[int, ...]:
        """Axes counted from the front. Raises IrError if the tensor, or one of `rank` axes, lacks one, or one comes twice."""
        counted = tuple(self.axis(a, what, rank) for a in axes)
        if len(set(counted)) < len(counted):
            raise IrError(f"{what} {list(axes)} name one axis twice", code=DamagedModel)
        return counted

    def as_constant(self) -> Value:
        """The value with its elements in the text, where they are known; else itself."""
        if self.known is None or isinstance(self.expr, Constant):
            return self
        return replace(Value.constant(self.known, self.dtype), narrow=self.narrow)

    def call(self, name: str, *args: Expr | Value, **attributes: Any) -> Value:
        """The call of an operator on this value and others."""
        return apply(name, self, *args, **attributes)


def apply(name: str, *args: Expr | Value, **attributes: Any) -> Value:
    """The call of an operator of Relay, typed. Raises IrError if the operator refuses its arguments, or where an attribute is
    an integer of more than 64 bits, as sums of extreme numbers of a model can be.
    """
    for key, value in attributes.items():
        for n in _integers(value):
            if not -(1 << 63) <= n < 1 << 63:
                raise IrError(f"{key} of {name} would be {n}, which has more than 64 bits", code=DamagedModel)
    for a in args:
        if isinstance(a, Value):
            a.require_tensor()
    return Value.of(call(name, *(a.expr if isinstance(a, Value) else a for a in args), **attributes))


def _integers(value: Any) -> Iterator[int]:
    """The integers in an attribute, those of lists and of lists in lists among them."""
    stack = [value]
    while stack:
        v = stack.pop()
        if isinstance(v, int):
            yield v
        elif isinstance(v, list | tuple):
            stack.extend(v)
