"""Tensors, and the operations that make them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..tir.builder import Builder
from ..tir.expr import Axis as Axis
from ..tir.expr import Expr, Load, as_expr
from ..tir.stmt import Buffer

UNPACKED = "unpacked"
"""The tag of elements that are computed where they are read, however often that is: a stored tensor would have several times their bytes."""


class Operation:
    """A computation of one tensor or several. `outputs` are its tensors; `inputs` the tensors it reads, in order of first use."""

    __slots__ = ("attrs", "inputs", "name", "outputs", "tag")

    def __init__(self, name: str, tag: str, attrs: Mapping[str, Any] | None, inputs: Sequence[Tensor]) -> None:
        self.name = name
        self.tag = tag
        self.attrs = dict(attrs or {})
        self.inputs = tuple(inputs)
        self.outputs: tuple[Tensor, ...] = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"


class Placeholder(Operation):
    """A tensor handed in."""

    __slots__ = ()


class Compute(Operation):
    """Each element by a formula: `outputs[k][axes] = bodies[k]`.

    Either no body is a reduction, or all are `Reduce` nodes of the same reduction (`reduce_axes` not empty).
    """

    __slots__ = ("axes", "bodies", "reduce_axes")

    def __init__(
        self,
        name: str,
        tag: str,
        attrs: Mapping[str, Any] | None,
        inputs: Sequence[Tensor],
        axes: Sequence[Axis],
        reduce_axes: Sequence[Axis],
        bodies: Sequence[Expr],
    ) -> None:
        super().__init__(name, tag, attrs, inputs)
        self.axes = tuple(axes)
        self.reduce_axes = tuple(reduce_axes)
        self.bodies = tuple(bodies)


class Extern(Operation):
    """Tensors filled by a loop nest written out: `build(builder, input buffers, output buffers)`."""

    __slots__ = ("build",)

    def __init__(
        self,
        name: str,
        tag: str,
        attrs: Mapping[str, Any] | None,
        inputs: Sequence[Tensor],
        build: Callable[[Builder, list[Buffer], list[Buffer]], None],
    ) -> None:
        super().__init__(name, tag, attrs, inputs)
        self.build = build


class Tensor:
    """A tensor of static `shape` (a tuple of ints) and `dtype`; output number `index` of `op`.

    `x[i, j]` and `x(i, j)` are elements; the number of indices must be the rank.
    """

    __slots__ = ("dtype", "index", "name", "op", "shape")

    def __init__(self, op: Operation, index: int, shape: Sequence[int], dtype: str, name: str) -> None:
        self.op = op
        self.index = index
        self.shape = tuple(shape)
        self.dtype = dtype
        self.name = name

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        n = 1
        for d in self.shape:
            n *= d
        return n

    def __getitem__(self, indices: Any) -> Load:
        if not isinstance(indices, tuple | list):
            indices = (indices,)
        if len(indices) != len(self.shape):
            raise TypeError(f"{self.name} has {self.ndim} axes, {len(indices)} indices were given")
        return Load(self, tuple(as_expr(i) for i in indices))

    def __call__(self, *indices: Any) -> Load:
        return self[indices]

    def __iter__(self) -> Any:
        raise TypeError("a tensor cannot be iterated over")

    def element(self) -> Load:
        """The one element of a tensor of rank 0."""
        return self[()]

    def __repr__(self) -> str:
        return f"Tensor({self.name}, {list(self.shape)}, {self.dtype})"
