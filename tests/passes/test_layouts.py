"""AlterOpLayout and ConvertLayout carry layouts through every operator that may stand behind a convolution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.interp.random_inputs import random_inputs
from irtool.ir import Call, Constant, Expr, Function, Module, TensorType, Tuple, TupleGetItem, Var, post_order
from irtool.ops.base import call, is_call_to, operators
from irtool.ops.nn.pool import Pool
from irtool.passes.instruments.values import CheckValues
from irtool.passes.instruments.verifying import Verifying

SHAPE = (1, 8, 6, 6)
"""Of what the operators get: eight channels are one block of the target, and two blocks where it is concatenated."""

PASSES = ["AlterOpLayout", 'ConvertLayout{desired_layouts={"nn.conv2d": ["NHWC", "default"]}}']


def constant(value: Any, dtype: str = "float32") -> Constant:
    return Constant(np.asarray(value, dtype))


CHANNELS = constant(np.linspace(0.5, 1.5, 8))


def direct(name: str, *more: Expr, **attributes: Any) -> Callable[[Expr], Expr]:
    return lambda x: call(name, x, *more, **attributes)


def sliced(begin: Any, end: Any, strides: Any = (1,), mode: str = "end", axes: Any = None) -> Callable[[Expr], Expr]:
    return direct("strided_slice", begin=begin, end=end, strides=strides, slice_mode=mode, axes=axes)


def joined(axis: int) -> Callable[[Expr], Expr]:
    return lambda x: call("concatenate", Tuple((x, call("nn.relu", x))), axis=axis)


def on_sixteen(f: Callable[[Expr], Expr]) -> Callable[[Expr], Expr]:
    return lambda x: f(joined(1)(x))


def beside_reduction(name: str, axis: tuple[int, ...]) -> Callable[[Expr], Expr]:
    return lambda x: call("subtract", x, call(name, x, axis=axis, keepdims=True))


def variance(axis: tuple[int, ...], keepdims: bool = False) -> Callable[[Expr], Expr]:
    return lambda x: call("variance", x, call("mean", x, axis=axis, keepdims=True), axis=axis, keepdims=keepdims)


def cut_to(axes: tuple[int, ...]) -> Callable[[Expr], Expr]:
    def make(x: Expr) -> Expr:
        small = call("nn.avg_pool2d", x, pool_size=(2, 2), strides=(2, 2), padding=(0, 0, 0, 0))
        return call("slice_like", x, small, axes=axes)

    return make


def requantized(x: Expr) -> Expr:
    whole = call("cast", call("multiply", x, constant(50.0)), dtype="int32")
    zeros = constant(np.zeros(8), "int32")
    return call("qnn.requantize", whole, CHANNELS, zeros, constant(2.0), constant(0, "int32"), axis=1, out_dtype="int8")


OPERATORS: dict[str, Callable[[Expr], Expr]] = {
    "batch_norm": direct("nn.batch_norm", CHANNELS, CHANNELS, CHANNELS, CHANNELS, axis=1),
    "layer_norm": direct("nn.layer_norm", CHANNELS, CHANNELS, axis=1),
    "layer_norm of rows": direct("nn.layer_norm", constant(np.ones(6)), constant(np.ones(6)), axis=-1),
    "instance_norm": direct("nn.instance_norm", CHANNELS, CHANNELS, axis=1),
    "group_norm": direct("nn.group_norm", CHANNELS, CHANNELS, num_groups=2, axis=1),
    "l2_normalize": direct("nn.l2_normalize", eps=1e-3, axis=(1,)),
    "l2_normalize of images": direct("nn.l2_normalize", eps=1e-3, axis=(2, 3)),
    "lrn": direct("nn.lrn"),
    "softmax of channels": direct("nn.softmax", axis=1),
    "softmax of rows": direct("nn.softmax", axis=-1),
    "split in two": direct("split", indices_or_sections=2, axis=1),
    "split inside of blocks": direct("split", indices_or_sections=(3, 5), axis=1),
    "split between blocks": on_sixteen(direct("split", indices_or_sections=(8,), axis=1)),
    "split into blocks": on_sixteen(direct("split", indices_or_sections=2, axis=-3)),
    "split of rows": direct("split", indices_or_sections=(1, 4), axis=3),
    "concatenate channels": joined(1),
    "concatenate channels from the end": joined(-3),
    "concatenate rows": joined(-1),
    "concatenate a split": lambda x: call("concatenate", call("split", x, indices_or_sections=2, axis=1), axis=2),
    "sum of channels": direct("sum", axis=(1,)),
    "sum of channels kept": direct("sum", axis=(1,), keepdims=True),
    "sum of images": direct("sum", axis=(2, 3)),
    "sum of all but channels": direct("sum", axis=(1,), exclude=True),
    "sum of all but channels kept": direct("sum", axis=(1,), exclude=True, keepdims=True),
    "sum of everything": direct("sum"),
    "max of the last": direct("max", axis=(-1,)),
    "minus the mean of channels": beside_reduction("mean", (1,)),
    "minus the mean of images": beside_reduction("mean", (2, 3)),
    "argmax of channels": direct("argmax", axis=(1,)),
    "argmax of channels kept": direct("argmax", axis=(1,), keepdims=True),
    "argmax of images": direct("argmax", axis=(2, 3)),
    "argmax of everything": direct("argmax"),
    "variance of channels": variance((1,)),
    "variance of images": variance((2, 3), True),
    "topk of channels": direct("topk", k=2, axis=1, ret_type="both", is_ascend=False, dtype="int32"),
    "topk of rows": direct("topk", k=2, axis=3, ret_type="both", is_ascend=False, dtype="int32"),
    "transpose": direct("transpose", axes=(0, 2, 3, 1)),
    "transpose from the end": direct("transpose", axes=(0, -2, -1, 1)),
    "transpose all": direct("transpose", axes=None),
    "squeeze": direct("squeeze", axis=(0,)),
    "squeeze all": direct("squeeze", axis=None),
    "slice_like": cut_to((2, 3)),
    "slice_like from the end": cut_to((-1,)),
    "slice images": sliced((0, 0, 1, 1), (1, 8, 4, 4), (1, 1, 1, 1)),
    "slice channels": sliced((0, 2, 1, 1), (1, 6, 4, 4), (1, 1, 2, 1)),
    "slice channels by axes": sliced((2,), (6,), axes=(1,)),
    "slice rows by axes": sliced((1,), (6,), (2,), axes=(3,)),
    "slice from the end": sliced((0, 0, -3), (1, 8, -1)),
    "slice channels from the end": sliced((0, -8, 0), (1, -1, 2)),
    "slice backwards": sliced((0, 0, 3), (1, 8, 0), (1, 1, -1)),
    "slice by size": sliced((0, 0, 1), (1, 8, 2), mode="size"),
    "slice by size to the end": sliced((0, 0, 1), (-1, -1, -1), mode="size"),
    "slice a block": on_sixteen(sliced((0, 8), (1, 16))),
    "slice beyond": sliced((0, 0), (1, 100)),
    "pad images": direct("nn.pad", constant(1.0), pad_width=((0, 0), (0, 0), (1, 1), (2, 0))),
    "pad channels": direct("nn.pad", constant(1.0), pad_width=((0, 0), (1, 1), (1, 1), (2, 0))),
    "bias_add": direct("nn.bias_add", CHANNELS, axis=1),
    "bias_add from the end": direct("nn.bias_add", CHANNELS, axis=-3),
    "prelu": direct("nn.prelu", CHANNELS, axis=1),
    "add to channels": direct("add", constant(np.arange(8.0).reshape(8, 1, 1))),
    "add to rows": direct("add", constant(np.arange(6.0))),
    "add to images": direct("add", constant(np.arange(36.0).reshape(6, 6))),
    "add one by one by one": direct("add", constant(np.ones((1, 1, 1)))),
    "add a vector of one": direct("add", constant(np.ones(1))),
    "add a scalar": direct("add", constant(2.0)),
    "add more axes": direct("add", constant(np.arange(2.0).reshape(2, 1, 1, 1, 1))),
    "channels added to": lambda x: call("add", constant(np.arange(8.0).reshape(1, 8, 1, 1)), x),
    "excite": lambda x: call("multiply", x, call("sigmoid", call("nn.global_avg_pool2d", x))),
    "where": lambda x: call("where", call("greater", x, constant(0.0)), x, call("negative", x)),
    "upsampling": direct("nn.upsampling", scale_h=2, scale_w=2),
    "resize": direct("image.resize2d", size=(3, 3), method="linear", roi=(0.0, 0.0, 0.0, 0.0)),
    "max_pool2d": direct("nn.max_pool2d", pool_size=(2, 2), strides=(2, 2), padding=(0, 0, 0, 0)),
    "avg_pool2d": direct("nn.avg_pool2d", pool_size=(3, 3), strides=(2, 2), padding=(1, 1, 1, 1), ceil_mode=True),
    "global_max_pool2d": direct("nn.global_max_pool2d"),
    "adaptive_avg_pool2d": direct("nn.adaptive_avg_pool2d", output_size=(2, 2)),
    "batch_flatten": direct("nn.batch_flatten"),
    "reshape": direct("reshape", newshape=(1, -1)),
    "depth_to_space": direct("nn.depth_to_space", block_size=2),
    "take": direct("take", constant(1, "int32"), axis=1),
    "expand_dims": direct("expand_dims", axis=1),
    "stack": lambda x: call("stack", Tuple((x, x)), axis=1),
    "cumsum": direct("cumsum", axis=1),
    "dropout": direct("nn.dropout"),
    "dropout's first": lambda x: TupleGetItem(call("nn.dropout", x), 0),
    "shape_of": direct("shape_of", dtype="int32"),
    "cast": direct("cast", dtype="float64"),
    "broadcast_to": direct("broadcast_to", shape=(2, 8, 6, 6)),
    "tile": direct("tile", reps=(1, 2, 1, 1)),
    "requantize": requantized,
    "the same twice": lambda x: Tuple((x, call("nn.relu", x), x)),
}


def behind_a_convolution(make: Callable[[Expr], Expr]) -> Module:
    x, w = Var("x", TensorType((1, 4, 8, 8), "float32")), Var("w", TensorType((8, 4, 3, 3), "float32"))
    conv = call("nn.conv2d", x, w, channels=8, kernel_size=(3, 3), padding=(0, 0, 0, 0))
    return irtool.infer_types(Module({"main": Function((x, w), make(conv))}))


@pytest.mark.parametrize("name", OPERATORS)
def test_layouts_pass_through_operators(name: str) -> None:
    module = behind_a_convolution(OPERATORS[name])
    for passes in PASSES:
        for before in ("", "CanonicalizeOps,"):
            checks = CheckValues()
            after = irtool.run_passes(
                module, before + passes, opt_level=3, target="llvm -mcpu=haswell", instruments=[Verifying(), checks]
            )
            assert not checks.skipped
            assert after is not module


@pytest.mark.parametrize("passes", PASSES)
def test_two_convolutions_meet_without_transforms(passes: str) -> None:
    """Between two convolutions stands no layout_transform: one for each input and weight, and one at the end."""
    rng = np.random.RandomState(0)
    second = constant(rng.uniform(-1, 1, (8, 8, 1, 1)))
    shift = constant(np.ones((8, 1, 1)))

    def chain(x: Expr) -> Expr:
        return call("nn.conv2d", call("nn.relu", call("add", x, shift)), second, channels=8, kernel_size=(1, 1))

    module = behind_a_convolution(chain)
    after = irtool.run_passes(module, passes, opt_level=3, target="llvm -mcpu=haswell", instruments=[CheckValues()])
    assert sum(is_call_to(e, "layout_transform") for e in post_order(after["main"])) == 5
    folded = irtool.run_passes(after, "FoldConstant")
    inputs = random_inputs(module["main"], 1)  # type: ignore[arg-type]
    np.testing.assert_allclose(irtool.evaluate(folded, inputs), irtool.evaluate(module, inputs), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("result", ["", "NCHW", "NHWC"])
def test_convolutions_with_moved_taps_take_other_layouts(result: str) -> None:
    """Data, offsets and results are turned, each unless it has the layout already."""
    rng = np.random.RandomState(0)
    shifts, weights = constant(rng.uniform(-1, 1, (1, 18, 4, 4))), constant(rng.uniform(-1, 1, (8, 8, 3, 3)))
    attributes: dict[str, Any] = {"channels": 8, "kernel_size": (3, 3), "out_layout": result}
    module = behind_a_convolution(direct("nn.deformable_conv2d", shifts, weights, **attributes))
    passes = 'ConvertLayout{desired_layouts={"nn.deformable_conv2d": ["NHWC", "default"]}}'
    after = post_order(irtool.run_passes(module, passes, instruments=[Verifying(), CheckValues()])["main"])
    (moved,) = (e for e in after if is_call_to(e, "nn.deformable_conv2d"))
    assert (moved.attrs.data_layout, moved.attrs.kernel_layout) == ("NHWC", "HWIO")
    assert sum(is_call_to(e, "layout_transform") for e in after) == (3 if result else 4)


POOLS = sorted(name for name in operators.names() if operators.get(name).shared_layout_rule() == "pooling")


@pytest.mark.parametrize("name", POOLS)
def test_every_pool_takes_the_layout_asked_for(name: str) -> None:
    kind = operators.get(name)
    letters = getattr(kind, "letters", "HW")
    attributes: dict[str, Any] = {"pool_size": (2,) * len(letters)} if issubclass(kind, Pool) else {}
    quantized = name.startswith("qnn.")
    x = Var("x", TensorType((2, 8, 6, 4, 3)[: len(letters) + 2], "int8" if quantized else "float32"))
    scales = (constant(0.5), constant(3, "int32"), constant(0.25), constant(1, "int32")) if quantized else ()
    module = irtool.infer_types(Module({"main": Function((x,), call(name, x, *scales, **attributes))}))
    for layout in (f"N{letters}C", f"NC{letters}4c", f"C{letters}N"):
        passes = f'ConvertLayout{{desired_layouts={{"{name}": ["{layout}"]}}}}'
        after = post_order(irtool.run_passes(module, passes, instruments=[Verifying(), CheckValues()])["main"])
        (pool,) = (e for e in after if is_call_to(e, name))
        assert (pool.attrs.layout, pool.attrs.out_layout) == (layout, layout)
        assert sum(is_call_to(e, "layout_transform") for e in after) == 2


@pytest.mark.parametrize("groups", [1, 2])
def test_transposed_convolutions_of_volumes_take_other_layouts(groups: int) -> None:
    x, w = Var("x", TensorType((1, 4, 3, 4, 2), "float32")), Var("w", TensorType((4, 6 // groups, 2, 3, 1), "float32"))
    e = call("nn.conv3d_transpose", x, w, channels=6, kernel_size=(2, 3, 1), groups=groups, strides=(2, 1, 2))
    module = irtool.infer_types(Module({"main": Function((x, w), e)}))
    passes = 'ConvertLayout{desired_layouts={"nn.conv3d_transpose": ["NDHWC", "default"]}}'
    after = irtool.run_passes(module, passes, instruments=[Verifying(), CheckValues()])
    (moved,) = (e for e in post_order(after["main"]) if is_call_to(e, "nn.conv3d_transpose"))
    assert (moved.attrs.data_layout, moved.attrs.kernel_layout) == ("NDHWC", "DHWIO")


@pytest.mark.parametrize("lanes", ["x86-64", "haswell", "skylake-avx512"])
@pytest.mark.parametrize("channels", [1, 3, 4, 6, 16, 24])
def test_blocks_of_any_number_of_channels(lanes: str, channels: int) -> None:
    x = Var("x", TensorType((1, channels, 4, 4), "float32"))
    w, v = (
        Var("w", TensorType((channels, channels, 3, 3), "float32")),
        Var("v", TensorType((channels, 1, 3, 3), "float32")),
    )
    e = call("nn.conv2d", x, w, channels=channels, kernel_size=(3, 3), padding=(1, 1, 1, 1))
    e = call("nn.conv2d", e, v, channels=channels, kernel_size=(3, 3), groups=channels)
    module = irtool.infer_types(Module({"main": Function((x, w, v), e)}))
    irtool.run_passes(module, "AlterOpLayout", target=f"llvm -mcpu={lanes}", instruments=[Verifying(), CheckValues()])


def alter(module: Module, target: str) -> list[Expr]:
    after = irtool.run_passes(module, "AlterOpLayout", target=target, instruments=[Verifying(), CheckValues()])
    return [e for e in post_order(after["main"]) if isinstance(e, Call)]


@pytest.mark.parametrize("units", [7, 48])
@pytest.mark.parametrize("target", ["llvm -mcpu=sandybridge", "llvm -mcpu=znver3", "llvm -mcpu=cascadelake"])
@pytest.mark.parametrize("dtypes", ["float32 float32", "float64 float64", "int8 int8", "uint8 int8"])
def test_weights_are_packed_for_the_target(dtypes: str, target: str, units: int) -> None:
    left, right = dtypes.split()
    x, w = Var("x", TensorType((3, 8), left)), Var("w", TensorType((units, 8), right))
    dense = call("nn.dense", x, w, units=units, out_dtype="int32" if left.endswith("int8") else left)
    module = irtool.infer_types(Module({"main": Function((x, w), call("nn.relu", dense))}))
    (product,) = (e for e in alter(module, target) if e.op_name != "layout_transform" and len(e.args) == 2)
    lanes = {"cascadelake": 16, "znver3": 8}.get(target.rpartition("=")[2], 4)
    block = max(b for b in range(1, 2 * lanes + 1) if units % b == 0)
    fours = left == "uint8" and lanes == 16 and units % 16 == 0
    assert (product.op_name, product.attrs.out_dtype) == ("nn.contrib_dense_pack", dense.attrs.out_dtype)
    assert product.attrs.weight_layout == ("NC16n4c" if fours else f"NC{block}n")


LIBRARIES = {
    "cblas": {"float32", "float64"},
    "mkl": {"float32", "float64", "uint8"},
    "dnnl": {"float32"},
    "cblas,dnnl": {"float32", "float64"},
    "nnpack": set(),
}


@pytest.mark.parametrize("libraries", LIBRARIES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
def test_products_of_libraries_keep_plain_weights(dtype: str, libraries: str) -> None:
    x, w = Var("x", TensorType((3, 8), dtype)), Var("w", TensorType((6, 8), "int8" if dtype == "uint8" else dtype))
    e = call("nn.dense", x, w, units=6, out_dtype="int32" if dtype == "uint8" else dtype)
    module = irtool.infer_types(Module({"main": Function((x, w), e)}))
    packed = any(is_call_to(e, "nn.contrib_dense_pack") for e in alter(module, f"llvm -libs={libraries}"))
    assert packed == (dtype not in LIBRARIES[libraries])


@pytest.mark.parametrize("channels", [6, 12, 20])
@pytest.mark.parametrize("filters", [8, 48])
@pytest.mark.parametrize("cpu", ["x86-64", "x86-64-v2", "alderlake"])
def test_bytes_are_blocked_by_fours(cpu: str, filters: int, channels: int) -> None:
    x, w = Var("x", TensorType((1, channels, 3, 3), "uint8")), Var("w", TensorType((filters, channels, 2, 2), "int8"))
    e = call("nn.conv2d", x, w, channels=filters, kernel_size=(2, 2), out_dtype="int32")
    module = irtool.infer_types(Module({"main": Function((x, w), e)}))
    (product,) = (e for e in alter(module, f"llvm -mcpu={cpu}") if e.op_name != "layout_transform")
    attrs = product.attrs
    if cpu == "x86-64":
        assert attrs.kernel_layout.endswith("o") and attrs.out_layout == "NCHW4c"
    elif channels % 4 or filters % 16:
        assert product.op_name == "nn.conv2d"
    else:
        block = max(b for b in (4, 8, 12, 16) if channels % b == 0)
        assert (attrs.data_layout, attrs.out_layout) == (f"NCHW{block}c", "NCHW16c")
        assert attrs.kernel_layout == f"OIHW{block // 4}i16o4i"


@pytest.mark.parametrize("passes", [*PASSES, 'ConvertLayout{desired_layouts={"nn.conv2d": ["NCHW", "OIHW"]}}'])
@pytest.mark.parametrize("pair", ["NCHW4c CNHW4c", "CNHW4c NCHW4c", "NCHW4c NCWH4c", "NCHW NHWC", "NHWC CHWN"])
@pytest.mark.parametrize("operator", ["add", "concatenate"])
def test_results_of_different_layouts_meet_by_position(operator: str, pair: str, passes: str) -> None:
    layouts = pair.split()
    x = Var("x", TensorType((4, 1, 4, 4, 4) if "c" in pair else (4, 4, 4, 4)))
    w = Var("w", TensorType((1, 1, 3, 3, 4, 16) if "c" in pair else (4, 4, 3, 3)))
    kinds = ("NCHW4c", "OIHW4i16o") if "c" in pair else ("NCHW", "OIHW")
    convs = [
        call(
            "nn.conv2d",
            x,
            w,
            padding=(1, 1, 1, 1),
            channels=16 if "c" in pair else 4,
            kernel_size=(3, 3),
            data_layout=kinds[0],
            kernel_layout=kinds[1],
            out_layout=layout,
        )
        for layout in layouts
    ]
    relus = [call("nn.relu", c) for c in convs]
    body = call("add", *relus) if operator == "add" else call("concatenate", Tuple(tuple(relus)), axis=0)
    module = irtool.infer_types(Module({"main": Function((x, w), body)}))
    inputs = random_inputs(module["main"], 2)  # type: ignore[arg-type]
    rewritten = irtool.run_passes(module, passes, opt_level=3, target="llvm -mcpu=haswell")
    np.testing.assert_allclose(
        irtool.evaluate(rewritten, inputs), irtool.evaluate(module, inputs), rtol=1e-4, atol=1e-4
    )
