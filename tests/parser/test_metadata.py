"""The metadata section: what it holds, and what is said where it is damaged."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError
from irtool.ir import ANY, DimExpr, Int64
from irtool.ir.meta import MetaNode, VirtualDevice
from irtool.ir.ndarray import encode
from irtool.parser import parse

HEAD = '#[version = "0.0.5"]\n'


class Graph:
    """Writes a section: `add` gives a node its number."""

    def __init__(self) -> None:
        self.nodes: list[dict] = [{"type_key": ""}, {"type_key": "Map"}]
        self.tensors: list[str] = []
        self.entries: dict[str, list[int]] = {}

    def add(self, key: str, attrs: dict | None = None, **rest) -> int:
        node = {"type_key": key, **rest}
        if attrs:
            node["attrs"] = {k: str(v) for k, v in attrs.items()}
        self.nodes.append(node)
        return len(self.nodes) - 1

    def string(self, text: str) -> int:
        return self.add("runtime.String", repr_str=text)

    def integer(self, value: int, dtype: str = "int32") -> int:
        return self.add("IntImm", {"dtype": dtype, "span": 0, "value": value})

    def array(self, *items: int) -> int:
        return self.add("Array", data=list(items))

    def constant(self, array: np.ndarray, dtype: str = "") -> int:
        self.tensors.append(base64.b64encode(encode(array, dtype)).decode())
        attrs = {"_checked_type_": 0, "data": len(self.tensors) - 1, "span": 0, "virtual_device_": 0}
        return self.add("relay.Constant", attrs)

    def refer(self, number: int) -> str:
        key = self.nodes[number]["type_key"]
        self.entries.setdefault(key, []).append(number)
        return f"meta[{key}][{len(self.entries[key]) - 1}]"

    def section(self) -> str:
        nodes = list(self.nodes)
        data = []
        for numbers in self.entries.values():
            nodes.append({"type_key": "Array", "data": numbers})
            data.append(len(nodes) - 1)
        nodes[1] = {"type_key": "Map", "keys": list(self.entries), "data": data}
        return "\n#[metadata]\n" + json.dumps({"root": 1, "nodes": nodes, "b64ndarrays": self.tensors, "attrs": {}})


def body(text: str, graph: Graph):
    return parse(HEAD + f"def @main() {{ {text} }}\n" + graph.section())["main"].body


DTYPES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 0, 4), (2, 3)])
def test_constants(dtype, shape):
    g = Graph()
    array = (np.arange(np.prod(shape, dtype=int)) % 2).reshape(shape).astype(dtype)
    constant = body(g.refer(g.constant(array)), g)
    assert constant.dtype == dtype and constant.data.dtype == array.dtype and constant.data.shape == shape
    assert (constant.data == array).all()
    assert not constant.data.flags.writeable


def test_bfloat16_is_held_as_its_bits():
    g = Graph()
    bits = np.array([0x3F80, 0xC000], "uint16")
    constant = body(g.refer(g.constant(bits, "bfloat16")), g)
    assert constant.dtype == "bfloat16" and (constant.data == bits).all()


def test_shared_nodes_are_shared():
    g = Graph()
    number = g.constant(np.zeros(2, "float32"))
    first, second = g.refer(number), g.refer(number)
    e = body(f"({first}, {second}, {first})", g)
    assert e.fields[0] is e.fields[1] is e.fields[2]


def test_dimensions():
    g = Graph()
    n = g.add("tir.SizeVar", {"dtype": "int64", "name": g.string("n"), "span": 0, "type_annotation": 0})
    doubled = g.add("tir.Mul", {"dtype": "int64", "a": n, "b": g.integer(2, "int64"), "span": 0})
    rounded = g.add(
        "tir.Call", {"dtype": "int64", "op": g.add("Op", repr_str="tir.round"), "args": g.array(doubled), "span": 0}
    )
    unknown = g.add("tir.Any", {"dtype": "int32", "span": 0})
    text = f"fn (%x: Tensor[({g.refer(n)}, {g.refer(rounded)}, {g.refer(unknown)}), int8]) {{ %x }}"
    a, b, c = body(text, g).params[0].type_annotation.shape
    assert a.name == "n" and a.nonnegative and a.dtype == "int64"
    assert b == DimExpr("round", (DimExpr("Mul", (a, Int64(2)), "int64"),), "int64")
    assert c is ANY


def test_operator_attributes():
    g = Graph()
    plain = g.add("relay.attrs.CompilerAttrs", {"compiler": "4"})
    assert body(f"annotation.compiler_begin(1, {g.refer(plain)})", g).attrs.compiler == "4"
    g = Graph()
    shape = g.array(g.integer(2), g.integer(3, "int64"))
    init = g.add("relay.attrs.InitOpAttrs", {"dtype": "", "shape": shape})
    attrs = body(f"zeros({g.refer(init)})", g).attrs
    assert attrs.shape == (2, 3) and [s.__class__ for s in attrs.shape] == [int, Int64]


def test_boxed_numbers_and_plain_ones():
    g = Graph()
    axis = g.integer(1)
    scan = g.add("relay.attrs.ScanopAttrs", {"axis": axis, "dtype": "", "exclusive": g.integer(1, "bool")})
    attrs = body(f"cumsum(free_var %x; %x, {g.refer(scan)})", g).attrs
    assert attrs.axis == 1 and attrs.exclusive is True
    g = Graph()
    nms = {"coord_start": 2, "force_suppress": 1, "id_index": 0, "invalid_to_bottom": 0, "return_indices": 1}
    node = g.add("relay.attrs.NonMaximumSuppressionAttrs", {**nms, "score_index": 1, "top_k": 2})
    attrs = body(f"vision.non_max_suppression(1, 1, 1, 1, 1, {g.refer(node)})", g).attrs
    assert attrs.coord_start == 2 and attrs.force_suppress is True and attrs.top_k == 2


def test_devices_and_records():
    g = Graph()
    kind = g.add("TargetKind", {"default_keys": g.array(), "device_type": 1, "name": g.string("llvm")})
    target = g.add(
        "Target",
        {"kind": kind, "tag": g.string(""), "keys": g.array(g.string("cpu")), "attrs": 0, "features": 0, "host": 0},
    )
    device = g.add(
        "VirtualDevice", {"device_type_int": 1, "memory_scope": g.string(""), "target": target, "virtual_device_id": 0}
    )
    executor = g.add("Executor", {"name": g.string("graph"), "attrs": g.add("DictAttrs", {"__dict__": g.add("Map")})})
    f = body(f"fn (%x {{virtual_device={g.refer(device)}}}: int8, executor={g.refer(executor)}) {{ %x }}", g)
    virtual_device = f.params[0].virtual_device
    assert isinstance(virtual_device, VirtualDevice) and virtual_device.device_type == 1
    assert virtual_device.target.fields["kind"].fields["name"] == "llvm" and virtual_device.target.fields["keys"] == (
        "cpu",
    )
    assert f.attrs["executor"] == MetaNode(
        "Executor", {"name": "graph", "attrs": MetaNode("DictAttrs", {"__dict__": {}})}
    )


def test_a_field_that_tvm_does_not_have_is_kept():
    g = Graph()
    kind = g.add("TargetKind", {"name": g.string("llvm")})
    target = g.add("Target", {"kind": kind, "tag": g.string(""), "keys": g.array(), "0": "6", "colour": "red"})
    module = parse(HEAD + f"def @main(%x: int8, t={g.refer(target)}) {{ %x }}\n" + g.section())
    assert module["main"].attrs["t"].fields["colour"] == "red"
    again = parse(irtool.to_text(module))
    assert again["main"].attrs["t"] == module["main"].attrs["t"]


def test_expressions():
    g = Graph()
    name = g.add("relay.Id", {"name_hint": g.string("v")})
    var = g.add("relay.Var", {"vid": name, "type_annotation": 0, "span": 0, "virtual_device_": 0, "_checked_type_": 0})
    attrs = {
        "op": g.add("Op", repr_str="add"),
        "args": g.array(var, var),
        "attrs": 0,
        "type_args": g.array(),
        "span": 0,
    }
    call = g.add("relay.Call", attrs)
    e = body(g.refer(call), g)
    assert e.op.name == "add" and e.args[0] is e.args[1] and e.args[0].name == "v"


def test_text_with_unusual_characters():
    g = Graph()
    raw = "é\n".encode()
    packed = base64.b64encode(len(raw).to_bytes(8, "little") + raw).decode()
    text = g.add("runtime.String", repr_b64=packed)
    assert body(f"fn (a={g.refer(text)}) {{ () }}", g).attrs["a"] == "é\n"


def test_deep_graphs():
    g = Graph()
    number = g.constant(np.zeros(()))
    for _ in range(50_000):
        number = g.add("relay.Tuple", {"fields": g.array(number), "span": 0})
    e = body(g.refer(number), g)
    for _ in range(50_000):
        (e,) = e.fields
    assert e.data == 0


def test_cycles_are_refused():
    g = Graph()
    first = g.array()
    g.nodes[first]["data"] = [g.array(first)]
    with pytest.raises(IrError, match="refers to itself"):
        body(f"fn (a={g.refer(first)}) {{ () }}", g)


def damaged(change) -> str:
    """The message for a section with one constant that `change` has damaged."""
    g = Graph()
    reference = g.refer(g.constant(np.arange(4, dtype="int32")))
    change(g)
    with pytest.raises(IrError) as error:
        body(reference, g)
    return error.value.diagnostics[0].message


def with_tensor(change):
    def apply(g: Graph) -> None:
        data = bytearray(base64.b64decode(g.tensors[0]))
        change(data)
        g.tensors[0] = base64.b64encode(bytes(data)).decode()

    return apply


def test_damaged_tensors():
    assert "magic" in damaged(with_tensor(lambda d: d.__setitem__(0, 0)))
    assert "12 of 16 bytes" in damaged(with_tensor(lambda d: d.__delitem__(slice(-4, None))))
    assert "4 bytes too many" in damaged(with_tensor(lambda d: d.extend(b"1234")))
    assert "takes 20 bytes" in damaged(with_tensor(lambda d: d.__setitem__(32, 5)))
    assert "cut off" in damaged(with_tensor(lambda d: d.__delitem__(slice(20, None))))
    assert "rank" in damaged(with_tensor(lambda d: d.__setitem__(slice(24, 28), b"\xff\xff\xff\x7f")))
    assert "dtype code" in damaged(with_tensor(lambda d: d.__setitem__(28, 99)))
    assert "4-lane" in damaged(with_tensor(lambda d: d.__setitem__(30, 4)))
    assert "not base64" in damaged(lambda g: g.tensors.__setitem__(0, "***"))
    assert "no tensor" in damaged(lambda g: g.tensors.clear())


def test_huge_declared_shape():
    assert "takes" in damaged(with_tensor(lambda d: d.__setitem__(slice(32, 40), b"\xff" * 6 + b"\x00\x00")))


@pytest.mark.parametrize(
    "section",
    [
        "",
        "{",
        "[]",
        "{}",
        "null",
        '{"root": 9, "nodes": []}',
        '{"root": 0, "nodes": [{}]}',
        '{"root": 0, "nodes": 3}',
        "[" * 5000,
    ]
    + [
        '{"root": 0, "nodes": [{"type_key": "Map", "keys": ["a"], "data": [5]}]}',
        '{"root":0,"nodes":[{"type_key":"Map"}]} x',
    ],
)
def test_damaged_sections(section):
    with pytest.raises(IrError, match="metadata section"):
        parse(HEAD + "def @main() { meta[relay.Constant][0] }\n#[metadata]\n" + section)


def test_references_that_lead_nowhere():
    g = Graph()
    g.refer(g.constant(np.zeros(1)))
    for text, message in (
        ("meta[relay.Constant][1]", "there is no number 1"),
        ("meta[relay.Constnat][0]", "has no relay.Constnat"),
        ("meta[relay.Constant][x]", "has no index"),
        ("meta[relay.Constant][99999999999999999999]", "has no index"),
    ):
        with pytest.raises(IrError, match=message):
            body(text, g)


def test_nodes_of_the_wrong_kind():
    g = Graph()
    text = g.string("a")
    for reference in (
        f"add(1, {g.refer(text)})",
        f"({g.refer(text)}, 1)",
        f"{g.refer(text)}(1)",
        f"{g.refer(text)} + 1",
    ):
        with pytest.raises(IrError):
            body(reference, g)
    attrs = g.add("relay.attrs.CompilerAttrs", {"compiler": "c"})
    for reference in (
        f"({g.refer(attrs)}, 1)",
        f"{g.refer(attrs)}",
        f"add({g.refer(attrs)}, 1)",
        f"-{g.refer(attrs)}.0",
    ):
        with pytest.raises(IrError):
            body(reference, g)
    bad = g.add("relay.Tuple", {"fields": g.array(text), "span": 0})
    with pytest.raises(IrError, match=r"relay\.Tuple in node"):
        body(g.refer(bad), g)


def test_minus_zero_in_metadata_is_a_float() -> None:
    text = """def @main(%x: Tensor[(2, 3, 5, 4), float32], %r: Tensor[(2, 5), float32]) {
      vision.roi_pool(%x, %r, pooled_size=[1, 3], spatial_scale=-0.0) }"""
    printed = irtool.to_text(irtool.infer_types(irtool.parse(text)))
    assert '"spatial_scale": "-0"' in printed
    assert irtool.to_text(irtool.infer_types(irtool.parse(printed))) == printed
