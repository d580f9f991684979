"""Grouped attention with a cache, beside ONNX Runtime, whose operator it is (`make test-peers`)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.frontends.onnx.agreement import evaluated, parse

rng = np.random.default_rng(2)
ROTARY = ", ".join(f"float[16, 8] {n}" for n in ("c", "s"))
WORDS = "float[1,2,64] q, float[1,2,32] k, float[1,2,32] v"
CASES = {
    "prompt": ("float[2,4,64] q, float[2,4,32] k, float[2,4,32] v", "q, k, v, , ", "", 0, [3, 3], 4),
    "packed, rotary": ("float[1,4,128] q", "q, , , , ", ", do_rotary=1", 0, [3], 4),
    "window": ("float[1,6,64] q, float[1,6,32] k, float[1,6,32] v", "q, k, v, , ", ", local_window_size=3", 0, [5], 6),
    "next token": ("float[2,1,64] q, float[2,1,32] k, float[2,1,32] v", "q, k, v, pk, pv", ", do_rotary=1", 5, [5, 5], 6),
    "lines of two lengths": (
        "float[2,1,64] q, float[2,1,32] k, float[2,1,32] v", "q, k, v, pk, pv", ", do_rotary=1", 5, [5, 3], 6,
    ),
    "interleaved, a scale": (
        "float[1,1,64] q, float[1,1,32] k, float[1,1,32] v", "q, k, v, pk, pv",
        ", do_rotary=1, rotary_interleaved=1, scale=0.3", 5, [5], 6,
    ),
    "words in a cache with room": (WORDS, "q, k, v, pk, pv", ", do_rotary=1", 8, [6], 7),
    "a window over a cache": (WORDS, "q, k, v, pk, pv", ", local_window_size=3", 8, [6], 7),
    "capped scores": (WORDS, "q, k, v, pk, pv", ", softcap=0.5", 8, [6], 7),
    "a smooth softmax": (WORDS, "q, k, v, pk, pv", ", smooth_softmax=1", 8, [6], 7),
    "both directions": (WORDS, "q, k, v, pk, pv", ", causal=0", 8, [6], 7),
    "biases and sinks, capped scores": (
        f"{WORDS}, float[1,4,2,7] b, float[4] sink", "q, k, v, pk, pv", ", softcap=2.0", 8, [6], 7,
    ),
}  # fmt: skip


@pytest.mark.promise("networks in ONNX")
@pytest.mark.parametrize("case", CASES)
def test_grouped_attention(case: str, pytestconfig: pytest.Config) -> None:
    if not pytestconfig.getoption("--peers"):
        pytest.skip("only with --peers")
    ort = pytest.importorskip("onnxruntime")
    declarations, args, options, before, lengths, count = CASES[case]
    n = len(lengths)
    past = f", float[{n},2,{before},16] pk, float[{n},2,{before},16] pv" if before else ""
    caches = ", c, s" if "rotary" in options else ", , " if "sink" in declarations else ""
    caches += ", , b, sink" if "sink" in declarations else ""
    graph = f"""net ({declarations}{past}{", " + ROTARY if "rotary" in options else ""}, int32[{n}] lengths)
    => (float[n,l,64] y, float[n,2,t,16] ok, float[n,2,t,16] ov) <int32 count = {{{count}}}> {{
        y, ok, ov = com.microsoft.GroupQueryAttention<num_heads=4, kv_num_heads=2{options}>({args}, lengths, count{caches})
    }}"""
    model = parse(graph, 20, microsoft=True)
    inputs: dict[str, Any] = {}
    for i in model.graph.input:
        shape = [d.dim_value for d in i.type.tensor_type.shape.dim]
        inputs[i.name] = rng.standard_normal(shape).astype("float32")
    inputs["lengths"] = np.array(lengths, "int32")
    expected = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, inputs)
    for compiled in (False, True):
        y, k, v = evaluated(model, inputs, compiled)
        np.testing.assert_allclose(y, expected[0], 1e-4, 1e-5)
        for line, last in enumerate(lengths):  # nobody says what is behind a line's own keys
            np.testing.assert_allclose(k[line, :, : last + 1], expected[1][line, :, : last + 1], 1e-4, 1e-5)
            np.testing.assert_allclose(v[line, :, : last + 1], expected[2][line, :, : last + 1], 1e-4, 1e-5)
