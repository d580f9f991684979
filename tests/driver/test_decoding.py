"""`NAME_prefill`, `NAME_decode` and `NAME_rewind` of networks that read tokens, in C: the bits of single steps, and errors that lose nothing."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError, UsageError
from irtool.driver.artifact import Artifact
from tests.driver.programs import STRICT, compile_c, parse, run

pytestmark = pytest.mark.promise("growing states")

needs_clang = pytest.mark.skipif(shutil.which("clang") is None, reason="no clang")
TARGETS = ["c", pytest.param("llvm", marks=needs_clang)]
CAPACITY = 12

TEXT = """#[version = "0.0.5"]
def @main(%tokens: Tensor[(?), TYPE], %past: Tensor[(?, 4), float32], %table: Tensor[(9, 4), float32]) {
  %0 = take(%table, %tokens, axis=0);
  %1 = concatenate((%past, %0), axis=0);
  (RESULT, %1)
}"""
TABLE = np.random.RandomState(1).randn(9, 4).astype("float32")

PROGRAM = """#include "net.h"
#include <stdio.h>
#include <string.h>

static struct net_net net;
static float scores[4], others[4];
static const TYPE tokens[] = {3, 1, 4, 1, 5, 2, 6, 5, 3, 5, 8, 7};

static int differ(void) { return memcmp(scores, others, sizeof scores) != 0; }

int main(void) {
  int k;
  if (net_init(&net) || net_prefill(&net, 7, tokens, scores)) return 1;
  if (net_rewind(&net, 0)) return 2;
  for (k = 0; k < 7; ++k)
    if (net_decode(&net, tokens[k], others)) return 3;
  if (differ() || net.past != 7) return 4;
  if (net_prefill(&net, 5, tokens + 7, scores) || net.past != 12) return 5;
  memcpy(others, scores, sizeof scores);
  if (net_decode(&net, 1, scores) != NET_STATE_FULL || net_prefill(&net, 1, tokens, scores) != NET_STATE_FULL) return 6;
  if (differ() || net.past != 12) return 7;
  if (net_rewind(&net, 13) != NET_OUT_OF_BOUNDS || net_rewind(&net, -1) != NET_OUT_OF_BOUNDS || net.past != 12) return 8;
  if (net_rewind(&net, 9)) return 9;
  if (net_prefill(&net, 4, tokens, others) != NET_STATE_FULL || net.past != 9 || net_prefill(&net, 0, tokens, others) != NET_OUT_OF_BOUNDS) return 10;
  if (net_prefill(&net, 3, tokens + 9, others) || differ()) return 11;
  if (net_rewind(&net, 9)) return 12;
  for (k = 0; k < 3; ++k) {
    TYPE wrong[] = {3, 1, 2};
    wrong[k] = k == 1 ? (TYPE)-1 : 9;
    if (net_prefill(&net, 3, wrong, scores) != NET_NO_SUCH_TOKEN || net_decode(&net, wrong[k], scores) != NET_NO_SUCH_TOKEN) return 13;
    if (net.past != 9 || differ()) return 14;
  }
  if (net_decode(&net, 8, others)) return 15;
  for (k = 0; k < 4; ++k) printf("%.9g\\n", scores[k]);
  return 0;
}
"""


def built(target: str, folder: Path, dtype: str, length: str, result: str = "sum(tanh(%1), axis=[0])") -> Artifact:
    module = parse(TEXT.replace("TYPE", dtype).replace("RESULT", result))
    shapes: dict[str, Any] = {"tokens": (length,) if length != "1" else (1,), "past": (f"past<={CAPACITY}", 4)}
    options: dict[str, Any] = {"states": {"past": "out1"}, "name": "net", "weights": "inline", "out_dir": folder}
    return irtool.build(module, {"table": TABLE}, target=target, shapes=shapes, **options)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("dtype", "length"), [("int64", "n<=3"), ("int32", "n<=3"), ("int64", "1"), ("uint8", "n<=3"), ("int16", "n<=3")]
)
def test_tokens_are_read_in_steps_of_any_number(dtype: str, length: str, target: str, tmp_path: Path) -> None:
    built(target, tmp_path, dtype, length)
    (tmp_path / "main.c").write_text(PROGRAM.replace("TYPE", f"{dtype}_t"))
    flags = [*STRICT, f"-Wl,-rpath,{tmp_path}"]
    done = run(compile_c(tmp_path, "main", "main.c", "net.so", flags=flags))
    assert done.returncode == 0, done.returncode
    rows = np.tanh(TABLE[[3, 1, 4, 1, 5, 2, 6, 5, 3, 5, 8, 7]]).sum(0)
    np.testing.assert_allclose([float(x) for x in done.stdout.split()], rows, rtol=1e-5)


def test_other_steps_have_what_fits_them(tmp_path: Path) -> None:
    built("c", tmp_path, "int64", "n<=3", "tanh(%1)")
    header = (tmp_path / "net.h").read_text()
    assert "net_rewind(" in header and "net_prefill(" not in header  # the scores have a row for each token
    module = parse("def @main(%x: Tensor[(2), int64], %h: Tensor[(2), int64]) { %0 = add(%x, %h); (%0, %0) }")
    irtool.build(module, states={"h": "out1"}, name="net", out_dir=tmp_path / "other")
    assert "rewind" not in (tmp_path / "other" / "net.h").read_text()


def test_instances_forget_rows(tmp_path: Path) -> None:
    net = built("c", tmp_path, "int64", "n<=3").instance()
    net.step([np.array([3, 1, 4])])
    expected = net.step([np.array([1, 5])])
    net.rewind(3)
    np.testing.assert_array_equal(net.step([np.array([1, 5])]), expected)
    for position in (6, -1):
        with pytest.raises(IrError, match="there are 5 rows"):
            net.rewind(position)
    net.rewind(0)
    net.step([np.array([3, 1, 4])])
    np.testing.assert_array_equal(net.step([np.array([1, 5])]), expected)
    module = parse("def @main(%x: Tensor[(2), float32], %h: Tensor[(2), float32]) { %0 = add(%x, %h); (%0, %0) }")
    with pytest.raises(UsageError, match="not only rows"):
        irtool.build(module, states={"h": "out1"}).instance().rewind(0)
