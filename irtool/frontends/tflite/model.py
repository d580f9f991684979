"""A model of TensorFlow Lite as plain data, each operator with its place in a listing of the model.

The files have no lines. Messages, and the spans of expressions, point into a listing instead: one line for each operator, in order,
under the file's name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...diagnostics import Source, Span

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Quantization:
    """The scales and zero points of a tensor: `real = scale * (integer - zero_point)`.

    Attributes:
        scales: float32, one, or one for each element of `axis`.
        zeros: int64, as many.
        axis: the axis along which they differ.
    """

    scales: np.ndarray
    zeros: np.ndarray
    axis: int

    @property
    def is_scalar(self) -> bool:
        """True for one scale and one zero point."""
        return len(self.scales) == 1

    def __eq__(self, other: object) -> bool:
        """True for the same numbers."""
        if not isinstance(other, Quantization):
            return False
        return self.scales.tolist() == other.scales.tolist() and self.zeros.tolist() == other.zeros.tolist()

    def __hash__(self) -> int:
        return hash((self.scales.tobytes(), self.zeros.tobytes()))


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor of a subgraph.

    Attributes:
        dtype: the name of the element type: Relay's, or `string`, `resource`, `complex64`, `int4`.
        shape: the extents in the file, those that are open as 1.
        open_axes: the axes whose extents the file leaves open.
        data: the bytes of a constant.
        sparsity: how the elements of a sparse constant are stored.
    """

    index: int
    name: str
    dtype: str
    shape: tuple[int, ...]
    open_axes: tuple[int, ...] = ()
    data: memoryview | None = None
    quantization: Quantization | None = None
    is_variable: bool = False
    sparsity: Any = None


@dataclass(frozen=True, eq=False)
class Operator:
    """One operator: numbers of tensors, -1 for inputs that are left out.

    Attributes:
        op_type: the name, as `CONV_2D`; of custom operators `CUSTOM:` and theirs.
        options: the attributes that the file sets to other values than the schema's defaults, and `defaults` all.
    """

    op_type: str
    version: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    intermediates: tuple[int, ...]
    options: Mapping[str, Any]
    defaults: Mapping[str, Any]
    place: Span | None = None


@dataclass(frozen=True, eq=False)
class Subgraph:
    """Tensors, and operators in the order in which they run."""

    name: str
    tensors: Sequence[Tensor]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    operators: Sequence[Operator]


@dataclass(frozen=True, eq=False)
class Model:
    """A model. `name` is that of the file in messages."""

    name: str
    subgraphs: Sequence[Subgraph]
    listing: Source
