"""Gradients over attributes: drawn ones against finite differences, and cases in narrower dtypes, typed as the parameters are.

What a rule has no gradient for it refuses with E0507 at the call.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.diagnostics import InternalError, IrError
from irtool.ir import Call, Expr, Function, GlobalVar, Module, TensorType, Tuple, Var
from irtool.ops.base import call
from irtool.passes.gradients.rule import differentiable
from irtool.passes.instruments.verifying import Verifying
from tests.ops import cases
from tests.passes.slopes import PASSES, Case, check, direct, finite_differences, values, weighted

DRAWS = 5
LARGEST = 150
"""Elements of the arguments of a case up to which differences are taken."""
# ---------------------------------------------------------------------------------------------------------------- the operators' cases


def of_cases(name: str) -> list[tuple[list[Any], dict[str, Any]]]:
    """The accepted calls of the operator whose tensors are few and hold real numbers."""
    calls = []
    for _, arguments, attributes in cases.accepted_calls(name):
        flat = [a for argument in arguments for a in (argument if isinstance(argument, tuple | list) else [argument])]
        arrays = [np.asarray(a) for a in flat]
        if any(a.dtype.kind == "f" for a in arrays) and sum(a.size for a in arrays) <= LARGEST:
            calls.append((list(arguments), attributes))
    return calls


# ---------------------------------------------------------------------------------------------------------------- drawn attributes


def _reduction(name: str) -> Callable[[random.Random], Case]:
    def draw(rng: random.Random) -> Case:
        rank = rng.randint(1, 4)
        shape = tuple(rng.sample((1, 2, 3, 4), rank))
        axis: Any = rng.choice((None, (), tuple(rng.sample(range(rank), rng.randint(1, rank)))))
        axis = axis if not axis else tuple(a - rank if rng.random() < 0.4 else a for a in axis)
        return Case(direct(name, axis=axis, keepdims=rng.random() < 0.5, exclude=rng.random() < 0.3), [shape])

    return draw


def _variance(rng: random.Random) -> Case:
    axis, keep, own = rng.choice(((0,), (-1,), (0, 2), None)), rng.random() < 0.5, rng.random() < 0.5
    unbiased = rng.random() < 0.5
    shape = (3, 2, 4)
    if own:

        def make(x: Expr) -> Expr:
            mean = call("mean", x, axis=axis, keepdims=True)
            return call("variance", x, mean, axis=axis, keepdims=keep, unbiased=unbiased)

        return Case(make, [shape])
    chosen = range(3) if axis is None else [a % 3 for a in axis]
    return Case(
        direct("variance", axis=axis, keepdims=keep, unbiased=unbiased),
        [shape, tuple(1 if i in chosen else d for i, d in enumerate(shape))],
    )


def _slice(rng: random.Random) -> Case:
    rank = rng.randint(1, 3)
    shape = tuple(rng.choice((3, 5, 7)) for _ in range(rank))
    if rng.random() < 0.2:
        begin = [rng.randrange(d) for d in shape]
        end = [rng.choice((-1, rng.randint(1, d - b))) for b, d in zip(begin, shape, strict=True)]
        return Case(direct("strided_slice", begin=begin, end=end, strides=[1], slice_mode="size", axes=None), [shape])
    axes = sorted(rng.sample(range(rank), rng.randint(1, rank))) if rng.random() < 0.4 else None
    begin, end, strides = [], [], []
    for a in axes if axes is not None else range(rng.randint(1, rank)):
        step = rng.choice((1, 1, 2, 3, -1, -2))
        first, last = sorted((rng.randint(-shape[a] - 3, shape[a] + 3), rng.randint(-shape[a] - 3, shape[a] + 3)))
        begin.append(first if step > 0 else last)
        end.append(last if step > 0 else first)
        strides.append(step)
    return Case(direct("strided_slice", begin=begin, end=end, strides=strides, slice_mode="end", axes=axes), [shape])


def _pool(name: str) -> Callable[[random.Random], Case]:
    def draw(rng: random.Random) -> Case:
        layout = rng.choice(("NCHW", "NHWC"))
        kernel = (rng.choice((1, 2, 3)), rng.choice((2, 3)))
        pad = [rng.randint(0, k // 2) for k in kernel] + [rng.randint(0, k // 2) for k in kernel]
        attributes: dict[str, Any] = {
            "pool_size": kernel,
            "strides": (rng.choice((1, 2)), rng.choice((1, 2, 3))),
            "padding": pad,
            "layout": layout,
            "ceil_mode": rng.random() < 0.5,
            "dilation": (1, 1) if rng.random() < 0.5 else rng.choice(((2, 1), (1, 2), (2, 2))),
        }
        if name == "nn.avg_pool2d":
            attributes["count_include_pad"] = rng.random() < 0.5
        return Case(direct(name, **attributes), [(1, 2, 5, 6) if layout == "NCHW" else (1, 5, 6, 2)])

    return draw


def _take(rng: random.Random) -> Case:
    shape = (3, 4, 2)[: rng.randint(1, 3)]
    axis = rng.choice((None, *range(-len(shape), len(shape))))
    mode = rng.choice(("clip", "wrap"))
    extent = int(np.prod(shape)) if axis is None else shape[axis]
    indices = np.array([rng.randint(-2, extent + 1) for _ in range(3)], rng.choice(("int32", "int64")))
    indices = indices if rng.random() < 0.7 else np.asarray(indices[0])
    return Case(direct("take", axis=axis, mode=mode), [shape, indices])


def _matmul(rng: random.Random) -> Case:
    a, b, rows = rng.random() < 0.5, rng.random() < 0.5, (2, 3)[: rng.randint(0, 2)]
    data = (*rows, 4, 3) if a else (*rows, 3, 4)
    return Case(direct("nn.matmul", transpose_a=a, transpose_b=b, units=None), [data, (5, 4) if b else (4, 5)])


def _dense(rng: random.Random) -> Case:
    return Case(direct("nn.dense", units=rng.choice((None, 3))), [(*(2, 1, 2)[: rng.randint(0, 3)], 4), (3, 4)])


def _batch_matmul(rng: random.Random) -> Case:
    a, b, (x, y) = rng.random() < 0.5, rng.random() < 0.5, rng.choice(((1, 2), (2, 1), (2, 2)))
    inputs = [(x, 3, 2) if a else (x, 2, 3), (y, 4, 3) if b else (y, 3, 4)]
    return Case(direct("nn.batch_matmul", transpose_a=a, transpose_b=b), inputs)


def _conv(rng: random.Random) -> Case:
    groups, kernel = rng.choice((1, 2)), (rng.choice((1, 2, 3)), rng.choice((1, 3)))
    layouts = ("NCHW", "OIHW") if rng.random() < 0.8 else ("NHWC", "HWIO")
    data = (1, 2, 5, 4) if layouts[0] == "NCHW" else (1, 5, 4, 2)
    weight = (2, 2 // groups, *kernel) if layouts[1] == "OIHW" else (*kernel, 2 // groups, 2)
    return Case(
        direct(
            "nn.conv2d",
            channels=2,
            kernel_size=kernel,
            groups=groups,
            data_layout=layouts[0],
            kernel_layout=layouts[1],
            strides=(rng.choice((1, 2, 3)), rng.choice((1, 2))),
            dilation=(rng.choice((1, 2)), 1),
            padding=[rng.randint(0, 2) for _ in range(4)],
        ),
        [data, weight],
    )


def _along_axis(name: str) -> Callable[[random.Random], Case]:
    def draw(rng: random.Random) -> Case:
        shape = tuple(rng.sample((2, 3, 4), rng.randint(1, 3)))
        axis = rng.randrange(-len(shape), len(shape))
        return Case(direct(name, axis=axis), [shape, (shape[axis],)] if name == "nn.bias_add" else [shape])

    return draw


def _joined(name: str) -> Callable[[random.Random], Case]:
    def draw(rng: random.Random) -> Case:
        shape = (2, 3, 2)[: rng.randint(1, 3)]
        axis = rng.randrange(-len(shape), len(shape))
        return Case(lambda x, y: call(name, Tuple((x, y, x)), axis=axis), [shape, shape])

    return draw


def _moved(rng: random.Random) -> Case:
    shape = (2, 1, 3, 1)[: rng.randint(1, 4)]
    rank = len(shape)
    drawn: list[tuple[str, dict[str, Any]]] = [
        (
            "reshape",
            {
                "newshape": rng.choice(
                    ((-1,), (1, -1), (0, -1), (-2,), (-4, 1, -1, -2), (-3, -2) if rank > 1 else (-1,))
                )
            },
        ),
        ("expand_dims", {"axis": rng.randrange(-rank - 1, rank + 1), "num_newaxis": rng.choice((0, 1, 2))}),
        ("squeeze", {"axis": rng.choice((None, [i - rank for i in range(rank) if shape[i] == 1]))}),
        ("transpose", {"axes": rng.choice((None, [a - rank for a in rng.sample(range(rank), rank)]))}),
    ]
    name, attributes = rng.choice(drawn)
    return Case(direct(name, **attributes), [shape])


def _one_hot(rng: random.Random) -> Case:
    indices = np.array([[rng.randint(-1, 4) for _ in range(2)]] * rng.choice((1, 2)), "int32")
    axis, equal = rng.randint(-1, 2), rng.random() < 0.3
    on_off: list[Any] = [np.array(0.5), np.array(0.5)] if equal else [(), ()]
    return Case(direct("one_hot", depth=4, axis=axis, dtype="float64"), [indices, *on_off])


def _gather(rng: random.Random) -> Case:
    batch = rng.choice((0, 0, 1))
    indices = np.array([[rng.randrange(2) for _ in range(2)] for _ in range(rng.randint(1, 2))], "int32")
    return Case(direct("gather_nd", batch_dims=batch), [(2, 3, 4)[: len(indices) + batch], indices])


DRAWN: dict[str, Callable[[random.Random], Case]] = {
    **{name: _reduction(name) for name in ("sum", "mean", "max", "min")},
    **{name: _pool(name) for name in ("nn.max_pool2d", "nn.avg_pool2d")},
    **{name: _along_axis(name) for name in ("nn.softmax", "nn.log_softmax", "nn.bias_add")},
    **{name: _joined(name) for name in ("concatenate", "stack")},
    "variance": _variance,
    "strided_slice": _slice,
    "take": _take,
    "one_hot": _one_hot,
    "gather_nd": _gather,
    "nn.matmul": _matmul,
    "nn.dense": _dense,
    "nn.batch_matmul": _batch_matmul,
    "nn.conv2d": _conv,
    "reshape": _moved,
}


@pytest.mark.parametrize("name", DRAWN)
def test_drawn_attributes(name: str) -> None:
    done = tried = 0
    rng = random.Random(name)
    while done < DRAWS:
        tried += 1
        assert tried < 20 * DRAWS
        case = DRAWN[name](rng)
        try:
            weighted(case, values(case))
        except IrError:
            continue  # what the operator does not accept is not drawn
        assert check(case), "a rule refuses that has no reason to"
        done += 1


def in_one_module(after: list[Module]) -> Module:
    """The main functions of several modules as functions of one, whose main gives the results of all."""
    functions = {f"of_{n}": m["main"] for n, m in enumerate(after)}
    params: list[Var] = []
    results = []
    for name, f in functions.items():
        own = [Var(f"{name}_{p.name}", p.type_annotation) for p in f.params]
        params += own
        results.append(Call(GlobalVar(name), tuple(own)))
    return Module({**functions, "main": Function(tuple(params), Tuple(tuple(results)))})


@pytest.mark.usefixtures("quick_compiles")
@pytest.mark.parametrize("group", [("strided_slice",), ("nn.max_pool2d", "nn.avg_pool2d")], ids=lambda g: g[0])
def test_drawn_attributes_in_c(group: tuple[str, ...]) -> None:
    """The same differences of the compiled gradients: all cases of a group are one program."""
    after, inputs, want = [], [], []
    for name in group:
        rng = random.Random(name)
        for _ in range(DRAWS + 1):
            case = DRAWN[name](rng)
            try:
                module = weighted(case, values(case))
            except IrError:
                continue
            after.append(irtool.run_passes(module, PASSES[0], instruments=[Verifying()]))
            inputs.append(values(case))
            want.append(finite_differences(module, inputs[-1], 1e-6))
    assert len(after) > 2 * len(group)
    got = irtool.build(in_one_module(after), opt_level=1).run([a for arrays in inputs for a in arrays])
    for (_, gradients), differences in zip(got, want, strict=True):
        for g, w in zip(gradients, differences, strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-5)


# ---------------------------------------------------------------------------------------------------------------- narrower dtypes


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_narrower_dtypes_are_typed(dtype: str) -> None:
    """The gradient has the types of the parameters, whatever they are, or is refused."""
    typed = 0
    for name in differentiable():
        for arguments, attributes in of_cases(name):
            narrowed = {
                k: dtype if k in ("dtype", "out_dtype") and v == "float32" else v for k, v in attributes.items()
            }
            module = _narrow(name, arguments, narrowed, dtype)
            try:
                irtool.infer_types(module)
            except IrError:
                continue
            for p in PASSES[: 1 + typed % 2]:
                try:
                    irtool.run_passes(module, p, instruments=[Verifying()])
                except InternalError as error:
                    raise AssertionError(f"{name} with {narrowed} in {dtype}: {error}") from error
                except IrError as error:
                    assert [d.code.name for d in error.diagnostics if d.code] == ["E0507"], error
            typed += 1
    assert typed > 25


def _narrow(name: str, arguments: list[Any], attributes: dict[str, Any], dtype: str) -> Module:
    params: list[Var] = []

    def converted(value: Any) -> Expr:
        if isinstance(value, tuple | list):
            return Tuple(tuple(map(converted, value)))
        a = np.asarray(value)
        params.append(Var(f"p{len(params)}", TensorType(a.shape, dtype if a.dtype.kind == "f" else a.dtype.name)))
        return params[-1]

    body = call(name, *map(converted, arguments), **attributes)
    return Module({"main": Function(tuple(params), body)})


MIXED = """#[version = "0.0.5"]
def @main(%i: Tensor[(3), int32], %on: float32, %off: float32) { one_hot(%i, %on, %off, depth=3, axis=-1, dtype="float16") }
"""


def test_values_of_one_hot_may_have_another_dtype_than_the_result() -> None:
    after = irtool.run_passes(irtool.parse(MIXED), "FirstOrderGradient", instruments=[Verifying()])
    _, got = irtool.evaluate(after, [np.array([0, 2, 5], "int32"), np.float32(1), np.float32(0)])
    assert [float(g) for g in got[1:]] == [2.0, 7.0]


FLAT = """#[version = "0.0.5"]
def @main(%x: Tensor[(3), float64], %n: int32) {
  let %first = argmax(%x);
  if (equal(%n, 0)) { exp(%x) } else { if (greater(%first, 1)) { %x } else { multiply(%x, %x) } }
}
"""


@pytest.mark.parametrize(("n", "want"), [(0, np.exp([1.0, 3.0, 2.0])), (1, [2.0, 6.0, 4.0])])
def test_comparisons_and_positions_are_flat(n: int, want: Any) -> None:
    """What has no slope stops no gradient: conditions, positions of maxima."""
    after = irtool.run_passes(irtool.parse(FLAT), "ToANormalForm,Gradient", instruments=[Verifying()])
    _, (of_x, of_n) = irtool.evaluate(after, [np.array([1.0, 3.0, 2.0]), np.array(n, "int32")])
    np.testing.assert_allclose(of_x, want)
    assert of_n == 0
