"""Programs built in Python: operators by name, Python's own operators, variables and constants."""

from __future__ import annotations

import inspect
import subprocess
import sys

import numpy as np
import pytest

import irtool
from irtool import relay
from irtool.diagnostics import UsageError
from irtool.ops import operators

pytestmark = pytest.mark.promise("Python API")


def text(e) -> str:
    """What is computed, on one line, without declarations and comments."""
    lines = irtool.to_text(e, types="none", metadata=False).splitlines()[1:]
    return " ".join(line for line in lines if not line.startswith(("free_var", "/*")))


X = relay.var("x", shape=(1, 3, 8, 8))
W = relay.var("w")
I = relay.var("i", shape=(2,), dtype="int32")


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda: X + 1.0, "add(%x, 1f)"),
        (lambda: X + 1, "add(%x, 1f)"),
        (lambda: 2 - X, "subtract(2f, %x)"),
        (lambda: I * 3, "multiply(%i, 3)"),
        (lambda: 3 * I, "multiply(3, %i)"),
        (lambda: X / X, "divide(%x, %x)"),
        (lambda: 1.0 / X, "divide(1f, %x)"),
        (lambda: -X, "negative(%x)"),
        (lambda: X < 3, "less(%x, 3f)"),
        (lambda: X <= X, "less_equal(%x, %x)"),
        (lambda: X > 3, "greater(%x, 3f)"),
        (lambda: X >= X, "greater_equal(%x, %x)"),
        (lambda: np.float32(2) + X, "add(2f, %x)"),
        (lambda: W + 1.5, "add(%w, 1.5f)"),
        (lambda: X.astype("int8"), 'cast(%x, dtype="int8")'),
        (lambda: relay.nn.relu(X) * 2, "%0 = nn.relu(%x); multiply(%0, 2f)"),
        (lambda: relay.cast(X, "int32") * 2, '%0 = cast(%x, dtype="int32"); multiply(%0, 2)'),
        (lambda: relay.var("f")(X, 2.0), "%f(%x, 2f)"),
        (lambda: relay.GlobalVar("g")(X), "@g(%x)"),
        (lambda: relay.op.get("nn.relu")(X), "nn.relu(%x)"),
        (lambda: relay.op.nn.relu(data=X), "nn.relu(%x)"),
    ],
)
def test_python_operators(build, expected) -> None:
    assert text(build()) == expected


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda: relay.nn.relu(data=X), "nn.relu(%x)"),
        (
            lambda: relay.nn.conv2d(X, W, channels=4, kernel_size=3, padding=(1, 1), strides=2),
            "nn.conv2d(%x, %w, strides=[2, 2], padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3])",
        ),
        (lambda: relay.nn.conv2d(X, W), "nn.conv2d(%x, %w, padding=[0, 0, 0, 0])"),
        (lambda: relay.nn.conv1d(X, W, padding=2), "nn.conv1d(%x, %w, padding=[2, 2])"),
        (
            lambda: relay.nn.max_pool2d(X, 2, 2, 1, (0, 1)),
            "nn.max_pool2d(%x, pool_size=[2, 2], strides=[2, 2], padding=[0, 1, 0, 1])",
        ),
        (lambda: relay.nn.matmul(X, W), "nn.matmul(%x, %w, units=None)"),
        (lambda: relay.nn.dense(X, W, 10, "float16"), 'nn.dense(%x, %w, units=10, out_dtype="float16")'),
        (lambda: relay.nn.batch_matmul(X, W), "nn.batch_matmul(%x, %w, transpose_b=True)"),
        (lambda: relay.nn.leaky_relu(X), "nn.leaky_relu(%x, alpha=0.01f)"),
        (lambda: relay.nn.pad(X, ((0, 0), (1, 1)), 2.0), "nn.pad(%x, 2f, pad_width=[[0, 0], [1, 1]])"),
        (lambda: relay.nn.dropout(X), "%0 = nn.dropout(%x); %0.0"),
        (lambda: relay.sum(X, 1), "sum(%x, axis=[1])"),
        (lambda: relay.sum(X, axis=[1, 2], keepdims=True), "sum(%x, axis=[1, 2], keepdims=True)"),
        (lambda: relay.argmax(X, 1, True, False, True), "argmax(%x, axis=[1], keepdims=True, select_last_index=True)"),
        (lambda: relay.transpose(X), "transpose(%x, axes=None)"),
        (lambda: relay.transpose(X, (0, 2, 3, 1)), "transpose(%x, axes=[0, 2, 3, 1])"),
        (lambda: relay.reshape(X, (2, -1)), "reshape(%x, newshape=[2, -1])"),
        (lambda: relay.reshape(X, -1), "reshape(%x, newshape=[-1])"),
        (lambda: relay.reshape(X, relay.const([2, -1])), "reshape(%x, newshape=[2, -1])"),
        (
            lambda: relay.reshape(X, relay.shape_of(W)),
            '%0 = shape_of(%w, dtype="int32"); dyn.reshape(%x, %0, newshape=[])',
        ),
        (lambda: relay.concatenate([X, X], axis=1), "%0 = (%x, %x); concatenate(%0, axis=1)"),
        (lambda: relay.expand_dims(X, axis=0), "expand_dims(%x, axis=0)"),
        (lambda: relay.clip(X, 0, 6), "clip(%x, a_min=0f, a_max=6f)"),
        (lambda: relay.clip(a=X, a_min=0, a_max=6), "clip(%x, a_min=0f, a_max=6f)"),
        (lambda: relay.take(X, I, 1), "take(%x, %i, axis=1)"),
        (lambda: relay.gather(X, 1, I), "gather(%x, %i, axis=1)"),
        (lambda: relay.topk(X, 3, is_ascend=True), 'topk(%x, k=3, is_ascend=True, dtype="int32")'),
        (lambda: relay.strided_slice(X, [0], [1]), "strided_slice(%x, begin=[0], end=[1], strides=[1], axes=None)"),
        (
            lambda: relay.variance(X, 1),
            "%0 = mean(%x, axis=[1], keepdims=True); variance(%x, %0, axis=[1])",
        ),
        (
            lambda: relay.nn.conv2d_transpose(X, W, 2, 1, 1, 1, 4, 3, "NCHW", "IOHW", "", 1),
            "nn.conv2d_transpose(%x, %w, channels=4, kernel_size=[3, 3], strides=[2, 2], output_padding=[1, 1], "
            'padding=[1, 1, 1, 1], kernel_layout="IOHW")',
        ),
        (lambda: relay.zeros((2, 3), "float32"), 'zeros(shape=[2, 3], dtype="float32")'),
        (lambda: relay.nn.softmax(X, axis=1), "nn.softmax(%x, axis=1)"),
        (lambda: relay.add(X, np.float32(2)), "add(%x, 2f)"),
        (
            lambda: relay.qnn.op.requantize(X, 1.0, 0, 2.0, 0),
            'qnn.requantize(%x, 1f, 0, 2f, 0, out_dtype="int8")',
        ),
    ],
)
def test_operators_take_what_tvm_s_functions_take(build, expected) -> None:
    assert text(build()) == expected


def test_every_operator_has_a_function_with_a_signature_and_a_manual() -> None:
    for name in operators.names():
        form = relay
        for part in name.removeprefix("relay.op.").split("."):
            form = getattr(form, part)
        assert inspect.signature(form) is not None
        assert form.__doc__, name
    assert "conv2d" in dir(relay.nn)
    assert {"nn", "qnn", "add", "var", "transform"} <= set(dir(relay))
    assert "strides=(1, 1)" in repr(relay.nn.conv2d)


def test_every_line_of_the_signatures_speaks_of_its_operator() -> None:
    from irtool.relay.signatures import SIGNATURES

    for name, line in SIGNATURES.items():
        cls = operators.get(name)
        known = {*cls.arguments, *(f.name for f in cls.fields())}
        assert {of for _, of, _ in line} <= known, name
        required = set(cls.arguments[: cls.arity])
        assert required <= {of for _, of, _ in line}, name


def test_arange_is_typed_by_its_bounds() -> None:
    typed = irtool.infer_types(relay.arange(2, 9, 3, "int32"))
    assert str(typed.checked_type) == "Tensor[(3), int32]"
    assert list(irtool.evaluate(typed)) == [2, 5, 8]


def test_functions_of_several_calls() -> None:
    x = np.random.default_rng(1).normal(size=(3, 4)).astype("float32") * 50
    v = relay.var("v", shape=(3, 4))
    expected = np.log(np.exp(x.astype("float64")).sum(1))
    np.testing.assert_allclose(irtool.evaluate(relay.logsumexp(v, 1), [x]), expected, rtol=1e-5)
    mean, std = relay.mean_std(v, 1)
    np.testing.assert_allclose(irtool.evaluate(mean, [x]), x.mean(1), rtol=1e-4)
    np.testing.assert_allclose(irtool.evaluate(std, [x]), x.std(1), rtol=1e-4)


def test_fields_of_tuples() -> None:
    pair = relay.Tuple([X, I])
    assert pair[0] is X
    assert pair[-1] is I
    assert list(pair) == [X, I]
    with pytest.raises(IndexError, match="2 fields"):
        pair[2]
    left, right = relay.split(X, 2, axis=2)
    assert (left.index, right.index) == (0, 1)
    out, mean, var = relay.nn.batch_norm(X, *[relay.var(n) for n in "abcd"])
    assert (out.index, mean.index, var.index) == (0, 1, 2)
    call = relay.nn.batch_norm(relay.var("u"), *[relay.var(n) for n in "abcd"])
    assert call[0].index == 0
    with pytest.raises(TypeError, match="the number of its fields is not known"):
        list(call)
    with pytest.raises(TypeError, match="an integer selects a field"):
        call["a"]
    with pytest.raises(TypeError, match="cannot be taken apart"):
        iter(X)
    typed = irtool.infer_types(relay.nn.relu(X))
    with pytest.raises(TypeError, match="is no tuple: its type is"):
        typed[0]


def test_a_long_chain_is_built_in_linear_time() -> None:
    y = X
    for _ in range(3000):
        y = (y + 1) * 2.0
    assert irtool.infer_types(irtool.Module.from_expr(y))["main"].body.checked_type == X.type_annotation


def test_nodes_still_compare_by_identity() -> None:
    other = relay.var("x", shape=(1, 3, 8, 8))
    assert other != X
    assert len({X, other}) == 2
    assert bool(X)


def test_variables_and_constants() -> None:
    assert str(relay.var("x", "float32").type_annotation) == "float32"
    assert relay.var("x").type_annotation is None
    assert str(relay.var("x", shape=[relay.Any(), 3]).type_annotation) == "Tensor[(?, 3), float32]"
    assert relay.var("x", relay.TensorType([2, 3])).type_annotation == relay.TensorType((2, 3), "float32")
    assert [relay.const(v).dtype for v in (1, 1.0, True, [1, 2], np.int8(3))] == [
        "int32",
        "float32",
        "bool",
        "int32",
        "int8",
    ]
    assert relay.const(1, "float16").dtype == "float16"
    with pytest.raises(ValueError, match="does not fit in int8"):
        relay.const(1000, "int8")
    with pytest.raises(TypeError, match="made of numbers"):
        relay.const("a")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: relay.nn.conv2d(X), "missing a required argument: 'weight'"),
        (lambda: relay.nn.conv2d(X, W, stride=2), "no argument stride: did you mean strides"),
        (lambda: relay.nn.relu("x"), "the argument data of nn.relu is an expression, not a str"),
        (lambda: relay.nn.conv2d(X, W, padding=(1, 2, 3)), "a list of 2 or 4"),
        (lambda: relay.var("x", (1, 3)), r"write shape=\(1, 3\)"),
        (lambda: relay.var(3), "the name of a variable is a string"),
        (lambda: relay.var("x", shape=(1, 2.5)), "integers are expected"),
        (lambda: relay.nn.relu(X, X, X), "too many positional arguments"),
        (lambda: X + "a", "unsupported operand"),
        (lambda: I + 1.5, "1.5 beside a tensor of int32"),
        (lambda: X(object()), "an argument of a call is an expression"),
        (lambda: relay.transpose(X, I), "needs axes as a value that is known"),
    ],
)
def test_mistakes_while_building(wrong, message) -> None:
    with pytest.raises(TypeError, match=message):
        wrong()


def test_unknown_operator_names_the_nearest() -> None:
    with pytest.raises(AttributeError, match=r"did you mean nn\.relu"):
        relay.nn.rellu  # noqa: B018


def test_printing_gives_text() -> None:
    module = irtool.parse('#[version = "0.0.5"]\ndef @main(%x: Tensor[(4), float32]) { nn.relu(%x) }\n')
    assert str(module) == irtool.to_text(module).partition("\n")[2].rstrip("\n")
    assert str(module["main"]).startswith("fn (%x: Tensor[(4), float32]")
    assert "nn.relu(%x)" in str(module["main"].body)
    assert repr(module) == "Module(@main)"
    assert irtool.IRModule is irtool.Module


def test_a_function_or_an_expression_where_a_module_is_expected() -> None:
    x = relay.var("x", shape=(4,))
    f = relay.Function([x], relay.nn.relu(x) + 1.0)
    data = np.array([-1, 0, 1, 2], "float32")
    expected = [1, 1, 2, 3]
    assert irtool.evaluate(f, [data]).tolist() == expected
    assert irtool.evaluate(f.body, {"x": data}).tolist() == expected
    assert irtool.build(f).run([data]).tolist() == expected
    assert irtool.build(f.body).run({"x": data}).tolist() == expected
    assert str(irtool.infer_types(f).checked_type).startswith("fn (Tensor[(4), float32])")
    assert irtool.structural_equal(irtool.Module.from_expr(f), f)
    assert not irtool.structural_equal(irtool.Module.from_expr(f), f.body.args[0])
    for call in (irtool.evaluate, irtool.build, irtool.infer_types):
        with pytest.raises(UsageError, match="a module, a function or an expression is expected, not a list"):
            call([f])


def test_submodules_and_names_come_when_they_are_asked_for() -> None:
    program = """
import sys, irtool
before = set(sys.modules)
assert not any(m.startswith("irtool.") for m in sys.modules)
assert "numpy" not in sys.modules and "lark" not in sys.modules
for name in ("ir", "te", "tir", "ops", "printer", "parser", "infer", "interp", "driver", "passes", "relay", "lower"):
    assert name in dir(irtool), name
    getattr(irtool, name)
irtool.passes.PassContext, irtool.passes.FuseOps, irtool.ir.Module, irtool.te.compute
for name in ("parse", "build", "run_passes", "Module", "IRModule", "PassContext", "Target"):
    assert name in dir(irtool), name
    getattr(irtool, name)
try:
    irtool.pases
except AttributeError as error:
    assert "did you mean passes?" in str(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
