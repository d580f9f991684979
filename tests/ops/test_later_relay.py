"""What came after TVM 0.10: operators, attributes and signatures of 0.11 to 0.19, and operators of vendors."""

import re

import numpy as np
import pytest

import irtool
from irtool.cli import run
from irtool.commands.op_manual import list_operators
from irtool.ir import Constant, Function, Module, Tuple, Var
from irtool.ops import Operator, call, operators
from tests.ops.layers import ALL, type_of

pytestmark = pytest.mark.promise("later Relay")

SINCE = {
    "fixed_point_multiply_per_axis": "0.11",
    "dft": "0.12",
    "qnn.contrib_dense_pack": "0.12",
    "scatter_elements": "0.12",
    "qnn.avg_pool2d": "0.13",
    "qnn.softmax": "0.13",
    "vision.regular_non_max_suppression": "0.14",
}
UNTIL = {"scatter": "0.11", "scatter_add": "0.11"}
ETHOS = [cls.name for cls in operators if cls.name.startswith("contrib.ethosu.")]
HEADER = '#[version = "0.0.5"]\n'


def test_versions_of_operators():
    assert {c.name: c.since for c in operators if c.since != Operator.since} == SINCE
    assert {c.name: c.until for c in operators if c.until} == UNTIL | dict.fromkeys(ETHOS, "0.18")
    assert len(ETHOS) == 6


@pytest.mark.parametrize("cls", list(operators), ids=lambda c: c.name)
def test_every_operator_explains_its_own_type_rule(cls):
    rule = cls.explain_rule()
    assert rule
    assert rule not in (Operator.relate.__doc__, operators.__doc__)
    assert not rule.startswith("The type of the result, or None")


def test_the_list_and_the_manual_say_since_when(capsys):
    listed = list_operators(since="0.13")
    names = [line.split()[0] for line in listed.splitlines()[1:]]
    expected = {n for n, v in SINCE.items() if float(v) >= 0.13} | {"qnn.dequantize", "vision.multibox_transform_loc"}
    assert expected <= set(names) and "dft" not in names and "nn.dense" not in names
    assert run(["ops", "qnn.softmax"]) == 0
    manual = capsys.readouterr().out
    assert "since 0.13" in manual and "type rule:\n  int8 data that has the axis" in manual
    assert run(["ops", "--since", "new"]) == 2
    assert run(["ops", "dft", "--since", "0.12"]) == 2


LATER_DTYPES = ("uint16", "int16", "float16", "int64")
QUANTIZED = [
    (name, arguments, attributes)
    for name, arguments, attributes in ALL
    if name.startswith("qnn.")
    and name not in ("qnn.simulated_quantize", "qnn.simulated_dequantize", "qnn.concatenate")
    and (name in SINCE or {arguments[0].dtype.name, attributes.get("out_dtype")} & set(LATER_DTYPES))
]


def test_integer_arithmetic_in_c_is_the_reference_exactly():
    """Canonicalization makes ordinary operators of the quantized ones; parameters must be constants for that."""
    calls, inputs, expected, params = [], [], [], []
    assert len(QUANTIZED) >= 10
    for name, arguments, attributes in QUANTIZED:
        data = Var(f"x{len(params)}", type_of(arguments[0]))
        params.append(data)
        inputs.append(arguments[0])
        calls.append(call(name, data, *map(Constant, arguments[1:]), **attributes))
        expected.append(operators.get(name).make(attributes).evaluate(*arguments))
    module = irtool.infer_types(Module({"main": Function(tuple(params), Tuple(tuple(calls)))}))
    plain = irtool.run_passes(module, "qnn.CanonicalizeOps")
    left = set(re.findall(r"qnn\.\w+", irtool.to_text(plain, metadata=False)))
    assert left <= {"qnn.dequantize_blocks"}  # whose data stay packed
    for got, want, (name, _, _) in zip(irtool.build(module).run(inputs), expected, QUANTIZED, strict=True):
        np.testing.assert_array_equal(got, want, err_msg=name)


def test_softmax_of_integers_is_near_the_softmax():
    x = np.linspace(-40, 40, 12).astype("int8")[None]
    arguments = [np.float32(1 / 16), np.int32(3), np.float32(1 / 128), np.int32(0)]
    got = operators.get("qnn.softmax").make({}).evaluate(x, *map(np.asarray, arguments)) / 128
    real = np.exp((x.astype(float) - 3) / 16)
    np.testing.assert_allclose(got, real / real.sum(), atol=0.05)


def refused(text, *words):
    with pytest.raises(irtool.IrError) as caught:
        irtool.infer_types(irtool.parse(HEADER + text))
    for word in words:
        assert word in str(caught.value)
    return str(caught.value)


def test_scales_of_grouped_convolutions_are_one_for_each_channel_or_as_many_as_0_10_counts():
    text = """def @main(%x: Tensor[(1, 4, 5, 5), int8], %w: Tensor[(6, 2, 3, 3), int8], %s: Tensor[(SIZE), float32]) {
  qnn.conv2d(%x, %w, 0, 0, 1f, %s, padding=[0, 0, 0, 0], groups=2, channels=6, kernel_size=[3, 3], out_dtype="int32")
}"""
    for size in (6, 12):
        irtool.infer_types(irtool.parse(HEADER + text.replace("SIZE", str(size))))
    refused(text.replace("SIZE", "5"), "qnn.conv2d")


def test_zero_points_of_batch_matmul_may_be_arguments():
    text = """def @main(%x: Tensor[(2, 3, 4), int8], %y: Tensor[(2, 5, 4), int8], %a: int32, %b: int32) {
  qnn.batch_matmul(%x, %y, %a, %b, 1f, 1f, out_dtype="int32", transpose_b=True)
}"""
    module = irtool.infer_types(irtool.parse(HEADER + text))
    rng = np.random.default_rng(0)
    x, y = rng.integers(-128, 128, (2, 3, 4)).astype("int8"), rng.integers(-128, 128, (2, 5, 4)).astype("int8")
    inputs = [x, y, np.array(3, "int32"), np.array(-4, "int32")]
    expected = (x.astype(int) - 3) @ (y.astype(int) + 4).swapaxes(1, 2)
    np.testing.assert_array_equal(irtool.evaluate(module, inputs), expected)
    np.testing.assert_array_equal(irtool.build(module).run(inputs), expected)


def test_softmax_refuses_scales_above_one():
    text = "def @main(%x: Tensor[(2, 3), int8]) { qnn.softmax(%x, 2f, 0, 0.1f, 0) }"
    module = irtool.infer_types(irtool.parse(HEADER + text))
    with pytest.raises(irtool.IrError, match="0 … 1, not 2") as caught:
        irtool.run_passes(module, "qnn.CanonicalizeOps")
    assert caught.value.diagnostics[0].span is not None


REFUSED = [
    ("qnn.softmax(%b, 0.5f, 0, 0.1f, 0)", "int8"),
    ("qnn.avg_pool2d(%f, 0.5f, 0, 0.1f, 0, pool_size=[1, 1])", "int8 or uint8"),
    ("dft(%f, %i)", "im_data must hold floating-point numbers"),
    ("dft(%f, %f2)", "axis 1"),
    ('scatter_elements(%f, %i, %f, reduction="or")', "reduction"),
    ('scatter_elements(%i, %i, %i, reduction="mean")', "floating-point"),
    ("fixed_point_multiply_per_axis(%i, %i, %i, %i, axes=[2])", "axis 2 is out of range"),
    ("nn.contrib_conv2d_gemm_weight_transform(%w, tile_rows=4, tile_K=4)", "tile_N"),
    ("nn.contrib_conv2d_gemm_weight_transform(%w)", "tile_rows"),
    ('qnn.dequantize(%i, 1f, 0, out_dtype="float64")', "float16"),
    ("memory.alloc_storage(%i, virtual_device=None)", "2 arguments (size, alignment) or 3 (size, shape, alignment)"),
    ("contrib.ethosu.identity(%f, %i, ifm_scale=1f, ifm_zero_point=0, ofm_scale=1f, ofm_zero_point=0)", "int16"),
]


@pytest.mark.parametrize(("expression", "words"), REFUSED, ids=lambda v: v.split("(")[0])
def test_what_does_not_fit_is_refused_with_its_place(expression, words):
    params = "%f: Tensor[(2, 3), float32], %f2: Tensor[(2, 4), float32], %i: Tensor[(2, 3), int32], "
    params += "%b: Tensor[(2, 3), uint8], %w: Tensor[(3, 3, 4, 8), float32]"
    assert "<text>:3:" in refused(f"def @main({params}) {{\n  {expression}\n}}", words)


def test_attributes_are_printed_as_they_were_given():
    text = """def @main(%q: Tensor[(2, 3), int8], %w: Tensor[(3, 3, 4, 8), float32]) {
  (qnn.dequantize(%q, 1f, 0), qnn.dequantize(%q, 1f, 0, out_dtype="float16", axis=1),
   nn.contrib_conv2d_gemm_weight_transform(%w, tile_rows=4, tile_cols=16),
   nn.contrib_conv2d_gemm_weight_transform(%w, tile_N=4, tile_K=2))
}"""
    module = irtool.parse(HEADER + text)
    printed = irtool.to_text(module)
    bare = re.sub(r" /\* .*? \*/", "", printed)
    for part in (
        "qnn.dequantize(%q, 1f, 0);",
        'qnn.dequantize(%q, 1f, 0, out_dtype="float16", axis=1)',
        "tile_rows=4, tile_cols=16)",
        "tile_N=4, tile_K=2)",
    ):
        assert part in bare
    assert irtool.structural_equal(irtool.parse(printed), module)
    shapes = "(Tensor[(2, 3), float32], Tensor[(2, 3), float16], Tensor[(2, 3, 4, 16), float32], "
    assert str(irtool.infer_types(module)["main"].body.checked_type) == shapes + "Tensor[(2, 20, 2, 4), float32])"


def test_later_attributes_at_their_defaults_leave_metadata_and_names_as_0_10_has_them():
    inner = "fn (%q: Tensor[(2, 3), int8], Primitive=1) { qnn.dequantize(%q, 1f, 0%s) }"
    texts = []
    for attribute in ("", ', out_dtype="float16"'):
        e = irtool.parse_expr(HEADER + inner.replace("%s", attribute))
        from irtool.ir.attributes import described

        texts.append([name for name, _ in described(e.body.attrs)])
    assert texts == [["axis"], ["out_dtype", "axis"]]


def test_storage_with_a_shape_is_read_printed_and_placed():
    text = """type Storage {}

def @main(%x: Tensor[(4), float32]) {
  let %s = memory.alloc_storage(16i64, meta[relay.Constant][0], 64i64, virtual_device=meta[VirtualDevice][0]);
  let %t = memory.alloc_storage(16i64, 64i64, virtual_device=meta[VirtualDevice][0]);
  %x
}"""
    from irtool.ir import Let
    from irtool.ir.meta import VirtualDevice

    shape = Constant(np.array([4], "int64"))
    size, alignment = (Constant(np.array(v, "int64")) for v in (16, 64))
    device = VirtualDevice(1, 0)
    x, s, t = (Var(n, type_of(np.zeros(4, "float32")) if n == "x" else None) for n in "xst")
    first = call("memory.alloc_storage", size, shape, alignment, virtual_device=device)
    second = call("memory.alloc_storage", size, alignment, virtual_device=device)
    base = irtool.parse(HEADER + "type Storage {}\ndef @other() { () }")
    module = Module({**base.functions, "main": Function((x,), Let(s, first, Let(t, second, x)))}, base.type_definitions)
    module = irtool.infer_types(module)
    printed = irtool.to_text(module)
    again = irtool.infer_types(irtool.parse(printed))
    assert irtool.structural_equal(again, module)
    assert text.count("alloc_storage") == printed.count("memory.alloc_storage(") == 2
    np.testing.assert_array_equal(irtool.evaluate(module, [np.ones(4, "float32")]), np.ones(4))


def test_boxed_numbers_of_0_18_are_numbers():
    text = """def @main(%x: Tensor[(4, 6), float32]) {
  (split(%x, indices_or_sections=meta[runtime.BoxInt][0]),
   split(%x, indices_or_sections=[meta[runtime.BoxInt][1]], axis=1))
}

#[metadata]
{
  "root": 1,
  "nodes": [
    {"type_key": ""},
    {"type_key": "Map", "keys": ["runtime.BoxInt"], "data": [2]},
    {"type_key": "Array", "data": [3, 4]},
    {"type_key": "runtime.BoxInt", "repr_str": "2"},
    {"type_key": "runtime.BoxInt", "repr_str": "5"}
  ],
  "b64ndarrays": [],
  "attrs": {"tvm_version": "0.19.0"}
}"""
    printed = irtool.to_text(irtool.infer_types(irtool.parse(HEADER + text)))
    assert "indices_or_sections=2)" in printed
    assert "indices_or_sections=[5], axis=1)" in printed


CONV = "ifm_scale=1f, ifm_zero_point=0, weight_zero_point=0, ofm_scale=1f, ofm_zero_point=0, kernel_shape=[3, 3]"
SCALES = "ifm_scale=1f, ifm_zero_point=0, ofm_scale=1f, ofm_zero_point=0"
VENDOR = [
    (f"contrib.ethosu.conv2d(%x, %w, %s, %l, {CONV}, ofm_channels=20)", "Tensor[(1, 4, 6, 20), int8]"),
    (
        f'contrib.ethosu.conv2d(%x, %w, %s, %l, {CONV}, ofm_channels=20, upscale="ZEROS", ofm_layout="NHCWB16")',
        "Tensor[(1, 10, 2, 14, 16), int8]",
    ),
    (
        f"contrib.ethosu.depthwise_conv2d(%x, %d, %t, %l, {CONV}, ofm_channels=4, strides=[2, 2], "
        'padding=[1, 1, 1, 1], ofm_dtype="int16")',
        "Tensor[(1, 3, 4, 4), int16]",
    ),
    (
        f'contrib.ethosu.pooling(%b, %l, pooling_type="MAX", {SCALES}, pool_shape=[2, 2], ofm_channels=20, '
        'ifm_layout="NHCWB16")',
        "Tensor[(1, 5, 7, 20), int8]",
    ),
    (
        f'contrib.ethosu.pooling(%x, %l, pooling_type="SUM", {SCALES}, pool_shape=[1, 1], ofm_channels=4, '
        'ofm_dtype="int32")',
        "Tensor[(1, 6, 8, 4), int32]",
    ),
    (f'contrib.ethosu.identity(%l, %l, {SCALES}, rounding_mode="NATURAL")', "Tensor[(0), int8]"),
    (
        f'contrib.ethosu.binary_elementwise(%x, %x, %l, operator_type="ADD", {SCALES}, ifm2_scale=1f, '
        'ifm2_zero_point=0, ifm_channels=4, ifm2_channels=4, ofm_dtype="int16", use_rescale=True)',
        "Tensor[(1, 6, 8, 4), int16]",
    ),
    (
        f'contrib.ethosu.unary_elementwise(%x, %l, operator_type="ABS", {SCALES}, ofm_channels=4)',
        "Tensor[(1, 6, 8, 4), int8]",
    ),
    ('torch_op(%x, serialized_function="PK", len=2)', None),
]
PARAMS = """%x: Tensor[(1, 6, 8, 4), int8], %w: Tensor[(20, 3, 3, 4), int8], %s: Tensor[(20, 10), uint8],
  %d: Tensor[(4, 3, 3, 1), int8], %t: Tensor[(4, 10), uint8], %l: Tensor[(0), int8],
  %b: Tensor[(1, 6, 2, 8, 16), int8]"""


@pytest.mark.parametrize(("expression", "type"), VENDOR, ids=lambda v: (v or "").split("(")[0])
def test_vendors_operators_are_read_typed_printed_and_refused(expression, type, tmp_path, capsys):
    result = type or "Tensor[(3), int8]"
    module = irtool.infer_types(irtool.parse(HEADER + f"def @main({PARAMS}) -> {result} {{\n  {expression}\n}}"))
    assert str(module["main"].body.checked_type) == result
    printed = irtool.to_text(module)
    assert irtool.structural_equal(irtool.infer_types(irtool.parse(printed)), module)
    file = tmp_path / "in.relay"
    file.write_text(printed)
    name = expression.split("(")[0]
    whose = "PyTorch" if name == "torch_op" else "Arm's Ethos-U processors"
    for arguments in (["run"], ["build", "-o", str(tmp_path / "out")]):
        assert run([arguments[0], str(file), *arguments[1:]]) == 1
        errors = capsys.readouterr().err
        assert f"{name} is an operator of {whose}" in errors
        assert "in.relay:3:3: error" in errors
    assert not (tmp_path / "out").exists()


def test_torch_op_without_annotation_is_open():
    refused(
        'def @main(%x: Tensor[(2), float32]) { torch_op(%x, serialized_function="PK", len=2) }',
        "the type of torch_op(…) cannot be inferred",
    )


SECTION = """

#[metadata]
{
  "root": 1,
  "nodes": [{"type_key": ""}, {"type_key": "Map"}],
  "b64ndarrays": [],
  "attrs": {"tvm_version": "VERSION"}
}"""


@pytest.mark.parametrize(
    ("version", "weights", "attribute", "printed"),
    [
        ("0.11.1", "(6, 4, 3, 3)", "", ""),
        ("0.12.0", "(4, 6, 3, 3)", "", 'kernel_layout="IOHW"'),
        ("0.19.0", "(6, 4, 3, 3)", ', kernel_layout="OIHW"', ""),
        ("0.10.0", "(4, 6, 3, 3)", ', kernel_layout="IOHW"', 'kernel_layout="IOHW"'),
    ],
)
def test_layout_of_transposed_weights_is_that_of_the_version_that_wrote_the_text(version, weights, attribute, printed):
    text = f"def @main(%x: Tensor[(1, 4, 5, 5), float32], %w: Tensor[{weights}, float32]) {{\n"
    text += f"  nn.conv2d_transpose(%x, %w, channels=6, kernel_size=[3, 3]{attribute})\n}}"
    module = irtool.infer_types(irtool.parse(HEADER + text + SECTION.replace("VERSION", version)))
    assert str(module["main"].body.checked_type) == "Tensor[(1, 6, 7, 7), float32]"
    again = irtool.to_text(module)
    assert ("kernel_layout" in again) == bool(printed) and printed in again
    assert irtool.structural_equal(irtool.infer_types(irtool.parse(again)), module)


def test_letters_of_one_and_three_axes_changed_their_meaning():
    text = """def @main(%x: Tensor[(1, 4, 5), float32], %w: Tensor[(6, 4, 3), float32]) {
  nn.conv1d_transpose(%x, %w, channels=6, kernel_size=[3], kernel_layout="OIW")
}"""
    later = irtool.infer_types(irtool.parse(HEADER + text + SECTION.replace("VERSION", "0.12.0")))
    assert later["main"].body.attrs.kernel_layout == "IOW"
    assert str(later["main"].body.checked_type) == "Tensor[(1, 6, 7), float32]"
    refused(text + SECTION.replace("VERSION", "0.10.0"), "conv1d_transpose")


def test_a_text_that_does_not_say_its_version_is_refused_with_a_word():
    text = "def @main(%x: Tensor[(1, 4, 5, 5), float32], %w: Tensor[(4, 6, 3, 3), float32]) {\n"
    message = refused(text + "  nn.conv2d_transpose(%x, %w, channels=6, kernel_size=[3, 3])\n}", "TVM 0.12 and later")
    assert '"IOHW", to be written out' in message
