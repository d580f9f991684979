"""Untyped programs: types come from callers; what nothing decides is said once per function, with what to annotate."""

from __future__ import annotations

import pytest

import irtool
from irtool.cli import run
from irtool.diagnostics import IrError
from irtool.infer import infer_known_types, infer_types
from irtool.ir import post_order
from irtool.parser import parse

HEAD = '#[version = "0.0.5"]\n'
LIST = "type List[A] { Cons(A, List[A]), Nil, }\n"
EVEN = """
def @even(%n) { if (equal(%n, 0)) { True } else { @odd(subtract(%n, 1)) } }
def @odd(%n) { if (equal(%n, 0)) { False } else { @even(subtract(%n, 1)) } }
"""

pytestmark = pytest.mark.promise("untyped programs")


def open_types(text: str) -> dict[str, str]:
    return {n: d.message for n, d in infer_known_types(parse(HEAD + text))[1].items()}


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("def @id(%x) { %x } def @main(%y: int32) { @id(%y) }", {"id": "fn (int32) -> int32"}),
        (EVEN + "def @main(%x: int32) { @even(%x) }", {"even": "fn (int32) -> bool", "odd": "fn (int32) -> bool"}),
        ("def @g(%x) { nn.relu(%x) } def @f(%x) { @g(%x) } def @main(%x: Tensor[(3), float32]) { @f(%x) }",
         {"g": "fn (Tensor[(3), float32]) -> Tensor[(3), float32]"}),
        # a caller whose own type is declared decides as well
        ("def @f(%x, %y) { (%x, %y) } def @main(%x: int8) -> (int8, float32) { @f(%x, 1f) }",
         {"f": "fn (int8, float32) -> (int8, float32)"}),
        # one caller gives the one parameter, another the other
        ("def @f(%x, %y) { (%x, %y) } def @a(%x: int8, %z) { @f(%x, %z) } def @b(%z, %y: bool) { @f(%z, %y) }",
         {"f": "fn (int8, bool) -> (int8, bool)", "a": "fn (int8, bool) -> (int8, bool)"}),
    ],
)  # fmt: skip
def test_types_come_from_callers(text: str, types: dict[str, str]) -> None:
    module = infer_types(parse(HEAD + text))
    for name, expected in types.items():
        assert str(module[name].checked_type) == expected
    for f in module.relay_functions.values():
        assert all(e.checked_type is not None and not e.checked_type.is_open for e in post_order(f))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        # recursion, alone and mutual, in which nothing but the function itself says anything of its parameter
        ("def @f(%x) { if (equal(%x, 1)) { %x } else { add(@f(subtract(%x, 1)), 1) } }",
         {"f": "the type of %x cannot be inferred: annotate it"}),
        (EVEN, dict.fromkeys(("even", "odd"), "the type of %n cannot be inferred: annotate it")),
        ("def @f(%x: int32) { @f(%x) }",
         {"f": "the type of @f(…) cannot be inferred: annotate the result of @f"}),
        # closures
        ("def @main(%x) { let %c = fn (%y) { add(%y, log(%x)) }; %c }",
         {"main": "the types of %x and %y of @main cannot be inferred: annotate them"}),
        ("def @main(%x: int32) { let %c = fn (%y) { %y }; %x }",
         {"main": "the type of %y cannot be inferred: annotate it"}),
        ("def @main(%f) { %f(1) }", {"main": "the type of %f cannot be inferred: annotate it"}),
        # never called; the function beside it is typed
        ("def @unused(%x, %y) { add(%x, %y) } def @main(%x: int32) { %x }",
         {"unused": "the types of %x and %y of @unused cannot be inferred: annotate them"}),
        ("def @id(%x) { %x } def @main(%y) { @id(%y) }",
         {"id": "the type of %x cannot be inferred: annotate it", "main": "the type of %y cannot be inferred: annotate it"}),
        # tuples of which a field is open
        ("def @main(%x: (_, int32)) { %x.1 }", {"main": "the type of %x cannot be inferred: annotate it"}),
        ("def @main(%a, %b, %c, %d, %e, %f, %g) { (%a, %b, %c, %d, %e, %f, %g) }",
         {"main": "the types of %a, %b, %c, %d, %e, %f and 1 other of @main cannot be inferred: annotate them"}),
        # what data holds that nothing looks at may stay open
        (LIST + "def @main() { Nil }", {}),
    ],
)  # fmt: skip
def test_what_stays_open_is_said_once_per_function(text: str, says: dict[str, str]) -> None:
    assert open_types(text) == says
    if says:
        with pytest.raises(IrError) as caught:
            infer_types(parse(HEAD + text))
        assert sorted(d.message for d in caught.value.diagnostics) == sorted(says.values())
        assert all(d.span is not None for d in caught.value.diagnostics)


def test_no_node_above_an_open_one_is_typed() -> None:
    text = "def @main(%x: int32) { let %c = fn (%y) { (%y, %x) }; let %z = add(%x, 1); %z }"
    module, _ = infer_known_types(parse(HEAD + text))
    main = module["main"]
    assert main.checked_type is None
    assert main.body.checked_type is None
    assert str(main.body.body.value.checked_type) == "int32"
    again, diagnostics = infer_known_types(module)
    assert again["main"].checked_type is None
    assert diagnostics


def test_one_function_at_two_types_is_refused_at_the_second_call() -> None:
    text = "def @id(%x) { %x }\ndef @main(%y: int32, %z: float32) {\n  (@id(%y), @id(%z))\n}"
    with pytest.raises(IrError) as caught:
        infer_known_types(parse(HEAD + text))
    (diagnostic,) = caught.value.diagnostics
    assert "int32 and float32 differ" in diagnostic.message
    assert "@id has no annotations" in diagnostic.notes[0]
    assert diagnostic.location == "<text>:4:13"


def test_parsing_leaves_open_what_nothing_decides() -> None:
    module = irtool.parse(HEAD + "def @main(%x) { nn.relu(%x) }")
    assert module["main"].checked_type is None
    with pytest.raises(IrError, match="the type of %x cannot be inferred"):
        irtool.infer_types(module)


def test_check_warns_of_what_is_open_and_refuses_contradictions(tmp_path, capsys) -> None:
    file = tmp_path / "f.relay"
    file.write_text(HEAD + "def @main(%x, %y) { add(%x, %y) }")
    assert run(["check", str(file)]) == 0
    assert "2:11: warning[E0304]: the types of %x and %y of @main cannot be inferred" in capsys.readouterr().err
    assert run(["check", "--target=c", str(file)]) == 1
    assert "2:11: error[E0304]: the types of %x and %y of @main" in capsys.readouterr().err
    file.write_text(HEAD + 'def @main(%x) { (add(%x, 1), cast(ones(shape=[2], dtype="int8"), dtype="int8").0) }')
    assert run(["check", str(file)]) == 1
