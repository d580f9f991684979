"""Types with lengths that only the run knows are those of the lengths that they stand for."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

import irtool
from irtool.driver.operator_cases import module_of
from irtool.infer import infer_types
from irtool.infer.hints import annotate_params
from irtool.infer.lengths import with_lengths
from irtool.ir import Constant, Function, Module, TensorType, Tuple, Type, Var, tuple_leaves
from irtool.ir.dims import Int64
from irtool.ops.base import call, operators
from irtool.ops.cases import Case, cases_of
from irtool.symbolic_int import Symbol, symbolic, symbols_of, value_at

HIGH = 64
N, M = symbolic("n", 1, HIGH), symbolic("m", 1, HIGH)
VALUES = (1, 2, 7, HIGH)

REFUSED = {
    "dyn.full": "the rank of the result is a length",
    "dyn.ones": "the rank of the result is a length",
    "dyn.reshape": "the rank of the result is a length",
    "dyn.sparse_to_dense": "the rank of the result is a length",
    "dyn.tile": "the rank of the result is a length",
    "dyn.zeros": "the rank of the result is a length",
    "nn.conv1d_transpose": "the extent of a kernel is a length",
    "nn.conv2d_transpose": "the extent of a kernel is a length",
    "nn.conv3d_transpose": "the extent of a kernel is a length",
    "nn.contrib_conv3d_winograd_weight_transform": "the depth of a kernel is compared with the tile's",
    "sparse_reshape": "the number of axes is a length",
    "unravel_index": "the number of axes is a length",
    "strided_slice": "an end counted from the back may lie before the begin",
}
"""Operators of which a case is refused that holds for the numbers, and the reason."""


def typed(program: str, types: dict[str, tuple[int, ...]], dtypes: dict[str, str]) -> Module:
    module = irtool.parse(f'#[version = "0.0.5"]\n{program}')
    params = {p.name: p for p in module["main"].params}
    return infer_types(annotate_params(module, "main", {params[n]: TensorType(s, dtypes[n]) for n, s in types.items()}))


def shapes(t: Type | None) -> list[tuple]:
    assert t is not None
    return [x.shape for x in tuple_leaves(t) if isinstance(x, TensorType)]


def at(shape: tuple, values: dict[Symbol, int]) -> tuple:
    return tuple(value_at(d, values) for d in shape)


@pytest.mark.parametrize("name", operators.names())
def test_types_of_operators(name: str) -> None:
    """Each extent of a case becomes a length in turn: the type at a number is the type of the number."""
    for case in cases_of(operators.get(name)):
        try:
            types = {} if case.refusal else {p.name: p.checked_type for p in module_of(case)["main"].params}
        except irtool.IrError:
            continue
        if not all(isinstance(t, TensorType) and t.is_static for t in types.values()):
            continue
        for extent in sorted({d for t in types.values() for d in t.shape if d > 1}):
            reason = difference(case, types, extent)
            assert not reason or name in REFUSED, f"{case.line} of {extent}: {reason}"


def difference(case: Case, types: Mapping[str, TensorType], extent: int) -> str:
    """The refusal of a type that holds for all numbers; empty if there is none. Asserts that the type is that of each number."""
    dtypes = {n: t.dtype for n, t in types.items()}
    body = case.program.partition("\n")[2]

    def pinned(d: int) -> list[tuple]:
        shapes_of = {n: tuple(d if e == extent else e for e in t.shape) for n, t in types.items()}
        return shapes(typed(body, shapes_of, dtypes)["main"].ret_type)

    general: list[tuple] = []
    reason = ""
    try:
        general = pinned(N)
    except irtool.IrError as error:
        reason = str(error)
    for value in VALUES:
        try:
            special = pinned(value)
        except irtool.IrError:
            return ""  # not for all lengths: a refusal is right
        symbols = dict.fromkeys(symbols_of([N]), value)
        assert reason or [at(s, symbols) for s in general] == special, f"{case.line} of {extent}"
    return reason


TWO = {
    "reshape of all kinds": ("(n, m, 12)", "reshape(reshape(%x, newshape=[0, -1, 3, 4]), newshape=[-3, -2])"),
    "reshape that splits": ("(n, 12, m)", "reshape(%x, newshape=[0, -4, 3, -1, -2])"),
    "split, squeeze and transpose": (
        "(n, 96)",
        """%0 = split(reshape(%x, newshape=[1, -1, 3, 4, 8]), indices_or_sections=3, axis=2);
        %1 = reshape(transpose(squeeze(%0.0, axis=[2]), axes=[0, 2, 1, 3]), newshape=[4, -1, 8]);
        %2 = reshape(transpose(squeeze(%0.1, axis=[2]), axes=[0, 2, 1, 3]), newshape=[4, -1, 8]);
        nn.batch_matmul(%1, %2, transpose_b=True)""",
    ),
    "slices": (
        "(n, m)",
        "strided_slice(%x, begin=[1, -1], end=[9223372036854775807, -9223372036854775807], strides=[2, -3], axes=[0, 1])",
    ),
    "concatenation and stack": (
        "(n, m)",
        "stack((concatenate((%x, %x), axis=1), concatenate((%x, %x), axis=1)), axis=0)",
    ),
    "tile and repeat": ("(n, m)", "repeat(tile(%x, reps=[2, 1, 3]), repeats=2, axis=-1)"),
    "padding": ("(1, 2, n, m)", "nn.pad(%x, 0f, pad_width=[[0, 0], [0, 0], [1, 2], [0, 3]])"),
    "pools": (
        "(1, 2, n, m)",
        "nn.max_pool2d(nn.avg_pool2d(%x, pool_size=[3, 2], strides=[2, 2], padding=[1, 1, 1, 1]), pool_size=[2, 2], strides=[2, 2], ceil_mode=True, padding=[1, 1, 1, 1])",
    ),
    "pools over all": ("(n, 2, m, m)", "nn.global_avg_pool2d(nn.adaptive_max_pool2d(%x, output_size=[3, 3]))"),
    "enlarged images": ("(1, 2, n, m)", 'nn.upsampling(%x, scale_h=1.5f, scale_w=2f, method="bilinear")'),
    "reductions": ("(n, m, 3)", "sum(mean(%x, axis=[0], keepdims=True), axis=[0, 2])"),
    "space to depth": (
        "(1, 2, n, m)",
        "nn.depth_to_space(nn.space_to_depth(tile(%x, reps=[1, 1, 2, 2]), block_size=2), block_size=2)",
    ),
    "outer products": ("(n, m)", "nn.dense(%x, %x, units=None)"),
}


@pytest.mark.parametrize("name", TWO)
def test_types_of_two_lengths(name: str) -> None:
    shape, body = TWO[name]
    extents = {"n": N, "m": M}
    general = tuple(extents[d] if d in extents else int(d) for d in shape.strip("()").split(", "))
    program = f"def @main(%x: Tensor[({', '.join('?' for _ in general)}), float32]) {{ {body} }}"
    result = shapes(typed(program, {"x": general}, {"x": "float32"})["main"].ret_type)
    for n in VALUES:
        for m in VALUES:
            values = dict(zip(symbols_of([N, M]), (n, m), strict=True))
            special = typed(program, {"x": at(general, values)}, {"x": "float32"})["main"].ret_type
            assert [at(s, values) for s in result] == shapes(special)


def add(a: tuple, b: tuple) -> Module:
    program = "def @main(%x: Tensor[(?, 4), float32], %y: Tensor[(?, 4), float32]) { add(%x, %y) }"
    return typed(program, {"x": a, "y": b}, {"x": "float32", "y": "float32"})


def test_two_lengths_are_not_equal() -> None:
    with pytest.raises(irtool.IrError, match="axis 0 is n and m") as error:
        add((N, 4), (M, 4))
    assert "give n and m the same name" in error.value.diagnostics[0].help
    with pytest.raises(irtool.IrError, match="axis 0 is n and 8"):
        add((N, 4), (8, 4))
    with pytest.raises(irtool.IrError, match=r"n and 2 \* \(n / 2\)") as error:
        add((N, 4), (2 * (N // 2), 4))
    assert error.value.diagnostics[0].help.endswith("given as one: 2 * n")


def test_a_slice_ends_at_a_length_or_before() -> None:
    program = "def @main(%x: Tensor[(?), float32]) { strided_slice(%x, begin=[0], end=[5], strides=[1], axes=None) }"
    (extent,) = shapes(typed(program, {"x": (N,)}, {"x": "float32"})["main"].ret_type)[0]
    (symbol,) = extent.symbols()
    assert [extent.at({symbol: n}) for n in (1, 4, 5, 6)] == [1, 4, 5, 5]
    longer = typed(program, {"x": (symbolic("n", 5, 9),)}, {"x": "float32"})
    assert shapes(longer["main"].ret_type) == [(5,)]


def test_formulas_are_printed() -> None:
    program = "def @main(%x: Tensor[(?, 4), float32]) { reshape(%x, newshape=[-1]) }"
    text = irtool.to_text(typed(program, {"x": (N + 1, 4)}, {"x": "float32"}))
    assert "Tensor[((n + 1), 4), float32]" in text
    assert "-> Tensor[((4 * n + 4)), float32]" in text


def test_the_interpreter_takes_lengths_from_inputs() -> None:
    module = add((2 * N, 4), (2 * N, 4))
    x = np.ones((6, 4), "float32")
    assert irtool.evaluate(module, [x, x]).shape == (6, 4)
    for inputs, words in (
        ([x, x[:4]], "axis 0 is 4, and must be 6: n is 3 in %x"),
        ([x[:5], x[:5]], "axis 0 = 2 . n is 5"),
        ([np.ones((2 * HIGH + 2, 4), "float32")] * 2, f"from 1 to {HIGH}"),
    ):
        with pytest.raises(irtool.IrError, match=words):
            irtool.evaluate(module, inputs)


def test_formulas_in_attributes_take_numbers() -> None:
    x = Var("x", TensorType((N, 4), "float32"))
    body = call(
        "strided_slice",
        call("reshape", x, newshape=[2, 2 * N]),
        begin=[0, N],
        end=[2, 2 * N],
        strides=[1, 1],
        axes=None,
    )
    module = infer_types(Module({"main": Function((x,), body)}))
    assert shapes(module["main"].ret_type) == [(2, N)]
    assert "newshape=[2, 2 * n]" in irtool.to_text(module)
    special = with_lengths(module, dict.fromkeys(symbols_of([N]), 3))
    assert shapes(special["main"].ret_type) == [(2, 3)]
    assert irtool.structural_equal(irtool.parse(irtool.to_text(special)), special)
    data = np.arange(12, dtype="float32").reshape(3, 4)
    np.testing.assert_array_equal(irtool.evaluate(module, [data]), data.reshape(2, 6)[:, 3:])
    with pytest.raises(irtool.IrError, match="the length n is the extent of no input"):
        with_lengths(module, {})


def test_nothing_is_folded_by_the_bound() -> None:
    table = Constant(np.arange(HIGH, dtype="float32"))
    x = Var("x", TensorType((N,), "float32"))
    last = call("strided_slice", table, begin=[N - 1], end=[N], strides=[1], axes=None)
    whole = call("full", call("sum", table), shape=[N], dtype="float32")
    count = call("cast", call("shape_of", x, dtype="int64"), dtype="float32")
    module = infer_types(Module({"main": Function((x,), Tuple((last, whole, count, call("add", x, last))))}))
    folded = irtool.run_passes(module, "FoldConstant,SimplifyExpr,FoldConstant")
    data = np.zeros(5, "float32")
    for m in (module, folded):
        a, b, c, d = irtool.evaluate(m, [data])
        assert (a[0], b.shape, c[0], d.tolist()) == (4, (5,), 5, [4.0] * 5)


def test_numbers_of_64_bits_meet_formulas() -> None:
    two = Int64(2)
    assert str(two * N) == str(N * two) == "2 * n"
    assert str(two + N) == "(n + 2)"
    assert two != N and bool(two == N) is False
    assert Int64(0) < N and not Int64(HIGH + 1) <= N


DATA = """#[version = "0.0.5"]
#[lengths = "1<=n<=8"]
type List[A] { Cons(A, List[A]), Nil, }
type Rows { Rows(Tensor[(n), float32], Rows), None, }
def @list(%k: int32, %x: Tensor[(n), float32]) -> List[Tensor[(n), float32]] {
  if (%k < 1) { Nil } else { Cons(%x * cast(%k, dtype="float32"), @list(%k - 1, %x)) }
}
def @rows(%k: int32, %x: Tensor[(n), float32]) -> Rows {
  if (%k < 1) { None } else { Rows(%x * cast(%k, dtype="float32"), @rows(%k - 1, %x)) }
}
def @total(%l: List[Tensor[(n), float32]], %r: Rows, %x: Tensor[(n), float32]) -> Tensor[(n), float32] {
  match ((%l, %r)) {
    (Cons(%a, %b), Rows(%c, %d)) => { %a + @total(%b, %d, %c) },
    _ => { %x },
  }
}
def @main(%x: Tensor[(n), float32], %k: int32) { @total(@list(%k, %x), @rows(%k, %x), %x) }
"""


def test_data_with_lengths_in_types_of_arguments_and_of_definitions() -> None:
    module = irtool.infer_types(irtool.parse(DATA))
    artifact = irtool.build(module)
    assert artifact.files
    for n, k in ((1, 0), (3, 2), (8, 5)):
        inputs = [np.linspace(-1, 1, n).astype("float32"), np.int32(k)]
        np.testing.assert_allclose(artifact.run(inputs), irtool.evaluate(module, inputs), rtol=1e-5)


LETS = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 2), float32], %p: Tensor[(?, 2), float32]) {
  let %t: (Tensor[(?, 2), float32], int32) = (concatenate((%p, %x)), 1);
  let %q = %t.0;
  (sum(%q), %q)
}
"""


def test_lets_have_the_extents_that_shapes_say() -> None:
    """Inference wrote `?` into the annotations of `let`s before the shapes were there, as a state that grows."""
    typed = infer_types(irtool.parse(LETS))
    (p,) = (p for p in typed["main"].params if p.name == "p")
    narrowed = infer_types(annotate_params(typed, "main", {p: TensorType((5, 2), "float32")}))
    assert str(narrowed["main"].ret_type) == "(float32, Tensor[(6, 2), float32])"
    instance = irtool.build(typed, shapes={"p": ("p<=3", 2)}, states={"p": "out1"}).instance()
    assert [float(instance.step([np.full((1, 2), k, "float32")])) for k in (1, 2, 4)] == [2, 6, 14]
