"""Convolutions for Winograd's algorithm, and the check that they are transformed."""

from __future__ import annotations

import irtool
from irtool.schedule import VectorTarget
from tests.schedule.programs import V, check_nest, scheduled


def network(
    channels: int = 8,
    filters: int = 8,
    image: tuple[int, int] = (9, 11),
    batch: int = 1,
    padding: str = "1, 1, 1, 1",
    rest: str = "nn.relu(nn.bias_add(%1, %b))",
    more: str = "",
) -> irtool.Module:
    """A 3 x 3 convolution between two others, as blocked layouts are for what lies between."""
    h, w = image
    return irtool.infer_types(
        irtool.parse(
            f"""{V}def @main(%x: Tensor[({batch}, 8, {h}, {w}), float32], %u: Tensor[({channels}, 8, 1, 1), float32],
  %w: Tensor[({filters}, {channels}, 3, 3), float32], %b: Tensor[({filters}), float32], %v: Tensor[(8, {filters}, 1, 1), float32]) {{
  %0 = nn.relu(nn.conv2d(%x, %u));
  %1 = nn.conv2d(%0, %w, padding=[{padding}]{more});
  %2 = {rest};
  nn.conv2d(%2, %v)
}}
"""
        )
    )


def channels_last(data: tuple[int, ...], weights: tuple[int, ...], more: str) -> irtool.Module:
    """A convolution of data in NHWC, with weights in HWIO."""
    rows, columns, _, filters = weights
    text = f"""{V}def @main(%x: Tensor[{data}, float32], %w: Tensor[{weights}, float32]) {{
  nn.relu(nn.conv2d(%x, %w, {more}, kernel_size=[{rows}, {columns}], channels={filters}, data_layout="NHWC", kernel_layout="HWIO"))
}}
"""
    return irtool.infer_types(irtool.parse(text))


def check_transformed(module: irtool.Module, size: str) -> None:
    """A network of one convolution is transformed in tiles of so many results, and its nest has the interpreter's results."""
    program = scheduled(module, VectorTarget(16, 16, winograd=size))
    assert [k.choice.strategy for k in program.kernels] == ["winograd"]
    check_nest(module, program)
