"""Where a `?` meets a number: what is wider for it, and what is not."""

from __future__ import annotations

import pytest

import irtool
from irtool.infer import infer_afresh, infer_expr
from irtool.ir import Function, TensorType, TupleType, Var
from irtool.relay import add, nn

HEAD = '#[version = "0.0.5"]\n'


def typed(text: str) -> Function:
    function = irtool.infer_types(irtool.parse(HEAD + text)).functions["main"]
    assert isinstance(function, Function)
    return function


def shapes(function: Function) -> list[str]:
    return [str(p.checked_type.shape) for p in function.params if isinstance(p.checked_type, TensorType)]


VECTORS = ("gamma", "beta", "mean", "var")


@pytest.mark.parametrize("open_", VECTORS)
def test_an_open_vector_of_batch_norm_leaves_the_others_and_the_result(open_: str) -> None:
    params = "".join(f", %{v}: Tensor[({'?' if v == open_ else 3}), float32]" for v in VECTORS)
    f = typed(f"def @main(%x: Tensor[(2, 3, 4), float32]{params}) {{ nn.batch_norm(%x, %gamma, %beta, %mean, %var) }}")
    assert shapes(f) == ["(2, 3, 4)", *["(?,)" if v == open_ else "(3,)" for v in VECTORS]]
    assert isinstance(f.ret_type, TupleType)
    assert [str(t) for t in f.ret_type.fields] == ["Tensor[(2, 3, 4), float32]", *["Tensor[(3), float32]"] * 2]


@pytest.mark.parametrize("op", ["nn.layer_norm", "nn.instance_norm"])
def test_an_open_scale_leaves_the_shift(op: str) -> None:
    f = typed(
        f"def @main(%x: Tensor[(2, 3, 4), float32], %g: Tensor[(?), float32], %b: Tensor[({3 if 'inst' in op else 4}), float32])"
        f" {{ {op}(%x, %g, %b) }}"
    )
    assert shapes(f)[1] == "(?,)" and "?" not in shapes(f)[2]


def test_an_open_generator_leaves_others() -> None:
    f = typed(
        """def @main(%a: Tensor[(?), uint64], %b: Tensor[(10), uint64]) {
          %0 = random.threefry_split(%a);
          %1 = random.threefry_split(%b);
          (%0, %1)
        }"""
    )
    key = "Tensor[(10), uint64]"
    assert shapes(f) == ["(?,)", "(10,)"]
    assert str(f.ret_type) == f"(({key}, {key}), ({key}, {key}))"


def test_arguments_of_one_type_are_wide_together() -> None:
    f = typed("def @main(%x: Tensor[(?, 4), float32]) { let %y: Tensor[(3, 4), float32] = %x; %y }")
    assert str(f.ret_type) == "Tensor[(?, 4), float32]"


PIECES = """def @main(%x: Tensor[(2, ?), float32], %b: Tensor[(3), float32]) {
  %0 = add(%b, %b);
  nn.bias_add(%x, %0)
}"""


def test_what_is_typed_piece_by_piece_can_be_typed_afresh() -> None:
    whole = irtool.infer_types(irtool.parse(HEAD + PIECES))
    x, b = (Var(v.name, v.type_annotation, None, v.type_annotation) for v in typed(PIECES).params)
    pieces = infer_expr(add(b, b))
    body = infer_expr(nn.bias_add(x, pieces))
    module = irtool.infer_types(irtool.Module({"main": Function((x, b), body)}))
    assert str(pieces.checked_type) == "Tensor[(3), float32]"
    assert irtool.to_text(module) != irtool.to_text(whole)
    afresh = infer_afresh(module)
    assert irtool.to_text(afresh) == irtool.to_text(whole)


def test_types_of_numbers_alone_stay_the_same_objects() -> None:
    module = irtool.infer_types(irtool.parse(HEAD + PIECES.replace("?", "3")))
    assert infer_afresh(module) is module


def test_a_dimension_beyond_32_bits_makes_64_bit_ones() -> None:
    plain, written = (
        typed(f"def @main(%x: Tensor[(8, {2**31}{suffix}), bool]) {{ reshape(%x, newshape=[-1, {2**31}{suffix}]) }}")
        for suffix in ("", "i64")
    )
    assert irtool.to_text(plain.ret_type) == irtool.to_text(written.ret_type)
