"""Deep and long texts: linear time, under the default recursion limit."""

from __future__ import annotations

import base64
import json
import sys
import tracemalloc

import numpy as np
import pytest

from irtool.ir.ndarray import encode
from irtool.parser import parse, read_with_diagnostics
from tests.work import steps

HEAD = '#[version = "0.0.5"]\n'


def chain(n: int) -> str:
    lines = "".join(f"  %{i + 1} = nn.relu(%{i}) /* ty=Tensor[(10), float32] */;\n" for i in range(n))
    return f"def @main(%x: Tensor[(10), float32]) {{\n  %0 = nn.relu(%x);\n{lines}  %{n}\n}}\n"


def nested(n: int, before: str, after: str, core: str = "%x") -> str:
    return "def @main(%x: bool) {" + before * n + core + after * n + "}"


DEEP = {
    "chain": (chain, 100_000),
    "lets": (lambda n: nested(1, "".join(f"let %v{i} = %x;\n" for i in range(n)), ""), 20_000),
    "lets in lets": (lambda n: nested(n, "let %y = ", "; %y") + "", 20_000),
    "parentheses": (lambda n: nested(n, "(", ")"), 20_000),
    "tuples": (lambda n: nested(n, "(", ",)"), 20_000),
    "calls": (lambda n: nested(n, "nn.relu(", ")"), 20_000),
    "functions": (lambda n: nested(n, "fn (%p: bool) {", "}"), 5_000),
    "branches": (lambda n: nested(n, "if (%x) {", "} else { %x }"), 5_000),
    "else if": (lambda n: nested(1, "if (%x) { %x } else " * n + "{ ", "}"), 5_000),
    "operators": (lambda n: nested(1, "%x + " * n, ""), 20_000),
    "signs": (lambda n: nested(1, "- " * n, "", "1"), 20_000),
    "projections": (lambda n: nested(1, "", ".0" * n), 20_000),
    "types": (lambda n: "def @main(%x: " + "(" * n + "int8" + ",)" * n + ") { %x }", 20_000),
    "patterns": (lambda n: nested(1, "match (%x) { " + "(" * n + "_" + ",)" * n + " => ", "}"), 20_000),
    "attributes": (lambda n: "def @main(a=" + "[" * n + '"x"' + "]" * n + ") { () }", 20_000),
    "comments": (lambda n: "/* " * n + "*/ " * n + "def @main() { () }", 20_000),
    "names with dots": (lambda n: "def @main(" + ", ".join(f"%l{i}.w: int8" for i in range(n)) + ") { %l0.w }", 20_000),
    "strings": (lambda n: 'def @main(a="' + "\\\\" * n + '") { () }', 500_000),
    "a long line": (lambda n: nested(1, "(" + "1, " * n, ")"), 200_000),
}


@pytest.mark.robustness("scale")
@pytest.mark.parametrize("name", DEEP)
def test_deep(name):
    make, size = DEEP[name]
    assert sys.getrecursionlimit() <= 10_000
    parse(HEAD + make(size))
    small, large = (steps(lambda n=n: parse(HEAD + make(n))) for n in (100, 800))
    assert large < 9 * small  # eight times the text: linear is 8, quadratic 64


@pytest.mark.robustness("scale")
@pytest.mark.parametrize(
    "sign", ["(", "[", "{", "fn (", "let %x = ", "if (", "match ", '"', "/*", "%", "@", "meta[", "-", "f(", "<"]
)
def test_deep_and_wrong(sign):
    def read(n: int) -> None:
        module, diagnostics = read_with_diagnostics(HEAD + "def @main(%x: bool) {" + sign * n)
        assert module is None and 0 < len(diagnostics) < 100

    read(20_000)
    assert steps(lambda: read(1600)) < 9 * steps(lambda: read(200))


def test_a_large_text_takes_as_much_work_for_each_character_as_a_small_one():
    def work(copies: int) -> float:
        text = HEAD + "".join(chain(20).replace("@main", f"@f{i}") for i in range(copies))
        return steps(lambda: parse(text)) / len(text)

    work(1)
    assert work(200) < 1.1 * work(5)


@pytest.mark.promise("large texts")
def test_memory_is_in_proportion_to_the_text():
    """Of 50,000 operators: what is kept of each is its node, its place and its name."""
    text = HEAD + chain(50_000)
    parse(HEAD + chain(10))
    tracemalloc.start()
    m = parse(text)
    allocated, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert m["main"].body.op.name == "nn.relu"
    assert allocated < 8 * len(text) and peak < 10 * len(text)


@pytest.mark.promise("large texts")
def test_there_is_no_limit_on_the_size_of_a_text():
    comment = "/* " + "a long comment " * 100 + "*/\n"
    text = HEAD + comment * (34_000_000 // len(comment)) + "def @main(%x: int8) { %x }\n"
    assert len(text) > 33_000_000 and "main" in parse(text)


def test_large_constants_are_not_copied():
    array = np.zeros(4 << 20, "float32")
    constant = {
        "type_key": "relay.Constant",
        "attrs": {"_checked_type_": "0", "data": "0", "span": "0", "virtual_device_": "0"},
    }
    nodes = [
        {"type_key": ""},
        {"type_key": "Map", "keys": ["relay.Constant"], "data": [2]},
        {"type_key": "Array", "data": [3]},
    ]
    graph = {
        "root": 1,
        "nodes": [*nodes, constant],
        "b64ndarrays": [base64.b64encode(encode(array)).decode()],
        "attrs": {},
    }
    text = HEAD + "def @main() { meta[relay.Constant][0] }\n#[metadata]\n" + json.dumps(graph)
    del graph
    parse(HEAD)
    tracemalloc.start()
    m = parse(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert m["main"].body.data.nbytes == array.nbytes
    # the text is there already; beside it the base64 (4/3 of the payload) and the tensor
    assert peak < 2.6 * array.nbytes
