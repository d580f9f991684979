"""Text reads back as the same program, and the program prints again as the same text."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from pygments.token import Error

from irtool.infer import infer_types
from irtool.ir import (
    ANY,
    Constant,
    DimExpr,
    DimVar,
    Function,
    If,
    Int64,
    MissingData,
    Module,
    TensorType,
    Tuple,
    TupleType,
    TypeVar,
    Var,
    post_order,
    scalar,
)
from irtool.ir.meta import MetaNode, VirtualDevice
from irtool.ir.structural import structural_equal
from irtool.ops.base import call
from irtool.parser import parse, parse_expr
from irtool.printer import to_text
from irtool.printer.external import named_file, read_constants, with_constants
from irtool.printer.lexer import RelayLexer
from tests.generators import modules, random_module

SHARED = Path(__file__).parents[3] / "shared"


def assert_round_trip(node: object, **options) -> str:
    """The text of `node`, which reads back as `node` and prints again as the same text."""
    read = parse if isinstance(node, Module) else parse_expr
    text = to_text(node, **options)
    again = read(text)
    assert structural_equal(again, node)
    assert to_text(again, **options) == text
    return text


@given(modules())
@settings(max_examples=100, deadline=None)
def test_generated_modules(module):
    assert_round_trip(module)


@given(modules(size=12))
@settings(max_examples=30, deadline=None)
def test_generated_modules_with_types(module):
    typed = infer_types(module)
    text = to_text(typed)
    again = infer_types(parse(text))
    assert structural_equal(again, typed)
    assert to_text(again) == text


@given(modules())
@settings(max_examples=30, deadline=None)
def test_without_types_and_with_portable_names(module):
    assert_round_trip(module, types="none", portable_names=True)


@pytest.mark.parametrize("seed", range(10))
def test_without_constants_the_rest_reads_back(seed):
    module = infer_types(random_module(seed))
    text = to_text(module, constants="elide")
    again = parse(text)
    missing = [e for f in again.functions.values() for e in post_order(f) if isinstance(e, Constant)]
    assert all(isinstance(c.data, MissingData) or c.data.ndim == 0 for c in missing)
    assert to_text(infer_types(again), constants="elide") == text


@pytest.mark.parametrize(
    "dtype",
    ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"],
)
@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 2)])
def test_constants(dtype, shape):
    values = (np.arange(np.prod(shape, dtype=int)) - 1).astype(dtype).reshape(shape)
    assert_round_trip(Function((), Constant(values)))


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-45, 0.1, 16777217.0, 65504.0])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_scalars(value, dtype):
    with np.errstate(over="ignore"):
        array = np.array(value).astype(dtype)
    assert_round_trip(Tuple((Constant(array), Constant(array.reshape(1)))))


def test_bfloat16():
    assert_round_trip(Constant(np.array([16256, 1], "uint16"), "bfloat16"))


def test_layouts_in_memory_do_not_matter():
    a = np.arange(6, dtype=">i4").reshape(2, 3).T
    (c,) = [e for e in post_order(parse_expr(to_text(Constant(a, "int32")))) if isinstance(e, Constant)]
    assert np.array_equal(c.data, a)


def test_symbolic_dimensions():
    n, m = DimVar("n"), DimVar("m", "int64", True)
    twice = DimExpr("Mul", (n, 2))
    moved = DimExpr("FloorDiv", (DimExpr("Add", (m, Int64(3)), "int64"), m), "int64")
    rounded = DimExpr("Cast", (DimExpr("round", (DimExpr("Mul", (n, 1.5), "float64"),), "float64"),))
    x = Var("x", TensorType((n, m, twice, moved, rounded, ANY, Int64(7), 8)))
    assert_round_trip(Function((x,), x, x.type_annotation))


def test_devices():
    target = MetaNode(
        "Target", {"kind": "llvm", "tag": "", "keys": ("cpu",), "attrs": {}, "features": {}, "host": None}
    )
    cpu, gpu = VirtualDevice(1, 0, target), VirtualDevice(2, 1, None, "global")
    x = Var("x", TensorType((2,)), virtual_device=cpu)
    f = Function((x,), x, virtual_device=gpu)
    text = assert_round_trip(Module({"main": f}))
    assert "%x {virtual_device=meta[VirtualDevice][0]}: " in text
    assert "virtual_device=meta[VirtualDevice][1]) " in text


@pytest.mark.parametrize(
    "name", ["a.0", "a", "conv/x:0", "x-1", "x+y", "größe", "", "_", "fn", "let", "%x", "a b", "x1"]
)
def test_names(name):
    x, y, z = Var(name, TensorType((2,))), Var("a"), Var(name)
    assert_round_trip(Function((x, y, z), Tuple((x, y, z, x))))


@pytest.mark.parametrize(
    "value", ['a"b', "back\\slash", "line\nbreak", "tab\t", "é ü 漢", "\udcff", "\x00\x7f", "", "\\x41", "'"]
)
def test_strings(value):
    x = Var("x")
    assert_round_trip(Function((x,), x, attrs={"s": value, "l": (value, (value,))}))


@pytest.mark.parametrize("seed", range(5))
def test_constants_beside_the_text(seed, tmp_path):
    module = random_module(seed, 12)
    path = tmp_path / "constants.npz"
    text = to_text(module, constants="external", external_path=path)
    assert text.startswith(to_text(module, constants="elide").split("#[metadata]")[0])
    assert named_file(text) == ("constants.npz" if "relay.Constant" in text else "")
    assert structural_equal(with_constants(parse(text), read_constants(path)), module)


def test_bfloat16_beside_the_text(tmp_path):
    e = Constant(np.array([16256, 1], "uint16"), "bfloat16")
    text = to_text(e, constants="external", external_path=tmp_path / "c.npz")
    assert structural_equal(with_constants(parse_expr(text), read_constants(tmp_path / "c.npz")), e)


def test_a_node_used_outside_of_the_branch_that_bound_it():
    x, c = Var("x", TensorType((2,))), Var("c", scalar("bool"))
    inner = call("exp", x)
    branch = If(c, call("tanh", inner), x)
    f = Function((c, x), call("add", branch, call("tanh", call("abs", inner))))
    text = assert_round_trip(f, types="none")
    lines = [line.strip() for line in text.split("\n")]
    assert lines.index("%0 = exp(%x);") < lines.index("%2 = abs(%0);")


def test_type_parameters_of_one_name():
    a, b, c = TypeVar("A"), TypeVar("A"), TypeVar("A")
    x, y, z = Var("x", a), Var("y", b), Var("z", c)
    inner = Function((y,), Tuple((x, y)), TupleType((a, b)), (b,))
    sibling = Function((z,), z, c, (c,))
    text = assert_round_trip(Function((x,), Tuple((inner, sibling)), None, (a,)))
    assert "fn [A1](%y: A1" in text
    assert "fn [A](%z: A" in text


def test_a_node_of_one_scope_that_is_used_in_another_stands_as_deep_as_that_one():
    x, flag = Var("x"), Var("flag")
    shared = If(flag, call("negative", x), x)
    taken = If(flag, If(flag, x, shared), x)
    text = to_text(Function((x, flag), call("add", shared, taken)), types="none")
    assert (
        text.split("{", 1)[1]
        == """
  %1 = if (%flag) {
    if (%flag) {
      %x
    } else {
      %0 = if (%flag) {
        negative(%x)
      } else {
        %x
      };
      %0
    }
  } else {
    %x
  };
  add(%0, %1)
}"""
    )


def test_free_variables_first_used_in_a_branch():
    c, x = Var("c"), Var("x", TensorType((2,)))
    assert_round_trip(If(c, call("exp", x), call("tanh", x)))


def test_large_constants_stay_in_memory_once():
    import tracemalloc

    data = np.random.default_rng(0).random((4, 1024, 1024))
    e = Function((), Constant(data))
    tracemalloc.start()
    text = to_text(e)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(text) > data.nbytes * 4 // 3
    assert peak < 3 * data.nbytes


def corpus_texts() -> list[tuple[str, str, str]]:
    texts = []
    for path in sorted(SHARED.glob("corpus/**/*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines):
                case = json.loads(line)
                if case.get("error") or (number % 7 and path.name != "parse.jsonl.gz"):
                    continue
                texts += [(case["id"], case.get("kind", ""), case[k]) for k in ("printed", "after") if case.get(k)]
    return texts


@pytest.mark.skipif(not (SHARED / "corpus").exists(), reason="no corpus here")
def test_corpus():
    differ = []
    lexer = RelayLexer()
    for name, kind, text in corpus_texts():
        if "[TensorType([]" in text:  # TVM's Defunctionalization makes names that are no names
            continue
        tree = (parse_expr if kind == "expr" else parse)(text)
        again = assert_round_trip(tree)
        if any(k is Error for k, _ in lexer.get_tokens(again.split("#[metadata]")[0])):
            differ.append(name)
    assert differ == []


@pytest.mark.skipif(not (SHARED / "zoo").exists(), reason="no networks here")
def test_networks():
    texts = [p.read_text() for p in sorted(SHARED.glob("zoo/*/*.relay"))]
    texts += [gzip.decompress(p.read_bytes()).decode() for p in sorted(SHARED.glob("zoo/*/passes/1*.relay.gz"))]
    assert texts
    for text in texts:
        assert_round_trip(parse(text))
