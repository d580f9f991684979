"""Gradients of what moves, repeats, compares or combines elements: drawn attributes against finite differences."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError
from irtool.ir import Expr, Tuple, TupleGetItem
from irtool.ops.base import call
from tests.passes.slopes import PASSES, Case, check, constant, direct, values, weighted

DRAWS = 6
Draw = Callable[[random.Random], Case]


def shape_of(rng: random.Random, least: int = 1, most: int = 4) -> tuple[int, ...]:
    """Extents that differ, one of them 1 now and then."""
    return tuple(rng.sample((1, 2, 3, 4, 5), rng.randint(least, most)))


def axis_of(rng: random.Random, shape: Sequence[int]) -> int:
    return rng.randrange(-len(shape), len(shape))


def indices(rng: random.Random, shape: Sequence[int], low: int, high: int) -> np.ndarray:
    drawn = [rng.randint(low, high) for _ in range(int(np.prod(shape)))]
    return np.array(drawn, rng.choice(("int32", "int64"))).reshape(shape)


def of_two(name: str, low: float = 0.2, high: float = 0.9) -> Draw:
    def draw(rng: random.Random) -> Case:
        shape = shape_of(rng)
        other = tuple(1 if rng.random() < 0.3 else d for d in shape)[rng.randint(0, len(shape)) :]
        pair = [shape, other] if rng.random() < 0.5 else [other, shape]
        return Case(direct(name), pair, low, high)

    return draw


def _power(rng: random.Random) -> Case:
    if rng.random() < 0.5:
        exponent = rng.choice((2.0, 3.0, -1.0, 0.5, 0.0, 1.0))
        return Case(lambda x: call("power", x, constant(exponent)), [shape_of(rng)])
    return of_two("power")(rng)


def _powers_of_zero(rng: random.Random) -> Case:
    """No difference is taken from below: a negative number has no root."""
    exponents = np.array([2.0, 3.0, 4.0])
    return Case(lambda x: call("power", x, constant(exponents)), [np.array([0.0, 0.0, 1.0])])


def _prelu(rng: random.Random) -> Case:
    shape = shape_of(rng)
    axis = axis_of(rng, shape)
    return Case(direct("nn.prelu", axis=axis), [shape, (shape[axis],)], -0.9, 0.8)


def _tile(rng: random.Random) -> Case:
    return Case(
        direct("tile", reps=tuple(rng.choice((1, 2, 3)) for _ in range(rng.randint(1, 4)))), [shape_of(rng, 0, 3)]
    )


def _repeat(rng: random.Random) -> Case:
    shape = shape_of(rng)
    return Case(direct("repeat", repeats=rng.randint(1, 3), axis=axis_of(rng, shape)), [shape])


def _broadcast(rng: random.Random) -> Case:
    shape = shape_of(rng)
    small = tuple(1 if rng.random() < 0.5 else d for d in shape)[rng.randint(0, len(shape)) :]
    return Case(direct("broadcast_to", shape=shape), [small])


def _meshgrid(rng: random.Random) -> Case:
    indexing, count = rng.choice(("ij", "xy")), rng.randint(1, 3)

    def make(*args: Expr) -> Expr:
        grids = call("meshgrid", Tuple(args), indexing=indexing)
        total: Expr = TupleGetItem(grids, 0)
        for k in range(1, count):
            total = call("multiply", total, TupleGetItem(grids, k))
        return total

    return Case(make, [rng.choice(((2,), (3,), (1,), ())) for _ in range(count)])


def _pad(rng: random.Random) -> Case:
    shape, mode = shape_of(rng, 1, 3), rng.choice(("constant", "edge", "reflect"))
    least = -2 if mode != "reflect" else -1
    widths = tuple((rng.randint(least, 2), rng.randint(least, 2)) for _ in shape)
    return Case(direct("nn.pad", pad_width=widths, pad_mode=mode), [shape, ()])


def _mirror_pad(rng: random.Random) -> Case:
    shape = shape_of(rng, 1, 3)
    widths = tuple((rng.randint(0, d - 1), rng.randint(0, d - 1)) for d in shape)
    return Case(direct("nn.mirror_pad", mode=rng.choice(("SYMMETRIC", "REFLECT")), pad_width=widths), [shape])


def _slice_like(rng: random.Random) -> Case:
    shape = shape_of(rng)
    like = tuple(rng.randint(1, d) for d in shape)
    axes = rng.choice((None, (axis_of(rng, shape),)))
    return Case(direct("slice_like", axes=axes), [shape, like])


def _split(rng: random.Random) -> Case:
    shape = (2, 6, 1)
    cuts: Any = rng.choice((2, 3, (1,), (2, 3), (1, 4, 5)))
    axis = rng.choice((1, -2))

    def make(x: Expr) -> Expr:
        parts = call("split", x, indices_or_sections=cuts, axis=axis)
        last = (cuts if isinstance(cuts, int) else len(cuts) + 1) - 1
        return call("concatenate", Tuple((TupleGetItem(parts, last), TupleGetItem(parts, 0))), axis=1)

    return Case(make, [shape])


def _strided_set(rng: random.Random) -> Case:
    shape = shape_of(rng, 1, 3)
    begin, end, strides, box = [], [], [], []
    for d in shape:
        first, last = sorted((rng.randint(-1, d), rng.randint(0, d + 1)))
        step = rng.choice((1, 1, 2, -1, -2))
        begin.append(first if step > 0 else last)
        end.append(last if step > 0 else first)
        strides.append(step)
        box.append(rng.randint(1, d))
    bounds = [constant(b, "int32") for b in (begin, end, strides)]
    return Case(lambda x, v: call("strided_set", x, v, *bounds), [shape, tuple(box)])


def _box_at_a_place_of_the_run(rng: random.Random) -> Case:
    bounds = [np.array(b, "int64") for b in ([0, 1], [2, 3], [1, 1])]
    return Case(lambda x, v, b, e, s: call("strided_set", x, v, b, e, s), [(3, 4), (2, 2), *bounds])


def _reverse(rng: random.Random) -> Case:
    shape = shape_of(rng)
    return Case(direct("reverse", axis=axis_of(rng, shape)), [shape])


def _reverse_sequence(rng: random.Random) -> Case:
    shape = shape_of(rng, 2)
    seq, batch = rng.sample(range(len(shape)), 2)
    lengths = np.array([rng.randint(0, shape[seq] + 1) for _ in range(shape[batch])], "int32")
    return Case(direct("reverse_sequence", seq_axis=seq - len(shape), batch_axis=batch), [shape, lengths])


def _sequence_mask(rng: random.Random) -> Case:
    shape, axis = shape_of(rng, 2), rng.randint(0, 1)
    lengths = np.array([rng.randint(0, shape[axis]) for _ in range(shape[1 - axis])], "int32")
    return Case(direct("sequence_mask", mask_value=0.5, axis=axis), [shape, lengths])


def _trilu(rng: random.Random) -> Case:
    return Case(direct("trilu", upper=rng.random() < 0.5), [shape_of(rng, 2), np.array(rng.randint(-2, 2), "int32")])


def _dilate(rng: random.Random) -> Case:
    shape = shape_of(rng)
    return Case(direct("nn.dilate", strides=tuple(rng.randint(1, 3) for _ in shape), dilation_value=0.5), [shape])


def _fifo(rng: random.Random) -> Case:
    shape = shape_of(rng)
    axis = axis_of(rng, shape)
    new = tuple(rng.randint(1, d) if a == axis % len(shape) else d for a, d in enumerate(shape))
    return Case(direct("nn.fifo_buffer", axis=axis), [new, shape])


def _pixels(name: str) -> Draw:
    def draw(rng: random.Random) -> Case:
        layout, block = rng.choice(("NCHW", "NHWC", "CHWN")), rng.randint(1, 2)
        depth = name == "nn.depth_to_space"
        extents = {"N": 2, "C": block * block * rng.randint(1, 2) + (rng.randint(0, 1) if depth else 0), "H": 3, "W": 2}
        if not depth:
            extents.update(C=2, H=4 + rng.randint(0, 1))
        mode = rng.choice(("DCR", "CDR"))
        return Case(direct(name, block_size=block, layout=layout, mode=mode), [tuple(extents[c] for c in layout)])

    return draw


def _space_to_batch(rng: random.Random) -> Case:
    paddings = tuple((rng.randint(0, 2), rng.randint(0, 2)) for _ in range(2))
    attributes = {"block_shape": (2, rng.randint(1, 2)), "paddings": paddings, "pad_value": 0.5}
    return Case(direct("nn.space_to_batch_nd", **attributes), [(2, 4, 3, 2)[: rng.randint(3, 4)]])


def _batch_to_space(rng: random.Random) -> Case:
    crops = tuple((rng.randint(0, 1), rng.randint(0, 1)) for _ in range(2))
    return Case(direct("nn.batch_to_space_nd", block_shape=(2, 2), crops=crops), [(rng.choice((4, 5, 8)), 2, 2, 2)])


def _relayout(rng: random.Random) -> Case:
    source, target, shape = rng.choice(
        (
            ("NCHW", "NHWC", (1, 5, 2, 3)),
            ("NCHW", "NCHW4c", (1, 6, 2, 3)),
            ("NCHW4c", "NCHW", (1, 2, 2, 3, 4)),
            ("NCHW4c", "NCHW3c", (1, 2, 2, 1, 4)),
            ("NHWC", "NCHW2c", (2, 1, 3, 3)),
        )
    )
    return Case(direct("layout_transform", src_layout=source, dst_layout=target), [shape])


def _take(rng: random.Random) -> Case:
    shape = shape_of(rng, 1, 3)
    batch = rng.randint(0, 1)
    axis: Any = None if batch == 0 and rng.random() < 0.2 else rng.randrange(batch, len(shape) + batch) % len(shape)
    if batch and axis == 0:
        batch = 0
    extent = int(np.prod(shape)) if axis is None else shape[axis]
    of_indices = (shape[0], *rng.choice(((3,), (2, 2), ()))) if batch else rng.choice(((2, 2), (1, 3), (2, 1, 2)))
    mode = rng.choice(("clip", "wrap"))
    return Case(
        direct("take", axis=axis, mode=mode, batch_dims=batch), [shape, indices(rng, of_indices, -2, extent + 1)]
    )


def _gather(rng: random.Random) -> Case:
    shape = shape_of(rng)
    axis = axis_of(rng, shape)
    own = tuple(rng.randint(1, 4) if a == axis % len(shape) else d for a, d in enumerate(shape))
    return Case(direct("gather", axis=axis), [shape, indices(rng, own, -2, shape[axis] + 1).astype("int64")])


def _adv_index(rng: random.Random) -> Case:
    shape = shape_of(rng, 2)
    positions = [indices(rng, rng.choice(((3,), (1,), (2, 1))), -1, d) for d in shape[: rng.randint(1, 2)]]
    return Case(lambda x, *i: call("adv_index", Tuple((x, *i))), [shape, *positions])


def _scatter(name: str, *reductions: str) -> Draw:
    def draw(rng: random.Random) -> Case:
        shape = shape_of(rng)
        axis = axis_of(rng, shape)
        reached = tuple(rng.randint(1, 4) if a == axis % len(shape) else rng.randint(1, d) for a, d in enumerate(shape))
        longer = tuple(n + rng.randint(0, 1) if a == axis % len(shape) else n for a, n in enumerate(reached))
        attributes = {"axis": axis, **({"reduction": rng.choice(reductions)} if reductions else {})}
        return Case(direct(name, **attributes), [shape, indices(rng, reached, -shape[axis] - 1, shape[axis]), longer])

    return draw


def _scatter_nd(rng: random.Random) -> Case:
    shape = shape_of(rng, 2, 3)
    count, inner = rng.randint(1, 2), rng.choice(((3,), (2, 2)))
    positions = np.stack([indices(rng, inner, -1, d).astype("int64") for d in shape[:count]])
    mode = rng.choice(("update", "add", "mul", "min", "max"))
    return Case(direct("scatter_nd", mode=mode), [shape, positions, (*inner, *shape[count:])])


def _sorted(name: str) -> Draw:
    def draw(rng: random.Random) -> Case:
        shape = shape_of(rng)
        axis = axis_of(rng, shape)
        ascending = rng.random() < 0.5
        if name == "sort":
            return Case(direct("sort", axis=axis, is_ascend=ascending), [shape])
        k, kind = rng.randint(0, shape[axis]), rng.choice(("values", "both"))

        def make(x: Expr) -> Expr:
            best = call("topk", x, k=k, axis=axis, ret_type=kind, is_ascend=ascending, dtype="int32")
            return best if kind == "values" else TupleGetItem(best, 0)

        return Case(make, [shape])

    return draw


def _matrix_set_diag(rng: random.Random) -> Case:
    shape = (*(2,)[: rng.randint(0, 1)], 3, 4)
    k1 = rng.randint(-2, 2)
    k2 = rng.randint(k1, 3)
    longest = max(min(3 + min(k, 0), 4 - max(k, 0)) for k in range(k1, k2 + 1))
    lines = (longest + rng.randint(-1, 1) or 1,) if k1 == k2 else (k2 - k1 + 1, longest)
    attributes = {"super_diag_right_align": rng.random() < 0.5, "sub_diag_right_align": rng.random() < 0.5}
    return Case(direct("matrix_set_diag", k1=k1, k2=k2, **attributes), [shape, (*shape[:-2], *lines)])


def _scan(name: str) -> Draw:
    def draw(rng: random.Random) -> Case:
        shape = shape_of(rng)
        axis = rng.choice((None, axis_of(rng, shape)))
        inputs: Any = shape
        if name == "cumprod" and rng.random() < 0.7:
            x = np.linspace(0.5, 1.5, int(np.prod(shape)))
            x[np.array(rng.sample(range(x.size), min(2, x.size)))] = 0.0
            inputs = x.reshape(shape)
        return Case(direct(name, axis=axis, exclusive=rng.random() < 0.5), [inputs])

    return draw


def _prod(rng: random.Random) -> Case:
    shape = shape_of(rng, 2)
    x = np.linspace(0.5, 1.5, int(np.prod(shape)))
    x[np.array(rng.sample(range(x.size), rng.randint(0, min(3, x.size))), int)] = 0.0
    axis = rng.choice((None, (axis_of(rng, shape),), tuple(rng.sample(range(len(shape)), 2))))
    return Case(direct("prod", axis=axis, keepdims=rng.random() < 0.5, exclude=rng.random() < 0.3), [x.reshape(shape)])


def _einsum(rng: random.Random) -> Case:
    equation, *shapes = rng.choice(
        (
            ("ij,jk->ik", (2, 3), (3, 4)),
            ("bij,bkj->bki", (2, 1, 3), (2, 4, 3)),
            ("ij->i", (2, 3)),
            ("ii->i", (3, 3)),
            ("ii", (3, 3)),
            ("i,j,ij->", (2,), (3,), (2, 3)),
            ("...ij,...jk->...ik", (1, 2, 3), (2, 3, 2)),
            ("ij,jk", (1, 3), (3, 2)),
            ("iji,ij->j", (2, 3, 2), (1, 3)),
        )
    )
    return Case(lambda *x: call("einsum", Tuple(x), equation=equation), list(shapes))


def _dynamic(name: str, *bounds: Any, **attributes: Any) -> Draw:
    """A call whose bounds are constants."""
    return lambda rng: Case(lambda x: call(name, x, *(constant(b, "int64") for b in bounds), **attributes), [(3, 4)])


DRAWN: dict[str, Draw] = {
    **{name: of_two(name) for name in ("maximum", "minimum", "mod", "trunc_mod", "floor_mod", "floor_divide")},
    "floor_mod of negative": of_two("floor_mod", -0.9, 0.95),
    "power": _power,
    "powers of zero": _powers_of_zero,
    "rsqrt": lambda rng: Case(direct("rsqrt"), [shape_of(rng)]),
    "hardswish": lambda rng: Case(direct("hardswish"), [shape_of(rng)], -3.5, 3.6),
    "leaky_relu": lambda rng: Case(direct("nn.leaky_relu", alpha=0.3), [shape_of(rng)], -1.0, 0.9),
    "prelu": _prelu,
    "tile": _tile,
    "repeat": _repeat,
    "broadcast_to": _broadcast,
    "meshgrid": _meshgrid,
    "full": lambda rng: Case(direct("full", shape=(2, 3)), [()]),
    "full_like": lambda rng: Case(direct("full_like"), [(2, 3), ()]),
    "pad": _pad,
    "mirror_pad": _mirror_pad,
    "slice_like": _slice_like,
    "split": _split,
    "strided_set": _strided_set,
    "strided_set at run time": _box_at_a_place_of_the_run,
    "reverse": _reverse,
    "reverse_sequence": _reverse_sequence,
    "sequence_mask": _sequence_mask,
    "trilu": _trilu,
    "dilate": _dilate,
    "fifo_buffer": _fifo,
    "depth_to_space": _pixels("nn.depth_to_space"),
    "space_to_depth": _pixels("nn.space_to_depth"),
    "space_to_batch": _space_to_batch,
    "batch_to_space": _batch_to_space,
    "layout_transform": _relayout,
    "take": _take,
    "gather": _gather,
    "adv_index": _adv_index,
    "scatter": _scatter("scatter"),
    "scatter_add": _scatter("scatter_add"),
    "scatter_elements": _scatter("scatter_elements", "update", "add", "mul", "min", "max"),
    "scatter_nd": _scatter_nd,
    "sort": _sorted("sort"),
    "topk": _sorted("topk"),
    "matrix_set_diag": _matrix_set_diag,
    "cumsum": _scan("cumsum"),
    "cumprod": _scan("cumprod"),
    "prod": _prod,
    "einsum": _einsum,
    "dyn.tile": _dynamic("dyn.tile", [2, 3], reps=()),
    "dyn.strided_slice": _dynamic(
        "dyn.strided_slice", [2, 0], [0, 4], [-1, 2], begin=None, end=None, strides=None, slice_mode="end", axes=None
    ),
    "dyn.topk": _dynamic("dyn.topk", 2, k=None, ret_type="values", dtype="int32"),
}


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
        assert check(case, PASSES if checked == 0 else PASSES[:1]), "a rule refuses that has no reason to"
        checked += 1


def test_one_update_of_several_has_the_gradient() -> None:
    """The last update of an element stays; of equal candidates for a maximum each has its share."""
    rows = np.array([0, 0, 2], "int32")
    case = Case(lambda x, u: call("scatter", x, constant(rows, "int32"), u, axis=0), [(3,), (3,)])
    module = weighted(case, values(case))
    _, (of_data, of_updates) = irtool.evaluate(irtool.run_passes(module, PASSES[0]), values(case))
    assert of_data[0] == of_data[2] == of_updates[0] == 0 and of_data[1] and of_updates[1] and of_updates[2]


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_equal_sides_share_the_gradient(name: str) -> None:
    text = f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(3), float32], %y: Tensor[(3), float32]) {{ {name}(%x, %y) }}'
    after = irtool.run_passes(irtool.parse(text), PASSES[0])
    _, gradients = irtool.evaluate(after, [np.array([1, 2, 3], "float32"), np.array([3, 2, 1], "float32")])
    assert np.add(*gradients).tolist() == [1, 1, 1] and gradients[0][1] == 0.5
