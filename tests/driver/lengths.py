"""Networks with lengths that a run decides, and what every build of them must hold."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import irtool
from tests.driver.programs import parse

BOUND = 20


@dataclass(frozen=True)
class Network:
    """A module by its text, and the shapes of its inputs: `n` is a length from 1 to `BOUND`."""

    text: str
    shapes: dict[str, tuple[Any, ...]]
    weights: dict[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def bounded_shapes(self) -> dict[str, tuple[Any, ...]]:
        """Shapes as `build` takes them."""
        return {x: tuple(f"n<={BOUND}" if d == "n" else d for d in s) for x, s in self.shapes.items()}

    def params(self) -> dict[str, np.ndarray]:
        """Random weights."""
        g = np.random.RandomState(5)
        return {n: g.randn(*s).astype("float32") for n, s in self.weights.items()}

    def inputs(self, length: int) -> dict[str, np.ndarray]:
        """Random inputs of that length; those without axes are true."""
        g = np.random.RandomState(length)
        shapes = {x: tuple(length if d == "n" else d for d in s) for x, s in self.shapes.items()}
        return {x: g.randn(*s).astype("float32") if s else np.array(True) for x, s in shapes.items()}

    def build(self, target: str = "c", **options: Any) -> irtool.Artifact:
        """The build, under the name `net`."""
        return irtool.build(
            parse(self.text), self.params(), target, shapes=self.bounded_shapes, **{"name": "net", **options}
        )

    def expected(self, inputs: dict[str, np.ndarray]) -> Any:
        """The interpreter's result for the module in which the shapes are numbers."""
        text = self.text
        for name, array in inputs.items():
            text = re.sub(rf"%{name}: Tensor\[\([^)]*\)", f"%{name}: Tensor[({', '.join(map(str, array.shape))})", text)
        return irtool.evaluate(parse(text), {**inputs, **self.params()})


NETWORKS = {
    "add": Network(
        "def @main(%x: Tensor[(?, 6), float32], %y: Tensor[(?, 6), float32]) { add(%x, multiply(%y, %y)) }",
        {"x": ("n", 6), "y": ("n", 6)},
    ),
    "rank 3": Network("def @main(%x: Tensor[(?, 3, 7), float32]) { sigmoid(%x) }", {"x": ("n", 3, 7)}),
    "waves": Network("def @main(%x: Tensor[(?, 6), float32]) { tanh(exp(%x)) }", {"x": ("n", 6)}),
    "branch": Network(
        "def @main(%x: Tensor[(?, 6), float32], %c: bool) { exp(if (%c) { exp(tanh(%x)) } else { %x }) }",
        {"x": ("n", 6), "c": ()},
    ),
    "dense": Network(
        "def @main(%x: Tensor[(?, 64), float32], %w: Tensor[(32, 64), float32], %b: Tensor[(32), float32]) "
        "{ nn.relu(nn.bias_add(nn.dense(%x, %w, units=32), %b)) }",
        {"x": ("n", 64)},
        {"w": (32, 64), "b": (32,)},
    ),
    "norm": Network(
        "def @main(%x: Tensor[(?, 32), float32], %g: Tensor[(32), float32], %b: Tensor[(32), float32]) "
        "{ nn.layer_norm(%x, %g, %b) }",
        {"x": ("n", 32)},
        {"g": (32,), "b": (32,)},
    ),
    "softmax": Network("def @main(%x: Tensor[(?, 10), float32]) { nn.softmax(%x) }", {"x": ("n", 10)}),
    "rows": Network("def @main(%x: Tensor[(?, 16), float32]) { sum(%x, axis=[1]) }", {"x": ("n", 16)}),
    "columns": Network("def @main(%x: Tensor[(?, 16), float32]) { mean(%x, axis=[0]) }", {"x": ("n", 16)}),
    "transposed": Network("def @main(%x: Tensor[(?, 6), float32]) { transpose(%x, axes=[1, 0]) }", {"x": ("n", 6)}),
    "along": Network("def @main(%x: Tensor[(6, ?), float32]) { nn.softmax(%x) }", {"x": (6, "n")}),
    "products": Network(
        "def @main(%x: Tensor[(4, ?), float32], %y: Tensor[(8, ?), float32]) { nn.dense(%x, %y, units=8) }",
        {"x": (4, "n"), "y": (8, "n")},
    ),
    "joined": Network(
        "def @main(%x: Tensor[(?, 6), float32]) { %0 = exp(%x); %1 = tanh(%0); concatenate((%0, %1), axis=1) }",
        {"x": ("n", 6)},
    ),
    "convolution": Network(
        "def @main(%x: Tensor[(1, 8, ?), float32], %w: Tensor[(16, 8, 3), float32]) "
        "{ nn.relu(nn.conv1d(%x, %w, padding=[1, 1], channels=16, kernel_size=[3])) }",
        {"x": (1, 8, "n")},
        {"w": (16, 8, 3)},
    ),
    "attention": Network(
        "def @main(%q: Tensor[(2, ?, 16), float32], %k: Tensor[(2, ?, 16), float32], %v: Tensor[(2, ?, 16), float32]) "
        "{ %0 = nn.batch_matmul(%q, %k, transpose_b=True); "
        "nn.batch_matmul(nn.softmax(multiply(%0, 0.25f)), %v, transpose_b=False) }",
        {"q": (2, "n", 16), "k": (2, "n", 16), "v": (2, "n", 16)},
    ),
    "attention in tiles": Network(
        "def @main(%q: Tensor[(16, ?, 64), float32], %k: Tensor[(16, ?, 64), float32], %v: Tensor[(16, ?, 64), float32]) "
        "{ %0 = nn.batch_matmul(%q, %k, transpose_b=True); "
        "nn.batch_matmul(nn.softmax(multiply(%0, 0.125f)), %v, transpose_b=False) }",
        {"q": (16, "n", 64), "k": (16, "n", 64), "v": (16, "n", 64)},
    ),
    "masked attention": Network(
        "def @main(%q: Tensor[(8, 21, 64), float32], %k: Tensor[(8, ?, 64), float32], %v: Tensor[(8, ?, 64), float32], "
        "%m: Tensor[(21, ?), float32]) "
        "{ %0 = nn.batch_matmul(%q, %k, transpose_b=True); "
        "nn.batch_matmul(nn.softmax(add(%0, expand_dims(%m, axis=0))), %v, transpose_b=False) }",
        {"q": (8, 21, 64), "k": (8, "n", 64), "v": (8, "n", 64), "m": (21, "n")},
    ),
    "image": Network(
        "def @main(%x: Tensor[(?, 8, 10, 10), float32], %w: Tensor[(16, 8, 3, 3), float32]) "
        "{ nn.relu(nn.conv2d(%x, %w, padding=[1, 1], channels=16, kernel_size=[3, 3])) }",
        {"x": ("n", 8, 10, 10)},
        {"w": (16, 8, 3, 3)},
    ),
    "tiles": Network(
        "def @main(%x: Tensor[(?, 10, 10, 16), float32], %w: Tensor[(3, 3, 16, 16), float32]) "
        "{ nn.relu(nn.conv2d(%x, %w, padding=[1, 1], channels=16, kernel_size=[3, 3], "
        'data_layout="NHWC", kernel_layout="HWIO")) }',
        {"x": ("n", 10, 10, 16)},
        {"w": (3, 3, 16, 16)},
    ),
    "bands": Network(
        "def @main(%x: Tensor[(?, 4, 4, 256), float32], %w: Tensor[(3, 3, 256, 256), float32]) "
        '{ nn.conv2d(%x, %w, padding=[1, 1], channels=256, kernel_size=[3, 3], data_layout="NHWC", kernel_layout="HWIO") }',
        {"x": ("n", 4, 4, 256)},
        {"w": (3, 3, 256, 256)},
    ),
    "area": Network(
        "def @main(%x: Tensor[(2, ?, ?, 32), float32], %w: Tensor[(3, 3, 32, 32), float32]) "
        '{ nn.conv2d(%x, %w, padding=[1, 1], channels=32, kernel_size=[3, 3], data_layout="NHWC", kernel_layout="HWIO") }',
        {"x": (2, "n", "n", 32)},
        {"w": (3, 3, 32, 32)},
    ),
    "heads": Network(
        "def @main(%x: Tensor[(?, 17, 64), float32]) { reshape(transpose(reshape(%x, newshape=[-1, 17, 4, 16]), "
        "axes=[0, 2, 1, 3]), newshape=[-1, 17, 16]) }",
        {"x": ("n", 17, 64)},
    ),
    "enlarged": Network(
        "def @main(%x: Tensor[(?, 8, 6, 6), float32], %w: Tensor[(8, 16, 2, 2), float32]) "
        '{ nn.conv2d_transpose(%x, %w, channels=16, kernel_size=[2, 2], strides=[2, 2], kernel_layout="IOHW") }',
        {"x": ("n", 8, 6, 6)},
        {"w": (8, 16, 2, 2)},
    ),
    "square": Network(
        "def @main(%x: Tensor[(?, 16), float32], %y: Tensor[(?, 16), float32]) { nn.dense(%x, %y, units=None) }",
        {"x": ("n", 16), "y": ("n", 16)},
    ),
    "block": Network(
        "def @main(%x: Tensor[(1, ?, 32), float32], %w: Tensor[(96, 32), float32], %u: Tensor[(32, 32), float32], "
        "%g: Tensor[(32), float32], %b: Tensor[(32), float32]) { "
        "%0 = nn.dense(reshape(%x, newshape=[-1, 32]), %w, units=96); "
        "%1 = reshape(%0, newshape=[1, -1, 3, 4, 8]); "
        "%2 = split(%1, indices_or_sections=3, axis=2); "
        "%3 = reshape(transpose(squeeze(%2.0, axis=[2]), axes=[0, 2, 1, 3]), newshape=[4, -1, 8]); "
        "%4 = reshape(transpose(squeeze(%2.1, axis=[2]), axes=[0, 2, 1, 3]), newshape=[4, -1, 8]); "
        "%5 = reshape(transpose(squeeze(%2.2, axis=[2]), axes=[0, 2, 3, 1]), newshape=[4, 8, -1]); "
        "%6 = nn.softmax(multiply(nn.batch_matmul(%3, %4, transpose_b=True), 0.35f)); "
        "%7 = nn.batch_matmul(%6, %5, transpose_b=True); "
        "%8 = reshape(transpose(%7, axes=[1, 0, 2]), newshape=[-1, 32]); "
        "%9 = reshape(nn.dense(%8, %u, units=32), newshape=[1, -1, 32]); "
        "nn.layer_norm(add(%x, %9), %g, %b) }",
        {"x": (1, "n", 32)},
        {"w": (96, 32), "u": (32, 32), "g": (32,), "b": (32,)},
    ),
    "first rows": Network(
        "def @main(%x: Tensor[(?, 6), float32]) { exp(strided_slice(%x, begin=[0], end=[5], strides=[1], axes=[0])) }",
        {"x": ("n", 6)},
    ),
    "rows that may be none": Network(
        "def @main(%x: Tensor[(?, 16), float32]) { %0 = strided_slice(%x, begin=[3], end=[11], strides=[2], axes=[0]); "
        "(nn.softmax(%0), sum(%0, axis=[0]), concatenate((%x, nn.relu(%0)), axis=0)) }",
        {"x": ("n", 16)},
    ),
    "last rows": Network(
        "def @main(%x: Tensor[(?, 64), float32], %w: Tensor[(32, 64), float32]) "
        "{ nn.dense(strided_slice(%x, begin=[-9], end=[100], strides=[1], axes=[0]), %w, units=32) }",
        {"x": ("n", 64)},
        {"w": (32, 64)},
    ),
    "tuple": Network("def @main(%x: Tensor[(?, 6), float32]) { (exp(%x), %x) }", {"x": ("n", 6)}),
}


def files(folder: Path) -> dict[str, bytes]:
    """The texts of a build."""
    return {
        p.name: p.read_bytes() for p in sorted(folder.iterdir()) if p.suffix in (".c", ".h", ".ll", ".tir", ".isel")
    }


BUILDS: dict[str, dict[str, Any]] = {
    "c": {},
    "scalars": {"vector": False},
    "threads": {"openmp": True},
    "llvm": {"target": "llvm"},
}
"""Options of builds that the networks are tried with."""


def leaves(value: Any) -> list[np.ndarray]:
    """The arrays of a result."""
    return list(value) if isinstance(value, tuple) else [value]
