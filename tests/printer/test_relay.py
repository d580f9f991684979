"""The layout of Relay text: what stands in place, what is bound, how it is numbered, named and indented."""

from __future__ import annotations

import numpy as np
import pytest

from irtool.diagnostics import Source, Span, UsageError
from irtool.ir import (
    ANY,
    UNIT,
    Call,
    Clause,
    Constant,
    Expr,
    Function,
    FuncType,
    GlobalVar,
    If,
    IncompleteType,
    Let,
    Match,
    MissingData,
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
from irtool.ops.base import call
from irtool.printer import to_text
from tests.generators import list_type, random_module

F = TensorType((2, 3))


def text(e: object, **options) -> str:
    """The text without version line and without comments, unless types are asked for."""
    options.setdefault("types", "none")
    return to_text(e, **options).removeprefix('#[version = "0.0.5"]\n')


def test_version_line():
    assert to_text(Tuple(())).startswith('#[version = "0.0.5"]\n()')


def test_numbers_follow_evaluation():
    x = Var("x", F)
    left = call("add", call("tanh", x), x)
    right = call("subtract", call("exp", x), call("nn.relu", x))
    assert text(Function((x,), call("multiply", left, right))) == (
        """fn (%x: Tensor[(2, 3), float32]) {
  %0 = tanh(%x);
  %1 = exp(%x);
  %2 = nn.relu(%x);
  %3 = add(%0, %x);
  %4 = subtract(%1, %2);
  multiply(%3, %4)
}"""
    )


def test_a_shared_node_is_bound_once_even_at_the_end():
    x = Var("x")
    e = call("tanh", x)
    assert text(Function((x,), Tuple((e, e)))) == "fn (%x) {\n  %0 = tanh(%x);\n  (%0, %0)\n}"
    body = Let(Var("y"), e, e)
    assert text(Function((x,), body)) == "fn (%x) {\n  %0 = tanh(%x);\n  let %y = %0;\n  %0\n}"


def test_a_function_called_in_place_comes_before_its_arguments():
    x, p = Var("x"), Var("p")
    f = Function((p,), call("tanh", p), attrs={"Primitive": 1})
    assert text(Function((x,), Call(f, (call("exp", call("abs", x)),)))) == (
        """fn (%x) {
  %0 = abs(%x);
  %1 = exp(%0);
  %2 = fn (%p, Primitive=1) {
    tanh(%p)
  };
  %2(%1)
}"""
    )


def test_if_opens_scopes():
    c, x = Var("c", scalar("bool")), Var("x")
    e = If(c, call("tanh", call("exp", x)), x)
    assert text(call("abs", e)) == (
        """free_var %c: bool;
%1 = if (%c) {
  free_var %x;
  %0 = exp(%x);
  tanh(%0)
} else {
  %x
};
abs(%1)"""
    )


def test_let_in_place_and_in_parentheses():
    a, b, x = Var("a"), Var("b"), Var("x")
    lets = Let(a, call("tanh", call("exp", x)), Let(b, call("abs", call("exp", a)), b))
    assert text(Function((x,), lets)) == (
        """fn (%x) {
  %0 = exp(%x);
  let %a = tanh(%0);
  %1 = exp(%a);
  let %b = abs(%1);
  %b
}"""
    )
    assert text(Function((x,), call("nn.relu", lets))) == (
        """fn (%x) {
  %0 = exp(%x);
  %2 = (
    let %a = tanh(%0);
    %1 = exp(%a);
    let %b = abs(%1);
    %b
  );
  nn.relu(%2)
}"""
    )


def test_a_shared_let_is_written_once():
    x, a, b = Var("x"), Var("a"), Var("b")
    shared = Let(b, call("tanh", x), b)
    e = Tuple((Let(a, x, shared), shared))
    got = text(Function((x,), e))
    assert got.count("let %b = ") == 1
    assert "malformed" not in got


def test_match_and_patterns():
    data = list_type()
    cons, nil = data.constructors
    x, h, t = Var("x"), Var("h", scalar("int32")), Var("t")
    first = Clause(PatternConstructor(cons, (PatternVar(h), PatternTuple((PatternVar(t), PatternWildcard())))), h)
    other = Clause(PatternConstructor(nil, ()), call("add", call("tanh", x), x))
    e = Match(x, (first, other, Clause(PatternWildcard(), x)), False)
    assert text(Function((x,), e)) == (
        """fn (%x) {
  match? (%x) {
    Cons(%h: int32, (%t, _)) => {
      %h
    },
    Nil => {
      %0 = tanh(%x);
      add(%0, %x)
    },
    _ => {
      %x
    },
  }
}"""
    )


def test_constructors_and_type_definitions():
    data = list_type()
    cons, nil = data.constructors
    f = Function((), Call(cons, (Constant(np.int32(1)), Call(nil, ()))))
    assert text(Module({"main": f}, {"List": data})) == (
        """type List[A] {
  Cons(A, List[A]),
  Nil,
}

def @main() {
  %0 = Nil;
  Cons(1, %0)
}
"""
    )
    assert text(Function((), cons)) == "fn () {\n  Cons\n}"


def test_references():
    r, x = Var("r", RefType(F)), Var("x")
    e = Let(r, RefCreate(x), Let(Var("u", UNIT), RefWrite(r, x), RefRead(r)))
    assert text(Function((x,), e)) == (
        """fn (%x) {
  let %r: ref(Tensor[(2, 3), float32]) = ref(%x);
  let %u: () = ref_write(%r, %x);
  ref_read(%r)
}"""
    )


def test_tuples_and_fields():
    x = Var("x")
    assert text(Function((x,), Tuple((TupleGetItem(x, 1),)))) == "fn (%x) {\n  %0 = %x.1;\n  (%0,)\n}"
    assert text(TupleGetItem(Tuple(()), 0)) == "%0 = ();\n%0.0"


@pytest.mark.parametrize(
    ("t", "written"),
    [
        (scalar("float32"), "float32"),
        (TensorType((1, ANY), "int8"), "Tensor[(1, ?), int8]"),
        (TupleType((F,)), "(Tensor[(2, 3), float32],)"),
        (FuncType((F, scalar("bool")), UNIT), "fn (Tensor[(2, 3), float32], bool) -> ()"),
        (TypeCall(list_type().header, (scalar("int32"),)), "List[int32]"),
    ],
)
def test_types(t, written):
    assert to_text(t) == written


def test_type_parameters():
    a = TypeVar("A")
    x = Var("x", a)
    assert text(Function((x,), x, a, (a,))) == "fn [A](%x: A) -> A {\n  %x\n}"
    assert to_text(FuncType((a,), a, (a,))) == "fn [A](A) -> A"


def test_attributes():
    x, w = Var("x"), Var("w")
    e = call("nn.conv2d", x, w, kernel_size=(3, 3), channels=8, padding=(1, 1, 1, 1), out_dtype="float32")
    assert text(Function((x, w), e)) == (
        "fn (%x, %w) {\n"
        '  nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3], out_dtype="float32")\n}'
    )
    assert "alpha=0.01f" in text(call("nn.leaky_relu", x, alpha=0.01))


def test_function_attributes():
    x = Var("x")
    f = Function((x,), x, attrs={"Primitive": 1, "hash": "a\n", "n": None, "l": [1, [True]], "e": [], "f": 0.5})
    assert text(f) == 'fn (%x, Primitive=1, hash="a\\n", n=None, l=[1, [True]], e=[], f=0.5f) {\n  %x\n}'


def test_functions_stand_sorted_and_share_names_and_numbers():
    def f() -> Function:
        x = Var("x")
        return Function((x,), call("tanh", call("exp", x)))

    assert text(Module({"b": f(), "a": f()})) == (
        """def @a(%x) {
  %0 = exp(%x);
  tanh(%0)
}

def @b(%x1) {
  %1 = exp(%x1);
  tanh(%1)
}
"""
    )


def test_a_function_that_stands_twice_is_printed_twice():
    x = Var("x")
    f = Function((x,), call("tanh", call("exp", x)))
    got = text(Module({"a": f, "b": f}))
    assert got.count("exp(") == 2
    assert "%x1" in got


@pytest.mark.promise("pasted text")
def test_nothing_is_said_of_what_has_no_type():
    x, y = Var("x"), Var("y", checked_type=IncompleteType())
    e = call("add", x, call("exp", y))
    e.args[1].checked_type = IncompleteType()
    for types in ("all", "calls", "none"):
        assert text(Function((x, y), Tuple((e, Constant(np.float32(1))))), types=types) == (
            "fn (%x, %y) {\n  %0 = exp(%y);\n  %1 = add(%x, %0);\n  (%1, 1f)\n}"
        )


def test_comments():
    x = Var("x", F, checked_type=F)
    unused = Var("u")
    body = call("tanh", x)
    body.checked_type = F
    f = Function((x, unused), Tuple((body, Constant(np.float32(1)))))
    whole = "Tensor[(2, 3), float32]"
    assert to_text(f).split("\n")[1:] == [
        f"fn (%x: {whole} /* ty={whole} */, %u) {{",
        f"  %0 = tanh(%x) /* ty={whole} */;",
        "  (%0, 1f)",
        "}",
    ]
    assert text(f, types="calls") == f"fn (%x: {whole}, %u) {{\n  %0 = tanh(%x) /* ty={whole} */;\n  (%0, 1f)\n}}"


def test_spans():
    source = Source("net.relay", "let me\n  see")
    e = Constant(np.int32(1), span=Span(source, 9, 10))
    assert to_text(e, spans=True).endswith("1 /* span=net.relay:2:3 */")


def test_unknown_options_are_refused():
    with pytest.raises(UsageError, match="types is one of all, calls, none"):
        to_text(Tuple(()), types="some")
    with pytest.raises(UsageError, match="a dict has no text"):
        to_text({})


def test_values_without_text_are_spelled_out_where_no_metadata_is_written():
    host = MetaNode("Target", {"kind": "llvm", "keys": ("cpu",)})
    device = VirtualDevice(1, 0, MetaNode("Target", {"kind": "c", "keys": ("arm_cpu", "cpu"), "host": host}))
    x = Var("x", virtual_device=device)
    attrs = {"relay_attrs": MetaNode("DictAttrs", {"__dict__": {"Primitive": 1}}), "vars": (GlobalVar("f"),)}
    got = text(Function((x,), x, attrs={"metadata": attrs}), metadata=False)
    assert got == (
        "fn (%x {virtual_device=VirtualDevice(device_type=1, virtual_device_id=0, target=Target(id=0, kind='c', "
        "keys={'arm_cpu', 'cpu'}, host=Target(id=0, kind='llvm', keys={'cpu'})))}, "
        'metadata={"relay_attrs"={__dict__={"Primitive"=1}}, "vars"=[\'f\']}) {\n  %x\n}'
    )


def test_missing_constants_keep_their_reference():
    missing = Constant(MissingData(2), "float32", F)
    e = Tuple((Constant(np.ones(3)), missing))
    got = to_text(e)
    assert "meta[relay.Constant][2] /* ty=Tensor[(2, 3), float32] */" in got
    assert "(meta[relay.Constant][3], " in got


def test_missing_constants_keep_their_reference_beside_new_ones():
    new, missing = Function((), Constant(np.ones(3))), Function((), Constant(MissingData(0), "float32", F))
    got = to_text(Module({"a": new, "b": missing}))
    assert "def @a() {\n  meta[relay.Constant][1]\n" in got
    assert "def @b() {\n  meta[relay.Constant][0] /* ty=" in got


@pytest.mark.parametrize("seed", range(20))
def test_the_same_text_every_time(seed):
    assert to_text(random_module(seed)) == to_text(random_module(seed))


def test_depth_needs_no_recursion():
    def nested(make, depth: int) -> str:
        e: Expr = Var("x")
        for _ in range(depth):
            e = make(e)
        return text(e)

    assert nested(lambda e: Call(GlobalVar("f"), (e,)), 100_000).count("@f(") == 100_000
    assert nested(lambda e: Let(Var("v"), Var("w"), e), 20_000).count("let ") == 20_000
    assert nested(lambda e: Let(Var("v"), e, Var("w")), 20_000).count("let ") == 20_000
    assert nested(lambda e: Tuple((e,)), 20_000).count("%") == 40_001 - 1
    assert nested(lambda e: Function((), e), 2_000).count("fn ") == 2_000
    assert nested(lambda e: If(e, Tuple(()), Tuple(())), 20_000).count("if ") == 20_000
    assert nested(RefRead, 20_000).count("ref_read") == 20_000
