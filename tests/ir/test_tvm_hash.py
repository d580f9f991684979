"""TVM's hash: its arithmetic, what counts and what does not, and numbers that TVM itself printed."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.ir import Call, Constant, Function, GlobalVar, If, Let, TensorType, Tuple, Var, post_order
from irtool.ir.dims import ANY, DimExpr, DimVar, Int64
from irtool.ir.meta import MetaNode, VirtualDevice
from irtool.ir.tvm_hash import tvm_hash
from irtool.ir.tvm_hash.values import combine, dtype, hash_bytes, integer, integer_node, real, string_node, text
from irtool.ir.types import FuncType, GlobalTypeVar, IncompleteType, RefType, TupleType, TypeCall, TypeVar
from irtool.ops.base import call, operators

CORPUS = Path(__file__).parents[3] / "shared/corpus/passes/LambdaLift.jsonl.gz"
FLOAT = TensorType((), "float32")


def chain(type_key: str, *parts: int) -> int:
    h = text(type_key)
    for part in reversed(parts):
        h = combine(h, part)
    return h


def function(text: str) -> Function:
    return irtool.infer_types(irtool.parse(text))["main"]


@pytest.mark.parametrize(
    ("data", "expected"),  # what std::hash<std::string> of GNU's C++ library gives
    [
        (b"", 6142509188972423790),
        (b"a", 4993892634952068459),
        (b"IntImm", 1596732942770270100),
        (b"12345678", 10113836418918046885),
        (b"a longer string", 1417081679170367784),
        (b"sixteen bytes ok", 1255545848229201583),
    ],
)
def test_bytes_are_hashed_as_by_the_c_library(data: bytes, expected: int) -> None:
    assert hash_bytes(data) == expected


def test_numbers_are_hashed_as_by_the_c_library() -> None:
    assert real(1.5) == 4982507072649106663
    assert real(-0.0) == real(0.0) == 0
    assert integer(-1) == 18446744073709551615
    assert integer(-7) == 18446744073709551609
    assert integer(True) == 1


def test_dtypes_are_their_code_bits_and_lanes() -> None:
    assert dtype("int32") == 0x1_20_00
    assert dtype("float32x4") == 0x4_20_02
    assert dtype("bool") == dtype("uint1") == 0x1_01_01
    assert dtype("") == 3


def test_a_constant_function_by_hand() -> None:
    one = Constant(np.array(1, "float32"))
    data = chain("runtime.NDArray", dtype("float32"), 0, hash_bytes(np.float32(1).tobytes()))
    empty = chain("Array", 0)
    result = chain("relay.TensorType", empty, dtype("float32"))
    body = chain("relay.Constant", data)
    expected = combine(chain("relay.Function", empty, empty, result, 0, body), 0)
    assert tvm_hash(Function((), one, FLOAT)) == expected


def test_an_identity_function_by_hand() -> None:
    x = Var("x", TensorType((3,), "int64"))
    of = chain("relay.TensorType", chain("Array", 1, integer_node(3)), dtype("int64"))
    var = combine(chain("relay.Var", of, chain("relay.Id", 0)), 0)
    attrs = chain("DictAttrs", chain("Map", 1, string_node("Inline"), integer_node(1)))
    parts = chain("Array", 1, var), chain("Array", 0), of, attrs, var
    expected = combine(chain("relay.Function", *parts), 1)
    assert tvm_hash(Function((x,), x, x.type_annotation, (), {"Inline": 1})) == expected


def test_a_call_by_hand() -> None:
    x = Constant(np.array(1, "float32"))
    softmax = call("nn.softmax", x, axis=2)
    op = chain("Op", string_node("nn.softmax"))
    attrs = chain("relay.attrs.SoftmaxAttrs", 2)
    assert tvm_hash(softmax) == combine(chain("relay.Call", op, chain("Array", 1, tvm_hash(x)), attrs), 0)


def test_names_of_bound_variables_do_not_count() -> None:
    a = function("def @main(%x: int32, %y: int32) { let %z = add(%x, %y); (%z, %y) }")
    b = function("def @main(%b: int32, %a: int32) { let %c = add(%b, %a); (%c, %a) }")
    c = function("def @main(%x: int32, %y: int32) { let %z = add(%y, %x); (%z, %y) }")
    assert tvm_hash(a) == tvm_hash(b) != tvm_hash(c)


def test_sharing_counts() -> None:
    shared = function("def @main(%x: int32) { %0 = add(%x, %x); multiply(%0, %0) }")
    apart = function("def @main(%x: int32) { %0 = add(%x, %x); %1 = add(%x, %x); multiply(%0, %1) }")
    assert tvm_hash(shared) != tvm_hash(apart)


def test_constants_are_values() -> None:
    one, other = (Constant(np.array([1, 2], "int32")) for _ in range(2))
    assert tvm_hash(Tuple((one, one))) == tvm_hash(Tuple((one, other)))
    assert tvm_hash(one) != tvm_hash(Constant(np.array([1, 2], "uint32")))
    assert tvm_hash(one) != tvm_hash(Constant(np.array([[1, 2]], "int32")))
    assert tvm_hash(one) != tvm_hash(Constant(np.array([1, 3], "int32")))


def test_a_constant_in_another_memory_order_is_the_same() -> None:
    a = np.arange(6, dtype="float32").reshape(2, 3)
    assert tvm_hash(Constant(a)) == tvm_hash(Constant(np.asfortranarray(a)))


def test_attributes_count_and_defaults_are_among_them() -> None:
    text = "def @main(%x: Tensor[(2, 2), float32]) {{ nn.softmax(%x{}) }}"
    assert tvm_hash(function(text.format(""))) == tvm_hash(function(text.format(", axis=-1")))
    assert tvm_hash(function(text.format(""))) != tvm_hash(function(text.format(", axis=0")))


def test_the_order_of_function_attributes_does_not_count() -> None:
    x = Var("x", FLOAT)
    a = Function((x,), x, FLOAT, (), {"Composite": "c", "Primitive": 1})
    b = Function((x,), x, FLOAT, (), {"Primitive": 1, "Composite": "c"})
    assert tvm_hash(a) == tvm_hash(b) != tvm_hash(Function((x,), x, FLOAT))


def test_a_64_bit_integer_is_another_than_a_32_bit_one() -> None:
    assert tvm_hash(TensorType((2,))) != tvm_hash(TensorType((Int64(2),)))


def test_what_is_used_from_outside_needs_an_address() -> None:
    x, y = Var("x", FLOAT), Var("x", FLOAT)
    addresses: dict = {}
    tvm_hash(Function((x,), x, FLOAT), addresses)
    assert not addresses
    inner_x, inner_y = Function((), x, FLOAT), Function((), y, FLOAT)
    assert tvm_hash(inner_x, addresses) != tvm_hash(inner_y, addresses)
    assert set(addresses) == {x, y}
    assert tvm_hash(Function((), x, FLOAT), addresses) == tvm_hash(inner_x, addresses)


def test_a_global_function_has_one_address_by_name() -> None:
    addresses: dict = {}
    f = tvm_hash(Call(GlobalVar("f"), ()), addresses)
    assert f == tvm_hash(Call(GlobalVar("f"), ()), addresses) != tvm_hash(Call(GlobalVar("g"), ()), addresses)
    assert len(addresses) == 2


def test_type_parameters_are_counted_where_they_are_bound() -> None:
    def identity(name: str) -> Function:
        t = TypeVar(name)
        x = Var("x", t)
        return Function((x,), x, t, (t,))

    addresses: dict = {}
    assert tvm_hash(identity("A"), addresses) == tvm_hash(identity("B"), addresses)
    assert not addresses


def test_every_kind_of_node_has_a_hash_of_its_own() -> None:
    text = """
    type List[A] { Cons(A, List[A]), Nil }
    def @main(%l: List[int32], %r: ref(int32), %b: bool) {
        let %u = ref_write(%r, ref_read(ref(3)));
        let %f = fn (%p: (int32, int32)) { %p.1 };
        if (%b) { match (%l) { Cons(%x, Cons(_, _)) => { %x }, _ => { %f((1, 2)) } } } else { @other() }
    }
    def @other() { match? ((1, 2)) { (%x, _) => { %x } } }
    """
    module = irtool.infer_types(irtool.parse(text))
    shared = [e for f in module.functions.values() for e in post_order(f) if isinstance(e, If | Let | Call | Function)]
    assert len({tvm_hash(e) for e in shared}) == len(shared)


def test_every_kind_of_type_and_dimension_has_a_hash_of_its_own() -> None:
    n, a = DimVar("n"), TypeVar("a")
    kinds = [
        FLOAT,
        TensorType((ANY,)),
        TensorType((n,)),
        TensorType((DimVar("n", nonnegative=True),)),
        TensorType((DimExpr("Add", (n, 1)),)),
        TensorType((DimExpr("shift_left", (n, 1)),)),
        TupleType(()),
        TupleType((FLOAT,)),
        RefType(FLOAT),
        FuncType((), FLOAT),
        FuncType((a,), a, (a,)),
        a,
        TypeCall(GlobalTypeVar("List"), (FLOAT,)),
        GlobalTypeVar("List"),
        IncompleteType(),
    ]
    addresses: dict = {}
    assert len({tvm_hash(t, addresses) for t in kinds}) == len(kinds)


def test_devices_and_other_records_count() -> None:
    x = Var("x", FLOAT)

    def on(device: object) -> int:
        return tvm_hash(Function((x,), x, FLOAT, (), {"virtual_device": device}))

    target = MetaNode("Target", {"kind": "llvm", "tag": "", "keys": ("cpu",), "attrs": {}, "host": None})
    hashes = {on(VirtualDevice(1)), on(VirtualDevice(2)), on(VirtualDevice(1, target=target)), on(target)}
    assert len(hashes) == 4


def test_the_attributes_of_every_operator_have_a_hash() -> None:
    count = 0
    for name in operators.names():
        operator = operators.get(name)
        try:
            attrs = operator.make({})
        except irtool.IrError:
            continue  # has attributes without a default
        assert 0 <= tvm_hash(Function((), Constant(np.array(0)), None, (), {"a": attrs})) < 2**64
        count += 1
    assert count > 200


def test_the_hash_is_the_same_in_every_process() -> None:
    code = (
        "import irtool; from irtool.ir.tvm_hash import tvm_hash;"
        "m = irtool.parse('def @main(%x: Tensor[(2, ?), float32]) { @f(nn.relu(%x)) } def @f[A](%y: A) { %y }');"
        "print(tvm_hash(m['main']))"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": s}, capture_output=True, text=True, check=True
        )
        for s in ("1", "2")
    ]
    assert runs[0].stdout == runs[1].stdout != ""


def test_deep_programs_need_no_stack() -> None:
    x = Var("x", FLOAT)
    e, t = x, FLOAT
    for _ in range(20_000):
        e = call("tanh", e)
        t = TupleType((t, t))
    assert 0 <= tvm_hash(Function((x,), e, FLOAT)) < 2**64
    assert 0 <= tvm_hash(t) < 2**64


@pytest.mark.skipif(not CORPUS.exists(), reason="needs the corpus")
def test_functions_that_use_nothing_from_outside_have_the_numbers_of_the_peer() -> None:
    checked = 0
    for line in gzip.decompress(CORPUS.read_bytes()).splitlines():
        case = json.loads(line)
        names = set(re.findall(r"def @lifted_name(\d+)", case["after"]))
        module = irtool.infer_types(irtool.parse(case["before"]))
        for f in module.functions.values():
            for e in post_order(f):
                addresses: dict = {}
                if isinstance(e, Function) and e is not f and not e.attrs.get("Primitive"):
                    number = tvm_hash(e, addresses)
                    if not addresses and "Compiler" not in f.attrs:
                        assert str(number) in names, case["id"]
                        checked += 1
    assert checked
