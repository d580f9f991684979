"""Networks of GGUF files: logits beside the definition in numpy and float64, tokens one by one and many at once; what is wrong with a file in one run."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError, UsageError
from irtool.frontends.gguf.alibi import slopes
from irtool.ir import Module, TensorType
from irtool.parser.gguf_formats import FORMATS, decode
from tests.command_line import irtool as command
from tests.frontends.gguf.files import Packed, gguf
from tests.frontends.gguf.networks import CONTEXT, NETWORKS, WORDS, file_of, logits, metadata_of, weights_of

pytestmark = pytest.mark.promise("growing states")

TOKENS = [int(t) for t in np.random.default_rng(1).integers(0, WORDS, 11)]
DIMS = {"context": f"<={CONTEXT}", "tokens": "<=16"}


def interpreted(module: Module, weights: dict[str, Any], tokens: list[int], steps: list[int]) -> np.ndarray:
    """The logits behind the last token, by the interpreter, with so many tokens in each step."""
    states = [p for p in module["main"].params[1:] if p.name not in weights]  # type: ignore[union-attr]  # a function of Relay
    types = [p.type_annotation for p in states]
    caches = [np.zeros((1, t.shape[1], 0, t.shape[3]), "float32") for t in types if isinstance(t, TensorType)]
    scores, first = np.zeros(0), 0
    for count in steps:
        row = np.array(tokens[first : first + count], "int32")
        inputs = {"ids": row, **dict(zip((p.name for p in states), caches, strict=True)), **weights}
        scores, *caches = irtool.evaluate(module, inputs)
        first += count
    return np.asarray(scores)[0]


def check(actual: np.ndarray, expected: np.ndarray) -> None:
    """Compares logits, to 1e-4 of the largest one."""
    assert np.abs(actual - expected).max() <= 1e-4 * np.abs(expected).max()


@pytest.mark.parametrize("name", NETWORKS)
def test_definition(name: str) -> None:
    n = NETWORKS[name]
    module, weights = irtool.from_gguf(file_of(n), DIMS)
    check(interpreted(module, weights, TOKENS, [7, 1, 3]), logits(n, weights_of(n), TOKENS))


@pytest.mark.parametrize("name", ["llama, factors", "llama, yarn", "llama, longrope", "gemma2", "bloom", "mpt"])
def test_compiled(name: str, tmp_path: Path) -> None:
    n = NETWORKS[name]
    module, weights = irtool.from_gguf(file_of(n), DIMS)
    net = irtool.build(module, weights, out_dir=tmp_path, name="net").instance()
    assert "net_prefill(" in (tmp_path / "net.h").read_text()
    for first, count in ((0, 7), (7, 1), (8, 3)):
        scores = net.step(ids=np.array(TOKENS[first : first + count], "int32"))
        check(np.asarray(scores)[0], logits(n, weights_of(n), TOKENS[: first + count]))


@pytest.mark.parametrize("heads", [1, 2, 6, 8, 12])
def test_slopes_of_biases(heads: int) -> None:
    """Those of the authors' program, which computes powers of two, and others by twice as many heads."""

    def powers(count: int) -> list[float]:
        return [2.0 ** (-8.0 * (h + 1) / count) for h in range(count)]

    near = 2 ** math.floor(math.log2(heads))
    expected = powers(near) + powers(2 * near)[::2][: heads - near]
    np.testing.assert_allclose(slopes(heads, 8.0), expected, rtol=1e-6)


def packed(name: str, array: np.ndarray) -> np.ndarray | Packed:
    """A matrix as blocks of 32 numbers of 8 bits with a scale, another tensor as it is."""
    if array.ndim != 2:
        return array
    blocks = array.reshape(-1, 32)
    scale = (np.abs(blocks).max(-1, keepdims=True) / 127).astype("float16")
    numbers = np.round(blocks / scale.astype("float32")).astype("int8")
    return "Q8_0", array.shape, np.concatenate([scale.view("int8"), numbers], -1).tobytes()


def test_weights_stay_packed() -> None:
    n = NETWORKS["llama, one embedding"]
    tensors = {k: packed(k, a) for k, a in weights_of(n).items()}
    real = {
        k: a if isinstance(a, np.ndarray) else np.asarray(decode(memoryview(a[2]), 8, a[1])) for k, a in tensors.items()
    }
    assert FORMATS[8].name == "Q8_0"
    module, weights = irtool.from_gguf(gguf(metadata_of(n), tensors), DIMS)
    assert weights["token_embd.weight"].dtype == "int8" and weights["token_embd.weight.scale"].dtype == "float16"
    check(interpreted(module, weights, TOKENS, [11]), logits(n, real, TOKENS))
    artifact = irtool.build(module, weights)
    assert artifact.report["weight_bytes"] < sum(a.nbytes for a in weights.values()) + 8192  # tables of angles


def test_one_table_is_stored_once() -> None:
    n = NETWORKS["llama, one embedding"]
    module, weights = irtool.from_gguf(file_of(n), {"context": "<=16", "tokens": 1})
    report = irtool.build(module, weights, emit="tir").report
    assert report["weight_bytes"] < sum(a.nbytes for a in weights.values()) + 4096  # tables of angles


def test_half_weights() -> None:
    n = NETWORKS["llama"]
    halves = {k: a.astype("float16") if a.ndim == 2 else a for k, a in weights_of(n).items()}
    module, weights = irtool.from_gguf(gguf(metadata_of(n), halves), DIMS)
    check(interpreted(module, weights, TOKENS, [11]), logits(n, halves, TOKENS))


def test_half_weights_stay_halves() -> None:
    """Matrices of a network, of which those of the layers are large enough, in float16 and in bfloat16."""
    n = NETWORKS["llama, one embedding"]
    words = 4096
    for cut in (lambda a: a.astype("float16"), lambda a: (a.view("uint32") & 0xFFFF0000).view("float32")):
        table = np.random.default_rng(2).standard_normal((words, 32)).astype("float32")
        tensors = weights_of(n) | {"token_embd.weight": cut(table)}
        module, weights = irtool.from_gguf(gguf(metadata_of(n), tensors), DIMS)
        report = irtool.build(module, weights, emit="tir").report
        small = sum(a.nbytes for name, a in weights.items() if a.shape[0] != words)
        assert report["weight_bytes"] < 2 * table.size + small + 8192  # tables of angles


def refused(metadata: dict[str, Any], tensors: dict[str, Any], **dims: str) -> list[str]:
    """The messages about a file."""
    with pytest.raises(IrError) as caught:
        irtool.from_gguf(gguf(metadata, tensors), dims or DIMS)
    return [d.message for d in caught.value.diagnostics]


def test_everything_that_is_wrong_with_tensors_at_once() -> None:
    n = NETWORKS["llama"]
    tensors: dict[str, Any] = weights_of(n)
    del tensors["blk.1.attn_q.weight"]
    tensors["blk.0.ffn_up.weight"] = np.zeros((3, 32), "float32")
    tensors["output_norm.weight"] = np.zeros(32, "int32")
    tensors["blk.0.ffn_gate_inp.weight"] = np.zeros((4, 32), "float32")
    messages = refused(metadata_of(n), tensors)
    assert messages == [
        "blk.0.ffn_up.weight has the shape [3, 32], and not [64, 32]",
        "there is no tensor blk.1.attn_q.weight of the shape [32, 32]",
        "output_norm.weight is of int32, and weights are real",
        "the architecture has no place for blk.0.ffn_gate_inp.weight",
    ]


def test_everything_that_is_wrong_with_metadata_at_once() -> None:
    n = replace(
        NETWORKS["llama"],
        metadata={"attention.head_count_kv": 3, "expert_count": 8, "context_length": "long", "rope.dimension_count": 7},
    )
    metadata = metadata_of(n)
    del metadata["llama.feed_forward_length"]
    messages = refused(metadata, weights_of(n))
    assert messages == [
        "4 heads of queries cannot share 3 of keys",
        "7 of 8 elements of a head cannot turn in pairs",
        "llama.context_length is long, and not a number from 1 on",
        "the metadata have no llama.feed_forward_length",
        "llama.expert_count is 8, which no part of this architecture is known for",
    ]


def test_files_without_a_known_network() -> None:
    assert "no general.architecture" in refused({}, {})[0]
    assert refused({"general.architecture": "lama"}, {}) == ["the architecture 'lama' is unknown"]
    many = metadata_of(NETWORKS["llama"]) | {"llama.block_count": 1 << 30}
    assert "layers cannot have" in refused(many, weights_of(NETWORKS["llama"]))[0]


def test_lengths() -> None:
    data = file_of(NETWORKS["llama"])
    with pytest.raises(UsageError, match="no length contxt"):
        irtool.from_gguf(data, {"contxt": "<=8"})
    with pytest.raises(UsageError, match="grows with each step"):
        irtool.from_gguf(data, {"context": 8})
    metadata = metadata_of(NETWORKS["llama"]) | {"llama.context_length": 1 << 17}
    tensors = weights_of(NETWORKS["llama"])
    with pytest.raises(IrError, match="made for 131072 tokens, each of which takes 256 bytes"):
        irtool.from_gguf(gguf(metadata, tensors))
    assert irtool.from_gguf(gguf(metadata, tensors), {"context": "<=100"})


def test_commands(tmp_path: Path) -> None:
    path = tmp_path / "net.gguf"
    tensors = {k: packed(k, a) for k, a in weights_of(NETWORKS["llama"]).items()}
    path.write_bytes(gguf(metadata_of(NETWORKS["llama"]), tensors))
    code, out, _ = command("info", path, "--dim", "context<=16")
    assert code == 0 and "keys.0" in out and "context" in out
    code, out, err = command("import", path, "-o", tmp_path / "net.relay", "--dim", "context<=16")
    assert code == 0 and "net.npz" in out, err
    code, out, err = command("check", tmp_path / "net.relay", "--params", tmp_path / "net.npz")
    assert code == 0, err
    code, out, err = command("import", path, "--params-format", "embedded", "-o", tmp_path / "whole.relay")
    assert code == 0, err
    code, out, err = command(
        "build", path, "--emit=c", "--dim", "context<=16", "--dim", "tokens=1", "-o", tmp_path / "net.c"
    )
    assert code == 0 and "net_decode(" in (tmp_path / "net.h").read_text(), err
    path.write_bytes(path.read_bytes()[:200])
    code, out, err = command("check", path)
    assert code == 1 and "net.gguf: error" in err and "damaged" in err
    (tmp_path / "other.gguf").write_text("def @main() { 1 }")
    code, out, err = command("check", tmp_path / "other.gguf")
    assert code == 1 and "does not start with GGUF" in err


def test_networks_in_training_have_logits_behind_each_token(tmp_path: Path) -> None:
    n = NETWORKS["gemma2"]
    module, weights = irtool.from_gguf(file_of(n), {"tokens": 7}, training=True)
    rows = irtool.evaluate(module, {"ids": np.array(TOKENS[:7], "int32"), **weights})
    for k, row in enumerate(np.asarray(rows)):
        check(row, logits(n, weights_of(n), TOKENS[: k + 1]))
    for dims in ({"tokens": "<=7"}, {"context": "<=7"}):
        with pytest.raises(UsageError, match="reads whole texts"):
            irtool.from_gguf(file_of(n), dims, training=True)
    (tmp_path / "net.gguf").write_bytes(file_of(n))
    options = ("--loss", "cross_entropy", "--class-axis", "-1", "--dim", "tokens=7", "-o", tmp_path / "step.relay")
    code, _, err = command("train-step", tmp_path / "net.gguf", *options)
    assert code == 0 and "token_embd.weight" in (tmp_path / "step.relay").read_text(), err
