"""Well-formedness: each rule by the smallest module that breaks it."""

from __future__ import annotations

from hypothesis import given, settings

from irtool.ir import (
    Call,
    Clause,
    Constructor,
    Function,
    GlobalTypeVar,
    GlobalVar,
    If,
    Let,
    Match,
    Module,
    PatternConstructor,
    PatternVar,
    PatternWildcard,
    Tuple,
    Var,
)
from irtool.ir.verify import verify
from tests.generators import list_type, modules

X, Y = Var("x"), Var("y")


def messages(root: object) -> list[str]:
    return [d.message for d in verify(root)]  # type: ignore[arg-type]


@given(modules())
@settings(max_examples=50, deadline=None)
def test_what_is_well_formed_passes(module):
    assert messages(module) == []


def test_a_variable_bound_twice():
    assert messages(Let(X, Y, Let(X, Y, X))) == ["%x is bound more than once"]
    assert messages(Function((X,), Function((X,), X))) == ["%x is bound more than once"]
    assert messages(Tuple((Function((X,), X), Function((X,), X)))) == ["%x is bound more than once"]


def test_a_variable_out_of_scope():
    assert messages(Tuple((Let(X, Y, X), X))) == ["%x is used where its binder is not in force"]
    assert messages(If(Y, Let(X, Y, X), X)) == ["%x is used where its binder is not in force"]
    assert messages(Tuple((X, Let(X, Y, X)))) == ["%x is used before it is bound"]


def test_a_let_may_refer_to_itself():
    f, n = Var("f"), Var("n")
    assert messages(Let(f, Function((n,), Call(f, (n,))), f)) == []


def test_free_variables_are_allowed_in_expressions_only():
    assert messages(Tuple((X, Y))) == []
    (d,) = verify(Module({"main": Function((Var("data"),), Var("dat"))}))
    assert d.message == "%dat is bound nowhere in @main"
    assert d.help == "did you mean data?"


def test_one_shared_function_body_is_seen_once():
    f = Function((X,), X)
    assert messages(Tuple((f, f))) == []


def test_unknown_names():
    (d,) = verify(Module({"main": Function((), Call(GlobalVar("mian"), ()))}))
    assert (d.message, d.help) == ("@mian is not a function of this module", "did you mean main?")
    stray = Constructor("Nill", (), GlobalTypeVar("List"))
    (d,) = verify(Module({"main": Function((), Call(stray, ()))}, {"List": list_type()}))
    assert (d.message, d.help) == ("Nill is not a constructor of this module", "did you mean Nil?")


def test_patterns_match_their_constructors():
    data = list_type()
    cons, _nil = data.constructors
    x, h = Var("x"), Var("h")
    short = Clause(PatternConstructor(cons, (PatternVar(h),)), h)
    rest = Clause(PatternWildcard(), x)
    module = Module({"main": Function((x,), Match(x, (short, rest)))}, {"List": data})
    assert messages(module) == ["Cons has 2 fields, and the pattern 1"]


def test_pattern_variables_are_in_force_in_their_clause_only():
    data = list_type()
    cons, nil = data.constructors
    x, h = Var("x"), Var("h")
    first = Clause(PatternConstructor(cons, (PatternVar(h), PatternWildcard())), h)
    second = Clause(PatternConstructor(nil, ()), h)
    module = Module({"main": Function((x,), Match(x, (first, second)))}, {"List": data})
    assert messages(module) == ["%h is used where its binder is not in force"]


def test_depth_needs_no_recursion():
    e = Var("x")
    root = e
    for _ in range(30_000):
        root = Let(Var("v"), root, Function((Var("p"),), root))
    assert messages(root) == []
