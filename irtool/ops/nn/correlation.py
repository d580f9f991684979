"""Correlation of two feature maps, as optical-flow networks use it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ... import te
from ...deferred import np
from ...ir import TensorType, Type
from ...ir.dims import Dim
from ...tir.dtypes import accumulator_dtype
from ..base import Operator, Pattern, RelationError, Reporter, operator
from ..relations import require_dtype, show_shape
from ..shapes import add, ceildiv, require_floats, require_rank, sub, tensor
from .convolve import pad_spatial
from .geometry import pad_amounts
from .precision import narrow, widen
from .window_expression import pad_axes


@operator("nn.correlation", "data1", "data2", pattern=Pattern.OUT_ELEMWISE_FUSABLE, attrs="CorrelationAttrs", level=2)
@dataclass(frozen=True)
class Correlation(Operator):
    """Mean over channels and a window of products (or absolute differences) of `data1` and `data2`, the latter displaced.

    A channel of the result stands for one displacement of up to `max_displacement` in steps of `stride2`; positions are
    `stride1` apart. Dosovitskiy et al., 2015.
    """

    no_gradient = "a sum for each displacement; written out as products, it has one"

    kernel_size: int = 1
    max_displacement: int = 1
    stride1: int = 1
    stride2: int = 1
    padding: tuple[int, ...] = (0, 0)
    is_multiply: bool = True
    layout: str = "NCHW"

    one_dtype = ("data1", "result")

    @property
    def border(self) -> int:
        """Rows and columns at the edge at which no window is centred."""
        return self.max_displacement + (self.kernel_size - 1) // 2

    @property
    def displacements(self) -> int:
        """Number of displacements along one axis."""
        return 2 * (self.max_displacement // self.stride2) + 1

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """The first map's dtype and batch, a channel for each displacement, and the numbers of positions."""
        a, b = tensor(types[0], "the first map"), tensor(types[1], "the second map")
        if a is None or b is None:
            return None
        if self.layout != "NCHW":
            raise RelationError(f"layout must be NCHW, not {self.layout}")
        require_rank(a, 4, "the first map")
        require_rank(b, 4, "the second map")
        for name, value, least in (
            ("kernel_size", self.kernel_size, 1),
            ("max_displacement", self.max_displacement, 0),
            ("stride1", self.stride1, 1),
            ("stride2", self.stride2, 1),
        ):
            if value < least:
                raise RelationError(f"{name} must be at least {least}, not {value}")
        require_floats(a, "the first map")
        require_dtype(a, b)
        pads = pad_amounts(self.padding, 2)
        spatial: list[Dim] = [
            ceildiv(sub(add(size, add(*pad)), 2 * self.border), self.stride1)
            for size, pad in zip((a.shape[2], b.shape[3]), pads, strict=True)
        ]
        if any(isinstance(d, int) and d < 0 for d in spatial):
            raise RelationError(f"maps of {a} are too small for a displacement of {self.max_displacement}")
        return TensorType((a.shape[0], self.displacements**2, *spatial), a.dtype)

    def require_meaning(self, a: Sequence[int], b: Sequence[int]) -> None:
        """RelationError where the maps differ in shape, or windows have no centre; TVM's type rule does not look."""
        if self.kernel_size % 2 == 0:
            raise RelationError(f"kernel_size must be odd, not {self.kernel_size}: a window has a centre")
        if tuple(a) != tuple(b):
            raise RelationError(f"both maps must have one shape: {show_shape(a)} and {show_shape(b)}")

    def evaluate(self, data1: np.ndarray, data2: np.ndarray) -> np.ndarray:
        self.require_meaning(data1.shape, data2.shape)
        pads: Any = pad_amounts(self.padding, 2)
        a, b = pad_spatial(widen(data1), pads), pad_spatial(widen(data2), pads)
        height, width = (-(-(n - 2 * self.border) // self.stride1) for n in a.shape[2:])
        radius = self.max_displacement // self.stride2
        out = np.zeros((a.shape[0], self.displacements**2, height, width), a.dtype)

        def seen(x: np.ndarray, row: int, column: int) -> np.ndarray:
            rows = slice(row, row + (height - 1) * self.stride1 + 1, self.stride1)
            return x[:, :, rows, column : column + (width - 1) * self.stride1 + 1 : self.stride1]

        for q in range(self.displacements**2):
            down = (q // self.displacements - radius) * self.stride2
            across = (q % self.displacements - radius) * self.stride2
            for ky in range(self.kernel_size):
                for kx in range(self.kernel_size):
                    row, column = self.max_displacement + ky, self.max_displacement + kx
                    x, y = seen(a, row, column), seen(b, row + down, column + across)
                    out[:, q] += (x * y if self.is_multiply else np.abs(x - y)).sum(axis=1)
        return narrow(out / out.dtype.type(self.kernel_size**2 * a.shape[1]), data1.dtype)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        self.require_meaning(*(x.shape for x in inputs))
        pads: Any = pad_amounts(self.padding, 2)
        a, b = (pad_axes(x, (2, 3), pads) for x in inputs)
        wide = accumulator_dtype(a.dtype)
        channels = a.shape[1]
        rc = te.reduce_axis(channels, name="rc")
        ky, kx = te.reduce_axis(self.kernel_size, name="ky"), te.reduce_axis(self.kernel_size, name="kx")
        radius = self.max_displacement // self.stride2

        def element(n: Any, q: Any, i: Any, j: Any) -> Any:
            y, x = i * self.stride1 + self.max_displacement + ky, j * self.stride1 + self.max_displacement + kx
            down = (te.floordiv(q, self.displacements) - radius) * self.stride2
            across = (te.floormod(q, self.displacements) - radius) * self.stride2
            left, right = te.cast(a[n, rc, y, x], wide), te.cast(b[n, rc, y + down, x + across], wide)
            return te.sum(left * right if self.is_multiply else te.abs(left - right), axis=[rc, ky, kx])

        total = te.compute(out_type.shape, element, name="correlation", tag="correlation")
        count = te.const(self.kernel_size**2 * channels, wide)
        return te.compute(
            out_type.shape, lambda *i: te.cast(total[i] / count, out_type.dtype), name="mean", tag="elemwise"
        )
