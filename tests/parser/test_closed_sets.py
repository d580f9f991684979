"""Dtypes are a closed set, dimensions are numbers that are not negative, strings are text: anything else is refused with a place.

And whatever is accepted prints so that it reads back as the same text.
"""

from __future__ import annotations

import json

import pytest

import irtool
from irtool.diagnostics import IrError, render
from irtool.ir import Function, Module, TensorType, Var
from irtool.ir.dtypes import is_dtype, read_dtype

pytestmark = pytest.mark.promise("closed sets")
HEAD = '#[version = "0.0.5"]\n'


def refused(text: str) -> str:
    with pytest.raises(IrError) as caught:
        irtool.to_text(irtool.infer_types(irtool.parse(HEAD + text, "f.relay")))
    assert all(d.span is not None for d in caught.value.diagnostics)
    return render(caught.value)


def again(text: str) -> str:
    """The inferred text, which must read back as itself."""
    once = irtool.to_text(irtool.infer_types(irtool.parse(HEAD + text)))
    assert irtool.to_text(irtool.infer_types(irtool.parse(once))) == once
    return once


def section(*records: dict, root: object = 1) -> str:
    """A text whose `meta[key][0]` is record 3 of its section."""
    nodes = [
        {"type_key": ""},
        {"type_key": "Map", "keys": [records[0]["type_key"]], "data": [2]},
        {"type_key": "Array", "data": [3]},
        *records,
    ]
    key = records[0]["type_key"]
    use = f"%x: Tensor[(meta[{key}][0]), int32]" if key.startswith("tir.") or key == "IntImm" else ""
    body = "%x" if use else f"meta[{key}][0]"
    return f"def @main({use}) {{ {body} }}\n#[metadata]\n" + json.dumps({"root": root, "nodes": nodes})


DTYPES = (
    "bool int1 int4 int8 uint4 uint63 float8 float16 bfloat16 float64 float32x4 int8x65535 handle custom[posites2]32"
)


@pytest.mark.parametrize("dtype", DTYPES.split())
def test_dtypes_are_read_and_printed(dtype):
    assert is_dtype(dtype)
    again(f'def @main(%x: Tensor[(2), {dtype}], %y: {dtype}) {{ (%x, %y, zeros_like(%x), cast(%y, dtype="{dtype}")) }}')


def test_short_names_of_dtypes():
    assert [read_dtype(n) for n in ("int", "uint1", "float", "float32x1")] == ["int32", "bool", "float32", "float32"]
    assert 'dtype="bool"' in again('def @main(%x: int) { cast(%x, dtype="uint1") }')


@pytest.mark.parametrize(
    "dtype", ["float7", "int256", "int3٣", "int0", "float32x0", "bfloat32", "custom[x]", "custom[]8", "x"]
)
def test_other_names_are_no_dtypes(dtype):
    assert not is_dtype(dtype)
    refused(f"def @main(%x: {dtype}) {{ %x }}")
    refused(f"def @main(%x: Tensor[(2), {dtype}]) {{ %x }}")
    assert "is not a dtype" in refused(f'def @main() {{ zeros(shape=[2], dtype="{dtype}") }}')


@pytest.mark.parametrize("call", ["shape_of(%x)", "ndarray_size(%x)", "argsort(%x)", 'cast(%x, dtype="void")'])
def test_a_result_of_no_dtype(call):
    assert "dtype" in refused(f"def @main(%x: Tensor[(2, 3), float32]) {{ {call} }}")


@pytest.mark.parametrize("dim", ["-1", "1.5", "nan", "inf", "- 3", "1f", "-1i64", "99999999999999999999"])
def test_numbers_that_are_no_dimensions(dim):
    refused(f"def @main(%x: Tensor[({dim}, 2), float32]) {{ %x }}")


def test_results_with_dimensions_that_are_none():
    assert "dimension" in refused('def @main() { zeros(shape=[-3], dtype="float32") }')


def test_types_that_programs_make_are_checked():
    for t in (TensorType((2, -1)), TensorType((1.5,)), TensorType((2,), "float7"), TensorType((2,), "")):  # type: ignore[arg-type]
        x = Var("x", t)
        with pytest.raises(IrError, match="is not a d"):
            irtool.infer_types(Module({"main": Function((x,), x)}))


def test_large_derived_dimensions_read_back():
    assert "25769803764i64" in again("def @main(%x: Tensor[(1, 2147483647, 3, 4), float32]) { nn.batch_flatten(%x) }")


def test_an_operator_as_a_value_reads_back():
    assert "fn [in0, in1, out](in0, in1) -> out" in again("def @main() { less_equal }")
    refused("def @main() -> fn [a, b](a) -> b { less_equal }")


def test_a_list_nested_deeply_where_a_number_must_be():
    deep = "[" * 5000 + "]" * 5000
    assert "expected an integer" in refused(f"def @main(%x: Tensor[(1), int8]) {{ reshape(%x, newshape={deep}) }}")


@pytest.mark.parametrize("root", ["Infinity", "1e999", "NaN"])
def test_a_root_that_is_no_number(root):
    text = section({"type_key": "runtime.String", "repr_str": "s"})
    refused(text.replace('"root": 1', f'"root": {root}'))


def test_half_characters_are_refused_wherever_they_stand():
    name = {"type_key": "relay.Var", "attrs": {"vid": "4"}}
    refused(
        section(
            name,
            {"type_key": "relay.Id", "attrs": {"name_hint": "5"}},
            {"type_key": "runtime.String", "repr_str": "\ud800"},
        )
    )
    refused(section({"type_key": "Odd", "attrs": {"\udfff": "1"}}))
    refused('def @main(%x: int8, s="\ud800") { %x }')
    assert "\\\\ud800" in again('def @main(%x: int8, s="\\ud800") { %x }')


@pytest.mark.parametrize(
    "device",
    [
        "2",
        '"x"',
        "{}",
        "Target()",
        'VirtualDevice(device_type="x")',
        "VirtualDevice(target=3)",
        "VirtualDevice(virtual_device_id=2147483648)",
    ],
)
def test_devices_that_are_none(device):
    refused(f"def @main(%x {{virtual_device={device}}}: int8) {{ %x }}")
    refused(f"def @main(%x: int8, virtual_device={device}) {{ %x }}")


def test_devices_of_the_metadata_that_are_none():
    wrong = {"type_key": "runtime.String", "repr_str": "s"}
    name = {"type_key": "relay.Id", "attrs": {"name_hint": "6"}}
    refused(section({"type_key": "relay.Var", "attrs": {"vid": "5", "virtual_device_": "4"}}, wrong, name, wrong))
    refused(section({"type_key": "IntImm", "attrs": {"dtype": "int32", "value": "-4"}}))
    refused(section({"type_key": "IntImm", "attrs": {"dtype": "bool", "value": "1"}}))
