"""Texts as people paste them: without version line, metadata section or callees, with addresses in them."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from unittest.mock import patch

import pytest

import irtool
from irtool.cli import run
from irtool.infer import infer_types
from irtool.ir import Constant, MissingData, TensorType, TupleType
from irtool.ir.meta import VirtualDevice
from irtool.ir.structural import structural_equal
from irtool.parser import parse, read_with_diagnostics
from irtool.printer import to_text

pytestmark = pytest.mark.promise("pasted text")

VERSION = '#[version = "0.0.5"]\n'
LISTINGS = Path(__file__).parents[3] / "shared/listings"
TEXTS = (
    "muladd",
    "recursion_untyped",
    "closure_untyped",
    "simplenet",
    "planned_cuda",
    "call_lowered_cuda",
    "primfns_cuda",
)

CALLS = """def @main(%x: Tensor[(2, 3), float32]) {
  %0 = (%x,) /* ty=(Tensor[(2, 3), float32],) */;
  %1 = call_lowered(@double, %0, metadata={"all_prim_fn_vars"=['double']}) /* ty=Tensor[(2, 3), float32] */;
  nn.relu(%1)
}
"""
NESTS = """@double = primfn(p0_1: handle, out_1: handle) -> ()
  attr = {"global_symbol": "double", "target": Target(id=7e90, kind='llvm', keys={'cpu'})}
  buffers = {p0: Buffer(p0_2: Pointer(float32), float32, [6], []),
             out: Buffer(out_2: Pointer(float32), float32, [6], [])}
  buffer_map = {p0_1: p0, out_1: out}
  preflattened_buffer_map = {p0_1: p0_3: Buffer(p0_2, float32, [2, 3], []), out_1: out_3: Buffer(out_2, float32, [2, 3], [])} {
  for (i: int32, 0, 6) {
    out[i] = (p0[i]*2f32)
  }
}
"""


def messages(text: str, level: str) -> list[str]:
    return [d.message for d in read_with_diagnostics(text)[1] if d.level == level]


def commanded(text: str, *command: str) -> tuple[int, str]:
    """The exit code of a command that is given the text, and what it says."""
    with (
        patch("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode()))),
        contextlib.redirect_stdout(io.StringIO()) as out,
        contextlib.redirect_stderr(out),
    ):
        return run([*command, "-"]), out.getvalue()


@pytest.mark.skipif(not LISTINGS.is_dir(), reason="the listings are not here")
@pytest.mark.parametrize("version", ["", VERSION])
@pytest.mark.parametrize(
    "names", [*[(t,) for t in TEXTS], ("call_lowered_cuda", "primfns_cuda"), ("primfns_cuda", "call_lowered_cuda")]
)
def test_listings(names, version):
    text = version + "".join((LISTINGS / f"{name}.txt").read_text() for name in names)
    code, output = commanded(text, "check", "--syntax", "--round-trip")
    assert code == 0, output
    m = parse(text)
    for options in ({}, {"metadata": False}, {"types": "none"}):
        assert structural_equal(parse(to_text(m, **options)), m)


@pytest.mark.parametrize("version", ["", VERSION])
@pytest.mark.parametrize(
    "parts", [(CALLS, NESTS), (NESTS, CALLS), (NESTS,), (NESTS, "\n", NESTS.replace("double", "f"))]
)
def test_lowered_functions_stand_anywhere(parts, version):
    text = version + "".join(parts)
    code, output = commanded(text, "check")
    assert code == 0, output
    m = parse(text)
    assert list(m.functions) == (["double", "main"] if CALLS in parts else ["double", "f"][: len(parts)])
    assert m["double"].written + "\n" == NESTS.partition(" = ")[2], "kept as it stands, the target's address, too"


def test_between_functions_and_with_windows_lines():
    other = "def @other(%y: int8) { %y }\n"
    for text in (other + NESTS + CALLS, other + NESTS.replace("\n", "\r\n") + CALLS):
        assert set(irtool.parse(text).functions) == {"other", "double", "main"}


def test_version_lines_repeat_in_texts_put_together():
    assert messages(NESTS + VERSION + CALLS, "error") == messages(VERSION + NESTS + VERSION + CALLS, "error") == []
    assert "differ" in messages(VERSION + NESTS + '#[version = "0.0.4"]\n' + CALLS, "error")[0]


def test_a_bare_expression_beside_lowered_functions():
    m = parse(NESTS + CALLS.partition("@main")[2].join(["fn ", ""]))
    assert set(m.functions) == {"main", "double"} and m["double"].checked_type.ret_type == TensorType((2, 3), "float32")


def test_lowered_functions_that_are_not_in_the_text():
    m, diagnostics = read_with_diagnostics(VERSION + CALLS)
    assert [d.message for d in diagnostics] == ["the lowered function @double is not in the text"]
    assert diagnostics[0].span.location == "<text>:4:21"
    typed = infer_types(m)
    assert typed["main"].body.checked_type == TensorType((2, 3), "float32")
    text = to_text(typed)
    assert "primfn" not in text and structural_equal(infer_types(parse(text)), typed)
    untyped = to_text(m)
    assert "} /* ty=Tensor[(2, 3), float32] */" not in untyped.partition("call_lowered")[0]
    assert structural_equal(parse(untyped), m) and structural_equal(infer_types(parse(untyped)), typed)


def test_what_the_call_does_not_say_is_open():
    bare = re.sub(r" /\* ty=.*? \*/", "", CALLS)
    code, output = commanded(VERSION + bare, "check")
    assert code == 0 and "<stdin>:4:8: warning[E0304]: the type of call_lowered" in output
    assert commanded(VERSION + bare, "opt", "-p", "FuseOps")[0] == 1
    assert commanded(VERSION + bare, "check", "--syntax")[0] == 0
    fields = CALLS.replace("/* ty=(Tensor[(2, 3), float32],) */", "")
    assert irtool.parse(fields)["main"].body.args[0].args[1].checked_type == TupleType((TensorType((2, 3), "float32"),))


def test_other_functions_have_to_be_there():
    assert messages(VERSION + CALLS.replace("nn.relu(%1)", "@double(%1)"), "error") == ["there is no function @double"]
    code, output = commanded(VERSION + "def @main(%x: int8) { @nowhere(%x) }", "check")
    assert code == 1 and "<stdin>:2:23: error[E0107]: there is no function @nowhere" in output and "^^^^^^^^" in output


@pytest.mark.parametrize(
    "address",
    ["2763ed0", "7e90", "0x7e90", "0X7E90", "a12b", "2e10", "123", "fade", "0", "def", "5" * 30, "e1", "31a53b0"],
)
def test_addresses_of_targets(address):
    host = f"Target(id={address}, kind='llvm', keys={{'cpu'}})"
    target = f"Target(id={address}, kind='cuda', keys={{'cuda', 'gpu'}}, attrs={{'arch': \"sm_75\"}}, host={host})"
    text = (
        f"fn (%x {{virtual_device=VirtualDevice(device_type=2, virtual_device_id=0, target={target})}}: int8) {{ %x }}"
    )
    assert messages(VERSION + text, "error") == []
    device = parse(text)["main"].params[0].virtual_device
    assert device.target.fields["host"].fields["kind"] == "llvm" and "id" not in device.target.fields


@pytest.mark.parametrize("address", ["xyz", "12g", "-3", "1.5f16x", ""])
def test_what_is_no_address(address):
    text = f"fn (%x {{virtual_device=VirtualDevice(target=Target(id={address}, kind='c'))}}: int8) {{ %x }}"
    code, output = commanded(VERSION + text, "check")
    if address != "-3":
        assert code == 1 and "<stdin>:2:" in output and "^" in output
    assert "7e90 does not fit" in messages(VERSION + "fn (%x: int8, a=7e90) { %x }", "error")[0]


KINDS = (
    "Executor",
    "Runtime",
    "Target",
    "Map",
    "Array",
    "FloatImm",
    "relay.Function",
    "tir.Var",
    "my.Own",
    "runtime.String",
)


@pytest.mark.parametrize("kind", KINDS)
def test_any_kind_of_reference_without_a_section(kind):
    reference = f"meta[{kind}][2]"
    text = f"{VERSION}def @main(%x: int8, a={reference}, b=[1, {reference}], c={{1={reference}}}) {{ %x }}"
    m, diagnostics = read_with_diagnostics(text)
    assert [d.level for d in diagnostics] == ["warning"]
    for options in ({}, {"metadata": False}):
        printed = to_text(m, **options)
        assert f"a={reference}, b=[1, {reference}], c={{1={reference}}}" in printed and "#[metadata]" not in printed
        assert structural_equal(parse(printed), m)
    code, output = commanded(text, "opt")
    assert code == 0 and f"a={reference}" in output and "warning[" in output


def test_devices_and_dimensions_without_a_section():
    text = (
        VERSION
        + "def @main(%x {virtual_device=meta[VirtualDevice][1]}: Tensor[(meta[tir.Var][3], meta[tir.Mul][0]), int8], "
        "virtual_device=meta[VirtualDevice][0]) {\n  on_device(%x, virtual_device=meta[VirtualDevice][4])\n}\n"
    )
    m, diagnostics = read_with_diagnostics(text)
    (warning,) = diagnostics
    assert warning.level == "warning" and "meta[VirtualDevice][1], meta[tir.Var][3]" in warning.message
    assert warning.span.location == "<text>:2:30"
    assert m["main"].virtual_device == VirtualDevice(missing=0) and m["main"].virtual_device.is_unconstrained
    assert to_text(m, types="none") == text
    assert structural_equal(parse(text), m)
    assert not structural_equal(parse(text.replace("[1]}", "[2]}")), m)


def test_missing_objects_beside_others():
    """What is missing keeps its number, though others of its kind are printed in a section."""
    text = VERSION + "def @main(%x: int8, %y {virtual_device=meta[VirtualDevice][0]}: int8) { (%x, %y) }"
    m = parse(text)
    x, y = m["main"].params
    x.virtual_device = VirtualDevice(1, 0)
    printed = to_text(m)
    assert (
        "%x {virtual_device=meta[VirtualDevice][1]}" in printed
        and "%y {virtual_device=meta[VirtualDevice][0]}" in printed
    )
    again = parse(printed)
    assert structural_equal(again, m) and again["main"].params[1].virtual_device == y.virtual_device
    assert to_text(again) == printed


def test_attributes_of_operators_without_a_section():
    """They are read and printed; what they decide is unknown, and that is said with a place."""
    text = VERSION + (
        "def @main(%x: Tensor[(2, 3), float32]) {\n  %0 = reshape(%x, newshape=meta[Array][0]);\n"
        "  %1 = nn.dense(%0, %0, meta[relay.attrs.DenseAttrs][1]);\n  reshape(%1, newshape=[meta[IntImm][0], 3])\n}\n"
    )
    m, diagnostics = read_with_diagnostics(text)
    assert [d.level for d in diagnostics] == ["warning"]
    assert to_text(m, types="none") == text and to_text(m, types="none", metadata=False).startswith(text)
    assert structural_equal(parse(to_text(m)), m)
    code, output = commanded(text, "check")
    assert code == 0 and "<stdin>:3:8: warning[E0304]: the type of reshape" in output
    code, output = commanded(text, "opt", "-p", "FoldConstant")
    assert code == 1 and "<stdin>:3:8: error[E0304]: the type of reshape" in output
    assert commanded(text, "check", "--syntax")[0] == 0
    wrong = text.replace("DenseAttrs", "Conv2DAttrs")
    assert "nn.dense has a relay.attrs.DenseAttrs, not a relay.attrs.Conv2DAttrs" in messages(wrong, "error")
    unknown = text.replace("newshape=meta", "new_shape=meta")
    assert any("no attribute new_shape" in d for d in messages(unknown, "error"))


def test_expressions_without_a_section():
    text = VERSION + "def @main() {\n  %0 = meta[relay.Function][1] /* ty=fn () -> int8 */;\n  %0()\n}"
    m = parse(text)
    f = m["main"].body.op
    assert isinstance(f, Constant) and f.data == MissingData(1, "relay.Function")
    assert "meta[relay.Function][1] /* ty=fn () -> int8 */() /* ty=int8 */" in to_text(infer_types(m))


def test_references_into_a_section_that_is_there_have_to_lead_somewhere():
    section = (
        '#[metadata]\n{"root": 1, "nodes": [{"type_key": ""}, {"type_key": "Map", "keys": ["Executor"], "data": [2]}, '
    )
    section += (
        '{"type_key": "Array", "data": [3, 0]}, {"type_key": "Executor", "attrs": {"name": "0"}}], "b64ndarrays": []}'
    )
    code = VERSION + "def @main(%x: int8, executor=meta[Executor][0]) { %x }\n"
    assert messages(code + section, "error") == messages(code.replace("[0]", "[1]") + section, "error") == []
    assert messages(code.replace("[0]", "[2]") + section, "error") == [
        "the metadata section has 2 of Executor; there is no number 2"
    ]
    assert messages(code.replace("Executor]", "Runtime]") + section, "error") == ["the metadata section has no Runtime"]


MULADD = "def @muladd(%x, %y, %z) {\n  %1 = mul(%x, %y)\n  %2 = add(%1, %z)\n  %2\n}\n"


@pytest.mark.parametrize("version", ["", VERSION])
def test_untyped_functions_are_printed_and_take_types_from_their_callers(version):
    caller = "def @main(%x) {\n  @muladd(%x, 1, 2)\n}\n"
    code, output = commanded(version + MULADD + caller, "opt")
    assert code == 0 and "ty=_" not in output and "/* */" not in output
    assert re.search(r"def @muladd\(%\w+, %y: int32 /\* ty=int32 \*/, %z: int32 /\* ty=int32 \*/\) {", output)
    assert output.count(" cannot be inferred: annotate") == 2, "once for each function"
    code, output = commanded(version + MULADD + caller.replace("%x)", "%x: int32)", 1), "opt")
    assert code == 0 and "cannot be inferred" not in output
    assert re.search(r"= multiply\(%\w+, %y\) /\* ty=int32 \*/;", output)


def test_passes_that_need_types_say_what_to_annotate():
    code, output = commanded(VERSION + MULADD, "opt", "-p", "FuseOps")
    assert (
        code == 1 and "<stdin>:2:13: error[E0304]: the types of %x, %y and %z of @muladd cannot be inferred" in output
    )


def test_a_function_in_a_function_is_printed_without_made_up_annotations():
    text = "fn (%x) {\n  %1 = log(%x)\n  %2 = fn(%y) {\n    add(%y, %1)\n  }\n  %2\n}\n"
    code, output = commanded(text, "opt")
    assert code == 0 and output.endswith("def @main(%x) {\n  fn (%y) {\n    %0 = log(%x);\n    add(%y, %0)\n  }\n}\n")
