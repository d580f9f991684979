"""Random layers in every rank, layout and dtype that they accept: `random_layers(seed)`.

Each module has one anchor (a product, a convolution, a pool, a normalisation …) in two to four branches of one input, and behind it the
short chains that passes look for: a bias along some axis, operands of lower and higher rank, activations, changes of shape.
`networks.random_network` draws deeper networks of the usual layouts.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import irtool
from irtool.diagnostics import IrError
from irtool.ir import Module

Shape = tuple[int, ...]
Attributes = dict[str, object]
Anchor = tuple[str, Shape, list[Shape], Attributes]
"""An operator, the shape of its data, those of its other arguments, and its attributes."""


def random_layers(seed: int) -> Module:
    """A typed module; the same seed gives the same one."""
    rng = random.Random(seed)
    while True:
        anchor = rng.choice(ANCHORS)
        try:
            return irtool.infer_types(irtool.parse(_Text(rng, anchor(rng)).module()))
        except IrError:
            continue  # what an operator does not accept is not drawn


class _Text:
    """The text of one module."""

    def __init__(self, rng: random.Random, anchor: Anchor) -> None:
        self.rng = rng
        self.operator, self.data, self.others, self.attributes = anchor
        self.dtype = rng.choice(("float32", "float32", "float64", "int8", "int32"))
        self.params = [f"%x: {self.type(self.data)}"]
        self.lines: list[str] = []

    def type(self, shape: Shape, dtype: str = "") -> str:
        return f"Tensor[({', '.join(map(str, shape))}), {dtype or self.dtype}]" if shape else dtype or self.dtype

    def param(self, shape: Shape, dtype: str = "") -> str:
        name = f"%w{len(self.params)}"
        self.params.append(f"{name}: {self.type(shape, dtype)}")
        return name

    def push(self, operator: str, *args: str, **attributes: object) -> str:
        inside = [*args, *(f"{k}={_literal(v)}" for k, v in attributes.items())]
        self.lines.append(f"  %{len(self.lines)} = {operator}({', '.join(inside)});")
        return f"%{len(self.lines) - 1}"

    def shape(self, e: str) -> tuple[Shape, str]:
        """The shape and the dtype of an expression, by inference."""
        module = irtool.infer_types(irtool.parse(self.text(e)))
        t = module["main"].body.checked_type  # type: ignore[union-attr]
        return tuple(t.shape), str(t.dtype)  # type: ignore[union-attr]

    def text(self, result: str) -> str:
        lines = "\n".join(self.lines)
        return f'#[version = "0.0.5"]\ndef @main({", ".join(self.params)}) {{\n{lines}\n  {result}\n}}\n'

    def module(self) -> str:
        rng = self.rng
        count = rng.choice((1, 2, 3, 3, 4))
        weights = [self.param(s) for s in self.others]
        wide = {"out_dtype": "int32"} if self.dtype == "int8" and "out_dtype" in self.attributes else {}
        attributes = {k: v for k, v in self.attributes.items() if k != "out_dtype"} | wide
        branches = []
        for i in range(count):
            if i and rng.random() < 0.8:
                weights = [self.param(self.varied(s)) for s in self.others]
            branches.append(self.push(self.operator, "%x", *weights, **attributes))
        chain = [rng.choice(CHAIN) for _ in range(rng.randint(0, 3))]
        for link in chain:
            seed = rng.randrange(2**31)
            for i, e in enumerate(branches):
                # The same draw for all branches, most of the time: what differs is not combined.
                alike = random.Random(seed) if rng.random() < 0.9 else random.Random(rng.randrange(2**31))
                own, dtype = self.shape(e)
                branches[i] = link(self, alike, e, own, dtype)
        return self.text(branches[0] if count == 1 else f"({', '.join(branches)})")

    def varied(self, shape: Shape) -> Shape:
        """The shape of another branch's weights: sometimes more or fewer along the first or last axis."""
        if self.rng.random() < 0.6 or not shape:
            return shape
        axis = self.rng.choice((0, len(shape) - 1))
        return (*shape[:axis], self.rng.choice((1, 2, 3)), *shape[axis + 1 :])


def _literal(value: object) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_literal, value))}]"
    return str(value)


# --------------------------------------------------------------------------------------------------------------------- anchors


def _dense(rng: random.Random) -> Anchor:
    data = (*rng.sample((1, 2, 3), rng.randint(0, 3)), 4)
    units = rng.choice((1, 3, 4))
    return "nn.dense", data, [(units, 4)], {"units": rng.choice((None, units)), "out_dtype": ""}


def _matmul(rng: random.Random) -> Anchor:
    a, b = rng.random() < 0.5, rng.random() < 0.5
    rows: Shape = tuple(rng.sample((2, 3), rng.randint(0, 2)))
    data = (*rows, 4, 3) if a else (*rows, 3, 4)
    weight = (5, 4) if b else (4, 5)
    return "nn.matmul", data, [weight], {"units": None, "transpose_a": a, "transpose_b": b, "out_dtype": ""}


def _batch_matmul(rng: random.Random) -> Anchor:
    a, b = rng.random() < 0.3, rng.random() < 0.7
    x, y = rng.choice(((2, 2), (1, 2), (2, 1)))
    data = (x, 4, 3) if a else (x, 3, 4)
    weight = (y, 5, 4) if b else (y, 4, 5)
    return "nn.batch_matmul", data, [weight], {"transpose_a": a, "transpose_b": b, "out_dtype": ""}


def _axes(layout: str, extents: dict[str, int]) -> Shape:
    return tuple(extents[c] for c in layout)


def _conv(rng: random.Random) -> Anchor:
    rank = rng.choice((1, 2, 2, 2, 3))
    spatial = "DHW"[3 - rank :]
    data_layout = rng.choice((f"NC{spatial}", f"N{spatial}C"))
    kernel_layout = (
        rng.choice((f"OI{spatial}", f"{spatial}IO", f"O{spatial}I"))
        if rank == 2
        else (f"OI{spatial}" if data_layout[1] == "C" else f"{spatial}IO")
    )
    groups, filters, k = rng.choice((1, 1, 1, 2, 4)), rng.choice((4, 4, 8)), rng.choice((1, 3))
    data = _axes(data_layout, {"N": rng.choice((1, 2)), "C": 4, "D": 4, "H": 5, "W": 4})
    weight = _axes(kernel_layout, {"O": filters, "I": 4 // groups, "D": k, "H": k, "W": k})
    attributes: Attributes = {
        "data_layout": data_layout,
        "kernel_layout": kernel_layout,
        "groups": groups,
        "kernel_size": [k] * rank,
        "padding": [k // 2] * (2 * rank),
        "strides": [rng.choice((1, 2))] * rank,
        "channels": rng.choice((None, filters)),
        "dilation": [rng.choice((1, 1, 2))] * rank,
        "out_dtype": "",
    }
    return f"nn.conv{rank}d", data, [weight], attributes


def _conv_transpose(rng: random.Random) -> Anchor:
    rank = rng.choice((1, 2, 3))
    spatial = "DHW"[3 - rank :]
    layout, k, filters = f"NC{spatial}", rng.choice((1, 3)), rng.choice((2, 4))
    data = _axes(layout, {"N": 1, "C": 4, "D": 2, "H": 3, "W": 3})
    weight = (4, filters, *[k] * rank)
    attributes: Attributes = {
        "channels": filters,
        "kernel_size": [k] * rank,
        "padding": [k // 2] * (2 * rank),
        "strides": [rng.choice((1, 2))] * rank,
        "data_layout": layout,
        "out_dtype": "",
    }
    return f"nn.conv{rank}d_transpose", data, [weight], attributes


def _pool(rng: random.Random) -> Anchor:
    rank = rng.choice((1, 2, 3))
    spatial, kind = "DHW"[3 - rank :], rng.choice(("max", "avg"))
    layout = rng.choice((f"NC{spatial}", f"N{spatial}C"))
    attributes: Attributes = {
        "pool_size": [rng.choice((2, 3))] * rank,
        "strides": [rng.choice((1, 2))] * rank,
        "layout": layout,
        "padding": [rng.choice((0, 1))] * (2 * rank),
        "ceil_mode": rng.random() < 0.3,
        **({"count_include_pad": rng.random() < 0.5} if kind == "avg" else {}),
    }
    return f"nn.{kind}_pool{rank}d", _axes(layout, {"N": 1, "C": 4, "D": 4, "H": 5, "W": 4}), [], attributes


def _adaptive(rng: random.Random) -> Anchor:
    layout = rng.choice(("NCHW", "NHWC"))
    name = rng.choice(("nn.global_avg_pool2d", "nn.global_max_pool2d"))
    return name, _axes(layout, {"N": 1, "C": 4, "H": 5, "W": 4}), [], {"layout": layout}


def _norm(rng: random.Random) -> Anchor:
    name = rng.choice(("layer_norm", "instance_norm", "group_norm"))
    data = (2, 4, 3, 5)[: rng.choice((3, 4)) if name != "layer_norm" else rng.choice((2, 3, 4))]
    axis = 1 if name == "group_norm" else rng.choice([*range(1, len(data)), -1])
    extra: Attributes = {"num_groups": 2} if name == "group_norm" else {}
    flags: Attributes = {"center": rng.random() < 0.7, "scale": rng.random() < 0.7}
    return f"nn.{name}", data, [(data[axis],)] * 2, {"axis": axis, **flags, **extra}


def _along_axis(rng: random.Random) -> Anchor:
    name = rng.choice(("nn.softmax", "nn.log_softmax", "nn.l2_normalize", "sum", "mean", "max"))
    data = tuple(rng.sample((2, 3, 4, 5), rng.randint(1, 4)))
    axis = rng.randrange(-len(data), len(data))
    if name == "nn.l2_normalize":
        return name, data, [], {"eps": 0.001, "axis": [axis]}
    return name, data, [], {"axis": axis}


def _bias(rng: random.Random) -> Anchor:
    data = tuple(rng.sample((2, 3, 4, 5), rng.randint(1, 4)))
    axis = rng.randrange(-len(data), len(data))
    return rng.choice(("nn.bias_add", "nn.prelu")), data, [(data[axis],)], {"axis": axis}


ANCHORS: tuple[Callable[[random.Random], Anchor], ...] = (
    *(_dense, _dense, _dense, _matmul, _batch_matmul, _batch_matmul, _conv, _conv, _conv),
    *(_conv_transpose, _pool, _adaptive, _norm, _along_axis, _bias),
)


# --------------------------------------------------------------------------------------------------------------------- chains

Link = Callable[[_Text, random.Random, str, Shape, str], str]


def _along(m: _Text, rng: random.Random, e: str, shape: Shape, dtype: str) -> str:
    """A bias or slopes along any axis."""
    if not shape:
        return e
    axis = rng.randrange(-len(shape), len(shape))
    return m.push(rng.choice(("nn.bias_add", "nn.bias_add", "nn.prelu")), e, m.param((shape[axis],), dtype), axis=axis)


def _operand(m: _Text, rng: random.Random, e: str, shape: Shape, dtype: str) -> str:
    """Another operand: of the same rank, a lower or a higher one, with extents of 1."""
    rank = rng.randint(0, len(shape))
    other = tuple(1 if rng.random() < 0.3 else d for d in shape[len(shape) - rank :])
    if rng.random() < 0.15:
        other = (2, *([1] * (len(shape) - len(other))), *other)
    args = [e, m.param(other, dtype)]
    if rng.random() < 0.3:
        args.reverse()
    return m.push(rng.choice(("add", "multiply", "subtract", "maximum")), *args)


def _unary(m: _Text, rng: random.Random, e: str, shape: Shape, dtype: str) -> str:
    name, attributes = rng.choice(
        (("nn.relu", {}), ("clip", {"a_min": -1.0, "a_max": 2.0}), ("negative", {}), ("abs", {}))
    )
    return m.push(name, e, **attributes)


def _moved(m: _Text, rng: random.Random, e: str, shape: Shape, dtype: str) -> str:
    """A change of shape, or of places."""
    kind = rng.randrange(6)
    if kind == 0:
        return m.push("expand_dims", e, axis=rng.randrange(-len(shape) - 1, len(shape) + 1), num_newaxis=1)
    if kind == 1:
        return m.push("reshape", e, newshape=[-1])
    if kind == 2 and shape:
        return m.push("transpose", e, axes=rng.sample(range(len(shape)), len(shape)))
    if kind == 3:
        return m.push("broadcast_to", e, shape=[2, *shape])
    if kind == 4 and shape:
        return m.push("repeat", e, repeats=2, axis=rng.randrange(-len(shape), len(shape)))
    if len(shape) >= 2:
        return m.push("trilu", e, "0", upper=rng.random() < 0.5)
    return m.push("squeeze", e, axis=[i for i, d in enumerate(shape) if d == 1])


CHAIN: tuple[Link, ...] = (_along, _operand, _operand, _unary, _moved)
