"""Operators that move, look for or transform single elements: nanoseconds an element, beside a copy of as many bytes.

Everything is a network of one operator on one core. An element is one of the larger side, operand or result; the copy reads and
writes as many bytes as the operator does. `python -m benchmarks small transpose arg` measures the groups that are named.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from .native import Compiled
from .networks.builder import Text

Case = tuple[str, str, int]
"""A title, the module, and how many elements count."""


def run(options: Sequence[str] = ()) -> None:
    """Prints a table of each group, or of those whose names begin with an option (`--transpose`)."""
    chosen = [o.lstrip("-") for o in options]
    for title, cases in GROUPS.items():
        if not chosen or any(title.startswith(c) for c in chosen):
            _report(title, cases)


def _report(title: str, cases: Sequence[Case]) -> None:
    print(f"  {title}: ns an element, of which a copy takes; share")
    for name, text, count in cases:
        net = Compiled(text)
        timed = net.whole(rounds=9, moved=sum(net.boundary))
        each = timed.seconds / count * 1e9
        copy = each * timed.of_copy
        print(f"    {name:62s} {timed.seconds * 1e6:9.1f} µs {each:7.3f} {copy:7.3f} {timed.of_copy * 100:6.1f} %")


def _one(op: str, *shape: int, dtype: str = "float32", given: str = "", **attrs: object) -> Case:
    """A call of one operator on one tensor."""
    t = Text()
    text = t.text(t.call(op, t.param("data", *shape, dtype=dtype), **attrs))
    about = given or " ".join(f"{k}={v}" for k, v in attrs.items())
    return f"{op} {shape} {'' if dtype == 'float32' else dtype + ' '}{about}".rstrip(), text, math.prod(shape)


def _transpose(*shape: int, axes: Sequence[int], dtype: str = "float32") -> Case:
    return _one("transpose", *shape, dtype=dtype, given=", ".join(map(str, axes)), axes=list(axes))


def _scaled_transpose(*shape: int, axes: Sequence[int]) -> Case:
    t = Text()
    x = t.call("transpose", t.param("data", *shape), axes=list(axes))
    text = t.text(t.call("nn.relu", t.call("multiply", x, "0.5f")))
    return f"relu(transpose * 0.5) {shape} {', '.join(map(str, axes))}", text, math.prod(shape)


def _cast_transpose(*shape: int, axes: Sequence[int]) -> Case:
    t = Text()
    x = t.call("transpose", t.param("data", *shape, dtype="uint8"), axes=list(axes))
    return f"cast of transpose {shape} uint8", t.text(t.call("cast", x, dtype="float32")), math.prod(shape)


def _enlarged(op: str, factor: int, *shape: int, **attrs: object) -> Case:
    title, text, count = _one(op, *shape, **attrs)
    return title, text, count * factor


def _topk(k: int, *shape: int) -> Case:
    t = Text()
    both = t.call("topk", t.param("data", *shape), k=k, axis=-1, ret_type="both", dtype="int32")
    return f"topk {shape} k={k}", t.text(both), math.prod(shape)


def _power(dtype: str) -> Case:
    t = Text()
    text = t.text(t.call("power", t.param("data", *_PLAIN, dtype=dtype), t.param("exponent", *_PLAIN, dtype=dtype)))
    return f"power of two variables {dtype}", text.replace("%exponent", "%exponent"), math.prod(_PLAIN)


def _masked_softmax(*shape: int) -> Case:
    t = Text()
    text = t.text(t.call("nn.softmax", t.call("multiply", t.param("data", *shape), "120f")))
    return f"nn.softmax {shape} down to exp(-120)", text, math.prod(shape)


_PLAIN = (64, 1024)
_WIDTHS = ("int8", "float16", "float32", "float64")
"""Elements of 1, 2, 4 and 8 bytes."""
_FUNCTIONS = (
    "exp",
    "sigmoid",
    "log",
    "log2",
    "tanh",
    "erf",
    "sqrt",
    "rsqrt",
    "sin",
    "cos",
    "tan",
    "atan",
    "sinh",
    "cosh",
)

GROUPS: dict[str, tuple[Case, ...]] = {
    "transpose": (
        _transpose(1024, 1024, axes=(1, 0)),
        _transpose(3136, 64, axes=(1, 0)),
        _transpose(1000, 777, axes=(1, 0)),
        _transpose(1, 64, 56, 56, axes=(0, 2, 3, 1)),
        _transpose(1, 56, 56, 64, axes=(0, 3, 1, 2)),
        _transpose(1, 256, 14, 14, axes=(0, 2, 3, 1)),
        _transpose(1, 3, 224, 224, axes=(0, 2, 3, 1)),
        _transpose(1, 224, 224, 3, axes=(0, 3, 1, 2)),
        _transpose(1, 128, 12, 64, axes=(0, 2, 1, 3)),
        _transpose(1, 128, 12, 64, axes=(0, 2, 3, 1)),
        _transpose(1, 197, 12, 64, axes=(0, 2, 3, 1)),
        _transpose(1, 84, 8400, axes=(0, 2, 1)),
        _transpose(1, 8400, 4, axes=(0, 2, 1)),
        _transpose(1, 4, 8400, axes=(0, 2, 1)),
        _transpose(1, 8400, 24, axes=(0, 2, 1)),
        _transpose(1, 24, 8400, axes=(0, 2, 1)),
        _transpose(1, 3, 85, 80, 80, axes=(0, 1, 3, 4, 2)),
        _transpose(1, 8, 7, 8, 7, 96, axes=(0, 1, 3, 2, 4, 5)),
        _transpose(512, 512, axes=(1, 0), dtype="float64"),
        _transpose(1024, 1024, axes=(1, 0), dtype="float16"),
        _transpose(1024, 1024, axes=(1, 0), dtype="int8"),
        _transpose(4096, 4096, axes=(1, 0)),
        *(_transpose(512, 49, axes=(1, 0), dtype=d) for d in _WIDTHS),
        *(_transpose(12, 128, 64, axes=(0, 2, 1), dtype=d) for d in _WIDTHS),
        *(_transpose(1, 224, 224, c, axes=(0, 3, 1, 2), dtype=d) for c in (3, 4) for d in _WIDTHS),
        *(_transpose(1, c, 224, 224, axes=(0, 2, 3, 1), dtype=d) for c in (3, 4) for d in _WIDTHS),
        _scaled_transpose(1, 64, 56, 56, axes=(0, 2, 3, 1)),
        _cast_transpose(1, 224, 224, 3, axes=(0, 3, 1, 2)),
        _cast_transpose(1, 3, 224, 224, axes=(0, 2, 3, 1)),
        _one("nn.depth_to_space", 1, 64, 64, 64, block_size=2),
        _one("nn.space_to_depth", 1, 16, 128, 128, block_size=2),
    ),
    "arg": (
        _one("argmax", 1, 50257, axis=[-1]),
        _one("argmax", 256, 1000, axis=[-1]),
        _one("argmin", 256, 1000, axis=[-1]),
        _one("argmax", 8400, 80, axis=[-1]),
        _one("argmax", 4096, 10, axis=[-1]),
        _one("argmax", 1, 21, 256, 256, axis=[1]),
        _one("argmax", 1, 80, 8400, axis=[1]),
        _one("argmax", 256, 1000, axis=[-1], dtype="int32"),
        _one("argmax", 256, 1000, axis=[-1], dtype="float64"),
        _one("max", 256, 1000, axis=[-1]),
        _topk(5, 64, 1000),
        _topk(50, 1, 50257),
        _topk(300, 1, 8400),
    ),
    "pool": (
        _one("nn.max_pool2d", 1, 3, 224, 224, pool_size=[3, 3], strides=[2, 2], padding=[1] * 4),
        _one("nn.max_pool2d", 1, 3, 224, 224, pool_size=[2, 2], strides=[2, 2]),
        _one("nn.avg_pool2d", 1, 3, 224, 224, pool_size=[2, 2], strides=[2, 2]),
        _one("nn.avg_pool2d", 1, 3, 224, 224, pool_size=[8, 8], strides=[8, 8]),
        _one("nn.max_pool2d", 1, 224, 224, 3, pool_size=[2, 2], strides=[2, 2], layout="NHWC"),
        _one("nn.max_pool2d", 1, 56, 56, 64, pool_size=[3, 3], strides=[2, 2], padding=[1] * 4, layout="NHWC"),
        _one("nn.adaptive_avg_pool2d", 1, 512, 13, 13, output_size=[6, 6]),
        _one("nn.adaptive_avg_pool2d", 1, 512, 14, 14, output_size=[7, 7]),
        _one("nn.adaptive_avg_pool2d", 1, 3, 224, 224, output_size=[7, 7]),
        _one("nn.adaptive_avg_pool2d", 1, 256, 60, 60, output_size=[1, 1]),
        _one("nn.adaptive_avg_pool2d", 1, 256, 60, 60, output_size=[6, 6]),
        _one("nn.adaptive_max_pool2d", 1, 256, 33, 33, output_size=[7, 7]),
        _one("nn.global_avg_pool2d", 1, 2048, 7, 7),
        _one("nn.max_pool2d", 1, 24, 56, 56, pool_size=[3, 3], strides=[2, 2], padding=[1] * 4),
    ),
    "upsampling": (
        _enlarged("nn.upsampling", 4, 1, 64, 56, 56, scale_h=2, scale_w=2),
        _enlarged("nn.upsampling", 4, 1, 256, 20, 20, scale_h=2, scale_w=2),
        _enlarged("nn.upsampling", 16, 1, 64, 28, 28, scale_h=4, scale_w=4),
        _enlarged("nn.upsampling", 4, 1, 56, 56, 64, scale_h=2, scale_w=2, layout="NHWC"),
        _enlarged("nn.upsampling", 4, 1, 64, 56, 56, scale_h=2, scale_w=2, method="bilinear"),
        _enlarged(
            "image.resize2d", 4, 1, 64, 56, 56, size=[112, 112], method="nearest_neighbor", roi=[0.0] * 4,
            coordinate_transformation_mode="asymmetric", rounding_method="floor",
        ),
        _enlarged("image.resize2d", 4, 1, 64, 56, 56, size=[112, 112], method="linear", roi=[0.0] * 4),
    ),
    "float32": (
        _power("float32"),
        *(_one(name, *_PLAIN) for name in _FUNCTIONS),
    ),
    "float64": (
        _power("float64"),
        *(_one(name, *_PLAIN, dtype="float64") for name in _FUNCTIONS),
        _one("nn.softmax", *_PLAIN, dtype="float64"),
    ),
    "softmax": (
        _one("nn.softmax", 64, 1024),
        _masked_softmax(64, 1024),
    ),
}  # fmt: skip
