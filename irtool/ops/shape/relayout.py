"""Operators that store the same tensor in another layout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ... import te
from ...deferred import np
from ...ir import TensorType, Type
from ..base import Operator, Pattern, RelationError, Reporter, operator
from ..layout import Layout, convert, convert_shape, source_indices
from ..shapes import product, require_compatible, tensor


def relayout(data: Any, source: Layout | str, target: Layout | str, shape: Sequence[Any]) -> Any:
    """The tensor expression of `data` in another layout, with this shape; blocks are filled up with zeros."""
    padded = convert_shape(shape, target, source) != tuple(data.shape)

    def element(*i: Any) -> Any:
        indices = source_indices(i, source, target)
        if not padded:
            return data[indices]
        inside = te.all(*[s < d for s, d in zip(indices, data.shape, strict=True)])
        return te.if_then_else(inside, data[indices], te.const(0, data.dtype))

    return te.compute(shape, element, name="T_layout_trans", tag="injective")


@operator("layout_transform", "data", pattern=Pattern.INJECTIVE, attrs="LayoutTransformAttrs", level=5)
@dataclass(frozen=True)
class LayoutTransform(Operator):
    """The tensor in layout `dst_layout` (`NCHW16c`); an axis not divisible by its factor is padded with zeros."""

    src_layout: str
    dst_layout: str

    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype; the shape in `dst_layout`, where split axes are rounded up to whole blocks."""
        data = tensor(types[0])
        if data is None:
            return None
        return TensorType(convert_shape(data.shape, self.src_layout, self.dst_layout), data.dtype)

    def evaluate(self, data: Any) -> Any:
        return convert(data, self.src_layout, self.dst_layout)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        return relayout(inputs[0], self.src_layout, self.dst_layout, out_type.shape)


def parse_extents(layout: str) -> tuple[list[str], list[int]]:
    """The axis names and extents of a layout like `1N8C7H7W4c` (names may repeat, a first axis has no extent)."""
    names: list[str] = []
    extents: list[int] = []
    factor, name = 0, ""
    for c in layout:
        if c.isascii() and c.isalpha():
            if factor:
                extents.append(factor)
                factor = 0
            name += c
        elif "0" <= c <= "9":
            factor = factor * 10 + int(c)
            if name:
                names.append(name)
                name = ""
        else:
            raise RelationError(f'layout "{layout}" contains {c!r}')
    if name:
        names.append(name)
    return names, extents


@operator(
    "auto_scheduler_layout_transform",
    "data",
    pattern=Pattern.INJECTIVE,
    attrs="AutoSchedulerLayoutTransformAttrs",
    level=5,
)
@dataclass(frozen=True)
class AutoSchedulerLayoutTransform(Operator):
    """The tensor with its axes split and reordered: each name in `dst_layout` takes its part of the axis in `src_layout`.

    Layouts are written `1N32C112H112W`, extent before name; a name that occurs several times is an axis in several parts,
    the most significant first.
    """

    src_layout: str
    dst_layout: str

    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype; the shape follows from `dst_layout`, whose numbers are extents."""
        data = tensor(types[0])
        if data is None:
            return None
        names, extents = parse_extents(self.dst_layout)
        if len(names) != len(extents):
            raise RelationError(f'layout "{self.dst_layout}" has an axis without an extent')
        source = parse_extents(self.src_layout)[0]
        if len(source) != len(data.shape) or sorted(set(source)) != sorted(source) or set(source) != set(names):
            raise RelationError(
                f'layouts "{self.src_layout}" and "{self.dst_layout}" do not name the {len(data.shape)} axes of {data}'
            )
        for name, extent in zip(source, data.shape, strict=True):
            parts = product(e for n, e in zip(names, extents, strict=True) if n == name)
            require_compatible(parts, extent, f"the parts of axis {name} and its extent")
        return TensorType(tuple(extents), data.dtype)

    def source(self, indices: Sequence[Any]) -> tuple[Any, ...]:
        """Indices into the argument of the element at `indices` of the result."""
        names, extents = parse_extents(self.dst_layout)
        positions = []
        for name in parse_extents(self.src_layout)[0]:
            position: Any = 0
            for n, extent, i in zip(names, extents, indices, strict=True):
                if n == name:
                    position = position * extent + i
            positions.append(position)
        return tuple(positions)

    def evaluate(self, data: Any) -> Any:
        extents = parse_extents(self.dst_layout)[1]
        return data[tuple(np.broadcast_arrays(*self.source(np.indices(extents, sparse=True))))]

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        return te.compute(
            out_type.shape,
            lambda *i: inputs[0][self.source(i)],
            name="auto_scheduler_layout_transform",
            tag="injective",
        )
