"""Functions with type parameters are compiled as copies for the types that they are called at."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError
from irtool.driver.monomorphic import make_monomorphic

V = '#[version = "0.0.5"]\n'
REPEATED = """
def @keep[A](%n: int32, %x: A) -> A { if (less(%n, 1)) { %x } else { @keep(subtract(%n, 1), %x) } }
def @pair[A, B](%a: A, %b: B) -> (B, A) { (%b, @keep(3, %a)) }
def @main(%x: Tensor[(4), float32], %n: int32) { (@keep(%n, %x), @pair(%n, (%x, 1f)), @pair(%x, %n)) }
"""
GROWING = """
def @grow[A](%n: int32, %x: A) -> int32 { if (less(%n, 1)) { 0 } else { @grow(subtract(%n, 1), (%x, %x)) } }
def @main(%x: Tensor[(4), float32], %n: int32) { @grow(%n, %x) }
"""


def test_recursive_functions_with_type_parameters_are_compiled(quick_compiles: None) -> None:
    module = irtool.parse(V + REPEATED)
    inputs = [np.arange(4, dtype="float32"), np.int32(3)]
    want, got = irtool.evaluate(module, inputs), irtool.build(module).run(inputs)
    for a, b in zip(irtool_leaves(want), irtool_leaves(got), strict=True):
        np.testing.assert_array_equal(a, b)


def irtool_leaves(value: object) -> list[object]:
    return [x for v in value for x in irtool_leaves(v)] if isinstance(value, tuple) else [value]


def test_one_copy_for_each_choice_of_types() -> None:
    copied = irtool.infer_types(make_monomorphic(irtool.parse(V + REPEATED)))
    copies = sorted(n for n, f in copied.functions.items() if not f.type_params)
    assert copies == ["keep_1", "keep_2", "main", "pair_1", "pair_2"], "of @keep for tensors and for integers"
    plain = irtool.parse(V + "def @main(%x: float32) { exp(%x) }")
    assert make_monomorphic(plain) is plain


def test_types_that_grow_for_ever_are_refused() -> None:
    with pytest.raises(IrError, match="@grow calls itself with a new type each time") as caught:
        irtool.build(irtool.parse(V + GROWING))
    assert caught.value.diagnostics[0].span is not None
    assert irtool.evaluate(irtool.parse(V + GROWING), [np.ones(4, "float32"), np.int32(2)]) == 0


CHOSEN = """
def @id[A](%x: A) -> A { %x }
def @twice[A](%f: fn (A) -> A) -> fn (A) -> A { fn (%x: A) { %f(%f(%x)) } }
def @pick[A](%c: bool, %f: fn (A) -> A) -> fn (A) -> A { if (%c) { %f } else { @id } }
def @nest[A](%c: bool, %d: bool, %f: fn (A) -> A) -> fn (A) -> A {
  if (%c) { if (%d) { %f } else { @id } } else { let %g = @twice(%f); %g }
}
def @main(%c: bool, %d: bool, %x: Tensor[(4), float32], %y: float32) {
  let %f = fn (%a: Tensor[(4), float32]) { tanh(add(%a, %x)) };
  let %h = @nest(%c, %d, %f);
  (@pick(%c, %f)(%x), %h(%h(%x)), @pick(%d, fn (%a: float32) { exp(%a) })(%y))
}
"""


def test_functions_that_branches_choose_are_called_inside_them(quick_compiles: None) -> None:
    module = irtool.parse(V + CHOSEN)
    built = irtool.build(module)
    for c, d in ((True, True), (True, False), (False, True), (False, False)):
        inputs = [np.bool_(c), np.bool_(d), np.linspace(-1, 1, 4, dtype="float32"), np.float32(0.5)]
        want, got = irtool.evaluate(module, inputs), built.run(inputs)
        for a, b in zip(irtool_leaves(want), irtool_leaves(got), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)


def test_choices_that_write_to_references_keep_their_order() -> None:
    text = """
def @main(%c: bool, %x: float32) {
  let %r = ref(%x);
  let %f = if (%c) { let %w = ref_write(%r, 2f); fn (%a: float32) { add(%a, 1f) } } else { fn (%a: float32) { %a } };
  let %b = ref_read(%r);
  (%b, %f(%x))
}
"""
    module = irtool.parse(V + text)
    artifact = irtool.build(module)
    for c in (True, False):
        inputs = [np.array(c), np.float32(1.5)]
        assert [float(v) for v in artifact.run(inputs)] == [float(v) for v in irtool.evaluate(module, inputs)]
