"""The types of whole programs, construct by construct."""

from __future__ import annotations

import numpy as np
import pytest

from irtool.diagnostics import IrError
from irtool.infer import infer_expr, infer_partial, infer_types
from irtool.ir import Call, Constant, GlobalVar, TupleGetItem, post_order
from irtool.parser import parse

HEAD = '#[version = "0.0.5"]\n'
LIST = "type List[A] { Cons(A, List[A]), Nil, }\n"


def infer(text):
    return infer_types(parse(HEAD + text))


def result(text, name="main"):
    return str(infer(text)[name].checked_type.ret_type)


def errors(text):
    with pytest.raises(IrError) as caught:
        infer(text)
    return [d.message for d in caught.value.diagnostics]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # polymorphism
        ("def @id[A](%x: A) -> A { %x } def @main(%x: float32) { (@id(%x), @id(())) }", "(float32, ())"),
        ("def @main() { let %id = fn [A](%x: A) -> A { %x }; (%id(1), %id(2f)) }", "(int32, float32)"),
        (
            "def @id[A](%x: A) -> A { %x } def @ap[B](%f: fn (B) -> B, %x: B) -> B { %f(%x) } "
            "def @main() { @ap(@id, 1) }",
            "int32",
        ),
        # recursion with and without annotations
        ("def @main(%n: int32) { if (equal(%n, 0)) { 1f } else { @main(subtract(%n, 1)) } }", "float32"),
        (
            "def @main(%n: int32) { @odd(%n) } "
            "def @odd(%n: int32) { if (equal(%n, 0)) { False } else { @even(subtract(%n, 1)) } } "
            "def @even(%n: int32) { if (equal(%n, 0)) { True } else { @odd(subtract(%n, 1)) } }",
            "bool",
        ),
        ("def @main() { let %f = fn (%n: int32) { if (equal(%n, 0)) { %n } else { %f(%n) } }; %f(3) }", "int32"),
        ("def @main(%x: int32) { @callee(%x) } def @callee(%x: int32) { (%x, 1f) }", "(int32, float32)"),
        # what is not annotated comes from the uses
        ("def @main(%x, %y: Tensor[(3), int8]) { let %r = ref(%x); ref_write(%r, %y) }", "()"),
        ("def @main() { let %f = fn (%x) { %x }; %f(1) }", "int32"),
        ("def @main(%f) -> int32 { %f(1) }", "int32"),
        ("def @main(%x: (int32, _)) -> float32 { %x.1 }", "float32"),
        # operators as values
        ("def @main() { let %f = add; %f(1, 2) }", "int32"),
        # data
        (LIST + "def @main() { Cons(1, Nil) }", "List[int32]"),
        (LIST + "def @main(%l: List[int8]) { match (%l) { Cons(%h, _) => { Cons((%h,), Nil) }, Nil => { Nil }, } }",
         "List[(int8,)]"),
        (LIST + "def @map[A, B](%f: fn (A) -> B, %l: List[A]) -> List[B] { match (%l) { Cons(%h, %t) => { "
         "Cons(%f(%h), @map(%f, %t)) }, Nil => { Nil }, } } "
         "def @main(%l: List[int32]) { @map(fn (%x: int32) { cast(%x, dtype=\"int8\") }, %l) }", "List[int8]"),
        (LIST + "def @main(%l: List[int8]) { match? (%l) { Cons(%h, _) => { %h }, } }", "int8"),
        ("def @main(%t: (int8, (bool, int32))) { match (%t) { (_, (%b, _)) => { %b }, } }", "bool"),
        # references
        ("def @main() { let %r = ref(1f); let %u = ref_write(%r, 2f); ref_read(%r) }", "float32"),
        # dynamic and symbolic shapes
        ("def @main(%x: Tensor[(?, 3), float32], %y: Tensor[(4, 3), float32]) { add(%x, %y) }",
         "Tensor[(4, 3), float32]"),
        ("def @main(%c: bool, %x: Tensor[(?, 3), float32], %y: Tensor[(4, 3), float32]) "
         "{ if (%c) { exp(%x) } else { %y } }", "Tensor[(?, 3), float32]"),
        ("def @f(%x: Tensor[(?), float32]) { add(%x, %x) } def @main(%y: Tensor[(10), float32]) { @f(%y) }",
         "Tensor[(?), float32]"),
    ],
)  # fmt: skip
def test_result_types(text, expected):
    assert result(text) == expected


def test_weights_get_their_types_from_the_calls_that_use_them():
    m = infer(
        "def @main(%x: Tensor[(1, 3, 8, 8), float32], %w, %b) "
        "{ nn.bias_add(nn.conv2d(%x, %w, channels=4, kernel_size=[3, 3], padding=[0, 0, 0, 0]), %b) }"
    )
    assert [str(t) for t in m["main"].checked_type.arg_types[1:]] == [
        "Tensor[(4, 3, 3, 3), float32]",
        "Tensor[(4), float32]",
    ]
    assert str(m["main"].params[1].type_annotation) == "Tensor[(4, 3, 3, 3), float32]"


def test_an_argument_is_not_widened_by_a_dynamic_parameter():
    m = infer("def @main(%y: Tensor[(10), float32]) { let %f = fn (%x: Tensor[(?), float32]) { %x }; %f(%y) }")
    assert str(m["main"].checked_type.arg_types[0]) == "Tensor[(10), float32]"


def test_what_is_called_with_too_few_type_arguments_gets_the_rest():
    m = infer("def @first[A, B](%x: A, %y: B) -> A { %x } def @main(%x: int8) { @first(%x, ()) }")
    assert [str(t) for t in m["main"].body.type_args] == ["int8", "()"]


def test_every_node_is_typed():
    m = infer(
        LIST + "def @main(%l: List[int32], %c: bool) { let %f = fn (%a) { add(%a, 1) }; "
        "if (%c) { match (%l) { Cons(%h, %t) => { (%f(%h), ref(%t)) }, Nil => { (0, ref(Nil)) }, } } else { (2, ref(%l)) } }"
    )
    assert all(e.checked_type is not None and not e.checked_type.is_open for e in post_order(m["main"]))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("def @main(%x: Tensor[(1, 3), float32], %y: Tensor[(2, 4), float32]) { add(%x, %y) }",
         ["add(%x, %y): the shapes (1, 3) and (2, 4) do not broadcast: axis 1 is 3 and 4"]),
        ("def @main(%x: int32) -> float32 { %x }", ["int32", "float32", "declares"]),
        ("def @main(%x: int32) { if (%x) { 1 } else { 2 } }", ["condition", "int32 and bool"]),
        ("def @main(%x: bool) { if (%x) { 1 } else { 2f } }", ["branches", "int32 and float32"]),
        ("def @main(%x: int32) { %x(1) }", ["only a function can be called, and %x is int32"]),
        ("def @main(%x: int32) { %x.0 }", ["only a tuple has fields, and %x is int32"]),
        ("def @main(%x: (int32,)) { %x.1 }", ["there is no field 1"]),
        ("def @main(%x: int32) { ref_read(%x) }", ["only a reference"]),
        ("def @main() { let %r = ref(1); ref_write(%r, 1f) }", ["float32 and int32"]),
        ("def @main(%x: int32) { add(%x) }", ["add takes 2 arguments (lhs, rhs), 1 given"]),
        ("def @f(%x: int32) -> int32 { %x } def @main() { @f(1, 2) }", ["@f takes 1 arguments, 2 given"]),
        ("def @main(%x) { %x }", ["the type of %x cannot be inferred"]),
        ("def @main(%x) { exp(%x) }", ["the type of %x cannot be inferred"]),
        ("def @main() { let %f = fn (%x) { %f }; %f }", ["contain itself"]),
        (LIST + "def @main(%l: List[int8]) { match (%l) { Cons(%h, Nil) => { %h }, Nil => { cast(0, dtype=\"int8\") }, } }",
         ["does not cover"]),
        (LIST + "def @main(%l: List[int8]) { match (%l) { Cons(%h) => { 1 }, Nil => { 0 }, } }", ["holds 2", "1"]),
        (LIST + "def @main(%l: List[int8, int8]) { 1 }", ["List takes 1 arguments, 2 given"]),
        (LIST + "def @main() { Cons(1, Cons(1f, Nil)) }", ["int32", "float32"]),
    ],
)  # fmt: skip
def test_refusals(text, says):
    message = errors(text)[0]
    for part in says:
        assert part in message


def test_several_errors_are_reported_once_each_in_the_order_of_the_text():
    messages = errors(
        "def @f(%x: Tensor[(2), float32], %y: Tensor[(3), float32]) {\n"
        "  %0 = add(%x, %y);\n  %1 = multiply(%y, %x);\n  (exp(%0), %1, @g(%y))\n}\n"
        "def @g(%x: Tensor[(2), float32]) -> int32 { 1f }"
    )
    assert [m.split(":")[0] for m in messages] == [
        "add(%x, %y)",
        "multiply(%y, %x)",
        "argument 0 of @g",
        "the function returns another type than it declares",
    ]


def test_the_missing_cases_are_shown():
    with pytest.raises(IrError) as caught:
        infer(LIST + "def @main(%l: List[int8]) { match (%l) { Cons(_, Cons(_, _)) => { 1 }, Nil => { 0 }, } }")
    assert caught.value.diagnostics[0].notes == ("not matched: Cons(_, Nil)",)


class TestPartial:
    def test_unknowns_are_counted_and_left(self):
        inferred = infer_partial(parse(HEAD + "def @main(%x, %y: Tensor[(2, ?), float32]) { (exp(%x), exp(%y)) }"))
        assert inferred.shape_num_unknown_nodes == 5  # %x, exp(%x), %y, exp(%y), the tuple
        assert inferred.dtype_num_unknown_nodes == 3
        main = inferred.module["main"]
        assert main.params[0].checked_type is None
        assert str(main.body.fields[1].checked_type) == "Tensor[(2, ?), float32]"

    def test_a_typed_module_is_counted_like_an_untyped_one(self):
        module = parse(HEAD + "def @main(%x: Tensor[(?), int8]) { exp(%x) }")
        assert infer_partial(infer_types(module)).shape_num_unknown_nodes == 2
        assert infer_partial(module).shape_num_unknown_nodes == 2

    def test_types_go_backwards(self):
        inferred = infer_partial(parse(HEAD + "def @main(%x) -> Tensor[(2), float32] { exp(exp(%x)) }"))
        assert (inferred.shape_num_unknown_nodes, inferred.dtype_num_unknown_nodes) == (0, 0)
        assert str(inferred.module["main"].params[0].checked_type) == "Tensor[(2), float32]"

    def test_contradictions_are_errors(self):
        with pytest.raises(IrError, match="do not broadcast"):
            infer_partial(parse(HEAD + "def @main(%x: Tensor[(2), int8], %y: Tensor[(3), int8]) { add(%x, %y) }"))


def test_more_elements_than_can_be_counted_are_refused_at_the_call() -> None:
    with pytest.raises(IrError) as caught:
        infer_types(
            parse(
                '#[version = "0.0.5"]\n'
                "def @main(%y: Tensor[(3000000000, 2), float32]) {\n"
                "  broadcast_to(%y, shape=[3000000000, 3000000000, 2])\n"
                "}\n"
            )
        )
    assert "2^63" in str(caught.value)
    assert caught.value.diagnostics[0].span is not None


def test_an_expression_has_the_types_of_the_functions_it_calls():
    """Whether those have been inferred, or only say what they return."""
    module = parse(HEAD + "def @f(%x: float32) -> (float32, bool) { (exp(%x), True) }")
    for known in (module, infer_types(module)):
        typed = infer_expr(TupleGetItem(Call(GlobalVar("f"), (Constant(np.float32(1)),)), 1), known)
        assert str(typed.checked_type) == "bool"
