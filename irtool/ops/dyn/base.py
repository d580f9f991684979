"""Dynamic operators: arguments take the place of some attributes of the static operator of the same meaning.

Such an operator knows how to `freeze`: given the values of these arguments, it makes the static operator. Its reference
freezes and evaluates that; the pass that makes programs static does the same with constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ...deferred import np
from ...diagnostics import IrError
from ...ir import TensorType, TupleType, Type
from ...ir.dims import ANY, is_number
from ...symbolic_int import SymbolicInt
from ..base import Operator, RelationError, operators
from ..known import Known
from ..shapes import require_few_axes, tensor


class Dynamic(Operator):
    """Base of the operators in `dyn.*`.

    Class attributes:
        static: name of the static operator.
        moving: the arguments that become attributes, by index.
    """

    static: ClassVar[str]
    moving: ClassVar[tuple[int, ...]] = (1,)

    def attributes(self, *values: Any) -> dict[str, Any]:
        """Attributes of the static operator where the moving arguments have these values (numpy arrays)."""
        raise NotImplementedError(f"{self.name} does not say how it freezes")

    def freeze(self, *values: Any) -> Operator:
        """The static operator where the moving arguments have these values."""
        return operators.get(self.static).make(self.attributes(*values))

    def evaluate(self, *args: Any) -> Any:
        frozen = self.freeze(*[args[i] for i in self.moving])
        rest = [a for i, a in enumerate(args) if i not in self.moving]
        try:
            frozen.relate(list(map(_type_of, rest)), Known())  # which refuses operators without a reference
            return frozen.evaluate(*rest)
        except RelationError as error:
            raise IrError(f"{self.name}: {error}") from None


def _type_of(value: Any) -> Type:
    if isinstance(value, tuple | list):
        return TupleType(tuple(map(_type_of, value)))
    return TensorType(tuple(value.shape), value.dtype.name)


def ints(value: Any) -> tuple[int, ...]:
    """The elements of a numpy array of integers, flattened; lengths of the run, in an array of objects, as they are."""
    return tuple(map(whole, value.reshape(-1)))


def whole(value: Any) -> int:
    """A number as an int; a length of the run as it is."""
    return value if isinstance(value, SymbolicInt) else int(value)


def number(value: Any) -> Any:
    """The one element of a numpy array."""
    element = value.reshape(-1)[0]
    return element.item() if isinstance(element, np.generic) else element


def static_length(type: Type, what: str) -> int | None:
    """The length of a vector that holds a shape; None while its type is unknown, RelationError where it is no number."""
    vector = tensor(type, what)
    if vector is None:
        return None
    if len(vector.shape) != 1 or not is_number(vector.shape[0]):
        raise RelationError(
            f"{what} must be a vector of known length, not {vector}: the rank of the result depends on it"
        )
    require_few_axes(vector.shape[0], f"the length of {what}")
    return int(vector.shape[0])


def unknown_shape(rank: int, dtype: str) -> TensorType:
    """A tensor type of that rank with every dimension open."""
    return TensorType((ANY,) * rank, dtype)


def all_known(types: Sequence[Type], names: Sequence[str]) -> list[TensorType] | None:
    """The tensor types of all arguments, None while one is unknown."""
    tensors = [tensor(t, n) for t, n in zip(types, names, strict=False)]
    known = [t for t in tensors if t is not None]
    return known if len(known) == len(tensors) else None
