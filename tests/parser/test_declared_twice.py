"""Names that stand side by side differ: of parameters, type parameters, pattern variables, attributes. What hides an outer one is fine."""

from __future__ import annotations

import pytest

import irtool

V = '#[version = "0.0.5"]\n'
T = "Tensor[(2), float32]"
TWICE = {
    "parameters": (f"def @main(%x: {T}, %x: {T}) {{ %x }}", "E0110", 20),
    "parameters of a closure": (f"def @main(%a: {T}) {{ let %f = fn (%x: {T}, %x: {T}) {{ %x }}; %f(%a, %a) }}", "E0110", 1),
    "type parameters": (f"def @f[A, A](%x: A) {{ %x }}\ndef @main(%a: {T}) {{ @f(%a) }}", "E0110", 1),
    "type parameters of a closure": (f"def @main(%a: {T}) {{ let %f = fn [A, A](%x: A) -> A {{ %x }}; %f(%a) }}", "E0110", 1),
    "type parameters of a function type": (f"def @main(%a: {T}, %f: fn [A, A] (A) -> A) {{ %a }}", "E0110", 1),
    "type parameters of a type": (f"type P[A, A] {{ C(A) }}\ndef @main(%a: {T}) {{ %a }}", "E0110", 1),
    "pattern variables": (f"type P {{ C({T}, {T}) }}\ndef @main(%a: {T}) {{ match (C(%a, %a)) {{ C(%x, %x) => %x }} }}", "E0110", 1),
    "variables of a pattern inside": (
        f"type P {{ C({T}, {T}) }}\ndef @main(%a: {T}) {{ match ((C(%a, %a), %a)) {{ (C(%x, %y), %x) => %x }} }}", "E0110", 1,
    ),
    "attributes of a function": (f"def @main(%a: {T}, Primitive=1, Primitive=0) {{ %a }}", "E0112", 1),
    "attributes of a call": (f"def @main(%a: {T}) {{ nn.softmax(%a, axis=0, axis=-1) }}", "E0112", 1),
}  # fmt: skip
HIDING = (
    f"def @main(%a: {T}) {{ let %b = nn.relu(%a); let %f = fn (%b: {T}) {{ %b }}; %f(%b) }}",
    f"def @main(%a: {T}) {{ let %f = fn (%a: {T}) {{ %a }}; %f(%a) }}",
    f"type P {{ C({T}, {T}) }}\ndef @main(%a: {T}) {{ match (C(%a, %a)) {{ C(%a, _) => %a }} }}",
    f"type P {{ C({T}), D({T}) }}\ndef @main(%a: {T}) {{ match (C(%a)) {{ C(%x) => %x, D(%x) => %x }} }}",
)


@pytest.mark.parametrize("name", TWICE)
def test_the_second_is_an_error_with_its_place(name: str) -> None:
    text, code, column = TWICE[name]
    with pytest.raises(irtool.IrError) as caught:
        irtool.parse(V + text)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code is not None and diagnostic.code.name == code
    assert diagnostic.span is not None and diagnostic.span.column >= column and "twice" in diagnostic.message


@pytest.mark.parametrize("text", HIDING)
def test_hiding_an_outer_name_is_fine(text: str) -> None:
    irtool.infer_types(irtool.parse(V + text))
