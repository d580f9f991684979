"""Gradients of convolutions, pools, resizing and sampling: drawn attributes against finite differences, and second derivatives."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError
from irtool.ir import Expr, Function, Module, Tuple, TupleGetItem
from irtool.ops.base import call
from tests.passes.slopes import PASSES, Case, check, constant, direct, finite_differences, values, weighted

DRAWS = 4
Draw = Callable[[random.Random], Case]
IMAGES = constant([[0.0], [1.0]])
"""The numbers of the images of two regions."""
LAYOUTS = {1: (("NCW", "OIW"), ("NWC", "WIO")), 3: (("NCDHW", "OIDHW"), ("NDHWC", "DHWIO"))}
LAYOUTS[2] = (("NCHW", "OIHW"), ("NHWC", "HWIO"), ("NHWC", "HWOI"), ("HWNC", "HWOI"))


def in_layout(layout: str, **extents: int) -> tuple[int, ...]:
    return tuple(extents[letter] for letter in layout)


def _spatial(rng: random.Random, rank: int, low: int, high: int) -> dict[str, int]:
    return {letter: rng.randint(low, high) for letter in "DHW"[3 - rank :]}


def _convolution(rank: int) -> Draw:
    def draw(rng: random.Random) -> Case:
        data_layout, kernel_layout = rng.choice(LAYOUTS[rank])
        out_layout = rng.choice(("", *(layout for layout, _ in LAYOUTS[rank])))
        groups, size, kernel = rng.choice((1, 1, 2)), _spatial(rng, rank, 3, 5), _spatial(rng, rank, 1, 3)
        data = in_layout(data_layout, N=rng.randint(1, 2), C=2 * groups, **size)
        weight = in_layout(kernel_layout, O=2 * groups, I=2, **kernel)
        attributes = {
            "strides": tuple(rng.randint(1, 3) for _ in range(rank)),
            "dilation": tuple(rng.randint(1, 2) for _ in range(rank)),
            "padding": tuple(rng.randint(0, 2) for _ in range(2 * rank)),
            "groups": groups,
            "channels": 2 * groups,
            "kernel_size": tuple(kernel.values()),
            "data_layout": data_layout,
            "kernel_layout": kernel_layout,
            "out_layout": out_layout,
        }
        return Case(direct(f"nn.conv{rank}d", **attributes), [data, weight])

    return draw


def _transposed(rank: int) -> Draw:
    def draw(rng: random.Random) -> Case:
        data_layout, kernel_layout = rng.choice(LAYOUTS[rank])
        groups, size, kernel = rng.choice((1, 1, 2)), _spatial(rng, rank, 2, 4), _spatial(rng, rank, 1, 3)
        strides = tuple(rng.randint(1, 3) for _ in range(rank))
        incoming, outgoing = 2 * groups, 3 * groups
        letters = {"I": incoming, "O": outgoing // groups} if rank == 2 else {"O": incoming, "I": outgoing // groups}
        attributes = {
            "strides": strides,
            "dilation": tuple(rng.randint(1, 2) for _ in range(rank)),
            "padding": tuple(rng.randint(0, 1) for _ in range(2 * rank)),
            "output_padding": tuple(rng.randint(0, s) for s in strides),
            "groups": groups,
            "channels": outgoing,
            "kernel_size": tuple(kernel.values()),
            "data_layout": data_layout,
            "kernel_layout": kernel_layout,
        }
        data = in_layout(data_layout, N=rng.randint(1, 2), C=incoming, **size)
        return Case(
            direct(f"nn.conv{rank}d_transpose", **attributes), [data, in_layout(kernel_layout, **letters, **kernel)]
        )

    return draw


def _pool(kind: str, rank: int) -> Draw:
    def draw(rng: random.Random) -> Case:
        spatial = "DHW"[3 - rank :]
        layout = rng.choice((f"NC{spatial}", f"N{spatial}C", f"C{spatial}N"))
        attributes: dict[str, Any] = {
            "pool_size": tuple(rng.randint(1, 3) for _ in range(rank)),
            "strides": tuple(rng.randint(1, 3) for _ in range(rank)),
            "dilation": (1,) * rank if rng.random() < 0.6 else tuple(rng.randint(1, 2) for _ in range(rank)),
            "layout": layout,
            "ceil_mode": rng.random() < 0.4,
        }
        attributes["padding"] = tuple(rng.randint(0, k // 2) for k in attributes["pool_size"] * 2)
        if kind == "avg":
            attributes["count_include_pad"] = rng.random() < 0.5
        data = in_layout(layout, N=2, C=1 if rank == 3 else 2, **_spatial(rng, rank, 3, 5))
        return Case(direct(f"nn.{kind}_pool{rank}d", **attributes), [data])

    return draw


def _adaptive(kind: str, rank: int) -> Draw:
    def draw(rng: random.Random) -> Case:
        spatial = "DHW"[3 - rank :]
        layout = rng.choice((f"NC{spatial}", f"N{spatial}C"))
        size = tuple(rng.randint(1, 5) for _ in range(rank))
        data = in_layout(layout, N=1, C=2, **_spatial(rng, rank, 2, 6))
        return Case(direct(f"nn.adaptive_{kind}_pool{rank}d", output_size=size, layout=layout), [data])

    return draw


def _global(kind: str) -> Draw:
    def draw(rng: random.Random) -> Case:
        layout = rng.choice(("NCHW", "NHWC", "CHWN"))
        return Case(direct(f"nn.global_{kind}_pool2d", layout=layout), [in_layout(layout, N=2, C=2, H=3, W=4)])

    return draw


def _resize(rank: int) -> Draw:
    """Linear maps, computed in float32: wide steps give the same differences."""

    def draw(rng: random.Random) -> Case:
        spatial = "DHW"[3 - rank :]
        layout = rng.choice((f"NC{spatial}", f"N{spatial}C"))
        extents = _spatial(rng, rank, 1, 4)
        mode = rng.choice(("half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"))
        attributes = {
            "size": tuple(rng.choice((1, 2, 2 * d, 3 * d, d + 1)) for d in extents.values()),
            "roi": (0.1,) * rank + (0.9,) * rank,
            "layout": layout,
            "method": rng.choice(("nearest_neighbor", "linear", "cubic")),
            "coordinate_transformation_mode": mode,
            "rounding_method": rng.choice(("round", "floor", "ceil")),
            "cubic_exclude": rng.randint(0, 1),
        }
        data = in_layout(layout, N=1, C=2, **extents)
        return Case(direct(f"image.resize{rank}d", **attributes), [data], step=0.5)

    return draw


def _upsampling(rng: random.Random) -> Case:
    attributes = {
        "scale_h": rng.choice((1.0, 2.0, 3.0, 1.5)),
        "scale_w": rng.choice((1.0, 2.0, 0.5)),
        "method": rng.choice(("nearest_neighbor", "bilinear", "bicubic")),
        "align_corners": rng.random() < 0.5,
        "layout": rng.choice(("NCHW", "NHWC")),
    }
    return Case(direct("nn.upsampling", **attributes), [(1, 2, 4, 2)], step=0.5)


def _grid_sample(rng: random.Random) -> Case:
    volume, size = rng.random() < 0.3, rng.sample((2, 3, 4), 3)
    methods = ("bilinear", "nearest") if volume else ("bilinear", "nearest", "bicubic")
    attributes = {
        "method": rng.choice(methods),
        "layout": "NCDHW" if volume else "NCHW",
        "padding_mode": rng.choice(("zeros", "border", "reflection")),
        "align_corners": rng.random() < 0.5,
    }
    data = (2, 2, *size) if volume else (2, 3, *size[:2])
    axes = len(data) - 2
    grid = np.random.RandomState(rng.randrange(1000)).uniform(-1.3, 1.3, (2, axes, *(2, 3, 2)[:axes]))
    return Case(direct("image.grid_sample", **attributes), [data, grid])


def _roi_align(rng: random.Random) -> Case:
    regions = np.array([[0, 0.31, 0.47, 3.13, 3.41], [1, 1.17, 0.71, 5.3, 2.63]])
    attributes = {"pooled_size": (2, 3), "spatial_scale": 0.7, "sample_ratio": 2, "mode": rng.choice(("avg", "max"))}
    layout = rng.choice(("NCHW", "NHWC"))
    data = in_layout(layout, N=2, C=2, H=4, W=5)
    moved = lambda x, r: call(  # noqa: E731  # the numbers of images are no reals
        "vision.roi_align",
        x,
        call("concatenate", Tuple((IMAGES, r)), axis=1),
        layout=layout,
        exact=rng.random() < 0.5,
        **attributes,
    )
    return Case(moved, [data, regions[:, 1:]], step=1e-3)


def _nll_loss(rng: random.Random) -> Case:
    more = (2, 3)[: rng.randint(0, 2)]
    targets = np.array([rng.randint(-1, 4) for _ in range(3 * int(np.prod(more)))], "int32").reshape(3, *more)
    attributes = {"reduction": rng.choice(("none", "sum", "mean")), "ignore_index": rng.choice((-1, 2, -100))}
    return Case(direct("nn.nll_loss", **attributes), [(3, 4, *more), targets, (4,)])


def _dft(rng: random.Random) -> Case:
    inverse = rng.random() < 0.5

    def make(real: Expr, imaginary: Expr) -> Expr:
        parts = call("dft", real, imaginary, inverse=inverse)
        return call("concatenate", Tuple((TupleGetItem(parts, 0), TupleGetItem(parts, 1))), axis=0)

    shape = rng.choice(((4,), (2, 3), (1, 6)))
    return Case(make, [shape, shape])


def _sliding_window(rng: random.Random) -> Case:
    shape, axis = (2, 5, 4), rng.randint(0, 2)
    window = tuple(rng.randint(1, d) for d in shape[axis:])
    strides = tuple(rng.randint(1, 3) for _ in window)
    return Case(direct("sliding_window", axis=axis - rng.choice((0, 3)), window_shape=window, strides=strides), [shape])


DRAWN: dict[str, Draw] = {
    **{f"conv{rank}d": _convolution(rank) for rank in (1, 2, 3)},
    **{f"conv{rank}d_transpose": _transposed(rank) for rank in (1, 2, 3)},
    **{f"{kind}_pool{rank}d": _pool(kind, rank) for kind in ("max", "avg") for rank in (1, 3)},
    **{f"adaptive_{kind}_pool{rank}d": _adaptive(kind, rank) for kind in ("max", "avg") for rank in (1, 2, 3)},
    **{f"global_{kind}_pool2d": _global(kind) for kind in ("max", "avg")},
    **{f"resize{rank}d": _resize(rank) for rank in (1, 2, 3)},
    "upsampling": _upsampling,
    "grid_sample": _grid_sample,
    "affine_grid": lambda rng: Case(direct("image.affine_grid", target_shape=(rng.randint(2, 4), 3)), [(2, 2, 3)]),
    "roi_align": _roi_align,
    "nll_loss": _nll_loss,
    "dft": _dft,
    "sliding_window": _sliding_window,
}
ROUGH = {"roi_align": 2e-3}
"""Tolerances of operators that compute in float32 and are not linear."""


@pytest.mark.parametrize("name", DRAWN)
def test_drawn_attributes(name: str) -> None:
    checked = tried = 0
    rng = random.Random(name)
    while checked < DRAWS:
        tried += 1
        assert tried < 20 * DRAWS
        case = DRAWN[name](rng)
        try:
            weighted(case, values(case))
        except IrError:
            continue  # what the operator does not accept is not drawn
        assert check(case, PASSES if checked == 0 else PASSES[:1], ROUGH.get(name, 1e-5))
        checked += 1


TWICE: dict[str, Draw] = {
    "power": lambda rng: Case(direct("power"), [(2, 3), (3,)]),
    "hardswish": lambda rng: Case(direct("hardswish"), [(5,)], -2.5, 2.4),
    "layer_norm": lambda rng: Case(direct("nn.layer_norm", axis=-1), [(2, 3), (3,), (3,)]),
    "l2_normalize": lambda rng: Case(direct("nn.l2_normalize", eps=1e-6, axis=(1,)), [(2, 3)]),
    "cumprod": lambda rng: Case(direct("cumprod", axis=1), [(2, 3)]),
    "conv2d": lambda rng: Case(
        direct("nn.conv2d", strides=(2, 1), padding=(1, 0), channels=2, kernel_size=(3, 2)),
        [(1, 2, 4, 4), (2, 2, 3, 2)],
    ),
    "conv1d_transpose": lambda rng: Case(
        direct("nn.conv1d_transpose", strides=(2,), channels=2, kernel_size=(3,)), [(1, 2, 3), (2, 2, 3)]
    ),
    "avg_pool2d": lambda rng: Case(direct("nn.avg_pool2d", pool_size=(2, 2), strides=(1, 2)), [(1, 1, 4, 4)]),
    "max_pool2d": lambda rng: Case(
        direct("nn.max_pool2d", pool_size=(3, 2), strides=(2, 1), padding=(1, 0), dilation=(1, 2)), [(1, 2, 5, 6)]
    ),
    "grid_sample": _grid_sample,
}


@pytest.mark.parametrize("name", TWICE)
def test_second_derivatives(name: str) -> None:
    """The gradient of a weighted sum of the gradients of the squared result."""
    case = TWICE[name](random.Random(3))
    square = replace(case, make=lambda *args: (lambda y: call("multiply", y, y))(case.make(*args)))
    arrays = values(square)
    once = irtool.run_passes(weighted(square, arrays), PASSES[0])["main"]
    assert isinstance(once, Function)
    gradients = TupleGetItem(once.body, 1)
    total: Expr | None = None
    for k, a in enumerate(arrays):
        weights = np.random.RandomState(k).uniform(0.5, 1.5, a.shape)
        part = call("sum", call("multiply", TupleGetItem(gradients, k), constant(weights)), axis=None)
        total = part if total is None else call("add", total, part)
    assert total is not None
    module = irtool.infer_types(Module({"main": Function(once.params, total)}))
    graph = irtool.run_passes(module, "ToGraphNormalForm")
    _, got = irtool.evaluate(irtool.run_passes(graph, PASSES[0]), arrays)
    for g, slope in zip(got, finite_differences(module, arrays, 1e-6), strict=True):
        np.testing.assert_allclose(g, slope, rtol=1e-4, atol=1e-4)
