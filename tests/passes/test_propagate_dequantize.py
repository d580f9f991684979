"""What lies between dequantize and quantize is integer arithmetic in builds, rounded once, with the same bits in every build."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.driver.prepare import prepare
from irtool.passes.core.bind import bind_params
from tests.backends.instructions import require_processor

pytestmark = pytest.mark.promise("quantized networks")

HEAD = '#[version = "0.0.5"]\n'
BODIES = {
    "convolution": (
        "%x: Tensor[(1, {c}, 9, 9), {a}], %w: Tensor[(20, {c}, 3, 3), int8], %b: Tensor[(20), int32]",
        """%0 = nn.conv2d(qnn.dequantize(%x, {s}, {z}), qnn.dequantize(%w, {t}, 0), padding=[1, 1, 1, 1], channels=20, kernel_size=[3, 3]);
        qnn.quantize(nn.relu(nn.bias_add(%0, qnn.dequantize(%b, {st}, 0))), {u}, {y}, out_dtype="{a}", rounding="TONEVEN")""",
    ),
    "dense": (
        "%x: Tensor[(6, {c}), {a}], %w: Tensor[(33, {c}), {a}]",
        """%0 = nn.dense(qnn.dequantize(%x, {s}, {z}), qnn.dequantize(%w, {t}, {y}), units=33);
        qnn.quantize(%0, {u}, {y}, out_dtype="{a}", rounding="TONEVEN")""",
    ),
    "transposed convolution": (
        "%x: Tensor[(1, {c}, 5, 5), {a}], %w: Tensor[({c}, 7, 2, 2), int8]",
        """%0 = nn.conv2d_transpose(qnn.dequantize(%x, {s}, {z}), qnn.dequantize(%w, {t}, 0), channels=7, kernel_size=[2, 2],
            strides=[2, 2], kernel_layout="IOHW");
        qnn.quantize(%0, {u}, {y}, out_dtype="{a}", rounding="TONEVEN")""",
    ),
    "phases of words": (
        "%x: Tensor[(1, {c}, 5, 7), {a}], %w: Tensor[({c}, 20, 2, 2), int8]",
        """%0 = nn.conv2d_transpose(qnn.dequantize(%x, {s}, 0), qnn.dequantize(%w, {t}, 0), channels=20, kernel_size=[2, 2],
            strides=[2, 2], kernel_layout="IOHW");
        qnn.quantize(%0, {u}, {y}, out_dtype="{a}", rounding="TONEVEN")""",
    ),
    "padded phases of words": (
        "%x: Tensor[(1, {c}, 5, 7), {a}], %w: Tensor[({c}, 32, 4, 3), int8]",
        """%0 = nn.conv2d_transpose(qnn.dequantize(%x, {s}, 0), qnn.dequantize(%w, {t}, 0), channels=32, kernel_size=[4, 3],
            strides=[2, 2], padding=[1, 1, 1, 1], output_padding=[0, 1], kernel_layout="IOHW");
        qnn.quantize(%0, {u}, {y}, out_dtype="{a}", rounding="TONEVEN")""",
    ),
    "depthwise": (
        "%x: Tensor[(1, {c}, 9, 9), {a}], %w: Tensor[({c}, 1, 3, 3), int8]",
        """%0 = nn.conv2d(qnn.dequantize(%x, {s}, {z}), qnn.dequantize(%w, {t}, 0), padding=[1, 1, 1, 1], groups={c}, channels={c},
            kernel_size=[3, 3]);
        qnn.quantize(%0, {u}, {y}, out_dtype="{a}", rounding="TONEVEN")""",
    ),
    "activations": (
        "%x: Tensor[(3, 9, {c}), {a}], %w: Tensor[(3, 11, {c}), {a}]",
        """%0 = nn.batch_matmul(qnn.dequantize(%x, {s}, {z}), qnn.dequantize(%w, {t}, {y}), transpose_b=True);
        qnn.quantize(%0, {u}, {y}, out_dtype="{a}", rounding="TONEVEN")""",
    ),
    "sum": (
        "%x: Tensor[(3, {c}), {a}], %w: Tensor[(3, {c}), {a}]",
        """%0 = add(qnn.dequantize(%x, {s}, {z}), qnn.dequantize(%w, {u}, {y}));
        qnn.quantize(clip(%0, a_min=-1f, a_max=2f), {u}, {y}, out_dtype="{a}", rounding="TONEVEN")""",
    ),
    "sum of a product": (
        "%x: Tensor[({c}, 20), {a}], %w: Tensor[(33, 20), int8]",
        """%0 = nn.dense(qnn.dequantize(%x, {s}, {z}), qnn.dequantize(%w, {t}, 0), units=33);
        %1 = qnn.dequantize(qnn.quantize(%0, {u}, {y}, out_dtype="{a}", rounding="TONEVEN"), {u}, {y});
        %2 = qnn.dequantize(cast(broadcast_to(200, shape=[33]), dtype="uint8"), {u}, 3);
        qnn.quantize(add(%1, %2), {u}, {z}, out_dtype="{a}", rounding="TONEVEN")""",
    ),
    "concatenation": (
        "%x: Tensor[(3, {c}), {a}], %w: Tensor[(3, {c}), {a}]",
        """%0 = concatenate((qnn.dequantize(%x, {s}, {z}), qnn.dequantize(%w, {u}, {y})), axis=1);
        qnn.quantize(%0, {u}, {y}, out_dtype="{a}", rounding="TONEVEN")""",
    ),
    "function": (
        "%x: Tensor[(3, {c}), {a}], %w: Tensor[(3, {c}), {a}]",
        """%0 = qnn.dequantize(%x, {s}, {z});
        %1 = qnn.dequantize(qnn.quantize(sigmoid(%0), 0.0041f, {z}, out_dtype="{a}", rounding="TONEVEN"), 0.0041f, {z});
        %2 = qnn.quantize(multiply(%0, %1), {s}, {y}, out_dtype="{a}", rounding="TONEVEN");
        qnn.quantize(add(qnn.dequantize(%2, {s}, {y}), qnn.dequantize(%w, {u}, {y})), {u}, {y}, out_dtype="{a}", rounding="TONEVEN")""",
    ),
    "function of a convolution": (
        "%x: Tensor[(1, {c}, 9, 9), {a}], %w: Tensor[(32, {c}, 3, 3), int8]",
        """%0 = nn.conv2d(qnn.dequantize(%x, {s}, {z}), qnn.dequantize(%w, {t}, 0), padding=[1, 1, 1, 1], channels=32, kernel_size=[3, 3]);
        %1 = qnn.dequantize(qnn.quantize(%0, {u}, {y}, out_dtype="{a}", rounding="TONEVEN"), {u}, {y});
        %2 = qnn.dequantize(qnn.quantize(sigmoid(%1), 0.0041f, {z}, out_dtype="{a}", rounding="TONEVEN"), 0.0041f, {z});
        qnn.quantize(multiply(%1, %2), {u}, {z}, out_dtype="{a}", rounding="TONEVEN")""",
    ),
    "mean of a window beyond the data": (
        "%x: Tensor[(1, {c}, 7, 7), {a}], %w: Tensor[(1, {c}, 1, 1), {a}]",
        """%0 = nn.avg_pool2d(qnn.dequantize(%x, {s}, {z}), pool_size=[40, 40], strides=[40, 40], padding=[0, 0, 33, 33]);
        %1 = qnn.quantize(%0, {s}, {y}, out_dtype="{a}", rounding="TONEVEN");
        qnn.quantize(add(qnn.dequantize(%1, {s}, {y}), qnn.dequantize(%w, {s}, {z})), {s}, {y}, out_dtype="{a}", rounding="TONEVEN")""",
    ),
    "mean": (
        "%x: Tensor[(1, {c}, 7, 7), {a}], %w: Tensor[(1, {c}, 1, 1), {a}]",
        """%0 = qnn.quantize(nn.global_avg_pool2d(qnn.dequantize(%x, {s}, {z})), {s}, {y}, out_dtype="{a}", rounding="TONEVEN");
        qnn.quantize(multiply(qnn.dequantize(%x, {s}, {z}), qnn.dequantize(%0, {s}, {y})), {s}, {z}, out_dtype="{a}", rounding="TONEVEN")""",
    ),
}
QUANTITIES = {
    "usual": {"a": "uint8", "z": 118, "y": 131, "s": 0.021, "t": 0.0037, "u": 0.11},
    "signed": {"a": "int8", "z": -5, "y": 11, "s": 0.021, "t": 0.0037, "u": 0.11},
    "zero points at the ends": {"a": "uint8", "z": 255, "y": 0, "s": 0.021, "t": 0.0037, "u": 0.11},
    "zero points at the signed ends": {"a": "int8", "z": 127, "y": -128, "s": 0.021, "t": 0.0037, "u": 0.11},
    "small scales": {"a": "uint8", "z": 3, "y": 9, "s": 1e-20, "t": 1e-10, "u": 1e-28},
    "large scales": {"a": "uint8", "z": 3, "y": 9, "s": 1e18, "t": 1e15, "u": 1e34},
    "scales whose product is nothing": {"a": "uint8", "z": 3, "y": 9, "s": 1e-30, "t": 1e-30, "u": 1.0},
    "everything clipped": {"a": "uint8", "z": 3, "y": 9, "s": 1.0, "t": 1.0, "u": 1e-6},
}
TARGETS = {
    "scalars": {"vector": "none"},
    **{
        cpu: {"target": f"c{{blocked_updates=1,mcpu={cpu}}}"}
        for cpu in ("x86-64-v2", "x86-64-v3", "x86-64-v4", "cascadelake", "native")
    },
}
"""Vectors of 4 lanes, of 8, of 16, these with dot-product instructions, and what this machine has; code that does not run here is not tested."""


def module_of(body: str, quantities: str, channels: int = 16) -> irtool.Module:
    words = {**QUANTITIES[quantities], "c": channels}
    words["st"] = float(np.float32(words["s"]) * np.float32(words["t"])) or 1e-44
    words |= {k: f"{v!r}f" for k, v in words.items() if isinstance(v, float)}
    params, text = BODIES[body]
    return irtool.infer_types(irtool.parse(f"{HEAD}def @main({params.format(**words)}) {{\n{text.format(**words)} }}"))


def inputs_of(module: irtool.Module) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    inputs = {}
    for p in module["main"].params:
        t = p.checked_type
        low, high = (-3000, 3000) if t.dtype == "int32" else (np.iinfo(t.dtype).min, np.iinfo(t.dtype).max + 1)
        inputs[p.name] = rng.integers(low, high, [int(d) for d in t.shape]).astype(t.dtype)
    return inputs


def weights(inputs: dict[str, np.ndarray], body: str) -> dict[str, np.ndarray]:
    """The inputs that are constants of the program."""
    return {n: v for n, v in inputs.items() if n != "x" and body not in ("activations", "sum")}


@pytest.mark.parametrize("quantities", [q for q in QUANTITIES if "product is" not in q])
@pytest.mark.parametrize("body", BODIES)
def test_quantized_values_are_those_of_the_real_numbers(body: str, quantities: str) -> None:
    module = module_of(body, quantities)
    inputs = inputs_of(module)
    before = np.asarray(irtool.evaluate(module, inputs)).astype(int)
    bound = weights(inputs, body)
    after = irtool.run_passes(irtool.infer_types(bind_params(module, bound, "main")), "PropagateDequantize")
    rest = {n: v for n, v in inputs.items() if n not in bound}
    apart = np.abs(np.asarray(irtool.evaluate(after, rest)).astype(int) - before)
    assert apart.max() <= 1 and (apart > 0).mean() <= 0.001 + 1 / apart.size
    text = irtool.to_text(after)
    assert "qnn.dequantize" not in text and "qnn.quantize" not in text, text


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("body", BODIES)
def test_every_build_has_the_bits_of_the_interpreter(body: str, target: str) -> None:
    require_processor(target)
    agree(body, "usual", target)


@pytest.mark.parametrize("quantities", QUANTITIES)
@pytest.mark.parametrize("body", ["convolution", "activations", "sum", "mean"])
def test_builds_agree_on_hostile_quantities(body: str, quantities: str) -> None:
    agree(body, quantities, "native")


@pytest.mark.parametrize("channels", [1, 3, 5, 18])
def test_builds_agree_on_few_and_odd_channels(channels: int) -> None:
    for body in ("convolution", "depthwise", "dense"):
        agree(body, "usual", "native", channels)


def agree(body: str, quantities: str, target: str, channels: int = 16) -> None:
    module = module_of(body, quantities, channels)
    inputs = inputs_of(module)
    bound = weights(inputs, body)
    rest = {n: v for n, v in inputs.items() if n not in bound}
    expected = np.asarray(irtool.evaluate(prepare(module, bound), rest))
    for openmp in (False, True):
        actual = irtool.build(module, bound, openmp=openmp, **TARGETS[target]).run(rest)
        np.testing.assert_array_equal(np.asarray(actual), expected)


@pytest.mark.parametrize(("weight", "is_integer"), [(2, True), (127, False)])
def test_sums_that_may_leave_32_bits_stay_in_floating_point(weight: int, is_integer: bool) -> None:
    """The bound is that of the weights where they are constants: 70,000 small ones fit."""
    module = irtool.infer_types(
        irtool.parse(
            f"""{HEAD}def @main(%x: Tensor[(2, 70000), uint8]) {{
            %0 = cast(broadcast_to({weight}, shape=[3, 70000]), dtype="int8");
            nn.dense(qnn.dequantize(%x, 0.5f, 0), qnn.dequantize(%0, 0.5f, 0), units=3) }}"""
        )
    )
    after = irtool.to_text(irtool.run_passes(module, "FoldConstant,PropagateDequantize"))
    assert ("qnn.dense" in after) == is_integer
