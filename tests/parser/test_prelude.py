"""Definitions of TVM's prelude, in texts that use them without having them."""

from __future__ import annotations

import pytest

import irtool
from irtool.parser import read_with_diagnostics
from irtool.parser.prelude import FILES, definitions
from tests import command_line

np = pytest.importorskip("numpy")

HEAD = '#[version = "0.0.5"]\n'
THREE = "Cons(1, Cons(2, Cons(3, Nil)))"
SUB = "fn (%a: int32, %b: int32) -> int32 { subtract(%a, %b) }"
DOUBLE = "fn (%a: int32) -> int32 { multiply(%a, 2) }"
FLAT = "@foldl(fn (%a: int32, %b: int32) -> int32 { add(multiply(%a, 10), %b) }, 0, {})"
STEP = "fn (%n: int32) -> Option[(int32, int32)] { if (less(%n, 4)) { Some((add(%n, 1), %n)) } else { None } }"
TREE = "Rose(1, Cons(Rose(2, Nil), Cons(Rose(3, Nil), Nil)))"

VALUES = [
    (f"@length({THREE})", 3),
    (f"@hd(@tl({THREE}))", 2),
    (f"@nth({THREE}, 2)", 3),
    (f"@foldl({SUB}, 10, {THREE})", 4),
    (f"@foldr({SUB}, 10, {THREE})", -8),
    (f"@foldr1({SUB}, {THREE})", 2),
    (f"@sum({THREE})", 6),
    (FLAT.replace("0, {}", f"0, @map({DOUBLE}, {THREE})"), 246),
    (FLAT.replace("0, {}", f"0, @rev({THREE})"), 321),
    (FLAT.replace("0, {}", f"0, @concat({THREE}, {THREE})"), 123123),
    (FLAT.replace("0, {}", f"0, @update({THREE}, 1, 7)"), 173),
    (FLAT.replace("0, {}", f"0, @filter(fn (%a: int32) -> bool {{ not_equal(%a, 2) }}, {THREE})"), 13),
    (f"@hd(@zip({THREE}, @tl({THREE}))).1", 2),
    (f"@length(@zip({THREE}, @tl({THREE})))", 2),
    (FLAT.replace("0, {}", f"0, @unfoldr({STEP}, 1)"), 123),
    (FLAT.replace("0, {}", f"0, @unfoldl({STEP}, 1)"), 321),
    (f"@map_accuml(fn (%a: int32, %b: int32) -> (int32, int32) {{ (add(%a, %b), multiply(%a, %b)) }}, 1, {THREE}).0", 7),
    (f"@hd(@map_accuml(fn (%a: int32, %b: int32) -> (int32, int32) {{ (add(%a, %b), %a) }}, 1, {THREE}).1)", 4),
    (f"@hd(@map_accumr(fn (%a: int32, %b: int32) -> (int32, int32) {{ (add(%a, %b), %a) }}, 1, {THREE}).1)", 6),
    (f"@size({TREE})", 3),
    (f"@size(@tmap({DOUBLE}, {TREE}))", 3),
    (f"@iterate({DOUBLE}, 3)(5)", 40),
    (f"@compose({DOUBLE}, {DOUBLE})(5)", 20),
    (f"@flip({SUB})(1, 5)", 4),
    ("@id(3)", 3),
    (f"@nat_iterate({DOUBLE}, @nat_add(S(Z), @nat_double(S(Z))))(1)", 8),
    ("@FromGradCell(@AddGradCell(fn (%a: int32, %b: int32) -> int32 { add(%a, %b) }, Raw(2), Raw(3)))", 5),
    ("@FromGradCell(@MultiplyGradCell(fn (%a: int32, %b: int32) -> int32 { multiply(%a, %b) }, Raw(2), One(fn () -> int32 { 9 })))", 2),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "value"), VALUES)
def test_values_and_round_trip(expression: str, value: int) -> None:
    text = f"{HEAD}def @main() -> int32 {{ {expression} }}\n"
    module = irtool.parse(text)
    assert int(np.asarray(irtool.evaluate(module, []))) == value
    written = irtool.to_text(irtool.infer_types(module))
    again, diagnostics = read_with_diagnostics(written)
    assert again is not None and not [d for d in diagnostics if d.code and d.code.name == "W0107"]
    assert irtool.structural_equal(again, module)
    assert int(np.asarray(irtool.evaluate(again, []))) == value


def test_only_what_is_used_is_added_and_a_note_says_so(tmp_path) -> None:
    path = tmp_path / "a.relay"
    path.write_text(f"{HEAD}def @main(%x: float32) {{ @length(Cons(%x, Nil)) }}\n")
    code, out, err = command_line.irtool("opt", path)
    assert code == 0 and "note[W0107]" in err and "List, @length" in err
    assert "@map" not in out and "Option" not in out
    code, out, err = command_line.irtool("opt", "--prelude", path)
    assert code == 0 and "W0107" not in err and "@length" in out


def test_definitions_of_the_text_win() -> None:
    text = f"{HEAD}def @length[A](%l: List[A]) -> int32 {{ 7 }}\ndef @main() -> int32 {{ @length(Cons(1, Nil)) }}\n"
    assert int(np.asarray(irtool.evaluate(irtool.parse(text), []))) == 7
    own = f"{HEAD}type List[A] {{ Nil, Cons(A, List[A]) }}\ndef @main() -> int32 {{ @length(Cons(1, Nil)) }}\n"
    assert int(np.asarray(irtool.evaluate(irtool.parse(own), []))) == 1


def test_names_in_comments_strings_and_attributes_are_no_uses() -> None:
    text = f'{HEAD}// List @map\ndef @main(%x: Tensor[(2), float32], a="Tree") {{ sum(%x, axis=None) }}\n'
    module, _ = read_with_diagnostics(text)
    assert module is not None and list(module.functions) == ["main"] and not module.type_definitions


def test_mistakes_stay_mistakes() -> None:
    with pytest.raises(irtool.IrError) as caught:
        irtool.parse(f"{HEAD}def @main() -> int32 {{ @nonesuch(Cons(1, Nil)) }}\n")
    assert any("nonesuch" in d.message for d in caught.value.diagnostics)


def test_containers_of_tensor_arrays() -> None:
    module = irtool.parse(
        f"{HEAD}def @main(%x: tensor_int8_t[], %y: static_tensor_float32_2_any_t[]) -> int32 {{ 1 }}\n"
    )
    assert list(module.type_definitions) == ["static_tensor_float32_2_any_t", "tensor_int8_t"]
    irtool.infer_types(module)


@pytest.mark.parametrize("file", FILES)
def test_import_from_std(file: str) -> None:
    module = irtool.Module({})
    module.import_from_std(file)
    names = {f"@{n}" for n in module.functions} | set(module.type_definitions)
    assert names == {d.defines[0] for d in definitions(file)}
    with pytest.raises(irtool.IrError, match=r"there is no prelud\.rly"):
        module.import_from_std("prelud.rly")
