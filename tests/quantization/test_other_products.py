"""Products beside `nn.dense` and `nn.conv2d` in lower precision: computed in it, or named as left in float32."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.ir import Call, post_order
from irtool.quantization import QuantizeOptions
from irtool.quantization.mistakes import NothingToQuantize

F = "float32"
MATMUL = {
    "matmul": "%x: Tensor[(6, 16), float32], %w: Tensor[(16, 12), float32] | nn.matmul(%x, %w, units=12)",
    "both transposed": "%x: Tensor[(16, 6), float32], %w: Tensor[(12, 16), float32] | "
    "nn.matmul(%x, %w, units=12, transpose_a=True, transpose_b=True)",
    "of rank 3": "%x: Tensor[(2, 5, 16), float32], %w: Tensor[(16, 12), float32] | nn.matmul(%x, %w, units=12)",
    "of rank 3, transposed": "%x: Tensor[(2, 16, 5), float32], %w: Tensor[(16, 12), float32] | nn.matmul(%x, %w, units=12, transpose_a=True)",
    "with a bias": "%x: Tensor[(6, 16), float32], %w: Tensor[(16, 12), float32], %b: Tensor[(12), float32] | "
    "nn.relu(add(nn.matmul(%x, %w, units=12), %b))",
}
LINES = {
    "conv1d": "%x: Tensor[(2, 8, 20), float32], %w: Tensor[(12, 8, 3), float32] | nn.conv1d(%x, %w, channels=12, kernel_size=[3], padding=[1, 2])",
    "strides and holes": "%x: Tensor[(2, 8, 20), float32], %w: Tensor[(12, 8, 3), float32], %b: Tensor[(12), float32] | "
    "nn.relu(nn.bias_add(nn.conv1d(%x, %w, channels=12, kernel_size=[3], strides=[2], dilation=[2]), %b))",
    "groups": "%x: Tensor[(2, 8, 20), float32], %w: Tensor[(8, 1, 3), float32] | nn.conv1d(%x, %w, channels=8, groups=8, kernel_size=[3])",
    "NWC": "%x: Tensor[(2, 20, 8), float32], %w: Tensor[(3, 8, 12), float32], %b: Tensor[(12), float32] | "
    'nn.bias_add(nn.conv1d(%x, %w, channels=12, kernel_size=[3], data_layout="NWC", kernel_layout="WIO"), %b, axis=2)',
    "conv1d_transpose": "%x: Tensor[(2, 8, 20), float32], %w: Tensor[(8, 12, 3), float32] | "
    "nn.conv1d_transpose(%x, %w, channels=12, kernel_size=[3], strides=[2], output_padding=[1], padding=[1])",
}
IMAGES = {
    "conv3d": "%x: Tensor[(1, 8, 6, 6, 6), float32], %w: Tensor[(12, 8, 3, 3, 3), float32] | nn.conv3d(%x, %w, channels=12, kernel_size=[3, 3, 3])",
    "conv3d_transpose": "%x: Tensor[(1, 8, 4, 4, 4), float32], %w: Tensor[(8, 12, 3, 3, 3), float32] | "
    "nn.conv3d_transpose(%x, %w, channels=12, kernel_size=[3, 3, 3])",
}


INTEGERS = {"qnn.dense", "qnn.conv2d", "qnn.conv2d_transpose"}


def module_of(case: str) -> tuple[irtool.Module, dict[str, np.ndarray]]:
    """The module of a case, and its weights: all parameters but `%x`."""
    parameters, body = case.split(" | ")
    module = irtool.infer_types(irtool.parse(f'#[version = "0.0.5"]\ndef @main({parameters}) {{ {body} }}\n'))
    g = np.random.default_rng(0)
    weights = {p.name: g.standard_normal(p.type_annotation.shape).astype(F) / 4 for p in module["main"].params[1:]}
    return module, weights


def names(module: irtool.Module) -> set[str]:
    return {e.op_name for e in post_order(module["main"]) if isinstance(e, Call) and e.op_class is not None}


@pytest.mark.parametrize("case", [*MATMUL.values(), *LINES.values()], ids=[*MATMUL, *LINES])
def test_in_8_bits(case: str) -> None:
    module, weights = module_of(case)
    x = np.random.default_rng(1).standard_normal(module["main"].params[0].type_annotation.shape).astype(F)
    quantized = irtool.quantize(module, weights, {"x": x})
    assert not quantized.report.left and quantized.params["w"].dtype == "int8"
    assert names(irtool.quantize(module, weights, {"x": x}, QuantizeOptions(form="integer")).module) & INTEGERS
    want = irtool.evaluate(module, {"x": x, **weights})
    got = irtool.evaluate(quantized.module, {"x": x, **quantized.params})
    assert np.abs(got - want).max() <= 0.05 * np.abs(want).max()


@pytest.mark.parametrize("case", IMAGES.values(), ids=IMAGES)
def test_what_stays_in_float32_is_named(case: str) -> None:
    module, weights = module_of(case)
    x = np.zeros(module["main"].params[0].type_annotation.shape, F)
    with pytest.raises(irtool.IrError, match="all 1 convolutions and matrix products stay in floating point") as caught:
        irtool.quantize(module, weights, {"x": x})
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code is NothingToQuantize and "there is no integer form for nn.conv3d" in diagnostic.notes[0]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize(
    "case", [*MATMUL.values(), LINES["conv1d"], *IMAGES.values()], ids=[*MATMUL, "conv1d", *IMAGES]
)
def test_in_16_bits(case: str, dtype: str) -> None:
    module, _ = module_of(case)
    reduced = irtool.run_passes(module, [("ReducePrecision", {"dtype": dtype})])
    products = [
        e
        for e in post_order(reduced["main"])
        if isinstance(e, Call) and e.op_class is not None and e.op_class.sums_products()
    ]
    assert products and all(a.checked_type.dtype == dtype for p in products for a in p.args)
    g = np.random.default_rng(2)
    values = [g.standard_normal(p.type_annotation.shape).astype(F) for p in module["main"].params]
    want, got = irtool.evaluate(module, values), irtool.evaluate(reduced, values)
    assert 0 < np.abs(got - want).max() <= 0.02 * np.abs(want).max()
