"""ONNX's `Attention` with its caches as states, beside the definition of grouped attention; the backend suite has its values."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

import irtool
from tests.frontends.onnx.agreement import check, parse
from tests.frontends.onnx.grouped_attention import GROUPS, HEADS, SIZE, Scores, attended, split

pytest.importorskip("onnx")

pytestmark = pytest.mark.promise("networks in ONNX")

rng = np.random.default_rng(4)
WIDTH, NARROW, PLACES = HEADS * SIZE, GROUPS * SIZE, 16
OPTIONS = f"q_num_heads={HEADS}, kv_num_heads={GROUPS}, is_causal=1"


def growing(length: str, options: str = "") -> str:
    """A cache that grows by concatenation inside of the operator."""
    cache = f"float[1,{GROUPS},past,{SIZE}]"
    return f"""net (float[1,{length},{WIDTH}] q, float[1,{length},{NARROW}] k, float[1,{length},{NARROW}] v, {cache} past_key, {cache} past_value)
    => (float[1,{length},{WIDTH}] y, float[1,{GROUPS},t,{SIZE}] present_key, float[1,{GROUPS},t,{SIZE}] present_value) {{
        y, present_key, present_value = Attention<{OPTIONS}{options}>(q, k, v, , past_key, past_value) }}"""


SCATTERED = f"""net (float[1,1,{WIDTH}] q, float[1,1,{NARROW}] k, float[1,1,{NARROW}] v, float[1,{GROUPS},{PLACES},{SIZE}] past_key,
    float[1,{GROUPS},{PLACES},{SIZE}] past_value, int64[1] place)
    => (float[1,{HEADS},1,{SIZE}] y, float[1,{GROUPS},{PLACES},{SIZE}] present_key, float[1,{GROUPS},{PLACES},{SIZE}] present_value)
    <int64[4] few = {{1, {GROUPS}, 1, {SIZE}}}, int64[4] all = {{1, {HEADS}, 1, {SIZE}}}, int64 one = {{1}}> {{
        kh = Reshape(k, few)
        vh = Reshape(v, few)
        qh = Reshape(q, all)
        present_key = TensorScatter(past_key, kh, place)
        present_value = TensorScatter(past_value, vh, place)
        count = Add(place, one)
        y = Attention(qh, present_key, present_value, , , , count) }}"""
"""A cache of the caller, in which each step writes a row."""

DECODERS: Mapping[str, tuple[str, dict[str, str], list[int], int]] = {
    "words": (growing("1"), {"past": f"<={PLACES}"}, [1] * 4, 0),
    "prompts and words": (growing("n"), {"past": f"<={PLACES}", "n": "<=4"}, [3, 1, 2], 0),
    "a window": (growing("1", ", left_window_size=2"), {"past": f"<={PLACES}"}, [1] * 5, 3),
    "a cache of the caller": (SCATTERED, {}, [1] * 4, 0),
}


@pytest.mark.parametrize("name", DECODERS)
def test_caches_are_states_that_steps_write_in_place(name: str) -> None:
    text, dims, counts, window = DECODERS[name]
    module, params = irtool.from_onnx(parse(text, 25), dims=dims)
    artifact = irtool.build(module, params, states="auto", cflags="-O1")
    assert [s["copied"] for s in artifact.report["states"]] == [False, False]
    net = artifact.instance()
    keys = values = np.zeros((1, GROUPS, 0, SIZE))
    for n in counts:
        q, k, v = (rng.standard_normal((1, n, w)).astype("float32") for w in (WIDTH, NARROW, NARROW))
        place = {} if dims else {"place": np.array([keys.shape[2]])}
        y = net.step(q=q, k=k, v=v, **place)
        keys, values = (np.concatenate([x, split(new, GROUPS)], 2) for x, new in ((keys, k), (values, v)))
        expected = attended(q, keys, values, np.array([keys.shape[2]]), Scores(window=window))
        actual = np.asarray(y[0] if isinstance(y, tuple | list) else y).reshape(expected.shape)
        np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)


def test_queries_whose_keys_are_hidden_have_zeros() -> None:
    text = "net (float[1,2,3,8] q, float[1,2,3,8] k, float[1,2,3,8] v, bool[3,3] m) => (float[1,2,3,8] y) { y = Attention(q, k, v, m) }"
    module, _ = irtool.from_onnx(parse(text, 24))
    inputs = {n: rng.standard_normal((1, 2, 3, 8)).astype("float32") for n in "qkv"}
    mask = np.array([[1, 0, 1], [0, 0, 0], [1, 1, 1]], bool)
    y = irtool.evaluate(module, {**inputs, "m": mask})
    assert (y[:, :, 1] == 0).all() and np.isfinite(y).all() and (y[:, :, [0, 2]] != 0).all()


def test_keys_that_heads_share_are_not_copied() -> None:
    text = "net (float[1,8,4,8] q, float[1,2,6,8] k, float[1,2,6,8] v) => (float y) { y = Attention(q, k, v) }"
    printed = irtool.to_text(check(text, 24))
    assert "repeat" not in printed and "broadcast_to" not in printed


def test_products_as_a_result_are_left_to_the_definition() -> None:
    check(
        "net (float[1,2,4,8] q, float[1,2,6,8] k, float[1,2,6,8] v) => (float y, float p) { y, , , p = Attention(q, k, v) }",
        24,
    )
