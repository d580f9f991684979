"""What the libraries that irtool knows take over: composite functions, single operators, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irtool
from irtool.interp.random_inputs import random_inputs
from irtool.ir import Call, Function, Module, TensorType, Var, post_order
from irtool.passes.instruments.verifying import Verifying
from irtool.passes.partition.libraries import libraries

F = "float32"


def network(params: str, body: str, **constants: Any) -> Module:
    """A module whose parameters in `constants` are bound to arrays of these shapes and element types."""
    module = irtool.infer_types(irtool.parse(f"def @main({params}) {{ {body} }}"))
    rng = np.random.default_rng(0)
    arrays = {}
    for name, value in constants.items():
        if isinstance(value, tuple):
            shape, dtype = value
            drawn = rng.uniform(0.5, 1.5, shape) if dtype == F else rng.integers(0, 5, shape)
            arrays[name] = drawn.astype(dtype)
        else:
            arrays[name] = np.asarray(value)
    from irtool.passes.core.bind import bind_params

    return irtool.infer_types(bind_params(module, arrays))


def taken(module: Module, library: str) -> list[str]:
    """Composite functions and operators in the functions for the library, in order; values must be kept."""
    pipeline = [
        ("MergeComposite", {"pattern_table": library}),
        ("AnnotateTarget", {"targets": library, "include_non_call_ops": False}),
        "MergeCompilerRegions",
        "PartitionGraph",
    ]
    after = irtool.run_passes(module, pipeline, instruments=[Verifying()])
    inputs = random_inputs(module["main"], 1)  # type: ignore[arg-type]
    np.testing.assert_allclose(irtool.evaluate(after, inputs), irtool.evaluate(module, inputs), rtol=1e-4, atol=1e-4)
    operators: list[str] = []
    for f in after.functions.values():
        if not isinstance(f, Function) or f.attrs.get("Compiler") != library:
            continue
        inside = {e for g in post_order(f.body) if isinstance(g, Function) for e in post_order(g.body)}
        for e in post_order(f.body):
            if isinstance(e, Call) and isinstance(e.op, Function):
                operators.append(str(e.op.attrs["Composite"]).removeprefix(f"{library}."))
            elif isinstance(e, Call) and e not in inside:
                operators.append(e.op.name)  # type: ignore[attr-defined]
    return operators


def conv(data: str, weight: str, attributes: str, tail: str = "%0", kind: str = F, bias: int = 4) -> Module:
    text = f"%0 = nn.conv2d(%x, %w, {attributes}); {tail}"
    shape = tuple(int(d) for d in weight.split(","))
    constants: dict[str, Any] = {"w": (shape, kind)} | ({"b": ((bias,), kind)} if "%b" in tail else {})
    params = f"%x: Tensor[({data}), {kind}], %w: Tensor[({weight}), {kind}]"
    params += f", %b: Tensor[({bias}), {kind}]" if "%b" in tail else ""
    return network(params, text, **constants)


NHWC = 'data_layout="NHWC", kernel_layout="HWIO"'
OHWI = 'data_layout="NHWC", kernel_layout="OHWI"'
CHANNELS = "channels=4, kernel_size=[3, 3], padding=[1, 1, 1, 1]"
DEPTHWISE = 'data_layout="NHWC", kernel_layout="HWOI", groups=4, channels=4'
CONVOLUTIONS = [
    ("arm_compute_lib", conv("1, 6, 6, 3", "3, 3, 3, 4", f"{CHANNELS}, {NHWC}"), ["conv2d"]),
    (
        "arm_compute_lib",
        conv("1, 6, 6, 3", "3, 3, 3, 4", f"{CHANNELS}, {NHWC}", "nn.relu(nn.bias_add(%0, %b, axis=3))"),
        ["conv2d"],
    ),
    ("arm_compute_lib", conv("2, 6, 6, 3", "3, 3, 3, 4", f"{CHANNELS}, {NHWC}"), []),
    ("arm_compute_lib", conv("1, 3, 6, 6", "4, 3, 3, 3", CHANNELS), []),
    ("arm_compute_lib", conv("1, 6, 6, 4", "3, 3, 4, 1", f"{DEPTHWISE}, kernel_size=[3, 3]"), ["conv2d"]),
    ("arm_compute_lib", conv("1, 6, 6, 4", "1, 1, 4, 1", f"{DEPTHWISE}, kernel_size=[1, 1]"), []),
    ("arm_compute_lib", conv("1, 8, 8, 4", "3, 3, 4, 1", f"{DEPTHWISE}, kernel_size=[3, 3], strides=[3, 3]"), []),
    ("clml", conv("1, 3, 6, 6", "4, 3, 3, 3", CHANNELS, "nn.relu(nn.bias_add(%0, %b))"), ["conv2d"]),
    ("clml", conv("1, 3, 6, 6", "4, 3, 3, 3", CHANNELS, "clip(%0, a_min=0f, a_max=6f)"), ["conv2d"]),
    ("clml", conv("1, 3, 6, 6", "4, 3, 3, 3", CHANNELS, "clip(%0, a_min=0f, a_max=5f)"), ["clip"]),
    ("clml", conv("1, 6, 6, 3", "3, 3, 3, 4", f"{CHANNELS}, {NHWC}"), []),
    ("clml", conv("1, 4, 6, 6", "4, 2, 3, 3", f"{CHANNELS}, groups=2"), []),
    ("clml", conv("1, 4, 6, 6", "4, 1, 3, 3", f"{CHANNELS}, groups=4"), ["conv2d"]),
    ("cudnn", conv("1, 3, 6, 6", "4, 3, 3, 3", CHANNELS, "nn.relu(nn.bias_add(%0, %b))"), ["conv2d_bias_act"]),
    ("cudnn", conv("1, 3, 6, 6", "4, 3, 3, 3", CHANNELS), ["conv2d"]),
    ("cudnn", conv("1, 3, 6, 6", "4, 3, 3, 3", CHANNELS.replace("1, 1, 1, 1", "0, 0, 1, 1")), []),
    ("cudnn", conv("1, 6, 6, 3", "3, 3, 3, 4", f"{CHANNELS}, {NHWC}"), []),
    ("bnns", conv("1, 3, 6, 6", "4, 3, 3, 3", CHANNELS, "nn.relu(nn.bias_add(%0, %b))"), ["conv2d_bias_relu"]),
    ("cutlass", conv("1, 6, 6, 3", "4, 3, 3, 3", f"{CHANNELS}, {OHWI}"), ["conv2d"]),
    ("cutlass", conv("1, 6, 6, 3", "4, 3, 3, 3", f"{CHANNELS}, {OHWI}", "nn.relu(add(%0, %b))"), ["conv2d_bias_relu"]),
    (
        "cutlass",
        conv("1, 6, 6, 3", "4, 3, 3, 3", f"{CHANNELS}, {OHWI}", "%1 = add(%0, %b); multiply(%1, sigmoid(%1))"),
        ["conv2d_bias_silu"],
    ),
    (
        "cutlass",
        conv("1, 6, 6, 4", "4, 3, 3, 4", f"{CHANNELS}, {OHWI}", "nn.relu(add(add(%0, %b), %x))"),
        ["conv2d_bias_residual_add_relu"],
    ),
    ("cutlass", conv("1, 6, 6, 3", "3, 3, 3, 4", f"{CHANNELS}, {NHWC}"), []),
    ("bnns", conv("1, 3, 6, 6", "4, 3, 3, 3", CHANNELS, "nn.bias_add(%0, %b, axis=2)", bias=6), ["nn.conv2d"]),
    ("bnns", conv("1, 6, 6, 3", "3, 3, 3, 4", f"{CHANNELS}, {NHWC}", "nn.relu(%0)"), []),
]


@pytest.mark.parametrize(("library", "module", "composites"), CONVOLUTIONS, ids=[c[0] for c in CONVOLUTIONS])
def test_convolutions(library: str, module: Module, composites: list[str]) -> None:
    assert taken(module, library) == composites


IMAGE = f"%x: Tensor[(1, 4, 6, 6), {F}]"
ROWS = f"%x: Tensor[(4, 8), {F}]"
OTHERS: list[tuple[str, str, str, dict[str, Any], list[str]]] = [
    ("arm_compute_lib", ROWS, "nn.dense(%x, %w, units=None)", {"w": ((5, 8), F)}, ["dense"]),
    ("arm_compute_lib", ROWS, "sqrt(reshape(%x, newshape=[8, 4]))", {}, ["reshape"]),
    ("arm_compute_lib", ROWS, "add(%x, maximum(%x, 0f))", {}, ["maximum", "add"]),
    ("arm_compute_lib", IMAGE, 'nn.max_pool2d(%x, pool_size=[2, 2], layout="NHWC")', {}, ["nn.max_pool2d"]),
    ("arm_compute_lib", IMAGE, 'nn.max_pool2d(%x, pool_size=[2, 2], dilation=[2, 2], layout="NHWC")', {}, []),
    ("arm_compute_lib", IMAGE, "nn.max_pool2d(%x, pool_size=[2, 2])", {}, []),
    (
        "arm_compute_lib",
        IMAGE,
        'sqrt(nn.avg_pool2d(power(%x, 2f), pool_size=[2, 2], layout="NHWC"))',
        {},
        ["l2_pool2d"],
    ),
    (
        "arm_compute_lib",
        "%x: Tensor[(1, 4, 4, 2), uint8]",
        'cast(nn.avg_pool2d(cast(%x, dtype="int32"), pool_size=[2, 2], layout="NHWC"), dtype="uint8")',
        {},
        ["avg_pool2d"],
    ),
    ("clml", IMAGE, "nn.softmax(nn.pad(%x, 0, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]]))", {}, ["pad", "nn.softmax"]),
    ("clml", IMAGE, "concatenate((%x, %x), axis=1)", {}, ["concat"]),
    ("clml", ROWS, "exp(%x)", {}, []),
    ("cublas", ROWS, "nn.dense(%x, %w, units=None)", {"w": ((5, 8), F)}, ["dense"]),
    (
        "cublas",
        "%x: Tensor[(4, 8), int8]",
        'nn.dense(%x, %w, units=None, out_dtype="int32")',
        {"w": ((5, 8), "int8")},
        ["dense"],
    ),
    (
        "cublas",
        "%x: Tensor[(4, 6), int8]",
        'nn.dense(%x, %w, units=None, out_dtype="int32")',
        {"w": ((5, 6), "int8")},
        [],
    ),
    ("cublas", ROWS, "nn.matmul(%x, %w, units=None)", {"w": ((8, 3), F)}, ["matmul"]),
    ("cutlass", ROWS, "nn.relu(add(nn.dense(%x, %w, units=None), 1f))", {"w": ((5, 8), F)}, ["dense_bias_relu"]),
    (
        "cutlass",
        ROWS,
        "%0 = add(nn.dense(%x, %w, units=None), 1f);"
        "multiply(add(multiply(erf(multiply(%0, 0.70710678f)), 0.5f), 0.5f), %0)",
        {"w": ((5, 8), F)},
        ["dense_bias_gelu_fp32"],
    ),
    ("cutlass", "%x: Tensor[(2, 4, 8), float32]", "nn.batch_matmul(%x, %x, transpose_b=True)", {}, ["batch_matmul"]),
    ("cutlass", "%x: Tensor[(2, 4, 4), float32]", "nn.batch_matmul(%x, %x)", {}, []),
    ("cudnn", ROWS, "nn.log_softmax(nn.softmax(%x))", {}, ["softmax", "log_softmax"]),
    ("cudnn", IMAGE, "nn.log_softmax(%x)", {}, []),
    ("bnns", IMAGE, "nn.global_avg_pool2d(%x)", {}, ["nn.global_avg_pool2d"]),
    ("bnns", ROWS, "add(nn.dense(%x, %w, units=None), 1f)", {"w": ((5, 8), F)}, ["dense_bias"]),
]


@pytest.mark.parametrize(("library", "params", "body", "constants", "composites"), OTHERS)
def test_other_operators(
    library: str, params: str, body: str, constants: dict[str, Any], composites: list[str]
) -> None:
    declarations = "".join(f", %{n}: Tensor[{shape}, {dtype}]" for n, (shape, dtype) in constants.items())
    assert taken(network(params + declarations, body, **constants), library) == composites


def quantized(
    kind: str, kernel_zero: int = 0, bias: bool = True, pad: str = "[0, 0], [0, 1], [0, 1], [0, 0]"
) -> Module:
    """A padded convolution of channels that come last, in integers."""
    tail = "nn.bias_add(%1, %b, axis=3)" if bias else "%1"
    body = (
        f"%0 = nn.pad(%x, 0, pad_width=[{pad}]);"
        f"%1 = qnn.conv2d(%0, %w, 3, {kernel_zero}, 0.5f, 0.25f, {NHWC}, channels=4, kernel_size=[3, 3], "
        f'padding=[0, 0, 0, 0], out_dtype="int32"); qnn.requantize({tail}, 0.125f, 0, 2f, 1, axis=3, out_dtype="{kind}")'
    )
    params = f"%x: Tensor[(1, 6, 6, 3), {kind}], %w: Tensor[(3, 3, 3, 4), {kind}], %b: Tensor[(4), int32]"
    return network(params, body, w=((3, 3, 3, 4), kind), b=((4,), "int32"))


@pytest.mark.parametrize(
    ("library", "module", "composites"),
    [
        ("arm_compute_lib", quantized("uint8"), ["qnn_conv2d"]),
        ("arm_compute_lib", quantized("int8"), []),
        ("cmsis-nn", quantized("int8"), ["qnn_conv2d"]),
        ("cmsis-nn", quantized("int8", bias=False), ["qnn_conv2d"]),
        ("cmsis-nn", quantized("int8", kernel_zero=1), []),
        ("cmsis-nn", quantized("uint8"), []),
    ],
)
def test_quantized_convolutions(library: str, module: Module, composites: list[str]) -> None:
    assert taken(module, library) == composites


def test_a_pad_that_cannot_be_fused_is_left_outside() -> None:
    module = quantized("int8", pad="[0, 0], [0, 2], [0, 2], [0, 0]")
    assert taken(module, "cmsis-nn") == ["qnn_conv2d"]
    after = irtool.run_passes(module, [("MergeComposite", {"pattern_table": "cmsis-nn"})])
    (composite,) = [e for e in post_order(after["main"]) if isinstance(e, Function) and "Composite" in e.attrs]
    assert "nn.pad" not in str(composite.attrs["PartitionedFromPattern"])


@pytest.mark.parametrize(("scale", "composites"), [("0.00390625f", ["qnn_softmax"]), ("0.5f", [])])
def test_quantized_softmax(scale: str, composites: list[str]) -> None:
    body = f'qnn.quantize(nn.softmax(qnn.dequantize(%x, 0.1f, 2)), {scale}, -128, out_dtype="int8")'
    assert taken(network("%x: Tensor[(1, 8), int8]", body), "cmsis-nn") == composites


@pytest.mark.parametrize("name", ["add", "mul"])
def test_quantized_arithmetic(name: str) -> None:
    body = f"qnn.{name}(%x, %y, 0.1f, 1, 0.2f, 2, 0.3f, 3)"
    assert taken(network("%x: Tensor[(2, 8), int8], %y: Tensor[(2, 8), int8]", body), "cmsis-nn") == [f"qnn_{name}"]
    assert taken(network("%x: Tensor[(2, 8), uint8], %y: Tensor[(2, 8), uint8]", body), "cmsis-nn") == []


def test_every_library_names_its_composite_functions_after_itself() -> None:
    for name, library in libraries().items():
        assert library.name == name
        for composite, _, _ in library.composites():
            assert composite.startswith(f"{name}.")


def test_weights_are_in_the_layout_of_the_library() -> None:
    module = conv("1, 6, 6, 3", "3, 3, 3, 4", f"{CHANNELS}, {NHWC}")
    passes = "MergeComposite{pattern_table=arm_compute_lib},AnnotateTarget{targets=arm_compute_lib},PartitionGraph"
    after = irtool.run_passes(module, passes)
    (f,) = [g for g in after.functions.values() if isinstance(g, Function) and "Compiler" in g.attrs]
    (convolution,) = [e for e in post_order(f) if isinstance(e, Call) and "nn.conv2d" in repr(e.op)]
    assert convolution.attrs.kernel_layout == "OHWI"
    assert convolution.args[1].checked_type in (None, TensorType((4, 3, 3, 3)))
    assert not any(isinstance(v, Var) and v.name == "w" for v in post_order(f))
