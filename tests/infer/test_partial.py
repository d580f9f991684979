"""Partial inference: dtypes apart from shapes, backwards as well, hints from outside; never another type than the full one."""

from __future__ import annotations

import random

import numpy as np
import pytest

import irtool
from irtool.infer import infer_partial
from irtool.ir import ANY, Call, Function, Module, TensorType, Var, post_order, substitute
from irtool.ir.untyped import without_types
from irtool.parser import parse
from tests.generators import random_module
from tests.networks import random_network

HEAD = '#[version = "0.0.5"]\n'
CONV = (
    "def @main(%data, %w: Tensor[(4, 3, 3, 3), float32], %b){} {{ "
    "nn.bias_add(nn.conv2d(%data, %w, channels=4, kernel_size=[3, 3]), %b) }}"
)

pytestmark = pytest.mark.promise("partial inference")


def partial(text: str, **hints):
    return infer_partial(parse(HEAD + text), **hints)


def known(text: str, **hints) -> dict[str, str]:
    """What is known of the parameters, `shape dtype` where it is not all."""
    inferred = partial(text, **hints)
    unknown = {n.text: f"{n.shape} {n.dtype}" for n in inferred.unknown}
    return {p.name: unknown.get(f"%{p.name}", str(p.checked_type)) for p in inferred.module["main"].params}


def test_known_weights_leave_no_dtype_open() -> None:
    inferred = partial(CONV.format(""))
    assert inferred.dtype_num_unknown_nodes == 0
    assert inferred.shape_num_unknown_nodes == 3
    assert [(n.text, n.shape, n.dtype) for n in inferred.unknown] == [
        ("%data", "(_, 3, _, _)", "float32"),
        ("nn.conv2d(…)", "(_, 4, _, _)", "float32"),
        ("nn.bias_add(…)", "(_, 4, _, _)", "float32"),
    ]
    assert inferred.unknown[1].function == "main"
    assert inferred.unknown[1].span.start > 0


def test_the_result_decides_the_data() -> None:
    assert known(CONV.format(" -> Tensor[(1, 4, 6, 6), float32]")) == {
        "data": "Tensor[(1, 3, 8, 8), float32]",
        "w": "Tensor[(4, 3, 3, 3), float32]",
        "b": "Tensor[(4), float32]",
    }


@pytest.mark.parametrize(
    ("hints", "data"),
    [
        ({"shapes": {"data": (1, 3, 8, 8)}}, "Tensor[(1, 3, 8, 8), float32]"),
        ({"dtypes": {"data": "float32"}}, "(_, 3, _, _) float32"),
        ({"params": {"data": np.zeros((2, 3, 5, 5), "float32")}}, "Tensor[(2, 3, 5, 5), float32]"),
    ],
)
def test_hints_come_from_outside(hints, data: str) -> None:
    assert known(CONV.format(""), **hints)["data"] == data


@pytest.mark.parametrize(
    ("hints", "says"),
    [
        ({"shapes": {"data": (1, 5, 8, 8)}}, "input channels is"),
        ({"shapes": {"dat": (1,)}}, "no parameter %dat"),
        ({"shapes": {"w": (4, 3, 3)}}, "%w cannot have the shape"),
        ({"dtypes": {"w": "int8"}}, "%w cannot hold int8"),
        ({"shapes": {"data.0": (1,)}}, "no tuple that has a field 0"),
        ({"entry": "nope", "shapes": {"data": (1,)}}, "no function @nope"),
    ],
)
def test_hints_that_contradict_are_refused(hints, says: str) -> None:
    with pytest.raises(irtool.IrError) as caught:
        partial(CONV.format(""), **hints)
    assert says in caught.value.diagnostics[0].message


F = "float32"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # convolutions: one to three axes, strided, dilated, grouped, other layouts, transposed
        ("def @main(%x, %w: Tensor[(4, 3, 5), float32]) -> Tensor[(2, 4, 10), float32] "
         "{ nn.conv1d(%x, %w, padding=[2], channels=4, kernel_size=[5]) }", "Tensor[(2, 3, 10), float32]"),
        ("def @main(%x, %w: Tensor[(4, 3, 3, 3), float32]) -> Tensor[(2, 4, 5, 5), float32] "
         "{ nn.conv2d(%x, %w, strides=[2, 1], dilation=[1, 2]) }", "(2, 3, _, 9) float32"),
        ("def @main(%x, %w: Tensor[(6, 1, 3, 3), float32]) -> Tensor[(2, 6, 5, 5), float32] "
         "{ nn.conv2d(%x, %w, groups=6, channels=6, kernel_size=[3, 3]) }", "Tensor[(2, 6, 7, 7), float32]"),
        ("def @main(%x, %w: Tensor[(3, 3, 8, 4), float32]) -> Tensor[(1, 6, 6, 4), float32] "
         '{ nn.conv2d(%x, %w, data_layout="NHWC", kernel_layout="HWIO") }', "Tensor[(1, 8, 8, 8), float32]"),
        ("def @main(%x, %w: Tensor[(2, 2, 1, 2, 3), float32]) -> Tensor[(1, 2, 4, 4, 4), float32] "
         "{ nn.conv3d(%x, %w) }", "Tensor[(1, 2, 4, 5, 6), float32]"),
        ("def @main(%x, %w: Tensor[(3, 4, 2, 2), float32]) -> Tensor[(1, 4, 8, 8), float32] "
         '{ nn.conv2d_transpose(%x, %w, strides=[2, 2], channels=4, kernel_size=[2, 2], kernel_layout="IOHW") }',
         "Tensor[(1, 3, 4, 4), float32]"),
        # products
        ("def @main(%x, %w: Tensor[(8, 4), float32]) -> Tensor[(2, 8), float32] { nn.dense(%x, %w, units=None) }",
         "Tensor[(2, 4), float32]"),
        ("def @main(%x, %w: Tensor[(4, 8), float16]) -> Tensor[(5, 2, 8), float16] { nn.matmul(%x, %w, units=None) }",
         "Tensor[(5, 2, 4), float16]"),
        ("def @main(%x, %w: Tensor[(1, 4, 8), float32]) -> Tensor[(5, 2, 8), float32] { nn.batch_matmul(%x, %w, transpose_b=False) }",
         "Tensor[(5, 2, 4), float32]"),
        ("def @main(%x, %w: Tensor[(5, 8, 4), float32]) -> Tensor[(5, 2, 8), float32] { nn.batch_matmul(%x, %w, transpose_b=True) }",
         "(_, 2, 4) float32"),
        # shapes
        ("def @main(%x) -> Tensor[(2, 3, 4), float32] { transpose(%x, axes=[2, 0, 1]) }", "Tensor[(3, 4, 2), float32]"),
        ("def @main(%x) -> Tensor[(1, 2, 3), int8] { expand_dims(%x, axis=0) }", "Tensor[(2, 3), int8]"),
        ("def @main(%x) -> Tensor[(2, 3), int8] { squeeze(%x, axis=[0, -1]) }", "Tensor[(1, 2, 3, 1), int8]"),
        ("def @main(%x, %y: Tensor[(2, 5), float32]) -> Tensor[(2, 9), float32] { concatenate((%x, %y), axis=-1) }",
         "Tensor[(2, 4), float32]"),
        ("def @main(%x, %y) -> Tensor[(4, 2, 9), float32] { stack((%x, %x, %y, %y)) }", "Tensor[(2, 9), float32]"),
        ("def @main(%x) -> Tensor[(2, 3), float32] { split(%x, indices_or_sections=4, axis=1).2 }", "Tensor[(2, 12), float32]"),
        ("def @main(%x) -> Tensor[(2, 6), float32] { nn.pad(%x, 0f, pad_width=[[0, 0], [1, 2]]) }", "Tensor[(2, 3), float32]"),
        ("def @main(%x) -> Tensor[(2, 1, 3), float32] { sum(%x, axis=[1], keepdims=True) }", "(2, _, 3) float32"),
        ("def @main(%x) -> Tensor[(2, 3), bool] { any(%x, axis=[0, 3]) }", "(_, 2, 3, _) bool"),
        ("def @main(%x) -> Tensor[(1, 8, 6, 6), float32] { nn.max_pool2d(%x, pool_size=[3, 3], padding=[1, 1, 1, 1]) }",
         "Tensor[(1, 8, 6, 6), float32]"),
        ("def @main(%x) -> Tensor[(1, 8, 6, 6), float32] { nn.max_pool2d(%x, pool_size=[2, 2], strides=[2, 2]) }",
         "(1, 8, _, _) float32"),
        ("def @main(%x) -> Tensor[(1, 8, 1, 1), float32] { nn.global_avg_pool2d(%x) }", "(1, 8, _, _) float32"),
        ("def @main(%x) -> Tensor[(4, 9), float32] { strided_slice(%x, begin=[0], end=[4], strides=[1], axes=[0]) }",
         "(_, 9) float32"),
        # broadcasting: the other side is 1 where the result is not, or of lower rank
        ("def @main(%x) -> Tensor[(2, 3), float32] { add(%x, 1f) }", "Tensor[(2, 3), float32]"),
        ("def @main(%x, %y: Tensor[(1, 3), int32]) -> Tensor[(2, 3), int32] { multiply(%x, %y) }", "_ int32"),
        ("def @main(%x, %y: Tensor[(3), int32]) -> Tensor[(2, 3), int32] { multiply(%x, %y) }", "(2, _) int32"),
        ("def @main(%x) -> bool { equal(%x, 1) }", "int32"),
        # elementwise of several kinds, and through tuples
        ("def @main(%x) -> Tensor[(2), bool] { isnan(%x) }", "(2) _"),
        ('def @main(%x) -> Tensor[(2), int8] { cast(%x, dtype="int8") }', "(2) _"),
        ("def @main(%x) -> Tensor[(2, 3), float32] { nn.softmax(nn.relu(%x)) }", "Tensor[(2, 3), float32]"),
        ("def @main(%x, %g: Tensor[(3), float32]) -> Tensor[(2, 3, 4), float32] { nn.batch_norm(%x, %g, %g, %g, %g).0 }",
         "Tensor[(2, 3, 4), float32]"),
        ("def @main(%x) -> Tensor[(2, 3), float32] { nn.dropout(%x).0 }", "Tensor[(2, 3), float32]"),
    ],
)  # fmt: skip
def test_what_the_result_says_of_the_input(text: str, expected: str) -> None:
    assert known(text)["x"] == expected


POOLED = "pool_size=[3, 2], strides=[2, 2], padding=[0, 0, 0, 0]"
BY_WEIGHT = 'channels=8, kernel_size=[3, 3], kernel_layout="NCHW", out_layout="OIHW"'


@pytest.mark.parametrize(
    ("text", "gradient", "data"),
    [
        (f"def @main(%g, %x) -> Tensor[(1, 4, 13, 12), float32] {{ nn.max_pool2d_grad(%g, %x, {POOLED}) }}",
         "Tensor[(1, 4, 6, 6), float32]", "Tensor[(1, 4, 13, 12), float32]"),
        (f'def @main(%g, %x: Tensor[(1, 13, 12, 4), float16]) {{ nn.avg_pool2d_grad(%g, %x, {POOLED}, layout="NHWC") }}',
         "Tensor[(1, 6, 6, 4), float16]", "Tensor[(1, 13, 12, 4), float16]"),
        # Along 12 rows, windows of 3 by steps of 2 are 5, or 6 with ceil_mode.
        (f"def @main(%g, %x) -> Tensor[(1, 4, 12, 12), float32] {{ nn.max_pool2d_grad(%g, %x, {POOLED}) }}",
         "(1, 4, _, 6) float32", "Tensor[(1, 4, 12, 12), float32]"),
        ("def @main(%g: Tensor[(1, 4, 6, 6), float32], %x) { nn.avg_pool2d_grad(%g, %x, pool_size=[3, 3], padding=[1, 1]) }",
         "Tensor[(1, 4, 6, 6), float32]", "Tensor[(1, 4, 6, 6), float32]"),
        (f"def @main(%g, %x: Tensor[(2, 4, 9, 8), float32]) -> Tensor[(8, 4, 3, 3), float32] "
         f"{{ nn.conv2d_backward_weight(%g, %x, {BY_WEIGHT}) }}",
         "Tensor[(2, 8, 7, 6), float32]", "Tensor[(2, 4, 9, 8), float32]"),
        (f"def @main(%g: Tensor[(2, 8, 7, 6), float32], %x) -> Tensor[(8, 4, 3, 3), float32] "
         f"{{ nn.conv2d_backward_weight(%g, %x, {BY_WEIGHT}) }}",
         "Tensor[(2, 8, 7, 6), float32]", "(2, 4, 9, 8) _"),
        (f"def @main(%g: Tensor[(2, 8, 4, 3), float32], %x) -> Tensor[(8, 1, 3, 3), float32] "
         f"{{ nn.conv2d_backward_weight(%g, %x, {BY_WEIGHT}, strides=[2, 2], groups=4) }}",
         "Tensor[(2, 8, 4, 3), float32]", "(2, _, _, _) _"),
    ],
)  # fmt: skip
def test_gradients_have_the_types_of_what_they_are_gradients_of(text: str, gradient: str, data: str) -> None:
    types = known(text)
    assert (types["g"], types["x"]) == (gradient, data)


def test_reshape_fills_its_one_unknown() -> None:
    text = "def @main(%x) -> Tensor[(2, 12), float32] { reshape(%x, newshape=[2, -1]) }"
    assert known(text) == {"x": "_ float32"}
    text = (
        "def @main(%x, %y: Tensor[(3, 4), float32], %z) { (reshape(%x, newshape=[-1, 6]), add(%x, %z), add(%y, %z)) }"
    )
    inferred = partial(text)
    assert [(n.text, n.shape) for n in inferred.unknown][:2] == [("%x", "_"), ("%z", "_")]
    assert ("reshape(…)", "(_, 6)") in [(n.text, n.shape) for n in inferred.unknown]
    text = 'def @main(%x) -> Tensor[(24), float32] { let %y = concatenate((%x, zeros(shape=[2, 2], dtype="float32")), axis=1); reshape(%y, newshape=[24]) }'
    assert known(text) == {"x": "Tensor[(2, 10), float32]"}


def test_types_flow_between_functions_branches_and_closures() -> None:
    text = (
        "def @f(%a) { nn.relu(%a) } def @main(%x, %c: bool) -> Tensor[(3), float32] "
        "{ let %g = fn (%b) { add(%b, 1f) }; if (%c) { @f(%x) } else { %g(%x) } }"
    )
    inferred = partial(text)
    assert not inferred.unknown
    assert str(inferred.module["f"].checked_type) == "fn (Tensor[(3), float32]) -> Tensor[(3), float32]"


@pytest.mark.parametrize(
    "text",
    [
        "def @main(%x, %y) -> Tensor[(2), float32] { concatenate((add(%x, 1), %y)) }",
        "def @main(%x) -> Tensor[(3, 2), float32] { transpose(exp(%x), axes=[0, 1, 2]) }",
        "def @main(%x, %w: Tensor[(4, 3, 3, 3), float32]) -> Tensor[(1, 5, 6, 6), float32] { nn.conv2d(%x, %w) }",
        'def @main(%x) -> Tensor[(5), float32] { reshape(concatenate((%x, zeros(shape=[3, 4], dtype="float32"))), newshape=[-1]) }',
    ],
)
def test_contradictions_are_refused_though_types_are_open(text: str) -> None:
    with pytest.raises(irtool.IrError) as caught:
        partial(text)
    assert all(d.span is not None for d in caught.value.diagnostics)


def erase(module: Module, rng: random.Random) -> Module:
    """The module with annotations of some parameters taken away, and of some results."""
    functions = {}
    for name, f in module.functions.items():
        assert isinstance(f, Function)
        renamed = {p: Var(p.name, None, p.span) for p in f.params if rng.random() < 0.6}
        params = tuple(renamed.get(p, p) for p in f.params)
        ret_type = f.ret_type if rng.random() < 0.7 else None
        functions[name] = Function(params, substitute(without_types(f.body), renamed), ret_type, (), f.attrs)
    return module.with_functions(functions)


def agree(a, b) -> bool:
    if isinstance(a, TensorType) and isinstance(b, TensorType):
        return (
            a.dtype == b.dtype
            and len(a.shape) == len(b.shape)
            and all(x == y or ANY in (x, y) for x, y in zip(a.shape, b.shape, strict=True))
        )
    return True


@pytest.mark.parametrize("make", [random_module, random_network])
def test_partial_types_never_contradict_the_full_ones(make) -> None:
    rng = random.Random(7)
    checked = 0
    for seed in range(120):
        full = irtool.infer_types(make(seed))
        part = infer_partial(erase(full, rng))
        for name, f in full.functions.items():
            for p, q in zip(f.params, part.module[name].params, strict=True):
                if q.checked_type is not None:
                    checked += 1
                    assert agree(p.checked_type, q.checked_type), f"seed {seed}: %{p.name} of @{name}"
            nodes = (
                [e.checked_type for e in post_order(f.body)],
                [e.checked_type for e in post_order(part.module[name].body)],
            )
            for s, t in zip(*nodes, strict=True):
                assert s is None or t is None or agree(s, t), f"seed {seed} of @{name}: {s} and {t}"
    assert checked > 100


def test_one_known_dtype_of_a_network_decides_all() -> None:
    tried = 0
    for seed in range(100):
        full = irtool.infer_types(random_network(seed))
        main = full["main"]
        typed = main.params[seed % len(main.params)]
        renamed = {p: Var(p.name) for p in main.params if p is not typed}
        params = tuple(renamed.get(p, p) for p in main.params)
        text = Function(params, substitute(without_types(main.body), renamed), None)
        broken = any(isinstance(e, Call) and e.op.name.startswith(("cast", "qnn.")) for e in post_order(text.body))
        if typed in post_order(text.body) and not broken:
            tried += 1
            inferred = infer_partial(Module({"main": text}))
            used = {p for p in params if p in post_order(text.body)}
            open_ = [
                n for n in inferred.unknown if n.dtype_unknown and not (isinstance(n.expr, Var) and n.expr not in used)
            ]
            assert not open_, f"seed {seed}: {[n.text for n in open_]}"
    assert tried > 20


def test_the_pass_takes_hints() -> None:
    text = HEAD + CONV.format("")
    inferred = irtool.run_passes(parse(text), 'InferType{partial=true, shapes={"data": [1, 3, 8, 8]}}')
    assert str(inferred["main"].checked_type.ret_type) == "Tensor[(1, 4, 6, 6), float32]"
    inferred = irtool.run_passes(parse(text), [("InferType", {"shapes": {"data": [1, 3, 8, 8]}}), "FuseOps"])
    assert str(inferred["main"].checked_type.ret_type) == "Tensor[(1, 4, 6, 6), float32]"
    with pytest.raises(irtool.IrError, match="no parameter %dat"):
        irtool.run_passes(parse(text), [("InferType", {"shapes": {"dat": [1]}})])
