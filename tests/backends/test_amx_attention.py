"""Attention of bfloat16 numbers in matrix tiles: both products, whatever the lengths, masks and places of the scores."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import irtool
from tests.backends.amx_programs import EmulatedProgram, emulated

ATTENTION = """#[version = "0.0.5"]
def @main(%q: Tensor[({n}, {rows}, {depth}), bfloat16], %k: Tensor[({n}, {keys}, {depth}), bfloat16],
          %v: Tensor[({n}, {keys}, {width}), bfloat16], %m: Tensor[({rows}, {keys}), float32]) {{
  %0 = nn.batch_matmul(%q, %k, out_dtype="float32", transpose_b=True);
  %1 = nn.softmax(add(multiply(%0, 0.3f), %m));
  nn.batch_matmul(cast(%1, dtype="bfloat16"), %v, out_dtype="float32", transpose_b=False)
}}
"""
CASES = {
    "whole tiles": (3, 128, 128, 64, 64),
    "a tail of rows and keys": (2, 37, 49, 32, 32),
    "a padded last vector": (2, 64, 197, 64, 48),
    "short sums": (1, 96, 65, 10, 16),
    "sums of several tiles": (1, 40, 300, 80, 16),
}
"""Products, rows, keys, depth of the first sums, width of the values."""


def module_of(n: int, rows: int, keys: int, depth: int, width: int) -> irtool.Module:
    return irtool.parse(ATTENTION.format(n=n, rows=rows, keys=keys, depth=depth, width=width))


def inputs_of(n: int, rows: int, keys: int, depth: int, width: int) -> dict[str, np.ndarray]:
    """A mask of minus infinity leaves each row some keys, at least the first one."""
    g = np.random.default_rng(5)
    mask = np.where(np.arange(keys) <= np.arange(rows)[:, None] % keys, 0, -np.inf).astype("float32")
    shapes = {"q": (n, rows, depth), "k": (n, keys, depth), "v": (n, keys, width)}
    return {**{x: g.standard_normal(s).astype(ml_dtypes.bfloat16) for x, s in shapes.items()}, "m": mask}


@emulated
@pytest.mark.parametrize("case", CASES)
def test_both_products_are_in_tiles(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = EmulatedProgram(module_of(*CASES[case]), tmp_path)
    (stage,) = program.stages
    assert stage["strategy"] == "attention"
    lines = [x for x in stage["primitives"] if x.startswith(("scores", "out"))]
    assert len(lines) >= 2 and all("amx_tile" in x for x in lines)
    tiles = program.check(inputs_of(*CASES[case]), monkeypatch, error=5e-3)
    assert tiles.configurations <= 2, "all blocks of full tiles have one configuration, those at the end another one"


@emulated
def test_scores_in_the_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last tile overlaps the one before, and threads share the products."""
    program = EmulatedProgram(module_of(4, 40, 300, 32, 32), tmp_path, sizes=",tiles_bytes=4096", openmp=True)
    (stage,) = program.stages
    assert "in the cache" in stage["reason"] and "words=16" in stage["primitives"][0]
    program.check(inputs_of(4, 40, 300, 32, 32), monkeypatch, error=5e-3)


@pytest.mark.parametrize(("keys", "width"), [(24, 32), (64, 8)], ids=["few keys", "narrow values"])
def test_what_fills_no_pair_of_tiles_stays_in_registers(keys: int, width: int) -> None:
    artifact = irtool.build(module_of(4, 64, keys, 32, width), mcpu="sapphirerapids", emit="c")
    lines = [x for k in artifact.report["kernels"] for s in k["stages"] for x in s["primitives"]]
    assert not any("words=16" in x for x in lines)


def test_the_words_of_a_schedule_by_hand_are_whole_vectors() -> None:
    by_hand = ".*softmax.*:\n  attention(rows=16, keys=32, lanes=16, words=16)\n"
    with pytest.raises(irtool.IrError, match="no whole groups of 16 words"):
        irtool.build(module_of(4, 64, 64, 32, 32), mcpu="sapphirerapids", emit="c", schedule=by_hand)
