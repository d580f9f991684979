"""What random programs define: data types with their constructors, and polymorphic functions, each with what it needs."""

from __future__ import annotations

from collections.abc import Sequence

from irtool.ir import FuncType, Type, TypeCall, scalar

TYPES = {
    "List": "type List[A] { Cons(A, List[A]), Nil, }",
    "Opt": "type Opt[A] { Some(A), Nothing, }",
    "Tree": "type Tree[A] { Leaf, Node(Tree[A], A, Tree[A]), }",
    "Either": "type Either[A, B] { Left(A), Right(B), }",
    "Task": "type Task[A, B] { Later(fn (A) -> B, A), Done(B), }",
    "Color": "type Color { Red, Green(int32), Blue(int32, bool), }",
}
PARAMETERS = {"List": 1, "Opt": 1, "Tree": 1, "Either": 2, "Task": 2, "Color": 0}

FUNCTIONS = {
    "id": "def @id[T](%x: T) -> T { %x }",
    "compose": """def @compose[A, B, C](%f: fn (B) -> C, %g: fn (A) -> B) -> fn (A) -> C {
  fn (%x: A) -> C { %f(%g(%x)) }
}""",
    "curry": """def @curry[A, B, C](%f: fn (A, B) -> C) -> fn (A) -> fn (B) -> C {
  fn (%a: A) -> fn (B) -> C { fn (%b: B) -> C { %f(%a, %b) } }
}""",
    "swap": "def @swap[A, B](%p: (A, B)) -> (B, A) { (%p.1, %p.0) }",
    "map": """def @map[A, B](%f: fn (A) -> B, %l: List[A]) -> List[B] {
  match (%l) { Cons(%h, %t) => { Cons(%f(%h), @map(%f, %t)) }, Nil => { Nil }, }
}""",
    "foldl": """def @foldl[A, B](%f: fn (B, A) -> B, %z: B, %l: List[A]) -> B {
  match (%l) { Nil => { %z }, Cons(%h, %t) => { @foldl(%f, %f(%z, %h), %t) }, }
}""",
    "foldr": """def @foldr[A, B](%f: fn (A, B) -> B, %z: B, %l: List[A]) -> B {
  match (%l) { Cons(%h, %t) => { %f(%h, @foldr(%f, %z, %t)) }, _ => { %z }, }
}""",
    "iterate": """def @iterate[T](%n: int32, %f: fn (T) -> T, %x: T) -> T {
  if (less_equal(%n, 0)) { %x } else { @iterate(subtract(%n, 1), %f, %f(%x)) }
}""",
    "iota": """def @iota(%n: int32) -> List[int32] {
  if (less(%n, 1)) { Nil } else { Cons(%n, @iota(subtract(%n, 1))) }
}""",
    "even": """def @even(%n: int32) -> bool { if (less(%n, 1)) { True } else { @odd(subtract(%n, 1)) } }
def @odd(%n: int32) -> bool { if (less(%n, 1)) { False } else { @even(subtract(%n, 1)) } }""",
    "insert": """def @insert(%t: Tree[int32], %v: int32) -> Tree[int32] {
  match (%t) {
    Leaf => { Node(Leaf, %v, Leaf) },
    Node(%l, %u, %r) => { if (less(%v, %u)) { Node(@insert(%l, %v), %u, %r) } else { Node(%l, %u, @insert(%r, %v)) } },
  }
}""",
    "total": """def @total(%t: Tree[int32]) -> int32 {
  match (%t) { Node(%l, %u, %r) => { add(add(@total(%l), multiply(%u, 3)), @total(%r)) }, Leaf => { 1 }, }
}""",
    "done": """def @done[A, B](%w: Task[A, B]) -> B {
  match (%w) { Later(%f, %a) => { %f(%a) }, Done(%b) => { %b }, }
}""",
}
"""By name. What a function uses of the types stands in its text."""


def constructors(t: TypeCall) -> list[tuple[str, Sequence[Type]]]:
    """The constructors of a data type with the types of their fields."""
    args = t.args
    match str(t.func.name):  # type: ignore[attr-defined]  # a header
        case "List":
            return [("Cons", (args[0], t)), ("Nil", ())]
        case "Opt":
            return [("Some", (args[0],)), ("Nothing", ())]
        case "Tree":
            return [("Leaf", ()), ("Node", (t, args[0], t))]
        case "Either":
            return [("Left", (args[0],)), ("Right", (args[1],))]
        case "Task":
            return [("Later", (FuncType((args[0],), args[1]), args[0])), ("Done", (args[1],))]
    return [("Red", ()), ("Green", (scalar("int32"),)), ("Blue", (scalar("int32"), scalar("bool")))]
