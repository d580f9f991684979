"""A program for each feature of the language."""

from __future__ import annotations

FEATURES = {
    "graph bindings: a node that is used twice is one node": """
def @main(%x: Tensor[(4), float32]) {
  %0 = exp(%x);
  add(%0, %0)
}""",
    "let": """
def @main(%x: Tensor[(4), float32]) {
  let %y = exp(%x);
  let %z: Tensor[(4), float32] = add(%y, %x);
  multiply(%z, %y)
}""",
    "if": """
def @main(%c: bool, %x: Tensor[(4), float32]) {
  if (%c) {
    exp(%x)
  } else {
    negative(%x)
  }
}""",
    "tuples and projections": """
def @main(%x: Tensor[(4), float32]) {
  %0 = (%x, (exp(%x), 1f), ());
  (%0.1.0, %0.0)
}""",
    "calls between functions": """
def @main(%x: Tensor[(4), float32]) { @twice(@twice(%x)) }
def @twice(%x: Tensor[(4), float32]) -> Tensor[(4), float32] { add(%x, %x) }""",
    "recursion": """
def @main(%n: int32, %x: float32) -> float32 {
  if (less(%n, 1)) { %x } else { @main(subtract(%n, 1), multiply(%x, 1.5f)) }
}""",
    "mutual recursion": """
def @main(%n: int32) -> bool { @even(abs(%n)) }
def @even(%n: int32) -> bool { if (equal(%n, 0)) { True } else { @odd(subtract(%n, 1)) } }
def @odd(%n: int32) -> bool { if (equal(%n, 0)) { False } else { @even(subtract(%n, 1)) } }""",
    "closures": """
def @main(%x: Tensor[(4), float32]) {
  let %scale = 2f;
  let %f = fn (%y: Tensor[(4), float32]) { multiply(%y, %scale) };
  add(%f(%x), %f(exp(%x)))
}""",
    "functions as arguments": """
def @apply(%f: fn (Tensor[(4), float32]) -> Tensor[(4), float32], %x: Tensor[(4), float32]) -> Tensor[(4), float32] { %f(%x) }
def @main(%x: Tensor[(4), float32]) { @apply(fn (%y: Tensor[(4), float32]) { tanh(%y) }, %x) }""",
    "functions of functions, by name": """
def @square(%x: float32) -> float32 { multiply(%x, %x) }
def @main(%x: float32) { let %f = @square; %f(%f(%x)) }""",
    "type parameters": """
def @second[A, B](%a: A, %b: B) -> B { %b }
def @main(%x: Tensor[(4), float32], %n: int32) { (@second(%n, %x), @second(%x, %n)) }""",
    "algebraic data and match": """
type List[A] { Cons(A, List[A]), Nil, }
def @sum(%l: List[float32]) -> float32 {
  match (%l) {
    Cons(%h, %t) => add(%h, @sum(%t)),
    Nil => 0f,
  }
}
def @main(%x: float32) { @sum(Cons(%x, Cons(exp(%x), Nil))) }""",
    "patterns: constructors within tuples, wildcards, incomplete matches": """
type Option[A] { Some(A), None, }
def @main(%x: float32) {
  match? ((Some(%x), 2f)) {
    (Some(%v), _) => exp(%v),
  }
}""",
    "references": """
def @main(%x: float32) {
  let %r = ref(%x);
  let %done = ref_write(%r, exp(ref_read(%r)));
  (ref_read(%r), %x)
}""",
    "scalar constants": """
def @main(%x: float32) {
  (True, 1, 2i64, 5i16, -3, 1f, 2.5f64, 0.5f16, -1.5e-3f, cast(3, dtype="int8"), cast(200, dtype="uint8"), %x)
}""",
    "operators with attributes": """
def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32]) {
  nn.max_pool2d(nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3]), pool_size=[2, 2], strides=[2, 2], padding=[0, 0, 0, 0])
}""",
    "attributes of functions": """
def @main(%x: Tensor[(4), float32]) {
  %0 = fn (%p: Tensor[(4), float32], Primitive=1, hash="1a", sizes=[1, 2]) { tanh(exp(%p)) };
  %0(%x)
}""",
    "types left to inference": """
def @main(%x: Tensor[(2, 3), float32], %w, %b) {
  nn.bias_add(nn.dense(%x, %w, units=4), %b)
}""",
    "symbolic and unknown dimensions": """
def @main(%x: Tensor[(?, 4), float32]) { nn.softmax(add(%x, 1f)) }""",
    "nested functions without a name": """
def @main(%x: float32) { fn (%y: float32) { fn (%z: float32) { add(%y, %z) } }(%x)(2f) }""",
    "names with any characters that TVM prints": """
def @main(%layer.0_conv/weight: float32, %x1: float32) { let %a.b = add(%layer.0_conv/weight, %x1); %a.b }""",
    "comments": """
// a line
def @main(%x: float32) { /* before /* nested */ */ exp(%x) /* behind */ }""",
}
