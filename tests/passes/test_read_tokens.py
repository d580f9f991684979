"""ReadTokens: an exported decoder becomes one of tokens alone, with the scores of the whole network behind the last token."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError
from tests.frontends.onnx.agreement import parse

pytest.importorskip("onnx")

pytestmark = pytest.mark.promise("growing states")

RNG = np.random.default_rng(6)
WORDS, WIDTH, NARROW, SIZE = 11, 32, 16, 8
WEIGHTS = {
    "table": (WORDS, WIDTH),
    "wq": (WIDTH, WIDTH),
    "wk": (WIDTH, NARROW),
    "wv": (WIDTH, NARROW),
    "head": (WIDTH, WORDS),
}
TABLES = {"c": (16, SIZE // 2), "s": (16, SIZE // 2)}


def decoder() -> Any:
    """A decoder as exporters write it: a mask and positions are inputs."""
    weights = ", ".join(f"float[{','.join(map(str, s))}] {n}" for n, s in {**WEIGHTS, **TABLES}.items())
    return parse(
        f"""net (int64[1,n] input_ids, int64[1,total] attention_mask, int64[1,n] position_ids, float[1,2,past,{SIZE}] past_key,
        float[1,2,past,{SIZE}] past_value, {weights})
        => (float[1,n,{WORDS}] logits, float[1,2,t,{SIZE}] present_key, float[1,2,t,{SIZE}] present_value)
        <int64[1] one = {{1}}, int64 second = {{1}}> {{
            x = Gather(table, input_ids)
            q = MatMul(x, wq)
            k = MatMul(x, wk)
            v = MatMul(x, wv)
            sum = ReduceSum<keepdims=0>(attention_mask, one)
            less = Sub(sum, one)
            lengths = Cast<to=6>(less)
            shape = Shape(attention_mask)
            columns = Gather(shape, second)
            count = Cast<to=6>(columns)
            y, present_key, present_value = com.microsoft.GroupQueryAttention<num_heads=4, kv_num_heads=2, do_rotary=1>(
                q, k, v, past_key, past_value, lengths, count, c, s, position_ids)
            logits = MatMul(y, head) }}""",
        20,
        microsoft=True,
    )


def arrays() -> dict[str, np.ndarray]:
    """Weights, and tables of cosines and sines."""
    values = {n: (RNG.standard_normal(s) / np.sqrt(s[0])).astype("float32") for n, s in WEIGHTS.items()}
    angles = RNG.uniform(-3, 3, TABLES["c"])
    return {**values, "c": np.cos(angles).astype("float32"), "s": np.sin(angles).astype("float32")}


DIMS = {"past": "<=16", "n": "<=4", "total": "past+n"}


def test_an_exported_decoder_reads_tokens(tmp_path: Path) -> None:
    weights = arrays()
    module, _ = irtool.from_onnx(decoder(), dims=DIMS)
    reading = irtool.run_passes(module, "ReadTokens")
    inputs = [p.name for p in reading["main"].params]  # type: ignore[union-attr]  # a function of Relay
    assert inputs[:3] == ["input_ids", "past_key", "past_value"]
    text = irtool.to_text(reading)
    assert irtool.structural_equal(irtool.parse(text), reading)
    artifact = irtool.build(reading, weights, states="auto", name="net", out_dir=tmp_path)
    assert "net_prefill(" in (tmp_path / "net.h").read_text() and "net_rewind(" in (tmp_path / "net.h").read_text()
    net, tokens = artifact.instance(), RNG.integers(0, WORDS, (1, 9))
    whole, _ = irtool.from_onnx(decoder(), dims={"past": 0, "n": 9, "total": 9})
    cache = np.zeros((1, 2, 0, SIZE), "float32")
    expected = irtool.evaluate(
        whole,
        {
            "input_ids": tokens,
            "attention_mask": np.ones((1, 9), "int64"),
            "position_ids": np.arange(9)[None],
            "past_key": cache,
            "past_value": cache,
            **weights,
        },
    )[0]
    place = 0
    for n in (4, 1, 3, 1):
        scores = np.asarray(net.step(input_ids=tokens[:, place : place + n]))
        place += n
        assert scores.shape == (1, 1, WORDS)
        np.testing.assert_allclose(scores[0, 0], expected[0, place - 1], rtol=1e-4, atol=1e-5)


def test_only_the_last_row_is_multiplied_by_the_head() -> None:
    module, _ = irtool.from_onnx(decoder(), dims=DIMS)
    lines = irtool.to_text(irtool.run_passes(module, "ReadTokens")).splitlines()
    last = [line for line in lines if "%head" in line and "nn." in line]
    assert last and all(f"Tensor[(1, {WORDS})" in line or f"Tensor[(1, 1, {WORDS})" in line for line in last)


def test_refusals() -> None:
    module, _ = irtool.from_onnx(decoder(), dims=DIMS)
    with pytest.raises(IrError, match="no input 'ids'"):
        irtool.run_passes(module, 'ReadTokens{tokens="ids"}')
    with pytest.raises(IrError, match="is no row of tokens"):
        irtool.run_passes(module, 'ReadTokens{tokens="past_key"}')
    plain = irtool.parse(
        '#[version = "0.0.5"]\ndef @main(%input_ids: Tensor[(1, 4), int64]) { sum(%input_ids, axis=[1]) }'
    )
    with pytest.raises(IrError, match="no row of scores for each token"):
        irtool.run_passes(plain, "ReadTokens")
