"""Drawings of modules, and the text of a module of equal layers."""

from __future__ import annotations

import irtool
from irtool.viz.drawing import Drawing
from irtool.viz.module_drawing import draw_module

VERSION = '#[version = "0.0.5"]\n'


def draw(text: str, folded: bool = True) -> Drawing:
    return draw_module(irtool.parse(text), text, "net", folded)


def layers(count: int) -> str:
    """A network of residual layers that all read a mask."""
    body = "  %0 = nn.relu(%x);\n"
    value = 0
    for _ in range(count):
        body += (
            f"  %{value + 1} = nn.dense(%{value}, %w, units=None);\n"
            f"  %{value + 2} = multiply(%{value + 1}, %m);\n"
            f"  %{value + 3} = tanh(%{value + 2});\n"
            f"  %{value + 4} = add(%{value + 3}, %{value});\n"
        )
        value += 4
    t = "Tensor[(8, 8), float32]"
    return f"{VERSION}def @main(%x: {t}, %w: {t}, %m: {t}) {{\n{body}  exp(%{value})\n}}\n"
