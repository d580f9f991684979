"""Models in ONNX: what is written is what the checker accepts and what the package's own evaluator computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError
from irtool.exports import Request, parse_export
from irtool.infer import infer_types
from irtool.interp.evaluate import evaluate

onnx = pytest.importorskip("onnx")


def model_of(text: str, weights: dict[str, Any] | None = None, **options: Any) -> Any:
    """The model of a text."""
    from irtool.exports.onnx.format import Onnx

    module = infer_types(irtool.parse(f'#[version = "0.0.5"]\n{text}'))
    return Onnx(**options).model(module, Request("net.onnx", "main", weights or {}))[0]


def runs_equal(text: str, *inputs: Any) -> Any:
    """The model, after a comparison of its outputs with the interpreter's."""
    from onnx.reference import ReferenceEvaluator

    model = model_of(text)
    module = infer_types(irtool.parse(f'#[version = "0.0.5"]\n{text}'))
    expected = evaluate(module, list(inputs))
    names = [i.name for i in model.graph.input]
    results = ReferenceEvaluator(model).run(None, dict(zip(names, inputs, strict=True)))
    expected = expected if isinstance(expected, tuple) else (expected,)
    for got, want in zip(results, expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    return model


X = np.linspace(-2, 2, 12, dtype="float32").reshape(3, 4)


@pytest.mark.promise("ONNX out")
def test_nodes_have_the_names_of_variables_and_places() -> None:
    model = runs_equal(
        "def @main(%x: Tensor[(3, 4), float32]) { let %h = nn.relu(%x); let %t = tanh(%h); multiply(%t, %t) }", X
    )
    assert [n.output[0] for n in model.graph.node] == ["h", "t", "output"]
    assert next(n.name for n in model.graph.node) == "nn.relu:2:51"
    assert [i.name for i in model.graph.input] == ["x"]


@pytest.mark.promise("ONNX out")
@pytest.mark.parametrize(
    ("shape", "codes"),
    [
        ((2, 3, 4, 5), "[-3, 0, 0]"),
        ((2, 3, 4, 5), "[0, -3, -2]"),
        ((2, 3, 4, 5), "[-2]"),
        ((2, 3, 4, 5), "[0, -2, 1]"),
        ((2, 6, 4), "[0, -4, 2, -1, -2]"),
        ((2, 6, 4), "[0, -4, -1, 3, 0]"),
        ((4, 6, 5), "[-4, -1, 2, -3]"),
        ((2, 0, 4, 5), "[-3, 0, 0]"),
        ((2, 0, 3), "[-3, 0]"),
        ((3, 6, 0), "[0, -4, -1, 2, 0]"),
    ],
)
def test_reshapes_with_several_open_extents_compute_their_shape(shape: tuple[int, ...], codes: str) -> None:
    x = np.arange(np.prod(shape), dtype="float32").reshape(shape)
    opened = ", ".join("?" * len(shape))
    runs_equal(f"def @main(%x: Tensor[({opened}), float32]) {{ reshape(%x, newshape={codes}) }}", x)


@pytest.mark.promise("ONNX out")
@pytest.mark.parametrize(
    ("shape", "codes"),
    [
        ((2, 3, 4), "[-3, 0]"),
        ((2, 3, 4, 5), "[0, -3, 0]"),
        ((2, 3, 4), "[-1, 0]"),
        ((3, 0, 2), "[0, -3]"),
        ((2, 3, 0), "[-3, 0]"),
    ],
)
def test_reshapes_from_the_back_compute_their_shape(shape: tuple[int, ...], codes: str) -> None:
    x = np.arange(np.prod(shape), dtype="float32").reshape(shape)
    opened = ", ".join("?" * len(shape))
    runs_equal(f"def @main(%x: Tensor[({opened}), float32]) {{ contrib_reverse_reshape(%x, newshape={codes}) }}", x)


@pytest.mark.promise("ONNX out")
def test_computed_shapes_are_those_of_onnx_runtime() -> None:
    """One model at several extents, among them none."""
    onnxruntime = pytest.importorskip("onnxruntime")
    bodies = (
        "reshape(%x, newshape=[-3, 0])",
        "reshape(%x, newshape=[-3, -1])",
        "reshape(%x, newshape=[0, -4, -1, 2, 0])",
        "reshape(%x, newshape=[0, -4, 1, -1, -1])",
        "contrib_reverse_reshape(%x, newshape=[-3, 0])",
        "contrib_reverse_reshape(%x, newshape=[1, -1, -3])",
        "reshape_like(%x, reshape(%x, newshape=[-3, 0]))",
    )
    for body in bodies:
        text = f"def @main(%x: Tensor[(?, ?, ?), float32]) {{ {body} }}"
        module = infer_types(irtool.parse(f'#[version = "0.0.5"]\n{text}'))
        session = onnxruntime.InferenceSession(model_of(text).SerializeToString(), providers=["CPUExecutionProvider"])
        for shape in ((2, 4, 3), (1, 2, 1), (5, 0, 3), (3, 2, 0), (0, 6, 2)):
            x = np.arange(np.prod(shape), dtype="float32").reshape(shape)
            (out,) = session.run(None, {"x": x})
            np.testing.assert_array_equal(out, evaluate(module, [x]), body)


@pytest.mark.promise("ONNX out")
@pytest.mark.parametrize("bounds", ["", ", lhs_begin=1, rhs_begin=0", ", lhs_end=1, rhs_end=2"])
def test_reshape_like_with_open_extents_takes_them_from_both_operands(bounds: str) -> None:
    shapes = {
        "": ((2, 6), (3, 4)),
        ", lhs_begin=1, rhs_begin=0": ((2, 6), (3, 2)),
        ", lhs_end=1, rhs_end=2": ((6, 5), (2, 3, 7)),
    }
    a, b = (np.arange(np.prod(s), dtype="float32").reshape(s) for s in shapes[bounds])
    types = [", ".join("?" * len(v.shape)) for v in (a, b)]
    text = f"def @main(%a: Tensor[({types[0]}), float32], %b: Tensor[({types[1]}), float32]) {{ reshape_like(%a, %b{bounds}) }}"
    runs_equal(text, a, b)


@pytest.mark.promise("ONNX out")
def test_the_last_part_of_an_axis_goes_to_its_end_whatever_that_is() -> None:
    runs_equal("def @main(%x: Tensor[(3, ?), float32]) { split(%x, indices_or_sections=[1, 3], axis=1) }", X)


@pytest.mark.promise("ONNX out")
@pytest.mark.parametrize("options", ["", ", center=False", ", scale=False", ", axis=2"])
@pytest.mark.parametrize(
    "norm", ["nn.instance_norm(%x, %w, %w", "nn.layer_norm(%x, %w, %w", "nn.group_norm(%x, %w, %w, num_groups=2"]
)
def test_norms_scale_and_shift_where_they_are_told_to(norm: str, options: str) -> None:
    text = f"def @main(%x: Tensor[(2, 4, 4), float32], %w: Tensor[(4), float32]) {{ {norm}{options}) }}"
    rng = np.random.default_rng(1)
    runs_equal(text, rng.standard_normal((2, 4, 4)).astype("float32"), np.arange(1, 5, dtype="float32"))


@pytest.mark.promise("ONNX out")
def test_what_both_branches_share_stands_in_front_of_the_if() -> None:
    text = """
def @main(%c: bool, %x: Tensor[(3, 4), float32]) {
  %0 = exp(%x);
  if (%c) { (%0, nn.relu(%0)) } else { (%0, tanh(%x)) }
}"""
    model = runs_equal(text, np.array(True), X)
    runs_equal(text, np.array(False), X)
    assert [n.op_type for n in model.graph.node] == ["Exp", "If", "Identity"]
    assert len(model.graph.node[1].output) == 1  # the shared value is no output of a branch


@pytest.mark.promise("ONNX out")
def test_tail_recursion_is_a_loop() -> None:
    text = """
def @power(%n: int32, %x: Tensor[(3, 4), float32], %w: Tensor[(3, 4), float32]) -> Tensor[(3, 4), float32] {
  if (greater(%n, 0)) { @power(subtract(%n, 1), multiply(%x, %w), %w) } else { %x }
}
def @main(%n: int32, %x: Tensor[(3, 4), float32], %w: Tensor[(3, 4), float32]) { @power(%n, %x, %w) }"""
    model = runs_equal(text, np.array(3, "int32"), X, X)
    runs_equal(text, np.array(0, "int32"), X, X)
    (loop,) = [n for n in model.graph.node if n.op_type == "Loop"]
    assert len(loop.input) == 5  # count, condition, %n, %x and the result; %w is read from outside


@pytest.mark.promise("ONNX out")
def test_a_local_function_that_calls_itself_is_a_loop() -> None:
    runs_equal(
        """
def @main(%n: int32, %x: Tensor[(3, 4), float32]) {
  let %y = exp(%x);
  let %loop = fn (%i: int32, %a: (Tensor[(3, 4), float32], int32)) -> (Tensor[(3, 4), float32], int32) {
    let %more = less(%i, %n);
    if (%more) {
      if (less(%i, 2)) { %loop(add(%i, 1), (add(%a.0, %y), %i)) } else { %loop(add(%i, 2), (negative(%a.0), %a.1)) }
    } else { %a }
  };
  %loop(0, (%x, 7))
}""",
        np.array(5, "int32"),
        X,
    )


@pytest.mark.promise("ONNX out")
def test_functions_that_call_each_other_last_are_one_loop() -> None:
    runs_equal(
        """
def @even(%n: int32, %x: float32) -> float32 { if (equal(%n, 0)) { %x } else { @odd(subtract(%n, 1), add(%x, 1f)) } }
def @odd(%n: int32, %x: float32) -> float32 { if (equal(%n, 0)) { negative(%x) } else { @even(subtract(%n, 1), %x) } }
def @main(%n: int32, %x: float32) { @even(%n, %x) }""",
        np.array(5, "int32"),
        np.array(2, "float32"),
    )


@pytest.mark.promise("ONNX out")
def test_functions_are_inlined_with_their_closures() -> None:
    runs_equal(
        """
def @twice(%f: fn (Tensor[(3, 4), float32]) -> Tensor[(3, 4), float32], %x: Tensor[(3, 4), float32]) { %f(%f(%x)) }
def @main(%x: Tensor[(3, 4), float32]) {
  let %b = exp(%x);
  let %f = fn (%y: Tensor[(3, 4), float32]) { add(%y, %b) };
  @twice(%f, %x)
}""",
        X,
    )


@pytest.mark.promise("ONNX out")
def test_everything_without_a_form_is_reported_at_once() -> None:
    text = """
def @f(%n: int32) -> int32 { if (equal(%n, 0)) { 0 } else { add(@f(subtract(%n, 1)), 1) } }
def @main(%x: Tensor[(3, 4), float32], %n: int32) {
  (nn.bitpack(cast(%x, dtype="int32"), pack_type="uint32"), @f(%n))
}"""
    with pytest.raises(IrError) as error:
        model_of(text)
    assert {d.subject for d in error.value.diagnostics} == {"nn.bitpack", "recursion"}
    assert all(d.code is not None and d.code.name == "E0621" and d.span for d in error.value.diagnostics)


@pytest.mark.promise("ONNX out")
def test_weights_are_initializers_and_can_stand_beside_the_model() -> None:
    from irtool.exports.onnx.format import Onnx

    text = "def @main(%x: Tensor[(3, 4), float32], %w: Tensor[(300, 4), float32]) { nn.dense(%x, %w, units=300) }"
    module = infer_types(irtool.parse(f'#[version = "0.0.5"]\n{text}'))
    w = np.arange(1200, dtype="float32").reshape(300, 4)
    (file,) = Onnx().write(module, Request("net.onnx", "main", {"w": w}))
    (again,) = Onnx().write(module, Request("net.onnx", "main", {"w": w}))
    assert b"".join(file.parts) == b"".join(again.parts)
    model = onnx.load_from_string(b"".join(file.parts))
    assert [i.name for i in model.graph.input] == ["x"]
    assert [(i.name, list(i.dims)) for i in model.graph.initializer] == [("w", [300, 4])]
    weights_file, file = Onnx(external_data=True).write(module, Request("net.onnx", "main", {"w": w}))
    assert weights_file.name == "net.onnx.data" and b"".join(weights_file.parts) == w.tobytes()
    assert len(b"".join(file.parts)) < 1000


@pytest.mark.promise("ONNX out")
def test_unknown_extents_have_names() -> None:
    model = model_of("def @main(%x: Tensor[(?, 4), float32]) { nn.relu(%x) }")
    (dim, four) = model.graph.input[0].type.tensor_type.shape.dim
    assert dim.dim_param == "x_dim_0" and four.dim_value == 4


@pytest.mark.promise("ONNX out")
def test_options_are_checked() -> None:
    assert model_of("def @main(%x: float32) { exp(%x) }", opset=18).opset_import[0].version == 18
    with pytest.raises(irtool.diagnostics.UsageError, match="opset 7"):
        model_of("def @main(%x: float32) { exp(%x) }", opset=7)
    assert parse_export("onnx{opset=20}") == parse_export("onnx{opset=20 external_data=False}")


@pytest.mark.promise("ONNX out")
def test_every_operator_has_a_form_or_a_reason() -> None:
    from irtool.exports.onnx.form import Absent, form_of
    from irtool.ops import operators

    outside = operators.outside()
    forms = {name: form_of(name) for name in operators.names() if name not in outside}
    assert not [name for name, form in forms.items() if form is None]
    assert all(form.becomes for form in forms.values() if form is not None and not isinstance(form, Absent))


@pytest.mark.promise("ONNX out")
def test_other_layouts_are_rearranged_around_the_node() -> None:
    x, w = np.ones((1, 6, 6, 4), "float32"), np.ones((3, 3, 4, 8), "float32")
    model = runs_equal(
        """
def @main(%x: Tensor[(1, 6, 6, 4), float32], %w: Tensor[(3, 3, 4, 8), float32]) {
  nn.max_pool2d(nn.conv2d(%x, %w, data_layout="NHWC", kernel_layout="HWIO"), pool_size=[2, 2], layout="NHWC")
}""",
        x,
        w,
    )
    assert [n.op_type for n in model.graph.node if n.op_type != "Transpose"] == ["Conv", "MaxPool"]


@pytest.mark.promise("ONNX out")
def test_quantized_layers_are_integer_nodes() -> None:
    rng = np.random.RandomState(0)
    x, w = (rng.randint(0, 100, s).astype(d) for s, d in (((2, 8), "uint8"), ((3, 8), "int8")))
    model = runs_equal(
        """
def @main(%x: Tensor[(2, 8), uint8], %w: Tensor[(3, 8), int8]) {
  %0 = qnn.dense(%x, %w, 3, 1, 0.5f, 0.25f, units=3, out_dtype="int32");
  %1 = qnn.requantize(%0, 0.125f, 0, 4f, 7, out_dtype="uint8");
  qnn.dequantize(%1, 4f, 7)
}""",
        x,
        w,
    )
    kinds = [n.op_type for n in model.graph.node]
    assert "MatMulInteger" in kinds and "DequantizeLinear" in kinds and not {"Round", "QuantizeLinear"} & set(kinds)


@pytest.mark.promise("ONNX out")
def test_extents_may_be_unknown() -> None:
    from onnx.reference import ReferenceEvaluator

    text = """
def @main(%x: Tensor[(?, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1], channels=4, kernel_size=[3, 3]);
  %1 = nn.batch_flatten(nn.avg_pool2d(%0, pool_size=[2, 2], strides=[2, 2]));
  mean(%1, axis=[1])
}"""
    module = infer_types(irtool.parse(f'#[version = "0.0.5"]\n{text}'))
    x, w = np.random.RandomState(0).rand(2, 3, 8, 8).astype("float32"), np.ones((4, 3, 3, 3), "float32")
    (actual,) = ReferenceEvaluator(model_of(text)).run(None, {"x": x, "w": w})
    np.testing.assert_allclose(actual, evaluate(module, [x, w]), rtol=1e-5)


@pytest.mark.promise("ONNX out")
def test_elements_where_a_condition_holds() -> None:
    """How many there are is known while the program runs; so is how long the data is that is gathered from them."""
    model = runs_equal(
        """
def @main(%x: Tensor[(3, 4), float32]) {
  %0 = transpose(argwhere(greater(%x, 0f)), axes=[1, 0]);
  %1 = gather_nd(%x, %0);
  %2 = transpose(argwhere(greater(%1, 1f)), axes=[1, 0]);
  (gather_nd(%1, %2), scatter_nd(%x, %0, negative(%1), mode="update"))
}""",
        X,
    )
    assert {"GatherND", "ScatterND", "NonZero"} <= {n.op_type for n in model.graph.node}


@pytest.mark.promise("ONNX out")
def test_deep_texts_need_no_stack() -> None:
    lines = ["  let %x0 = tanh(%x);", *(f"  let %x{i} = tanh(%x{i - 1});" for i in range(1, 3000))]
    model = model_of("def @main(%x: Tensor[(2), float32]) {\n" + "\n".join(lines) + "\n  %x2999\n}")
    assert len(model.graph.node) == 3000
    nested = "%x"
    for _ in range(3000):
        nested = f"tanh({nested})"
    assert len(model_of(f"def @main(%x: Tensor[(2), float32]) {{ {nested} }}").graph.node) == 3000
    text = "%x"
    for _ in range(40):
        text = f"if (%c) {{ exp({text}) }} else {{ %x }}"
    with pytest.raises(IrError, match="nested more than 30 deep"):
        model_of(f"def @main(%c: bool, %x: Tensor[(2), float32]) {{ {text} }}")


@pytest.mark.promise("ONNX out")
def test_references_are_removed_where_they_can_be() -> None:
    runs_equal(
        """
def @main(%x: Tensor[(3, 4), float32]) {
  let %r = ref(%x);
  let %u = ref_write(%r, exp(ref_read(%r)));
  add(ref_read(%r), %x)
}""",
        X,
    )


@pytest.mark.promise("ONNX out")
def test_truth_values_are_divided_and_chosen_as_such() -> None:
    a, b = np.array([True, False, True]), np.array([True, True, False])
    runs_equal("def @main(%a: Tensor[(3), bool], %b: Tensor[(3), bool]) { where(%a, divide(%a, %b), %b) }", a, b)


@pytest.mark.promise("ONNX out")
def test_symbolic_extents_survive_decomposition() -> None:
    text = """
def @main(%x: Tensor[(?, 4, 6, 6), float32], %w: Tensor[(4, 2, 1, 1), float32]) -> Tensor[(?, 6, 6, 2), float32] {
  layout_transform(nn.conv2d(%x, %w, data_layout="NCHW", kernel_layout="IOHW"), src_layout="NCHW", dst_layout="NHWC")
}"""
    model = model_of(text)
    (out,) = model.graph.output
    assert [d.dim_value or d.dim_param for d in out.type.tensor_type.shape.dim] == ["output_dim_0", 6, 6, 2]


@pytest.mark.promise("ONNX out")
def test_networks_come_back(tmp_path: Any) -> None:
    """What is exported is imported again, and computes the same."""
    text = """
def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32], %v: Tensor[(5, 16), float32]) {
  %0 = nn.relu(nn.conv2d(%x, %w, padding=[1, 1], channels=4, kernel_size=[3, 3]));
  %1 = nn.max_pool2d(%0, pool_size=[4, 4], strides=[4, 4]);
  let %s = nn.softmax(nn.dense(nn.batch_flatten(%1), %v, units=5));
  if (greater(max(%s), 0.5f)) { %s } else { negative(%s) }
}"""
    rng = np.random.RandomState(1)
    x, w, v = (rng.uniform(-1, 1, s).astype("float32") for s in ((1, 3, 8, 8), (4, 3, 3, 3), (5, 16)))
    module = infer_types(irtool.parse(f'#[version = "0.0.5"]\n{text}'))
    again, params = irtool.from_onnx(model_of(text, {"w": w, "v": v}))
    assert set(params) == {"w", "v"}
    values = {"x": x, **params}
    actual = evaluate(infer_types(again), [values[p.name] for p in again["main"].params])
    np.testing.assert_allclose(actual, evaluate(module, [x, w, v]), rtol=1e-5)


@pytest.mark.promise("ONNX out")
def test_functions_that_double_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from irtool.exports.onnx import emit

    monkeypatch.setattr(emit, "MOST_CALLS", 500)
    one = "%x: Tensor[(2), float32]) -> Tensor[(2), float32]"
    texts = [f"def @f0({one} {{ tanh(%x) }}"]
    texts += [f"def @f{i}({one} {{ @f{i - 1}(@f{i - 1}(%x)) }}" for i in range(1, 40)]
    with pytest.raises(IrError, match="more than 500 calls"):
        model_of("\n".join([*texts, f"def @main({one} {{ @f39(%x) }}"]))


@pytest.mark.promise("ONNX out")
def test_weights_that_are_written_one_by_one_are_those_of_the_protobuf(monkeypatch: pytest.MonkeyPatch) -> None:
    from irtool.exports.onnx import format as onnx_format

    rng = np.random.default_rng(1)
    shapes = {"w": (400, 40), "half": (40, 300), "b": (40,), "none": (0, 40)}
    dtypes = {"half": "float16"}
    weights = {n: rng.standard_normal(s).astype(dtypes.get(n, "float32")) for n, s in shapes.items()}
    params = ", ".join(
        f"%{n}: Tensor[{s}, {dtypes.get(n, 'float32')}]".replace("(40,)", "(40)") for n, s in shapes.items()
    )
    text = f"""#[version = "0.0.5"]
def @main(%x: Tensor[(3, 40), float32], {params}) {{
  %0 = nn.dense(%x, concatenate((%w, %none)), units=400);
  (%0, nn.dense(add(%x, %b), cast(transpose(%half, axes=[1, 0]), dtype="float32"), units=300))
}}"""
    module = infer_types(irtool.parse(text))
    request = Request("net.onnx", "main", weights)

    def written() -> tuple[bytes, int]:
        (file,) = parse_export("onnx").write(module, request)
        parts = list(file.parts)
        return b"".join(parts), len(parts)

    whole, one = written()
    monkeypatch.setattr(onnx_format, "_MANY", 0)
    streamed, several = written()
    assert one == 1 and several > 4
    assert onnx.load_from_string(streamed) == onnx.load_from_string(whole)
    onnx.checker.check_model(streamed, full_check=True)


@pytest.mark.promise("ONNX out")
@pytest.mark.parametrize("operator", ["qnn.dense", "qnn.batch_matmul", "qnn.conv2d"])
@pytest.mark.parametrize("extent", ["?", "2"])
def test_zero_points_that_are_computed_are_inputs_of_integer_nodes(operator: str, extent: str) -> None:
    """As `DynamicQuantizeLinear` computes them: of the operand's dtype, cast to int32."""
    shapes = {
        "qnn.dense": ((2, 8), (3, 8), ", units=3"),
        "qnn.batch_matmul": ((2, 3, 8), (2, 4, 8), ", transpose_b=True"),
        "qnn.conv2d": ((2, 3, 5, 5), (4, 3, 3, 3), ", padding=[1, 1], channels=4, kernel_size=[3, 3]"),
    }
    data, weight, attributes = shapes[operator]
    head = ", ".join((extent, *map(str, data[1:])))
    text = f"""
def @main(%x: Tensor[({head}), uint8], %zero: uint8, %w: Tensor[({", ".join(map(str, weight))}), int8]) {{
  {operator}(%x, %w, cast(%zero, dtype="int32"), 3, 0.5f, 0.25f{attributes}, out_dtype="int32")
}}"""
    rng = np.random.default_rng(7)
    x, w = rng.integers(0, 256, data).astype("uint8"), rng.integers(-128, 128, weight).astype("int8")
    model = runs_equal(text, x, np.array(131, "uint8"), w)
    assert {"MatMulInteger", "ConvInteger"} & {n.op_type for n in model.graph.node}


@pytest.mark.promise("ONNX out")
def test_products_of_bytes_take_open_rows_but_no_open_sums() -> None:
    """A zero point that is no constant needs the number of products in a sum."""
    text = """
def @main(%x: Tensor[(?, {0}), uint8], %zero: int32, %w: Tensor[(3, {0}), int8]) {{
  qnn.dense(%x, %w, %zero, 3, 0.5f, 0.25f, units=3, out_dtype="int32")
}}"""
    rng = np.random.default_rng(3)
    x, w = rng.integers(0, 255, (2, 8)).astype("uint8"), rng.integers(-128, 127, (3, 8)).astype("int8")
    runs_equal(text.format(8), x, np.int32(7), w)
    with pytest.raises(IrError, match="the extent of axis 1"):
        model_of(text.format("?"))


@pytest.mark.promise("ONNX out")
@pytest.mark.parametrize("shape", ["?, 6, ?, ?", "2, 6, ?, 4", "?, 6, 5, 4"])
def test_group_norm_takes_open_extents(shape: str) -> None:
    x = np.random.default_rng(5).standard_normal((2, 6, 5, 4)).astype("float32")
    g, b = (np.linspace(low, 2, 6, dtype="float32") for low in (1, -1))
    runs_equal(
        f"""
def @main(%x: Tensor[({shape}), float32], %g: Tensor[(6), float32], %b: Tensor[(6), float32]) {{
  nn.group_norm(%x, %g, %b, num_groups=3)
}}""",
        x,
        g,
        b,
    )
