"""Operators that move, look for or transform single elements, beside what the machine can do.

Everything is a network of one operator on one core. What moves elements is measured beside a copy that reads and writes as many bytes;
what looks through them, beside a sum of as many bytes; functions, beside those of the C library in vectors. An element is one of the
larger side, operand or result. `python -m benchmarks small --transpose --arg` measures the groups that are named.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from . import c_library
from .native import Compiled
from .networks.builder import Text

COPY, READ = "copy", "read"
"""What a case is measured beside; otherwise a function of the C library."""


@dataclass(frozen=True)
class Case:
    """A module of one operator, the number of its elements, and its reference."""

    title: str
    text: str
    count: int
    reference: str = COPY
    dtype: str = "float32"


def run(options: Sequence[str] = ()) -> None:
    """Prints a table of each group, or of those whose names begin with an option (`--transpose`); `--mcpu=x86-64-v3`: for another
    processor than this one."""
    chosen = [o.lstrip("-") for o in options]
    mcpu = next((o.removeprefix("mcpu=") for o in chosen if o.startswith("mcpu=")), "native")
    chosen = [o for o in chosen if not o.startswith("mcpu=")]
    for title, (share, cases) in GROUPS.items():
        if not chosen or any(title.startswith(c) for c in chosen):
            print(f"  {title}: ns an element, of which {share} takes; share")
            nets = [Compiled(case.text, inputs=("data", "exponent"), mcpu=mcpu) for case in cases]
            for case, net in zip(cases, nets, strict=True):
                print(row(case, net))


def row(case: Case, net: Compiled) -> str:
    """A line of the table."""
    each, best = measure(case, net)
    return f"    {case.title:66s} {each * case.count * 1e-3:9.1f} µs {each:7.3f} {best:7.3f} {best / each * 100:6.1f} %"


def measure(case: Case, net: Compiled) -> tuple[float, float]:
    """Nanoseconds per element, and those of the reference."""
    moved = sum(net.boundary)
    timed = net.whole(
        rounds=9, moved=moved if case.reference == COPY else 0, read=moved if case.reference == READ else 0
    )
    each = timed.seconds / case.count * 1e9
    if case.reference in (COPY, READ):
        return each, each * (timed.of_copy if case.reference == COPY else timed.of_read)
    operands = [np.random.default_rng(n).random(case.count).astype(case.dtype) + 0.5 for n in range(2)]
    return each, c_library.seconds(case.reference, case.dtype, operands) / case.count * 1e9


def _one(op: str, *shape: int, dtype: str = "float32", label: str = "", **attrs: object) -> Case:
    """A call of one operator on one tensor."""
    t = Text()
    text = t.text(t.call(op, t.param("data", *shape, dtype=dtype), **attrs))
    about = label or " ".join(f"{k}={v}" for k, v in attrs.items())
    return Case(f"{op} {shape} {'' if dtype == 'float32' else dtype + ' '}{about}".rstrip(), text, math.prod(shape))


def _transpose(*shape: int, axes: Sequence[int], dtype: str = "float32") -> Case:
    return _one("transpose", *shape, dtype=dtype, label=", ".join(map(str, axes)), axes=list(axes))


def _scaled_transpose(*shape: int, axes: Sequence[int]) -> Case:
    t = Text()
    x = t.call("transpose", t.param("data", *shape), axes=list(axes))
    text = t.text(t.call("nn.relu", t.call("multiply", x, "0.5f")))
    return Case(f"relu(transpose * 0.5) {shape} {', '.join(map(str, axes))}", text, math.prod(shape))


def _cast_transpose(*shape: int, axes: Sequence[int]) -> Case:
    t = Text()
    x = t.call("transpose", t.param("data", *shape, dtype="uint8"), axes=list(axes))
    return Case(f"cast of transpose {shape} uint8", t.text(t.call("cast", x, dtype="float32")), math.prod(shape))


def _enlarged(op: str, factor: int, *shape: int, dtype: str = "float32", **attrs: object) -> Case:
    case = _one(op, *shape, dtype=dtype, **attrs)
    return replace(case, count=case.count * factor)


def _read(op: str, *shape: int, dtype: str = "float32", **attrs: object) -> Case:
    return replace(_one(op, *shape, dtype=dtype, **attrs), reference=READ)


def _arg(op: str, *shape: int, axis: int, dtype: str = "float32") -> Case:
    return _read(op, *shape, dtype=dtype, axis=[axis])


def _pool(
    op: str, *shape: int, size: int, stride: int = 0, pad: int = 0, layout: str = "NCHW", dtype: str = "float32"
) -> Case:
    attrs = {"pool_size": [size] * 2, "strides": [stride or size] * 2, "padding": [pad] * 4, "layout": layout}
    case = _read(f"nn.{op}_pool2d", *shape, dtype=dtype, **attrs)
    about = f"{size}x{size} stride {stride or size}{' padded' if pad else ''}"
    return replace(case, title=f"{op}_pool2d {layout} {shape} {'' if dtype == 'float32' else dtype + ' '}{about}")


def _adaptive(op: str, size: int, *shape: int, layout: str = "NCHW", dtype: str = "float32") -> Case:
    case = _read(f"nn.adaptive_{op}_pool2d", *shape, dtype=dtype, output_size=[size] * 2, layout=layout)
    title = f"adaptive_{op}_pool2d {layout} {shape} {'' if dtype == 'float32' else dtype + ' '}to {size}x{size}"
    return replace(case, title=title)


def _topk(k: int, *shape: int, dtype: str = "float32") -> Case:
    t = Text()
    both = t.call("topk", t.param("data", *shape, dtype=dtype), k=k, axis=-1, ret_type="both", dtype="int32")
    return Case(f"topk {shape} {'' if dtype == 'float32' else dtype + ' '}k={k}", t.text(both), math.prod(shape), READ)


def _function(name: str, dtype: str) -> Case:
    return replace(_one(name, *_PLAIN, dtype=dtype), reference=name, dtype=dtype)


def _power(dtype: str) -> Case:
    t = Text()
    text = t.text(t.call("power", t.param("data", *_PLAIN, dtype=dtype), t.param("exponent", *_PLAIN, dtype=dtype)))
    return Case(f"power of two variables {dtype}", text, math.prod(_PLAIN), "power", dtype)


def _masked_softmax(*shape: int) -> Case:
    t = Text()
    text = t.text(t.call("nn.softmax", t.call("multiply", t.param("data", *shape), "120f")))
    return Case(f"nn.softmax {shape} down to exp(-120)", text, math.prod(shape))


_PLAIN = (64, 1024)
_WIDTHS = ("int8", "float16", "float32", "float64")
"""Elements of 1, 2, 4 and 8 bytes."""
_SHORT = ("float32", "int8", "uint8")
_KINDS = ("avg", "max")
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

GROUPS: dict[str, tuple[str, tuple[Case, ...]]] = {
    "transpose": ("a copy", (
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
        _transpose(256, 256, axes=(1, 0), dtype="int8"),
        _transpose(4096, 4096, axes=(1, 0)),
        _transpose(2000, 3008, axes=(1, 0)),
        _transpose(8, 64, 224, 224, axes=(0, 2, 3, 1)),
        _transpose(8, 224, 224, 64, axes=(0, 3, 1, 2)),
        *(_transpose(512, 49, axes=(1, 0), dtype=d) for d in _WIDTHS),
        *(_transpose(12, 128, 64, axes=(0, 2, 1), dtype=d) for d in _WIDTHS),
        *(_transpose(1, 224, 224, c, axes=(0, 3, 1, 2), dtype=d) for c in (3, 4) for d in _WIDTHS),
        *(_transpose(1, c, 224, 224, axes=(0, 2, 3, 1), dtype=d) for c in (3, 4) for d in _WIDTHS),
        _scaled_transpose(1, 64, 56, 56, axes=(0, 2, 3, 1)),
        _cast_transpose(1, 224, 224, 3, axes=(0, 3, 1, 2)),
        _cast_transpose(1, 3, 224, 224, axes=(0, 2, 3, 1)),
        _one("nn.depth_to_space", 1, 64, 64, 64, block_size=2),
        _one("nn.space_to_depth", 1, 16, 128, 128, block_size=2),
    )),
    "arg": ("reading", (
        *(_arg("argmax", 1, 50257, axis=-1, dtype=d) for d in _SHORT),
        *(_arg("argmax", 256, 1000, axis=-1, dtype=d) for d in (*_SHORT, "int32", "float64")),
        _arg("argmin", 256, 1000, axis=-1),
        _arg("argmax", 8400, 80, axis=-1),
        _arg("argmax", 8400, 80, axis=-1, dtype="int8"),
        _arg("argmax", 4096, 10, axis=-1),
        _arg("argmax", 4096, 10, axis=-1, dtype="int8"),
        *(_arg("argmax", 1, 21, 256, 256, axis=1, dtype=d) for d in _SHORT),
        *(_arg("argmax", 1, 80, 8400, axis=1, dtype=d) for d in _SHORT),
        _arg("argmin", 1, 19, 65, 129, axis=1),
        _arg("argmax", 1000, 256, axis=0, dtype="uint8"),
        _arg("max", 256, 1000, axis=-1),
    )),
    "topk": ("reading", (
        *(_topk(k, *shape) for shape in ((64, 1000), (1, 1000), (1, 50257)) for k in (1, 5, 100)),
        _topk(5, 1, 50257, dtype="int8"),
        _topk(300, 1, 8400),
    )),
    "pool": ("reading", (
        _pool("max", 1, 3, 224, 224, size=3, stride=2, pad=1),
        _pool("max", 1, 3, 224, 224, size=3, stride=2, pad=1, dtype="uint8"),
        _pool("max", 1, 224, 224, 3, size=3, stride=2, pad=1, layout="NHWC"),
        _pool("max", 1, 224, 224, 3, size=3, stride=2, layout="NHWC"),
        _pool("max", 1, 224, 224, 3, size=3, stride=2, pad=1, layout="NHWC", dtype="uint8"),
        _pool("max", 1, 3, 224, 224, size=2),
        _pool("avg", 1, 3, 224, 224, size=2),
        _pool("avg", 1, 3, 224, 224, size=8),
        _pool("max", 1, 224, 224, 3, size=2, layout="NHWC"),
        _pool("avg", 1, 224, 224, 3, size=8, layout="NHWC"),
        _pool("max", 1, 56, 56, 64, size=3, stride=2, pad=1, layout="NHWC"),
        _pool("max", 1, 24, 56, 56, size=3, stride=2, pad=1),
    )),
    "adaptive": ("reading", (
        *(_adaptive(op, 1, 1, 2048, 7, 7) for op in _KINDS),
        *(_adaptive(op, 1, 1, 7, 7, 2048, layout="NHWC") for op in _KINDS),
        *(_adaptive(op, 7, 1, 512, 14, 14) for op in _KINDS),
        *(_adaptive(op, 7, 1, 14, 14, 512, layout="NHWC") for op in _KINDS),
        *(_adaptive(op, 6, 1, 512, 13, 13) for op in _KINDS),
        *(_adaptive(op, 6, 1, 13, 13, 512, layout="NHWC") for op in _KINDS),
        _adaptive("avg", 7, 1, 3, 224, 224),
        _adaptive("avg", 7, 1, 224, 224, 3, layout="NHWC"),
        _adaptive("avg", 1, 1, 256, 60, 60),
        _adaptive("avg", 6, 1, 256, 60, 60),
        _adaptive("max", 7, 1, 256, 33, 33),
        _adaptive("max", 6, 1, 512, 13, 13, dtype="int8"),
        _adaptive("avg", 1, 1, 2048, 7, 7, dtype="int8"),
        _read("nn.global_avg_pool2d", 1, 2048, 7, 7),
    )),
    "upsampling": ("a copy", (
        *(
            _enlarged("nn.upsampling", n * n, 1, *shape, dtype=d, scale_h=n, scale_w=n, layout=layout)
            for layout, shape in (("NCHW", (64, 56, 56)), ("NCHW", (256, 20, 20)), ("NHWC", (56, 56, 64)), ("NHWC", (112, 112, 3)))
            for d in ("float32", "int8")
            for n in (2, 4)
        ),
        _enlarged("nn.upsampling", 4, 1, 64, 56, 56, scale_h=2, scale_w=2, method="bilinear"),
        _enlarged(
            "image.resize2d", 4, 1, 64, 56, 56, size=[112, 112], method="nearest_neighbor", roi=[0.0] * 4,
            coordinate_transformation_mode="asymmetric", rounding_method="floor",
        ),
        _enlarged("image.resize2d", 4, 1, 64, 56, 56, size=[112, 112], method="linear", roi=[0.0] * 4),
    )),
    **{
        d: ("the C library", (_power(d), *(_function(name, d) for name in _FUNCTIONS)))
        for d in ("float32", "float64")
    },
    "softmax": ("a copy", (
        _one("nn.softmax", 64, 1024),
        _masked_softmax(64, 1024),
        _one("nn.softmax", *_PLAIN, dtype="float64"),
    )),
}  # fmt: skip
