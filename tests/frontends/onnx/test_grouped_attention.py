"""`com.microsoft.GroupQueryAttention`, beside its definition one query after the other; its caches as states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError
from tests.frontends.onnx.agreement import evaluated, parse
from tests.frontends.onnx.grouped_attention import GROUPS, HEADS, SIZE, Scores, attended, cached, rotated, split

pytest.importorskip("onnx")

pytestmark = pytest.mark.promise("networks in ONNX")

rng = np.random.default_rng(3)
WIDTH, NARROW = HEADS * SIZE, GROUPS * SIZE


def graph(batch: int, length: int, before: int, total: int, options: str = "", more: str = "", names: str = "") -> str:
    """A model of one node; `more` declares further inputs, and `names` has them in the places behind the sines."""
    caches = (
        f", float[{batch},{GROUPS},{before},{SIZE}] pk, float[{batch},{GROUPS},{before},{SIZE}] pv" if before else ""
    )
    return f"""net (float[{batch},{length},{WIDTH}] q, float[{batch},{length},{NARROW}] k, float[{batch},{length},{NARROW}] v{caches},
    int32[{batch}] lengths{more}) => (float y, float pk_out, float pv_out) <int32 total = {{{total}}}> {{
        y, pk_out, pv_out = com.microsoft.GroupQueryAttention<num_heads={HEADS}, kv_num_heads={GROUPS}{options}>(
            q, k, v, {"pk, pv" if before else ", "}, lengths, total, , {names}) }}"""


def random_inputs(model: Any, lengths: list[int]) -> dict[str, np.ndarray]:
    inputs = {}
    for i in model.graph.input:
        shape = [d.dim_value for d in i.type.tensor_type.shape.dim]
        inputs[i.name] = rng.standard_normal(shape).astype("float32")
    return {**inputs, "lengths": np.array(lengths, "int32") - 1}


SINK = rng.standard_normal(HEADS).astype("float32")
CASES: Mapping[str, tuple[int, int, int, int, list[int], str, Scores]] = {
    "a prompt": (2, 4, 0, 4, [4, 4], "", Scores()),
    "a prompt of two lengths": (2, 4, 0, 4, [4, 2], "", Scores()),
    "a word behind a cache": (1, 1, 5, 6, [6], "", Scores()),
    "words behind a cache": (1, 3, 5, 8, [8], "", Scores()),
    "lines of two lengths": (2, 1, 5, 6, [6, 4], "", Scores()),
    "a cache with room": (1, 3, 8, 6, [6], "", Scores()),
    "a cache with room for lines of two lengths": (2, 1, 8, 8, [6, 3], "", Scores()),
    "a window": (1, 6, 0, 6, [6], ", local_window_size=3", Scores(window=3)),
    "a window over a cache": (1, 2, 8, 7, [7], ", local_window_size=3", Scores(window=3)),
    "capped scores": (1, 2, 8, 6, [6], ", softcap=0.5", Scores(cap=0.5)),
    "a smooth softmax": (1, 3, 4, 7, [7], ", smooth_softmax=1", Scores(sink=np.zeros(HEADS))),
    "both directions": (2, 2, 8, 6, [6, 5], ", causal=0", Scores(is_causal=False)),
    "a scale": (1, 1, 5, 6, [6], ", scale=0.3", Scores()),
}  # fmt: skip


@pytest.mark.parametrize("compiled", [False, True], ids=["interpreted", "compiled"])
@pytest.mark.parametrize("case", CASES)
def test_definition(case: str, compiled: bool) -> None:
    batch, length, before, total, lengths, options, scores = CASES[case]
    model = parse(graph(batch, length, before, total, options), 20, microsoft=True)
    inputs = random_inputs(model, lengths)
    y, keys, values = evaluated(model, inputs, compiled)
    counts, places = np.array(lengths), max(before, total)
    for x, past, name in ((keys, "pk", "k"), (values, "pv", "v")):
        whole = cached(
            inputs.get(past, np.zeros((batch, GROUPS, 0, SIZE))), split(inputs[name], GROUPS), counts, places
        )
        assert x.shape == whole.shape
        for b, count in enumerate(lengths):
            np.testing.assert_array_equal(x[b, :, :count], whole[b, :, :count])
    expected = attended(inputs["q"], keys, values, counts, scores, 0.3 if "scale" in options else 0.0)
    for b, count in enumerate(lengths):  # of a prompt of two lengths, the last queries of the short line mean nothing
        np.testing.assert_allclose(y[b, :count], expected[b, :count], rtol=1e-4, atol=1e-5)


def test_sinks_and_biases_of_heads() -> None:
    more, names = f", float[1,{HEADS},2,7] b, float[{HEADS}] sink", ", , b, sink"
    model = parse(graph(1, 2, 8, 7, ", softcap=2.0", more, names), 20, microsoft=True)
    inputs = random_inputs(model, [7])
    y, keys, values = evaluated(model, inputs)
    for h in range(HEADS):
        scores = Scores(sink=inputs["sink"], cap=2.0, bias=inputs["b"][0, h])
        expected = attended(inputs["q"], keys, values, np.array([7]), scores)
        head = slice(h * SIZE, (h + 1) * SIZE)
        np.testing.assert_allclose(y[..., head], expected[..., head], rtol=1e-4, atol=1e-5)


def test_queries_and_keys_are_normalized_before_they_turn() -> None:
    angles = rng.uniform(-3, 3, (8, SIZE // 2))
    text = graph(1, 3, 0, 3, ", do_rotary=1, qk_norm_epsilon=0.1, k_norm_epsilon=0.2").replace(
        "total, , ", "total, c, s, , , , , , qn, kn"
    )
    tables = f"float[8,{SIZE // 2}] c, float[8,{SIZE // 2}] s, float[{SIZE}] qn, float[{SIZE}] kn"
    model = parse(text.replace("lengths)", f"lengths, {tables})"), 20, microsoft=True)
    inputs = random_inputs(model, [3]) | {"c": np.cos(angles).astype("float32"), "s": np.sin(angles).astype("float32")}

    def normalized(x: np.ndarray, weight: np.ndarray, epsilon: float) -> np.ndarray:
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + epsilon) * weight

    q = rotated(normalized(split(inputs["q"], HEADS), inputs["qn"], 0.1), angles, 0)
    k = rotated(normalized(split(inputs["k"], GROUPS), inputs["kn"], 0.2), angles, 0)
    y, keys, values = evaluated(model, inputs)
    np.testing.assert_allclose(keys, k, rtol=1e-4, atol=1e-5)
    expected = attended(q.transpose(0, 2, 1, 3).reshape(1, 3, WIDTH), k, values, np.array([3]))
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


def test_queries_that_fill_up_a_line_come_last() -> None:
    text = (
        graph(2, 3, 8, 8)
        .replace("total, , ", "total, , , , , , , , , , counts")
        .replace("lengths)", "lengths, int32[2] counts)")
    )
    model = parse(text, 20, microsoft=True)
    inputs = random_inputs(model, [5, 2]) | {"counts": np.array([2, 1], "int32")}
    y, keys, values = evaluated(model, inputs)
    for b, (count, valid) in enumerate(((5, 2), (2, 1))):
        line = slice(b, b + 1)
        q = inputs["q"][line, :valid]
        np.testing.assert_array_equal(keys[line, :, count - valid : count], split(inputs["k"], GROUPS)[line, :, :valid])
        np.testing.assert_array_equal(keys[line, :, : count - valid], inputs["pk"][line, :, : count - valid])
        expected = attended(q, keys[line], values[line], np.array([count]))
        np.testing.assert_allclose(y[line, :valid], expected, rtol=1e-4, atol=1e-5)


def decoder(past: str, length: str, total: str) -> Any:
    """A model whose numbers of keys come from a mask, as exporters write it."""
    cache = f"float[1,{GROUPS},{past},{SIZE}]"
    return parse(
        f"""net (float[1,{length},{WIDTH}] q, float[1,{length},{NARROW}] k, float[1,{length},{NARROW}] v, {cache} past_key,
        {cache} past_value, int64[1,{total}] mask, float[32,{SIZE // 2}] c, float[32,{SIZE // 2}] s)
        => (float[1,{length},{WIDTH}] y, float[1,{GROUPS},t,{SIZE}] present_key, float[1,{GROUPS},t,{SIZE}] present_value)
        <int64[1] one = {{1}}, int64 second = {{1}}> {{
            sum = ReduceSum<keepdims=0>(mask, one)
            less = Sub(sum, one)
            lengths = Cast<to=6>(less)
            shape = Shape(mask)
            columns = Gather(shape, second)
            count = Cast<to=6>(columns)
            y, present_key, present_value = com.microsoft.GroupQueryAttention<num_heads={HEADS}, kv_num_heads={GROUPS}, do_rotary=1>(
                q, k, v, past_key, past_value, lengths, count, c, s) }}""",
        20,
        microsoft=True,
    )


DECODERS = {
    "a cache that grows": ("past", "1", "total", {"past": "<=16", "total": "past+1"}, [1] * 4),
    "prompts and words": ("past", "n", "total", {"past": "<=16", "n": "<=4", "total": "past+n"}, [3, 1, 2, 1]),
    "a cache with room": ("16", "1", "total", {"total": "<=16"}, [1] * 4),
}


@pytest.mark.parametrize("name", DECODERS)
def test_caches_are_states_that_steps_write_in_place(name: str) -> None:
    past, length, total, dims, counts = DECODERS[name]
    module, params = irtool.from_onnx(decoder(past, length, total), dims=dims)
    artifact = irtool.build(module, params, states="auto", cflags="-O1")
    assert [s["copied"] for s in artifact.report["states"]] == [False, False]
    net = artifact.instance()
    angles = rng.uniform(-3, 3, (32, SIZE // 2))
    tables = {"c": np.cos(angles).astype("float32"), "s": np.sin(angles).astype("float32")}
    keys = values = np.zeros((1, GROUPS, 0, SIZE))
    for n in counts:
        q, k, v = (rng.standard_normal((1, n, w)).astype("float32") for w in (WIDTH, NARROW, NARROW))
        before = keys.shape[2]
        y = net.step(q=q, k=k, v=v, mask=np.ones((1, before + n), "int64"), **tables)
        keys = np.concatenate([keys, rotated(split(k, GROUPS), angles, before)], 2)
        values = np.concatenate([values, split(v, GROUPS)], 2)
        rows = rotated(split(q, HEADS), angles, before).transpose(0, 2, 1, 3).reshape(1, n, WIDTH)
        expected = attended(rows, keys, values, np.array([before + n]))
        np.testing.assert_allclose(y[0] if isinstance(y, tuple | list) else y, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (', k_quant_type="PER_TENSOR"', "quantized caches"),
        (", sliding_window_cache=1, local_window_size=4", "caches of the size of the window"),
        (", causal=0, local_window_size=4", "belong to causal attention"),
    ],
)
def test_refusals(options: str, message: str) -> None:
    with pytest.raises(IrError, match=message):
        irtool.from_onnx(parse(graph(1, 1, 5, 6, options), 20, microsoft=True))


def test_a_total_below_the_number_of_queries_is_refused() -> None:
    with pytest.raises(IrError, match="total_sequence_length is 2, and there are 3 queries"):
        irtool.from_onnx(parse(graph(1, 3, 5, 2), 20, microsoft=True))
