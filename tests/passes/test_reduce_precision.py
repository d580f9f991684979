"""ReducePrecision: what is rounded, what stays exact, and how far results move."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.diagnostics import UsageError
from irtool.driver.precision import PASSES, precision_error, precision_passes
from irtool.ir import Call, Constant, Module, Op, TensorType, post_order
from irtool.ops.base import is_call_to
from irtool.passes.core.bind import bind_params
from irtool.passes.instruments.verifying import Verifying

V = '#[version = "0.0.5"]\n'
NETWORK = (
    V
    + """
def @main(%x: Tensor[(1, 8, 12, 12), float32], %w: Tensor[(16, 8, 3, 3), float32], %g: Tensor[(16), float32],
          %u: Tensor[(16, 16, 3, 3), float32], %d: Tensor[(10, 16), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=16, kernel_size=[3, 3]);
  %1 = nn.batch_norm(%0, %g, %g, %g, %g);
  %2 = nn.relu(%1.0);
  %3 = nn.conv2d(%2, %u, padding=[1, 1, 1, 1], channels=16, kernel_size=[3, 3]);
  %4 = add(%3, %2);
  %5 = multiply(%4, sigmoid(%4));
  %6 = nn.layer_norm(reshape(%5, newshape=[1, 16, 144]), broadcast_to(1f, shape=[144]), broadcast_to(0f, shape=[144]));
  %7 = mean(%6, axis=[2]);
  nn.softmax(nn.dense(%7, %d, units=10))
}
"""
)


def weights(module: Module) -> dict[str, np.ndarray]:
    g = np.random.default_rng(0)
    arrays = {}
    for p in module["main"].params:
        if p.name != "x":
            shape = p.type_annotation.shape
            arrays[p.name] = (np.abs if len(shape) == 1 else np.array)(g.standard_normal(shape) / 3).astype("float32")
    return arrays


def calls(module: Module, *names: str) -> list[Call]:
    return [e for e in post_order(module["main"].body) if is_call_to(e, *names)]


def dtype(e: object) -> str:
    t = e.checked_type  # type: ignore[attr-defined]  # an expression with a type
    assert isinstance(t, TensorType)
    return t.dtype


@pytest.mark.parametrize(("kind", "allowed"), [("bfloat16", 2e-2), ("float16", 2e-3)])
def test_products_are_rounded_and_what_must_stay_exact_is_not(kind: str, allowed: float) -> None:
    module = irtool.parse(NETWORK)
    module = irtool.infer_types(bind_params(module, weights(module)))
    after = irtool.run_passes(module, precision_passes(kind), instruments=[Verifying()])
    for conv in calls(after, "nn.conv2d"):
        assert [dtype(a) for a in conv.args] == [kind, kind] and dtype(conv) == "float32"
        assert isinstance(conv.args[1], Constant), "weights are rounded when the program is built"
    exact = calls(after, "nn.softmax", "mean", "variance", "sigmoid", "nn.dense", "add", "multiply", "nn.relu")
    assert len(exact) > 8 and all(dtype(a) == "float32" for e in exact for a in e.args)
    casts = [e for e in calls(after, "cast") if dtype(e) == kind]
    assert len({e.args[0] for e in casts}) == len(casts), "no value is rounded twice"
    x = np.random.default_rng(1).standard_normal((1, 8, 12, 12)).astype("float32")
    expected, actual = irtool.evaluate(module, [x]), irtool.evaluate(after, [x])
    error = precision_error(expected, actual)
    assert np.asarray(actual).dtype == np.float32 and 0 < error.largest < allowed, error
    built = irtool.build(module, precision=f"{kind}{{layers=all}}").run([x])
    assert precision_error(expected, built).largest < allowed


def test_results_keep_their_types() -> None:
    text = f"""{V}def @main(%x: Tensor[(4, 8), float32], %w: Tensor[(8, 8), float32], %n: Tensor[(4), int32]) {{
      %0 = nn.dense(%x, %w, units=8);
      %1 = nn.dense(nn.relu(%0), %w, units=8);
      (%0, (%1, %n), nn.relu(%0))
    }}"""
    module = irtool.parse(text)
    after = irtool.run_passes(module, "ReducePrecision", instruments=[Verifying()])
    assert after["main"].checked_type == irtool.infer_types(module)["main"].checked_type
    assert any(dtype(a) == "bfloat16" for e in calls(after, "nn.dense") for a in e.args)


def test_branches_loops_and_functions_keep_their_types() -> None:
    text = f"""{V}
def @layer(%x: Tensor[(4, 4), float32], %w: Tensor[(4, 4), float32]) -> Tensor[(4, 4), float32] {{
  nn.dense(nn.relu(nn.dense(%x, %w, units=4)), %w, units=4)
}}
def @main(%x: Tensor[(4, 4), float32], %w: Tensor[(4, 4), float32], %n: int32) -> Tensor[(4, 4), float32] {{
  if (greater(%n, 0)) {{ @main(@layer(%x, %w), %w, subtract(%n, 1)) }} else {{ let %y = nn.dense(%x, %w, units=4); nn.dense(%y, %w, units=4) }}
}}"""
    module = irtool.parse(text)
    after = irtool.run_passes(module, "ReducePrecision", instruments=[Verifying()])
    assert "bfloat16" in irtool.to_text(after)
    g = np.random.default_rng(0)
    x, w = (g.standard_normal((4, 4)).astype("float32") for _ in range(2))
    error = precision_error(irtool.evaluate(module, [x, w, np.int32(2)]), irtool.evaluate(after, [x, w, np.int32(2)]))
    assert 0 < error.largest < 5e-2
    irtool.build(module, precision="bfloat16{layers=all}", emit="c")


def test_which_last_layer_stays() -> None:
    text = f"""{V}def @main(%x: Tensor[(4, 128), float32], %w: Tensor[(128, 128), float32], %v: Tensor[(UNITS, 128), float32]) {{
      %0 = nn.dense(nn.relu(nn.dense(%x, %w, units=128)), %w, units=128);
      nn.dense(nn.relu(%0), %v, units=UNITS)
    }}"""
    for units, kind in ((2, "float32"), (5, "bfloat16")):
        after = irtool.run_passes(irtool.parse(text.replace("UNITS", str(units))), "ReducePrecision")
        *others, last = calls(after, "nn.dense")
        assert [dtype(a) for a in last.args] == [kind, kind] and after["main"].body is last
        assert all(dtype(a) == "bfloat16" for e in others for a in e.args)


def test_values_that_only_elementwise_operators_read_are_not_rounded() -> None:
    text = f"""{V}def @main(%x: Tensor[(4, 128), float32], %w: Tensor[(128, 128), float32]) {{
      %0 = nn.dense(%x, %w, units=128);
      %1 = nn.dense(multiply(%0, sigmoid(%0)), %w, units=128);
      (mean(%1), add(%1, 1f), nn.dense(%1, %w, units=128))
    }}"""
    after = irtool.run_passes(irtool.parse(text), "ReducePrecision", instruments=[Verifying()])
    (activation,) = calls(after, "sigmoid")
    assert is_call_to(activation.args[0], "nn.dense"), "the sum itself"
    (shared,) = {e.args[0] for e in calls(after, "mean", "add")}
    assert is_call_to(shared, "cast") and dtype(shared.args[0]) == "bfloat16", (
        "a mean reads what is stored for a product"
    )


def test_a_module_without_products_stays_as_it_is() -> None:
    module = irtool.infer_types(irtool.parse(f"{V}def @main(%x: Tensor[(4, 8), float32]) {{ tanh(%x) }}"))
    assert irtool.run_passes(module, "ReducePrecision") is module


def test_float64_and_integers_stay() -> None:
    text = f"""{V}def @main(%x: Tensor[(4, 8), KIND], %w: Tensor[(8, 8), KIND]) {{ nn.dense(nn.dense(%x, %w, units=8), %w, units=8) }}"""
    for kind in ("float64", "int32"):
        after = irtool.run_passes(irtool.parse(text.replace("KIND", kind)), "ReducePrecision")
        assert all(dtype(e) == kind for e in post_order(after["main"].body) if not isinstance(e, Op))


def test_weights_beyond_float16_are_refused() -> None:
    text = f"{V}def @main(%x: Tensor[(4, 8), float32]) {{ nn.dense(tanh(nn.dense(%x, broadcast_to(1e5f, shape=[8, 8]), units=8)), broadcast_to(1f, shape=[8, 8]), units=8) }}"
    module = irtool.run_passes(irtool.parse(text), "FoldConstant")
    with pytest.raises(irtool.IrError, match="100000 is beyond float16, which ends at 65504"):
        irtool.build(module, precision="float16{layers=all}")
    irtool.build(module, precision="float16", emit="c", mcpu="x86-64-v3")  # no layer is rounded
    irtool.run_passes(module, "ReducePrecision")


def test_linear_layers_are_composed_before_they_are_rounded() -> None:
    """A rounding between them would keep the resizing and the layer behind it apart."""
    text = f"""{V}def @main(%x: Tensor[(1, 32, 8, 8), float32], %w: Tensor[(32, 32, 3, 3), float32], %u: Tensor[(8, 32, 1, 1), float32]) {{
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=32, kernel_size=[3, 3]);
  %1 = nn.relu(nn.conv2d(image.resize2d(%0, size=[16, 16], roi=[0f, 0f, 0f, 0f]), %u, channels=8, kernel_size=[1, 1]));
  nn.conv2d(%1, broadcast_to(1f, shape=[8, 8, 3, 3]), channels=8, kernel_size=[3, 3])
}}"""
    module = irtool.parse(text)
    g = np.random.default_rng(0)
    data = {n: g.standard_normal(s).astype("float32") for n, s in (("w", (32, 32, 3, 3)), ("u", (8, 32, 1, 1)))}
    bound = irtool.infer_types(bind_params(module, data))
    after = irtool.run_passes(bound, precision_passes("bfloat16"), opt_level=3)
    assert [c.checked_type.shape for c in calls(after, "image.resize2d")] == [(1, 8, 16, 16)]


def test_precisions_that_there_are_not() -> None:
    module = irtool.parse(f"{V}def @main(%x: Tensor[(4), float32]) {{ tanh(%x) }}")
    with pytest.raises(UsageError, match=r"precision='bf16' is not one of float32, bfloat16, .*float16"):
        irtool.build(module, precision="bf16")
    with pytest.raises(UsageError, match="neither bfloat16 nor float16"):
        irtool.run_passes(module, 'ReducePrecision{dtype="int8"}')
    halves = {f"{dtype}{layers}" for dtype in ("bfloat16", "float16") for layers in ("", "{layers=all}")}
    assert set(PASSES) == {"float32", "int8"} | halves


def test_the_error_that_is_reported() -> None:
    a, b = np.array([4.0, -8.0]), np.array([4.0, -7.0])
    error = precision_error(a, b)
    assert error.largest == pytest.approx(1 / 8) and error.snr == pytest.approx(10 * np.log10(80))
    assert str(precision_error(a, a)) == "none"
    assert "not finite" in str(precision_error(a, np.array([4.0, np.inf])))
    assert precision_error((a, np.zeros(2)), (a, np.ones(2))).snr == -np.inf


def test_padding_is_part_of_a_convolution_before_a_rounding_comes_between() -> None:
    text = f"""{V}def @main(%x: Tensor[(1, 8, 8, 8), float32], %w: Tensor[(8, 8, 3, 3), float32]) {{
  %0 = nn.relu(nn.conv2d(nn.pad(%x, 0f, pad_width=[[0, 0], [0, 0], [0, 1], [0, 1]]), %w, padding=[0, 0, 0, 0], channels=8, kernel_size=[3, 3]));
  nn.conv2d(%0, %w, channels=8, kernel_size=[3, 3])
}}"""
    module = irtool.parse(text)
    bound = irtool.infer_types(bind_params(module, {"w": np.ones((8, 8, 3, 3), "float32")}))
    after = irtool.run_passes(bound, precision_passes("bfloat16"))
    assert not calls(after, "nn.pad")
    assert [c.attrs.padding for c in calls(after, "nn.conv2d")] == [(0, 0, 1, 1), (0, 0)]


GAIN = 4.0
"""Uses of a weight, for the tests below."""


def layers(text: str, weights: dict[str, tuple[int, ...]], most_uses: float = GAIN) -> Module:
    """A module whose weights are constants, after the pass."""
    g = np.random.default_rng(0)
    module = irtool.parse(V + text)
    bound = bind_params(module, {n: g.standard_normal(s).astype("float32") for n, s in weights.items()})
    passes = f'ReducePrecision{{dtype="bfloat16", most_uses={most_uses}}}'
    return irtool.run_passes(irtool.infer_types(bound), passes, instruments=[Verifying()])


@pytest.mark.parametrize(
    ("rows", "units", "constant", "kind"),
    [
        (1, 64, True, "bfloat16"),
        (4, 64, True, "bfloat16"),
        (5, 64, True, "float32"),  # the weights are used too often
        (1, 8, True, "float32"),  # the data are used too seldom to be rounded
        (1, 64, False, "float32"),  # weights that would be rounded in each run
    ],
)
def test_which_layers_have_a_gain_where_there_are_no_instructions(
    rows: int, units: int, constant: bool, kind: str
) -> None:
    text = f"""def @main(%x: Tensor[({rows}, 32), float32], %w: Tensor[({units}, 32), float32], %v: Tensor[(512, {units}), float32]) {{
      nn.dense(tanh(nn.dense(%x, %w, units={units})), %v, units=512)
    }}"""
    shapes = {"w": (units, 32), "v": (512, units)}
    after = layers(text, shapes if constant else {"v": (512, units)})
    first, _ = calls(after, "nn.dense")
    assert {dtype(a) for a in first.args} == {kind}


def test_convolutions_stay_where_there_are_no_instructions_and_those_of_one_pixel_do_not() -> None:
    text = """def @main(%x: Tensor[(1, 32, SIZE, SIZE), float32], %w: Tensor[(32, 32, 1, 1), float32], %u: Tensor[(32, 32, 1, 1), float32]) {
      nn.conv2d(nn.relu(nn.conv2d(%x, %w, channels=32, kernel_size=[1, 1])), %u, channels=32, kernel_size=[1, 1])
    }"""
    for size, kind in ((1, "bfloat16"), (2, "bfloat16"), (3, "float32")):
        after = layers(text.replace("SIZE", str(size)), {"w": (32, 32, 1, 1), "u": (32, 32, 1, 1)})
        assert {dtype(a) for c in calls(after, "nn.conv2d") for a in c.args} == {kind}


def test_layers_that_stay_read_what_was_not_rounded() -> None:
    """Two layers with many rows read the sum of one with few, and so does one that is rounded."""
    text = """def @main(%x: Tensor[(2, 64), float32], %w: Tensor[(64, 64), float32], %y: Tensor[(64, 64), float32]READER) {
      %0 = tanh(nn.dense(%x, %w, units=64));
      %1 = nn.dense(%y, %0, units=2);
      %2 = nn.dense(%y, %0, units=2);
      (%1, exp(%2)MORE)
    }"""
    after = layers(text.replace("READER", "").replace("MORE", ""), {"w": (64, 64)})
    first, *others = calls(after, "nn.dense")
    assert {dtype(a) for a in first.args} == {"bfloat16"}
    assert all(is_call_to(c.args[1], "tanh") and dtype(c.args[1]) == "float32" for c in others)


def test_a_function_in_which_no_layer_has_a_gain_is_the_same() -> None:
    text = """def @main(%x: Tensor[(64, 64), float32], %w: Tensor[(64, 64), float32]) {
      nn.dense(tanh(nn.dense(%x, %w, units=64)), %w, units=64)
    }"""
    module = irtool.infer_types(irtool.parse(V + text))
    assert irtool.run_passes(module, 'ReducePrecision{dtype="bfloat16", most_uses=4}') is module
