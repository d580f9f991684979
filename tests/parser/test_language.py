"""What each construct of the language becomes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from irtool.diagnostics import IrError
from irtool.ir import (
    ANY,
    Call,
    Constant,
    Constructor,
    DictAttrs,
    DimVar,
    Function,
    FuncType,
    GlobalVar,
    If,
    Int64,
    Let,
    Match,
    Module,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    RefCreate,
    RefRead,
    RefType,
    RefWrite,
    TensorType,
    Tuple,
    TupleGetItem,
    TupleType,
    TypeCall,
    TypeVar,
    Var,
    scalar,
)
from irtool.ir.meta import MetaNode, VirtualDevice
from irtool.ir.structural import structural_equal
from irtool.parser import parse, parse_expr, read_type
from irtool.printer import to_text

VERSION = '#[version = "0.0.5"]\n'


def function(text: str, name: str = "main") -> Function:
    return parse(VERSION + text)[name]


def shape_of(e) -> object:
    """The tree of operators and variables, as nested tuples."""
    if isinstance(e, Call):
        return (e.op.name, *map(shape_of, e.args))
    if isinstance(e, Var):
        return e.name
    return e.data.item()


@pytest.mark.parametrize(
    ("text", "dtype", "value"),
    [
        ("1", "int32", 1),
        ("-05", "int32", -5),
        ("2147483647", "int32", 2147483647),
        ("-2147483648", "int32", -2147483648),
        ("2147483648", "int64", 2147483648),
        ("3i64", "int64", 3),
        ("-9223372036854775808i64", "int64", -(2**63)),
        ("-32768i16", "int16", -32768),
        ("42i", "int32", 42),
        ("1f", "float32", 1.0),
        ("2.5f64", "float64", 2.5),
        ("1e-5f", "float32", np.float32(1e-5)),
        ("1.5e+3f16", "float16", 1500.0),
        ("-0f", "float32", -0.0),
        ("inff", "float32", math.inf),
        ("-inff64", "float64", -math.inf),
        ("- - 7", "int32", 7),
        ("-(-(3))", "int32", 3),
        ("True", "bool", True),
        ("False", "bool", False),
    ],
)
def test_literals(text, dtype, value):
    e = parse_expr(text)
    assert isinstance(e, Constant)
    assert e.dtype == str(e.data.dtype) == dtype
    assert e.data.shape == ()
    assert e.data.item() == value
    assert math.copysign(1, e.data.item()) == math.copysign(1, value)
    assert not e.data.flags.writeable


def test_the_least_integer_in_an_attribute():
    for text in ("-9223372036854775808", "-9223372036854775808i64", "- 9223372036854775808i64"):
        assert parse_expr(f"sum(1f, axis=[{text}])").attrs.axis == (-(2**63),)
    for text in ("9223372036854775808", "-9223372036854775809", "--9223372036854775808i64"):
        with pytest.raises(IrError, match="does not fit in int64"):
            parse_expr(f"sum(1f, axis=[{text}])")


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_extremes_of_floats_read_back(dtype):
    """The shortest digits of the greatest number may stand for a larger one, which rounds to it."""
    for number in (np.finfo(dtype).max, np.finfo(dtype).min, np.finfo(dtype).tiny, np.finfo(dtype).smallest_subnormal):
        module = Module({"main": Function((), Constant(np.array(number, dtype)))})
        constant = parse(to_text(module))["main"].body
        assert constant.data.dtype == dtype and constant.data == number


def test_nan():
    assert np.isnan(parse_expr("nanf").data)


@pytest.mark.parametrize(
    "text",
    [
        "32768i16",
        "-32769i16",
        "2147483648i32",
        "9223372036854775808",
        "1i8",
        "65505f16",
        "3.4028236e+38f",
        "3.40283e+38f32",
        "1f80",
        "1e999f64",
    ]
    + ["12abc", "1.2.3f", "9" * 5000],
)
def test_literals_out_of_range(text):
    with pytest.raises(IrError):
        parse_expr(text)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("1 + 2 * 3", ("add", 1, ("multiply", 2, 3))),
        ("(1 + 2) * 3", ("multiply", ("add", 1, 2), 3)),
        ("1 - 2 - 3", ("subtract", ("subtract", 1, 2), 3)),
        ("8 / 4 * 2", ("multiply", ("divide", 8, 4), 2)),
        ("1 + 2 < 3 * 4", ("less", ("add", 1, 2), ("multiply", 3, 4))),
        ("1 < 2 == 3 >= 4", ("equal", ("less", 1, 2), ("greater_equal", 3, 4))),
        ("1 <= 2 != 3 > 4", ("not_equal", ("less_equal", 1, 2), ("greater", 3, 4))),
        ("1 - -1", ("subtract", 1, -1)),
        ("1 + 2 * 3 - 4", ("subtract", ("add", 1, ("multiply", 2, 3)), 4)),
        ("add(1, 2) * 3", ("multiply", ("add", 1, 2), 3)),
        ("-add(1, 2)", ("negative", ("add", 1, 2))),
    ],
)
def test_precedence(text, tree):
    assert shape_of(parse_expr(text)) == tree


def test_graph_bindings_share():
    f = function("def @main(%x: int32) { %0 = add(%x, 1); %1 = multiply(%0, %0); (%1, %0) }")
    product, total = f.body.fields
    assert product.args[0] is product.args[1] is total
    assert total.args[0] is f.params[0]


def test_let_stays_let_and_scopes():
    f = function("def @main(%x: int32) { let %y: int32 = %x; let %x = add(%y, 1); %x }")
    outer = f.body
    assert isinstance(outer, Let) and outer.value is f.params[0]
    assert outer.var.type_annotation == scalar("int32")
    inner = outer.body
    assert inner.body is inner.var and inner.var is not f.params[0]


def test_let_inside_let_without_brackets():
    e = parse_expr("let %x = let %y = 1; %0 = %y + 2; (%0,); %x")
    assert isinstance(e.value, Let) and isinstance(e.value.body, Tuple)
    assert e.body is e.var


def test_let_is_visible_in_its_own_value():
    e = parse_expr("let %f = fn (%n: int32) { %f(%n) }; %f")
    assert e.value.body.op is e.var


def test_a_scope_ends():
    for text in (
        "if (True) { let %x = (); () } else { %x }",
        "(fn (%x) { %x })(%x)",
        "((let %x = 1; %x), %x)",
    ):
        with pytest.raises(IrError, match="%x is not defined"):
            parse_expr(text)


def test_sequences_bind_nothing():
    e = parse_expr("(); 1")
    assert isinstance(e, Let) and e.var.name == "" and isinstance(e.value, Tuple)


def test_free_variables():
    e = parse_expr("free_var %x: float32; free_var %y; %x(%y, %x)")
    assert e.op.type_annotation == scalar("float32")
    assert e.args[1] is e.op and e.args[0].type_annotation is None


def test_tuples_and_projections():
    e = parse_expr("((), (1,), (1, 2,)).2.1")
    assert isinstance(e, TupleGetItem) and e.index == 1 and e.tuple.index == 2
    assert [len(f.fields) for f in e.tuple.tuple.fields] == [0, 1, 2]


def test_functions_and_calls():
    f = function('def @main[A](%x: A, Primitive=1, hash="a\\"b") -> A { fn (%y) { %y }(%x) }\ndef @g() { @main(1) }')
    assert [p.name for p in f.type_params] == ["A"]
    assert f.params[0].type_annotation is f.type_params[0] is f.ret_type
    assert f.attrs == {"Primitive": 1, "hash": 'a"b'}
    assert isinstance(f.body.op, Function)
    assert isinstance(parse_expr("@f"), GlobalVar)


def test_curried_calls():
    e = parse_expr("free_var %f; %f(1)(2)()")
    assert e.args == () and e.op.op.op.name == "f"


def test_if():
    e = parse_expr("if (True) { 1 } else if (False) { 2 } else { 3 }")
    assert isinstance(e, If) and isinstance(e.false_branch, If)


def test_references():
    e = parse_expr("let %r = ref(1); ref_write(%r, ref_read(%r))")
    assert isinstance(e.value, RefCreate) and isinstance(e.body, RefWrite) and isinstance(e.body.value, RefRead)


TYPES = "type List[A] { Cons(A, List[A]), Nil, }\nextern type Blob\n"


def test_algebraic_types():
    m = parse(VERSION + TYPES + "def @main() { Cons(1, Nil) }")
    data = m.type_definitions["List"]
    cons, nil = data.constructors
    assert cons.inputs == (data.type_vars[0], TypeCall(data.header, data.type_vars))
    assert (cons.tag, nil.tag) == (0, 1)
    assert m.type_definitions["Blob"].extern
    body = m["main"].body
    assert body.op is cons
    assert isinstance(body.args[1], Call) and body.args[1].op is nil and body.args[1].args == ()
    assert isinstance(parse(VERSION + TYPES + "def @main() { Cons }")["main"].body, Constructor)


def test_types_may_follow_their_uses():
    m = parse(VERSION + "def @main() { Nil }\n" + TYPES)
    assert m["main"].body.op is m.constructors["Nil"]


def test_words_in_comments_define_no_types():
    assert list(parse(VERSION + "def @main() { 1 }\n/*\n  type of {comment}\n*/\n").functions) == ["main"]


def test_match():
    text = (
        TYPES
        + """def @main(%l: List[int32]) {
      match? (%l) { Cons(%x: int32, _) => { %x }, Cons(_, Cons(%y, %z)) => %y, Nil() => 0 }
    }"""
    )
    e = function(text).body
    assert isinstance(e, Match) and not e.complete
    first, second, third = e.clauses
    assert isinstance(first.pattern, PatternConstructor)
    assert isinstance(first.pattern.patterns[0], PatternVar) and isinstance(first.pattern.patterns[1], PatternWildcard)
    assert first.body is first.pattern.patterns[0].var
    assert second.body is second.pattern.patterns[1].patterns[0].var
    assert third.pattern.patterns == ()
    assert isinstance(parse_expr("match ((1, 2)) { (%a, _) => %a }").clauses[0].pattern, PatternTuple)


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("int32", scalar("int32")),
        ("int", scalar("int32")),
        ("float", scalar("float32")),
        ("uint1", scalar("bool")),
        ("bfloat16", scalar("bfloat16")),
        ("float32x4", scalar("float32x4")),
        ("Tensor[(), bool]", scalar("bool")),
        ("Tensor[(1,), int8]", TensorType((1,), "int8")),
        ("Tensor[(1, 2), float64]", TensorType((1, 2), "float64")),
        ("Tensor[(?, 2i64), uint8]", TensorType((ANY, Int64(2)), "uint8")),
        ("Tensor[(4294967296, 1), uint8]", TensorType((Int64(4294967296), 1), "uint8")),
        ("()", TupleType(())),
        ("(int32)", TupleType((scalar("int32"),))),
        ("(int32, (),)", TupleType((scalar("int32"), TupleType(())))),
        ("fn (int32) -> ()", FuncType((scalar("int32"),), TupleType(()))),
        ("ref(int32)", RefType(scalar("int32"))),
    ],
)
def test_types(text, type):
    assert read_type(text) == type


def test_wide_dimensions_stay_wide():
    assert [d.__class__ for d in read_type("Tensor[(2, 2i64, 4294967296), int8]").shape] == [int, Int64, Int64]


def test_symbolic_dimensions_are_shared_in_a_definition():
    f = function("def @main(%x: Tensor[(n, 1), int8], %y: Tensor[(n,), int8]) { %x }")
    n = f.params[0].type_annotation.shape[0]
    assert isinstance(n, DimVar) and f.params[1].type_annotation.shape == (n,)


def test_generic_function_types():
    type = read_type("fn [A] (A) -> A")
    assert isinstance(type.type_params[0], TypeVar) and type.ret_type is type.type_params[0] is type.arg_types[0]


@pytest.mark.parametrize(
    "text", ["float31", "int65", "Tensor[(1), floaty]", "Tensor[1, int8]", "Tensor[(1), int8", "->"]
)
def test_what_is_no_type(text):
    with pytest.raises(IrError):
        parse(VERSION + f"def @main(%x: {text}) {{ %x }}")


def test_attribute_values():
    text = (
        'def @main(a=1, b=-2i64, c=0.5f, d="x\\n", e=None, f=[1, [2, -3]], g=(1f, True), h={"k"=[1], l={}}, i=\'s\', '
        "j=[], k=Target(id=0, kind='llvm', keys={'cpu'}), l=False, m=inff) { () }"
    )
    a = function(text).attrs
    assert a["a"] == 1 and a["b"] == -2 and isinstance(a["b"], Int64)
    assert a["c"] == 0.5 and a["d"] == "x\n" and a["e"] is None
    assert a["f"] == (1, (2, -3)) and a["g"] == (1.0, True)
    assert a["h"] == {"k": (1,), "l": {}} and a["i"] == "s" and a["j"] == ()
    assert a["k"] == MetaNode("Target", {"kind": "llvm", "keys": ("cpu",)})
    assert a["l"] is False and a["m"] == math.inf


def test_operator_attributes_are_made():
    e = parse_expr("free_var %x; nn.softmax(%x, axis=2)")
    assert e.attrs.axis == 2
    assert parse_expr("free_var %x; nn.softmax(%x)").attrs == e.op.operator.make()


def test_attributes_on_other_calls():
    e = parse_expr('free_var %f; %f(1, a=1, b="x")')
    assert isinstance(e.attrs, DictAttrs) and e.attrs == {"a": 1, "b": "x"}


def test_placement():
    text = "def @main(%x {virtual_device=VirtualDevice(device_type=1, virtual_device_id=0)}: int32, virtual_device=VirtualDevice(device_type=2)) { %x }"
    f = function(text)
    assert f.params[0].virtual_device == VirtualDevice(1, 0)
    assert f.virtual_device == VirtualDevice(2) and f.attrs == {}


def test_numbers_of_devices_have_no_width():
    text = "def @main(%x {virtual_device=VirtualDevice(device_type=1i64, virtual_device_id=-1i64)}: int32) { %x }"
    device = function(text).params[0].virtual_device
    assert device == VirtualDevice(1, -1)
    assert type(device.device_type) is type(device.virtual_device_id) is int


def test_names_of_importers():
    f = function(
        "def @main(%layer1.0/conv:0: float32, %a-b++c: float32, %x:int32) { (%layer1.0/conv:0, %a-b++c, %x-1, %x+2) }"
    )
    assert [p.name for p in f.params] == ["layer1.0/conv:0", "a-b++c", "x"]
    first, second, third, fourth = f.body.fields
    assert (first, second) == f.params[:2]
    assert shape_of(third) == ("subtract", "x", 1) and shape_of(fourth) == ("add", "x", 2)


def test_a_name_with_a_dot_or_a_field():
    f = function("def @main(%x.0: float32, %y: (int32, int32)) { (%x.0, %y.0, %x.0.1) }")
    whole, field, deeper = f.body.fields
    assert whole is f.params[0]
    assert isinstance(field, TupleGetItem) and field.tuple is f.params[1]
    assert deeper.tuple is f.params[0] and deeper.index == 1


def test_comments():
    f = function("def @main() { /* a /* nested /* twice */ */ comment **/ 1 // and to the end }\n }")
    assert f.body.data == 1


def test_spans_point_at_the_source():
    text = VERSION + "def @main(%x: int32) {\n  %0 = add(%x, 1);\n  nn.relu(%0)\n}\n"
    e = parse(text, "a.relay")["main"].body
    assert e.span.location == "a.relay:4:3"
    assert text[e.span.start : e.span.end] == "nn.relu(%0)"
    total = e.args[0].span
    assert text[total.start : total.end] == "add(%x, 1)"


LOWERED = """@f = primfn(x: handle) -> ()
  attr = {"a": True} {
  for (i: int32, 0, 4) {
    x[i] = 1
  }
}

def @main(%x: float32) {
  %0 = (%x,);
  call_lowered(@f, %0, metadata={"relay_attrs"={__dict__={"Primitive"=1}}, "all_prim_fn_vars"=['f']})
}
"""


def test_calls_of_lowered_functions():
    e = function(LOWERED).body
    assert e.op.name == "call_lowered" and e.args[0].name == "f"
    assert e.args[1].fields[0].name == "x"


def test_lowered_functions_are_kept_as_text():
    m = parse(VERSION + LOWERED)
    assert list(m.functions) == ["f", "main"] and list(m.relay_functions) == ["main"]
    text = to_text(m)
    assert LOWERED[: LOWERED.index("def")] in text
    assert structural_equal(parse(text), m) and to_text(parse(text)) == text
    assert not structural_equal(parse(VERSION + LOWERED.replace("x[i] = 1", "x[i] = 2")), m)
