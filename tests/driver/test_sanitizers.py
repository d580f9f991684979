"""Generated C under the address and undefined-behaviour sanitizers, in a workspace full of NaN.

Many networks go into one program: each runs in its own workspace, then in one painted with 0xff bytes, and both outputs must
be the same.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.interp.random_inputs import random_inputs
from irtool.ir import TensorType
from tests.driver.sanitizers import run_all
from tests.pages import Recorder

ROOT = Path(__file__).parent.parent.parent
CORPUS = ROOT.parent / "shared" / "corpus" / "run.jsonl.gz"
CASES = 200
CHUNK = 25


@pytest.mark.parametrize("vector", [True, False], ids=["vector", "scalar"])
def test_samples(vector: bool, tmp_path: Path) -> None:
    cases = []
    for sample in sorted((ROOT / "samples").glob("*.relay")):
        module = irtool.parse(sample.read_text())
        if "@main" not in sample.read_text() or "meta[" in sample.read_text():
            continue
        if not all(isinstance(p.type_annotation, TensorType) for p in module["main"].params):
            continue  # values of data types have tests with sanitizers of their own
        inputs = random_inputs(module["main"], 1)
        cases.append((module, inputs))
    assert run_all(cases, tmp_path, vector) >= 5


def corpus() -> list[dict[str, Any]]:
    if not CORPUS.exists():
        return []
    with gzip.open(CORPUS, "rt", encoding="utf-8") as lines:
        cases = [json.loads(line) for line in lines]
    plain = [
        c for c in cases if all("data" in i for i in c["inputs"]) and c["entry"] == "main" and "?" not in source(c)
    ]
    return plain[:: max(1, len(plain) // (CASES + 40))]


def source(case: dict[str, Any]) -> str:
    return case.get("text") or case.get("source") or ""


@pytest.mark.robustness("sanitized")
@pytest.mark.skipif(not CORPUS.exists(), reason="no corpus of cases here")
@pytest.mark.parametrize("chunk", range((CASES + 40) // CHUNK))
def test_cases(chunk: int, tmp_path: Path, record_property: Recorder) -> None:
    cases = []
    for case in corpus()[chunk * CHUNK : (chunk + 1) * CHUNK]:
        inputs = [
            np.array(i["data"]).astype(i["dtype"]).reshape(i["shape"])
            for i in case["inputs"]
            if i["dtype"] != "bfloat16"
        ]
        if len(inputs) == len(case["inputs"]):
            cases.append((irtool.parse(source(case)), inputs))
    run = run_all(cases, tmp_path, vector=chunk % 2 == 0)
    record_property("inputs", run)
    assert run >= len(cases) * 0.8
