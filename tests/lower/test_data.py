"""Algebraic data, closed functions and shapes that depend on values: known while lowering, or refused by name."""

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError, ToolError
from irtool.interp.values import Data

LISTS = """#[version = "0.0.5"]
type List[A] { Cons(A, List[A]), Nil, }
def @sum(%l: List[Tensor[(3), float32]]) -> Tensor[(3), float32] {
  match (%l) { Cons(%x, %rest) => { add(%x, @sum(%rest)) }, Nil => { zeros(shape=[3], dtype="float32") }, }
}
def @repeat(%n: int32, %x: Tensor[(3), float32]) -> List[Tensor[(3), float32]] {
  if (equal(%n, 0)) { Nil } else { Cons(%x, @repeat(subtract(%n, 1), multiply(%x, 2f))) }
}
def @hd[A](%l: List[A]) -> A { match? (%l) { Cons(%x, _) => { %x }, } }
"""
X = np.array([1.0, -2.0, 0.5], "float32")


pytestmark = pytest.mark.usefixtures("quick_compiles")


def module(main: str) -> irtool.Module:
    return irtool.infer_types(irtool.parse(LISTS + main))


def flat(value) -> list:
    """Tensors and the names of constructors, in order."""
    names, stack = [], [value]
    while stack:
        v = stack.pop()
        if isinstance(v, tuple):
            names.append(v.constructor.name if isinstance(v, Data) else len(v))
            stack.extend(reversed(v))
        else:
            names.append(np.asarray(v).tolist())
    return names


@pytest.mark.parametrize(
    "main",
    [
        "def @main(%x: Tensor[(3), float32]) { @sum(@repeat(5, %x)) }",
        "def @main(%x: Tensor[(3), float32]) { @repeat(3, %x) }",
        "def @main(%x: Tensor[(3), float32]) { (@hd(@repeat(2, %x)), Nil, %x) }",
        "def @main(%x: Tensor[(3), float32]) { let %l = @repeat(2, %x); match (%l) { Cons(_, Cons(%y, _)) => { %y },"
        " Cons(%y, Nil) => { negative(%y) }, Nil => { %x }, } }",
    ],
)
def test_lists_whose_length_is_known(main):
    m = module(main)
    assert flat(irtool.build(m).run([X])) == flat(irtool.evaluate(m, [X]))


def test_a_branch_gives_data_of_one_form():
    m = module(
        "def @main(%x: Tensor[(3), float32], %n: int32) {"
        " @sum(if (equal(%n, 0)) { Cons(%x, Cons(%x, Nil)) } else { @repeat(2, %x) }) }"
    )
    artifact = irtool.build(m)
    assert artifact.files
    for n in (0, 1):
        inputs = [X, np.array(n, "int32")]
        np.testing.assert_array_equal(artifact.run(inputs), irtool.evaluate(m, inputs))


def test_lists_as_long_as_an_input_says(tmp_path):
    m = module("def @main(%x: Tensor[(3), float32], %n: int32) { (@sum(@repeat(%n, %x)), @repeat(%n, %x)) }")
    artifact = irtool.build(m)
    for n in (0, 4):
        inputs = [X, np.array(n, "int32")]
        assert flat(artifact.run(inputs)) == flat(irtool.evaluate(m, inputs))
    f = module("def @main(%x: Tensor[(3), float32], %n: int32) { (@repeat(%n, %x), fn () { %x }) }")
    with pytest.raises(IrError, match="cannot be a parameter or a result"):
        irtool.build(f, out_dir=tmp_path)
    assert not list(tmp_path.iterdir())


def test_long_lists_are_no_deep_recursion():
    m = module("def @main(%x: Tensor[(3), float32]) { @hd(@repeat(1500, %x)) }")
    np.testing.assert_array_equal(irtool.build(m).run([X]), X)


def test_endless_lists_fill_the_region(monkeypatch):
    monkeypatch.setattr("irtool.lower.known._IN_PLACE", 200)
    m = module(
        "def @more(%x: Tensor[(3), float32]) -> List[Tensor[(3), float32]] { Cons(%x, @more(%x)) }\n"
        "def @main(%x: Tensor[(3), float32]) { @sum(@more(%x)) }"
    )
    with pytest.raises(ToolError, match="the region is full"):
        irtool.build(m).run([X])


def test_outputs_as_large_as_an_input_says():
    m = irtool.infer_types(
        irtool.parse(
            '#[version = "0.0.5"]\ndef @main(%x: Tensor[(4, 9), float32], %k: Tensor[(1), int32]) {'
            ' dyn.topk(%x, %k, k=None, axis=1, dtype="int32") }'
        )
    )
    artifact = irtool.build(m)
    x = np.random.RandomState(0).rand(4, 9).astype("float32")
    for k in (2, 7):
        inputs = [x, np.array([k], "int32")]
        for got, want in zip(artifact.run(inputs), irtool.evaluate(m, inputs), strict=True):
            assert got.shape == (4, k)
            np.testing.assert_array_equal(got, want)


def test_arms_that_share_memory_in_another_shape():
    m = irtool.infer_types(
        irtool.parse(
            '#[version = "0.0.5"]\ndef @main(%x: Tensor[(6), float32], %y: Tensor[(2, 3), float32], %n: int32) {'
            " if (equal(%n, 0)) { reshape(%x, newshape=[2, 3]) } else { %y } }"
        )
    )
    artifact = irtool.build(m)
    assert artifact.files
    for n in (0, 1):
        inputs = [np.arange(6, dtype="float32"), np.ones((2, 3), "float32"), np.array(n, "int32")]
        np.testing.assert_array_equal(artifact.run(inputs), irtool.evaluate(m, inputs))
