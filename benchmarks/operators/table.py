"""The operators that are timed: calls in Relay, and the same calls of torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import irtool
from irtool.ir import Module

SEED = 0


@dataclass(frozen=True)
class Single:
    """One operator.

    Attributes:
        shapes: of its arguments, named %a, %b, … in `body`.
        torch: the same from torch, its `nn.functional` and tensors; None if torch has no such operator.
        view: whether numpy returns a view, which takes no time.
        gradient: the gradients by all arguments are computed too.
        indices: the arguments that are int64, by name, with the number of different indices.
    """

    name: str
    shapes: tuple[tuple[int, ...], ...]
    body: str
    torch: Callable[..., Any] | None = None
    view: bool = False
    gradient: bool = False
    indices: Mapping[str, int] = field(default_factory=dict)

    def module(self) -> Module:
        """The module, typed."""
        head = ", ".join(f"%{name}: {self._type(name, shape)}" for name, shape in zip("abcdef", self.shapes))
        module = irtool.infer_types(irtool.parse(f'#[version = "0.0.5"]\ndef @main({head}) {{ {self.body} }}\n'))
        return irtool.infer_types(irtool.run_passes(module, "FirstOrderGradient")) if self.gradient else module

    def inputs(self) -> list[np.ndarray]:
        """Seeded arguments: normally distributed floats, uniformly distributed indices."""
        rng = np.random.default_rng(SEED)
        return [
            rng.integers(0, self.indices[name], shape) if name in self.indices else _floats(rng, shape)
            for name, shape in zip("abcdef", self.shapes)
        ]

    def _type(self, name: str, shape: tuple[int, ...]) -> str:
        extents = ", ".join(map(str, shape)) + "," * (len(shape) == 1)
        return f"Tensor[({extents}), {'int64' if name in self.indices else 'float32'}]"


def _floats(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.standard_normal(shape).astype("float32")


def _unary(name: str, call: Callable[..., Any], body: str = "") -> Single:
    """A million elements, all positive where the operator needs that."""
    return Single(f"{name} 1M", ((1024, 1024),), body or f"{name}(%a)", call)


def _lstm_cell(t: Any, f: Any, x: Any, h: Any, c: Any, w: Any, u: Any) -> Any:
    i, o, g, s = (f.linear(x, w) + f.linear(h, u)).chunk(4, 1)
    return t.sigmoid(s) * t.tanh(t.sigmoid(o) * c + t.sigmoid(i) * t.tanh(g))


_LSTM_CELL = """
  %0 = add(nn.dense(%a, %d, units=1024), nn.dense(%b, %e, units=1024));
  %1 = split(%0, indices_or_sections=4, axis=1);
  %2 = add(multiply(sigmoid(%1.1), %c), multiply(sigmoid(%1.0), tanh(%1.2)));
  multiply(sigmoid(%1.3), tanh(%2))
"""
_ATTENTION = """
  %0 = nn.batch_matmul(%a, %b, transpose_b=True);
  nn.batch_matmul(nn.softmax(multiply(%0, 0.125f)), %c, transpose_b=False)
"""
_IMAGE, _WINDOW = (8, 32, 32, 32), (64, 32, 3, 3)
_FRAME = (1, 64, 56, 56)
_MATRIX = (1024, 1024)
_POOL = "pool_size=[3, 3], strides=[2, 2], padding=[1, 1]"
_BACKWARD = 'nn.conv2d_backward_weight(%a, %b, kernel_size=[{0}, {0}], padding=[{1}, {1}], kernel_layout="NCHW", out_layout="OIHW")'

OPERATORS = (
    Single("conv2d", (_IMAGE, _WINDOW), "nn.conv2d(%a, %b, padding=[1, 1])", lambda t, f, a, b: f.conv2d(a, b, padding=1)),
    Single("conv2d 3x3 64 56", (_FRAME, (64, 64, 3, 3)), "nn.conv2d(%a, %b, padding=[1, 1])", lambda t, f, a, b: f.conv2d(a, b, padding=1)),
    Single("conv2d 7x7 strided", ((1, 3, 224, 224), (64, 3, 7, 7)), "nn.conv2d(%a, %b, padding=[3, 3], strides=[2, 2])", lambda t, f, a, b: f.conv2d(a, b, padding=3, stride=2)),
    Single("conv2d 1x1", ((8, 64, 28, 28), (64, 64, 1, 1)), "nn.conv2d(%a, %b)", lambda t, f, a, b: f.conv2d(a, b)),
    Single("conv2d 1x1 256 28", ((1, 256, 28, 28), (64, 256, 1, 1)), "nn.conv2d(%a, %b)", lambda t, f, a, b: f.conv2d(a, b)),
    Single("conv2d strided", (_IMAGE, _WINDOW), "nn.conv2d(%a, %b, padding=[1, 1], strides=[2, 2])", lambda t, f, a, b: f.conv2d(a, b, padding=1, stride=2)),
    Single("conv2d dilated", ((1, 32, 56, 56), (32, 32, 3, 3)), "nn.conv2d(%a, %b, padding=[2, 2], dilation=[2, 2])", lambda t, f, a, b: f.conv2d(a, b, padding=2, dilation=2)),
    Single("conv2d groups", (_IMAGE, (32, 8, 3, 3)), "nn.conv2d(%a, %b, padding=[1, 1], groups=4)", lambda t, f, a, b: f.conv2d(a, b, padding=1, groups=4)),
    Single("conv2d depthwise", ((1, 128, 56, 56), (128, 1, 3, 3)), "nn.conv2d(%a, %b, padding=[1, 1], groups=128)", lambda t, f, a, b: f.conv2d(a, b, padding=1, groups=128)),
    Single("conv2d NHWC", ((1, 56, 56, 32), (3, 3, 32, 32)), 'nn.conv2d(%a, %b, padding=[1, 1], data_layout="NHWC", kernel_layout="HWIO")', lambda t, f, a, b: f.conv2d(a.permute(0, 3, 1, 2), b.permute(3, 2, 0, 1), padding=1).permute(0, 2, 3, 1)),
    Single("conv1d", ((1, 64, 1000), (64, 64, 3)), "nn.conv1d(%a, %b, padding=[1, 1])", lambda t, f, a, b: f.conv1d(a, b, padding=1)),
    Single("conv3d", ((1, 16, 16, 32, 32), (16, 16, 3, 3, 3)), "nn.conv3d(%a, %b, padding=[1, 1, 1])", lambda t, f, a, b: f.conv3d(a, b, padding=1)),
    Single("conv1d_transpose", ((1, 32, 128), (32, 16, 4)), 'nn.conv1d_transpose(%a, %b, channels=16, kernel_size=[4], strides=[2], padding=[1, 1])', lambda t, f, a, b: f.conv_transpose1d(a, b, padding=1, stride=2)),
    Single("conv2d_transpose", (_IMAGE, (32, 64, 3, 3)), 'nn.conv2d_transpose(%a, %b, padding=[1, 1], strides=[2, 2], output_padding=[1, 1], channels=64, kernel_size=[3, 3], kernel_layout="IOHW")', lambda t, f, a, b: f.conv_transpose2d(a, b, padding=1, stride=2, output_padding=1)),
    Single("conv2d_transpose dense", ((1, 32, 56, 56), (32, 32, 3, 3)), 'nn.conv2d_transpose(%a, %b, padding=[1, 1], channels=32, kernel_size=[3, 3], kernel_layout="IOHW")', lambda t, f, a, b: f.conv_transpose2d(a, b, padding=1)),
    Single("conv3d_transpose", ((1, 8, 8, 8, 8), (8, 8, 2, 2, 2)), 'nn.conv3d_transpose(%a, %b, channels=8, kernel_size=[2, 2, 2], strides=[2, 2, 2])', lambda t, f, a, b: f.conv_transpose3d(a, b, stride=2)),
    Single("conv2d_backward_weight", ((8, 64, 32, 32), _IMAGE), _BACKWARD.format(3, 1), lambda t, f, a, b: t.nn.grad.conv2d_weight(b, _WINDOW, a, padding=1)),
    Single("conv2d_backward_weight 1x1", ((8, 64, 28, 28), (8, 64, 28, 28)), _BACKWARD.format(1, 0), lambda t, f, a, b: t.nn.grad.conv2d_weight(b, (64, 64, 1, 1), a)),
    Single("dense", ((64, 768), (768, 768)), "nn.dense(%a, %b, units=768)", lambda t, f, a, b: f.linear(a, b)),
    Single("dense one row", ((1, 4096), (4096, 4096)), "nn.dense(%a, %b, units=4096)", lambda t, f, a, b: f.linear(a, b)),
    Single("matmul nn 256", ((256, 256), (256, 256)), "nn.matmul(%a, %b, units=256)", lambda t, f, a, b: a @ b),
    Single("matmul tn 256", ((256, 256), (256, 256)), "nn.matmul(%a, %b, units=256, transpose_a=True)", lambda t, f, a, b: a.t() @ b),
    Single("batch_matmul", ((12, 128, 64), (12, 128, 64)), "nn.batch_matmul(%a, %b, transpose_b=True)", lambda t, f, a, b: t.bmm(a, b.transpose(1, 2))),
    Single("attention", ((12, 128, 64),) * 3, _ATTENTION, lambda t, f, a, b, c: f.scaled_dot_product_attention(a, b, c)),
    Single("lstm cell", ((8, 256), (8, 256), (8, 256), (1024, 256), (1024, 256)), _LSTM_CELL, _lstm_cell),
    Single("softmax", ((512, 1000),), "nn.softmax(%a)", lambda t, f, a: f.softmax(a, -1)),
    Single("softmax of channels", ((1, 64, 64, 64),), "nn.softmax(%a, axis=1)", lambda t, f, a: f.softmax(a, 1)),
    Single("log_softmax", ((512, 1000),), "nn.log_softmax(%a)", lambda t, f, a: f.log_softmax(a, -1)),
    Single("layer_norm", ((512, 768), (768,), (768,)), "nn.layer_norm(%a, %b, %c)", lambda t, f, a, b, c: f.layer_norm(a, (768,), b, c)),
    Single("group_norm", (_FRAME, (64,), (64,)), "nn.group_norm(%a, %b, %c, num_groups=8)", lambda t, f, a, b, c: f.group_norm(a, 8, b, c)),
    Single("instance_norm", (_FRAME, (64,), (64,)), "nn.instance_norm(%a, %b, %c)", lambda t, f, a, b, c: f.instance_norm(a, weight=b, bias=c)),
    Single("prelu", (_FRAME, (64,)), "nn.prelu(%a, %b)", lambda t, f, a, b: f.prelu(a, b)),
    Single("max_pool2d", (_IMAGE,), f"nn.max_pool2d(%a, {_POOL})", lambda t, f, a: f.max_pool2d(a, 3, 2, 1)),
    Single("avg_pool2d", ((1, 64, 112, 112),), "nn.avg_pool2d(%a, pool_size=[2, 2], strides=[2, 2])", lambda t, f, a: f.avg_pool2d(a, 2)),
    Single("adaptive_avg_pool2d", (_FRAME,), "nn.adaptive_avg_pool2d(%a, output_size=[7, 7])", lambda t, f, a: f.adaptive_avg_pool2d(a, 7)),
    Single("grid_sample", ((4, 16, 32, 32), (4, 2, 32, 32)), "image.grid_sample(%a, %b)", lambda t, f, a, b: f.grid_sample(a, b.permute(0, 2, 3, 1), align_corners=True)),
    Single("resize linear", ((4, 16, 32, 32),), "image.resize2d(%a, size=[64, 64], roi=[0f, 0f, 0f, 0f])", lambda t, f, a: f.interpolate(a, (64, 64), mode="bilinear")),
    Single("resize cubic", ((1, 16, 32, 32),), 'image.resize2d(%a, size=[64, 64], roi=[0f, 0f, 0f, 0f], method="cubic", cubic_alpha=-0.75f)', lambda t, f, a: f.interpolate(a, (64, 64), mode="bicubic")),
    Single("depth_to_space", (_FRAME,), 'nn.depth_to_space(%a, block_size=2, mode="CRD")', lambda t, f, a: f.pixel_shuffle(a, 2)),
    Single("pad reflect", (_FRAME,), 'nn.mirror_pad(%a, pad_width=[[0, 0], [0, 0], [2, 2], [2, 2]], mode="REFLECT")', lambda t, f, a: f.pad(a, (2, 2, 2, 2), "reflect")),
    _unary("exp", lambda t, f, a: a.exp()),
    _unary("log", lambda t, f, a: a.abs().log(), "log(abs(%a))"),
    _unary("sqrt", lambda t, f, a: a.abs().sqrt(), "sqrt(abs(%a))"),
    _unary("sigmoid", lambda t, f, a: a.sigmoid()),
    _unary("tanh", lambda t, f, a: a.tanh()),
    _unary("erf", lambda t, f, a: a.erf()),
    _unary("sin", lambda t, f, a: a.sin()),
    _unary("atan", lambda t, f, a: a.atan()),
    _unary("floor", lambda t, f, a: a.floor()),
    _unary("round", lambda t, f, a: a.round(), "round(%a)"),
    Single("power 1M", (_MATRIX, _MATRIX), "power(abs(%a), %b)", lambda t, f, a, b: a.abs() ** b),
    Single("where 1M", (_MATRIX, _MATRIX), "where(greater(%a, 0f), %a, %b)", lambda t, f, a, b: t.where(a > 0, a, b)),
    Single("divide broadcast", ((64, 64, 64), (64, 1)), "divide(%a, %b)", lambda t, f, a, b: a / b),
    Single("transpose", (_MATRIX,), "transpose(%a, axes=[1, 0])", lambda t, f, a: a.t().contiguous(), view=True),
    Single("transpose 0213", ((8, 64, 16, 64),), "transpose(%a, axes=[0, 2, 1, 3])", lambda t, f, a: a.permute(0, 2, 1, 3).contiguous(), view=True),
    Single("transpose 0231", (_FRAME,), "transpose(%a, axes=[0, 2, 3, 1])", lambda t, f, a: a.permute(0, 2, 3, 1).contiguous(), view=True),
    Single("reverse", (_MATRIX,), "reverse(%a, axis=1)", lambda t, f, a: a.flip(1), view=True),
    Single("strided_slice", ((2048, 1024),), "strided_slice(%a, begin=[0, 0], end=[2048, 1024], strides=[1, 2], axes=[0, 1])", lambda t, f, a: a[:, ::2].contiguous(), view=True),
    Single("concatenate", (_FRAME, _FRAME), "%0 = (%a, %b); concatenate(%0, axis=1)", lambda t, f, a, b: t.cat([a, b], 1)),
    Single("tile", ((64, 64, 64),), "tile(%a, reps=[1, 2, 2])", lambda t, f, a: a.repeat(1, 2, 2)),
    Single("repeat", ((64, 64, 64),), "repeat(%a, repeats=2, axis=1)", lambda t, f, a: a.repeat_interleave(2, 1)),
    Single("take rows", ((1000, 768), (128,)), "take(%a, %b, axis=0)", lambda t, f, a, b: a[b], indices={"b": 1000}),
    Single("gather", ((1000, 512), (512, 512)), "gather(%a, %b, axis=0)", lambda t, f, a, b: a.gather(0, b), indices={"b": 1000}),
    Single("scatter_add", ((1000, 256), (512, 256), (512, 256)), 'scatter_elements(%a, %b, %c, axis=0, reduction="add")', lambda t, f, a, b, c: a.scatter_add(0, b, c), indices={"b": 1000}),
    Single("one_hot", ((2048,),), 'one_hot(%a, 1f, 0f, depth=256, axis=-1, dtype="float32")', lambda t, f, a: f.one_hot(a, 256).float(), indices={"a": 256}),
    Single("cumsum rows", (_MATRIX,), "cumsum(%a, axis=1)", lambda t, f, a: a.cumsum(1)),
    Single("cumsum columns", (_MATRIX,), "cumsum(%a, axis=0)", lambda t, f, a: a.cumsum(0)),
    Single("sum axis 0", (_MATRIX,), "sum(%a, axis=[0])", lambda t, f, a: a.sum(0)),
    Single("max axis 1", (_MATRIX,), "max(%a, axis=[1])", lambda t, f, a: a.amax(1)),
    Single("mean of images", (_IMAGE,), "mean(%a, axis=[0, 2, 3])", lambda t, f, a: a.mean((0, 2, 3))),
    Single("variance of rows", ((512, 1000),), "variance(%a, mean(%a, axis=[1], keepdims=True), axis=[1])", lambda t, f, a: a.var(1, correction=0)),
    Single("argmax of rows", ((512, 1000),), "argmax(%a, axis=[1])", lambda t, f, a: a.argmax(1)),
    Single("topk 10", ((256, 1000),), 'topk(%a, k=10, ret_type="values")', lambda t, f, a: a.topk(10).values),
    Single("sort rows", ((512, 1000),), "sort(%a)", lambda t, f, a: a.sort().values),
    Single("argsort rows", ((512, 1000),), 'argsort(%a, dtype="int64")', lambda t, f, a: a.argsort(stable=True)),
    Single("gradient of conv2d", (_IMAGE, _WINDOW), "nn.conv2d(%a, %b, padding=[1, 1])", lambda t, f, a, b: f.conv2d(a, b, padding=1), gradient=True),
    Single("gradient of strided conv2d", (_IMAGE, _WINDOW), "nn.relu(nn.conv2d(%a, %b, padding=[1, 1], strides=[2, 2]))", lambda t, f, a, b: f.relu(f.conv2d(a, b, padding=1, stride=2)), gradient=True),
    Single("gradient of conv2d groups", (_IMAGE, (32, 8, 3, 3)), "nn.conv2d(%a, %b, padding=[1, 1], groups=4)", lambda t, f, a, b: f.conv2d(a, b, padding=1, groups=4), gradient=True),
    Single("gradient of max_pool2d", (_IMAGE,), f"nn.max_pool2d(%a, {_POOL})", lambda t, f, a: f.max_pool2d(a, 3, 2, 1), gradient=True),
    Single("gradient of avg_pool2d", (_IMAGE,), f"nn.avg_pool2d(%a, {_POOL})", lambda t, f, a: f.avg_pool2d(a, 3, 2, 1, count_include_pad=False), gradient=True),
    Single("gradient of softmax", ((512, 1000), (512, 1000)), "multiply(nn.softmax(%a), %b)", lambda t, f, a, b: f.softmax(a, -1) * b, gradient=True),
    Single("gradient of dense", ((64, 768), (768, 768)), "nn.dense(%a, %b, units=768)", lambda t, f, a, b: f.linear(a, b), gradient=True),
)  # fmt: skip

BY_NAME = {single.name: single for single in OPERATORS}
