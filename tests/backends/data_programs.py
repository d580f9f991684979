"""Programs with data, functions as values and references that depend on inputs: texts, and inputs of each."""

from __future__ import annotations

from typing import Any

import numpy as np

import irtool
from irtool.ir import Module

TYPES = """#[version = "0.0.5"]
type List[A] { Cons(A, List[A]), Nil, }
type Option[A] { Some(A), None, }
type Rose[A] { Twig(A, List[Rose[A]]), }
type Shape { Leaf(float32), Node(Shape, Tensor[(2), float32], Shape), Pair((float32, int32)), Fun(fn(float32) -> float32), }
def @up(%n: int32) -> List[int32] { if (equal(%n, 0)) { Nil } else { Cons(%n, @up(%n - 1)) } }
def @sum(%l: List[int32]) -> int32 { match (%l) { Nil => { 0 }, Cons(%h, %t) => { %h + @sum(%t) }, } }
def @map[A, B](%f: fn(A) -> B, %l: List[A]) -> List[B] {
  match (%l) { Nil => { Nil }, Cons(%h, %t) => { Cons(%f(%h), @map(%f, %t)) }, }
}
def @foldl[A, B](%f: fn(B, A) -> B, %z: B, %l: List[A]) -> B {
  match (%l) { Nil => { %z }, Cons(%h, %t) => { @foldl(%f, %f(%z, %h), %t) }, }
}
"""

PROGRAMS: dict[str, tuple[str, list[list[Any]]]] = {
    "functions in mutual recursion": (
        """
def @even(%l: List[int32]) -> bool { match (%l) { Nil => { True }, Cons(_, %r) => { @odd(%r) }, } }
def @odd(%l: List[int32]) -> bool { match (%l) { Nil => { False }, Cons(_, %r) => { @even(%r) }, } }
def @main(%n: int32) { (@even(@up(%n)), @odd(@up(%n))) }
""",
        [[7], [8], [0]],
    ),
    "a list of functions": (
        """
def @apply(%l: List[fn(float32) -> float32], %x: float32) -> float32 {
  match (%l) { Nil => { %x }, Cons(%f, %r) => { @apply(%r, %f(%x)) }, }
}
def @fs(%n: int32, %y: float32) -> List[fn(float32) -> float32] {
  if (equal(%n, 0)) { Nil } else {
    Cons(if (greater(%n, 2)) { fn (%x: float32) { %x + %y } } else { fn (%x: float32) { %x * 2f } }, @fs(%n - 1, %y * 3f))
  }
}
def @main(%n: int32, %x: float32) { @apply(@fs(%n, 1.5f), %x) }
""",
        [[0, 1.0], [2, 1.0], [5, -1.0]],
    ),
    "a reference written in a branch": (
        """
def @main(%n: int32, %x: float32) {
  let %r = ref(%x);
  let %u = if (greater(%n, 0)) { ref_write(%r, 2f * %x) } else { () };
  ref_read(%r) + 1f
}
""",
        [[0, 1.0], [2, 1.0]],
    ),
    "a reference written in a loop": (
        """
def @bump(%r: ref(int32), %n: int32) -> () {
  if (equal(%n, 0)) { () } else { let %u = ref_write(%r, ref_read(%r) + %n); @bump(%r, %n - 1) }
}
def @main(%n: int32) { let %r = ref(0); let %u = @bump(%r, %n); ref_read(%r) }
""",
        [[0], [5], [100]],
    ),
    "a reference to a list": (
        """
def @push(%r: ref(List[int32]), %n: int32) -> () {
  if (equal(%n, 0)) { () } else { let %u = ref_write(%r, Cons(%n, ref_read(%r))); @push(%r, %n - 1) }
}
def @main(%n: int32) { let %r = ref(Nil); let %u = @push(%r, %n); @sum(ref_read(%r)) }
""",
        [[0], [5], [100]],
    ),
    "a function that writes a reference": (
        """
def @times(%f: fn() -> (), %n: int32) -> () {
  if (equal(%n, 0)) { () } else { let %u = %f(); @times(%f, %n - 1) }
}
def @main(%n: int32) {
  let %r = ref(1);
  let %f = fn () { ref_write(%r, ref_read(%r) * 2) };
  let %u = @times(%f, %n);
  ref_read(%r)
}
""",
        [[0], [5], [10]],
    ),
    "nested patterns": (
        """
def @build(%n: int32, %v: Tensor[(2), float32]) -> Shape {
  if (less(%n, 1)) { Leaf(cast(%n, dtype="float32")) } else {
    if (equal(%n, 1)) { Pair((3f, 4)) } else {
      if (equal(%n, 5)) { Fun(fn (%x: float32) { %x + sum(%v) }) } else {
        Node(@build(%n - 1, %v), %v, @build(%n - 2, %v * 2f))
      }
    }
  }
}
def @f(%s: Shape) -> float32 {
  match (%s) {
    Leaf(%x) => { %x + 1f },
    Node(Node(_, %t, Leaf(%y)), _, %z) => { sum(%t) * %y + @f(%z) },
    Node(%a, %t, %b) => { @f(%a) - 2f * @f(%b) + sum(%t) },
    Pair((%u, %v)) => { %u + cast(%v, dtype="float32") },
    Fun(%g) => { %g(1f) },
  }
}
def @main(%n: int32, %v: Tensor[(2), float32]) { @f(@build(%n, %v)) }
""",
        [[n, [1, 2]] for n in (0, 1, 2, 3, 5, 7, 9)],
    ),
    "a pattern of two lists": (
        """
def @dot(%p: (List[int32], List[int32])) -> int32 {
  match (%p) {
    (Cons(%a, %s), Cons(%b, %t)) => { %a * %b + @dot((%s, %t)) },
    (Nil, Nil) => { 0 },
    (_, %rest) => { 0 - @sum(%rest) },
  }
}
def @main(%n: int32, %m: int32) { @dot((@up(%n), @up(%m))) }
""",
        [[3, 3], [0, 4], [5, 2]],
    ),
    "local functions over a list": (
        """
def @main(%n: int32, %x: Tensor[(4), float32]) {
  let %go = fn (%i: int32, %l: List[Tensor[(4), float32]]) -> List[Tensor[(4), float32]] {
    if (equal(%i, 0)) { %l } else { %go(%i - 1, Cons(%x * cast(%i, dtype="float32"), %l)) }
  };
  let %s = fn (%l: List[Tensor[(4), float32]]) -> Tensor[(4), float32] {
    match (%l) { Nil => { zeros(shape=[4], dtype="float32") }, Cons(%h, %t) => { negative(%h) + %s(%t) }, }
  };
  %s(%go(%n, Nil))
}
""",
        [[0, [1, 2, 3, 4]], [3, [1, 2, 3, 4]]],
    ),
    "a polymorphic function as a value": (
        """
def @tree(%n: int32) -> Rose[int32] {
  Twig(%n, if (less(%n, 1)) { Nil } else { Cons(@tree(%n - 1), Cons(@tree(%n - 2), Nil)) })
}
def @size[A](%t: Rose[A]) -> int32 {
  match (%t) { Twig(_, %l) => { @foldl(fn (%a: int32, %b: int32) { %a + %b }, 1, @map(@size, %l)) }, }
}
def @main(%n: int32) { @size(@tree(%n)) }
""",
        [[0], [3], [6]],
    ),
    "constructors as values": (
        """
def @all(%l: List[Option[int32]]) -> int32 {
  match (%l) { Nil => { 0 }, Cons(Some(%x), %t) => { %x + @all(%t) }, Cons(None, %t) => { 100 + @all(%t) }, }
}
def @main(%n: int32) { @all(@map(Some, @up(%n))) }
""",
        [[0], [4]],
    ),
    "an option of a tuple": (
        """
def @find(%n: int32, %k: int32) -> Option[(int32, float32)] {
  if (equal(%n, 0)) { None } else { if (equal(mod(%n, %k), 0)) { Some((%n, 0.5f)) } else { @find(%n - 1, %k) } }
}
def @main(%n: int32, %k: int32) {
  match (@find(%n, %k)) { Some((%a, %b)) => { cast(%a, dtype="float32") + %b }, None => { -1f }, }
}
""",
        [[0, 3], [10, 4], [3, 5]],
    ),
    "functions that return functions": (
        """
def @add(%x: float32) -> fn(float32) -> float32 { fn (%y: float32) { %x + %y } }
def @pick(%n: int32, %x: float32) -> fn(float32) -> float32 {
  if (less(%n, 0)) { @add(%x) } else {
    if (equal(%n, 0)) { fn (%y: float32) { %y } } else {
      let %g = @pick(%n - 1, %x * 2f); fn (%y: float32) { %g(%g(%y)) + %x }
    }
  }
}
def @main(%n: int32, %x: float32) { @pick(%n, %x)(1f) }
""",
        [[0, 3.0], [-1, 4.0], [4, 0.5]],
    ),
    "recursion inside the arguments of recursion": (
        """
def @a(%m: int32, %n: int32) -> int32 {
  if (equal(%m, 0)) { %n + 1 } else { if (equal(%n, 0)) { @a(%m - 1, 1) } else { @a(%m - 1, @a(%m, %n - 1)) } }
}
def @main(%m: int32, %n: int32) { @a(%m, %n) }
""",
        [[0, 3], [2, 3]],
    ),
    "several calls and what each leaves": (
        """
def @f(%n: int32, %x: Tensor[(3), float32], %w: Tensor[(3), float32]) -> (Tensor[(3), float32], int32) {
  if (less(%n, 1)) { (%x, 1) } else {
    let %a = @f(%n - 1, %x * %w, %w);
    let %b = @f(%n - 2, %a.0 + %x, %w);
    let %c = if (less(%b.1, 4)) { @f(%n - 3, %b.0, %w) } else { %a };
    (%a.0 + %b.0 * %c.0, %a.1 + %b.1 + %c.1)
  }
}
def @main(%n: int32, %x: Tensor[(3), float32], %w: Tensor[(3), float32]) { @f(%n, %x, %w) }
""",
        [[n, [0.5, -0.25, 0.125], [0.5, 1, -1]] for n in (0, 1, 4)],
    ),
    "a result that lies in its place already": (
        """
def @read(%code: Tensor[(8), int32], %place: int32) -> (Option[int32], int32) {
  let %c = take(%code, %place, mode="clip");
  if (less(%c, 0)) {
    let %left = @read(%code, add(%place, 1));
    let %right = @read(%code, %left.1);
    (%left.0, %right.1)
  } else {
    (Some(%c), add(%place, 1))
  }
}
def @main(%code: Tensor[(8), int32]) {
  let %r = @read(%code, 0);
  match (%r.0) { Some(%x) => { (%x, %r.1) }, None => { (0, 0) }, }
}
""",
        [[[3, 0, 0, 0, 0, 0, 0, 0]], [[-1, 5, 2, 0, 0, 0, 0, 0]], [[-1, -1, 7, 8, -1, 9, 6, 0]]],
    ),
    "data shared many times": (
        """
type Tree { Fork(Tree, Tree), Tip(int32), }
def @double(%n: int32, %t: Tree) -> Tree { if (equal(%n, 0)) { %t } else { @double(%n - 1, Fork(%t, %t)) } }
def @left(%t: Tree) -> int32 { match (%t) { Tip(%x) => { %x }, Fork(%l, _) => { 1 + @left(%l) }, } }
def @main(%n: int32) { @left(@double(%n, Tip(%n))) }
""",
        [[0], [1000]],
    ),
}


def program(name: str) -> tuple[Module, list[list[np.ndarray]]]:
    """The typed module of that name, and the inputs of each run."""
    text, runs = PROGRAMS[name]
    module = irtool.infer_types(irtool.parse(TYPES + text))
    dtypes = [p.checked_type.dtype for p in module["main"].params]  # type: ignore[union-attr]
    return module, [[np.array(x, t) for x, t in zip(run, dtypes, strict=True)] for run in runs]
