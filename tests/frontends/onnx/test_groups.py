"""Groups of operators, as exporters write them out in parts, become what they are, with the same results."""

from __future__ import annotations

import re

import pytest

import irtool
from irtool.frontends.onnx.groups import recognised
from tests.frontends.onnx.agreement import check

pytestmark = pytest.mark.promise("networks in ONNX")

CENTRED = """
    two = Constant<value = float {2}>() e = Constant<value = float {1e-5}>()
    m = ReduceMean<axes=[AXIS]>(x) d = Sub(x, m) p = Pow(d, two) v = ReduceMean<axes=[AXIS]>(p) a = Add(v, e) s = Sqrt(a)"""
HALVES = (
    "h = Constant<value = float {0.5}>() one = Constant<value = float {1}>() r = Constant<value = float {1.41421354}>()"
)

GROUPS = {
    "layer norm": (
        f"net (float[2,3,8] x, float[8] w, float[8] b) => (float[a,b,c] y) {{ {CENTRED} n = Div(d, s) g = Mul(n, w) y = Add(g, b) }}",
        -1,
        ["nn.layer_norm"],
        ["mean", "power"],
    ),
    "layer norm of channels": (
        "net (float[2,3,4,5] x, float[3,1,1] w, float[3,1,1] b) => (float[a,b,c,d] y) "
        f"{{ {CENTRED} n = Div(d, s) g = Mul(w, n) y = Add(b, g) }}",
        1,
        ["nn.layer_norm", "axis=1"],
        ["mean"],
    ),
    "layer norm with a reciprocal root, without a summand": (
        "net (float[2,3,8] x, float[8] w) => (float[a,b,c] y) "
        f"{{ {CENTRED} q = Reciprocal(s) n = Mul(d, q) y = Mul(n, w) }}",
        2,
        ["nn.layer_norm", "center=False"],
        ["mean"],
    ),
    "RMS norm": (
        """net (float[2,3,8] x, float[8] w) => (float[a,b,c] y) {
        two = Constant<value = float {2}>() e = Constant<value = float {1e-5}>() one = Constant<value = float {1}>()
        p = Pow(x, two) v = ReduceMean<axes=[-1]>(p) a = Add(v, e) s = Sqrt(a) q = Div(one, s) n = Mul(x, q) y = Mul(w, n) }""",
        -1,
        ["rsqrt"],
        ["power", "divide"],
    ),
    "GELU": (
        f"net (float[2,9] x) => (float[a,b] y) {{ {HALVES} q = Div(x, r) f = Erf(q) g = Add(f, one) z = Mul(x, g) y = Mul(z, h) }}",
        0,
        ["erf"],
        ["divide"],
    ),
    "GELU by tanh": (
        f"""net (float[2,9] x) => (float[a,b] y) {{ {HALVES} three = Constant<value = float {{3}}>()
        k = Constant<value = float {{0.044715}}>() l = Constant<value = float {{0.79788458}}>()
        p = Pow(x, three) q = Mul(p, k) u = Add(x, q) t = Mul(u, l) f = Tanh(t) g = Add(f, one) z = Mul(x, h) y = Mul(z, g) }}""",
        0,
        ["tanh"],
        ["power"],
    ),
    "group norm": (
        """net (float[2,6,2,3] x, float[2] i, float[2] o, float[6,1,1] w, float[6,1,1] b) => (float[a,b,c,d] y) {
        parts = Constant<value = int64[3] {0, 2, -1}>() whole = Constant<value = int64[4] {2, 6, 2, 3}>()
        r = Reshape(x, parts) n = InstanceNormalization(r, i, o) z = Reshape(n, whole) g = Mul(z, w) y = Add(g, b) }""",
        0,
        ["nn.group_norm"],
        ["nn.instance_norm"],
    ),
}


@pytest.mark.parametrize("case", GROUPS)
def test_group(case: str) -> None:
    graph, axis, present, absent = GROUPS[case]
    text = irtool.to_text(check(graph.replace("AXIS", str(axis)), 13))
    for words, is_present in ((present, True), (absent, False)):
        for word in words:
            assert bool(re.search(rf"\b{re.escape(word)}\b", text)) == is_present, text


NEARLY = {
    "two axes": ("x, axis=[1], keepdims=True", "%1, axis=[2], keepdims=True"),
    "no kept axis": ("x, axis=[0], keepdims=True", "%1, axis=[0]"),
}


@pytest.mark.parametrize("case", NEARLY)
def test_what_only_looks_like_layer_norm_stays(case: str) -> None:
    first, second = NEARLY[case]
    module = irtool.infer_types(
        irtool.parse(
            f"""#[version = "0.0.5"]
def @main(%x: Tensor[(3, 4, 4), float32]) {{
  %0 = subtract(%x, mean(%{first}));
  %1 = multiply(%0, %0);
  divide(%0, sqrt(add(mean({second}), 1e-5f)))
}}"""
        )
    )
    assert recognised(module["main"]) is module["main"]
