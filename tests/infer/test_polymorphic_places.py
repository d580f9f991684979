"""A polymorphic function or a constructor that is a value has a type of its own at each place."""

from __future__ import annotations

import pytest

import irtool
from irtool.infer import infer_afresh

LIBRARY = """#[version = "0.0.5"]
type Opt[A] { Some(A), Nothing, }
def @id[A](%a: A) -> A { %a }
"""
ONE = "fn (%q: float32) -> float32 { exp(%q) }"
PLACES = {
    "a branch": f"let %f = if (%c) {{ @id }} else {{ {ONE} }}; (%f(%x), @id(%n))",
    "a branch of constructors": "let %f = if (%c) { Some } else { fn (%q: float32) -> Opt[float32] { Nothing } }; (%f(%x), Some(%n))",
    "a field": f"let %t = if (%c) {{ (@id, %x) }} else {{ ({ONE}, 2f) }}; (%t.0(%t.1), @id(%n))",
    "a reference": f"let %r = ref({ONE}); let %u = ref_write(%r, @id); let %g = ref_read(%r); (%g(%x), @id(%n))",
    "an annotation": "let %f: fn (float32) -> float32 = @id; let %g: fn (int32) -> int32 = @id; (%f(%x), %g(%n))",
}


@pytest.mark.parametrize("place", PLACES)
def test_other_places_keep_their_types(place: str) -> None:
    text = f"{LIBRARY}def @main(%c: bool, %x: float32, %n: int32) {{ {PLACES[place]} }}"
    module = irtool.infer_types(irtool.parse(text))
    assert "int32" in str(module["main"].ret_type) and "float32" in str(module["main"].ret_type)
    assert irtool.structural_equal(irtool.infer_types(irtool.parse(irtool.to_text(module))), module)


def test_a_tuple_has_the_type_that_its_field_is_used_with() -> None:
    """The tuple of a branch was typed with a polymorphic function before the other branch had one of one type."""
    text = (
        f"{LIBRARY}def @main(%c: bool, %x: float32) {{ if (%c) {{ let %t = (@id, %x); %t }} else {{ ({ONE}, 2f) }} }}"
    )
    module = irtool.infer_types(irtool.parse(text))
    assert str(module["main"].ret_type) == "(fn (float32) -> float32, float32)"
    afresh = infer_afresh(module)
    assert str(afresh["main"].body.true_branch.var.checked_type) == "(fn (float32) -> float32, float32)"
