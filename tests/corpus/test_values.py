"""Passes keep values: programs of the corpus give the same results before a pass and after it, on the recorded inputs."""

from __future__ import annotations

import gzip
import json
from functools import cache
from typing import Any

import pytest

import irtool
from irtool.diagnostics import InternalError, IrError
from irtool.passes.core.base import passes
from irtool.passes.instruments.values import difference
from tests.corpus.scorer import CORPUS, scorer

pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="no corpus beside the checkout")

EVERY = 9
"""Every which case is taken."""

OPTIONS: dict[str, dict[str, Any]] = {
    "AnnotateTarget": {"targets": ["dnnl"]},
    "ConvertLayout": {"desired_layouts": {"nn.conv2d": ["NHWC", "default"]}},
    "EtaExpand": {"expand_global_var": True, "expand_constructor": True},
    "MergeComposite": {"pattern_table": "dnnl"},
    "SplitArgs": {"max_function_args": 4},
}
NOT_COMPARED = {
    "Conv2dToSparse": "needs weights in a sparse form",
    "Conv2dToSparse2": "needs weights in a sparse form",
    "DenseToSparse": "needs weights in a sparse form",
    "SimplifyFCTranspose": "needs weights of a given name",
    "DecomposeOpsForTraining": "computes other statistics, by definition",
    "MutateOpsForTraining": "computes other statistics, by definition",
    "Defunctionalization": "starts from @main and drops other functions",
    "FakeQuantizationToInteger": "rounds elsewhere, by definition",
    "FirstOrderGradient": "returns gradients too",
    "Gradient": "returns gradients too",
    "InlineCompilerFunctionsBoundTo": "needs functions of a given name",
    "LazyGradientInit": "takes and returns GradCells within",
    "LowerTE": "its result is not for the interpreter",
    "LowerTensorExpr": "its result is not for the interpreter",
    "ManifestLifetimes": "takes programs in another form",
    "MarkCompilerFunctionsAsExtern": "removes bodies",
    "MergeCompilerRegions": "takes annotated programs",
    "OutlineCompilerFunctionsWithExistingGlobalSymbols": "takes partitioned programs",
    "PartitionGraph": "takes annotated programs",
    "ToCPS": "functions take a continuation",
    "ToGraphNormalForm": "moves effects, as TVM does",
    "ToMixedPrecision": "computes in 16 bits",
    "UnCPS": "takes programs in continuation-passing style",
}
OTHER_INPUTS = {p.name for p in passes if p.changes == "interface"}
PASSES = [*sorted({p.name for p in passes} - set(NOT_COMPARED) - OTHER_INPUTS), "default<O3>"]
TOLERANCE = {p.name: p.tolerance for p in passes if p.changes == "approximation"}
"""Relative and absolute, for floating-point results; 1e-3 where nothing is said: sums may be taken in another order."""


@cache
def programs() -> list[tuple[str, irtool.Module, str, list[Any], Any]]:
    """Name, module, entry, inputs and results of deterministic programs."""
    examples = []
    with gzip.open(CORPUS / "run.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in list(lines)[::EVERY]:
            case = json.loads(line)
            inputs = [scorer().tensor(v) for v in case["inputs"]]
            entry = case.get("entry", "main")
            if "random" in case["source"]:
                continue
            try:
                module = irtool.parse(case["source"])
                examples.append((case["id"], module, entry, inputs, irtool.evaluate(module, inputs, entry=entry)))
            except IrError:
                continue  # listed in known_failures.txt
    return examples


@pytest.mark.parametrize("name", PASSES)
def test_results_stay(name: str) -> None:
    wrong = []
    tolerance = TOLERANCE.get(name, 1e-3)
    for case, module, entry, inputs, want in programs():
        chosen = name if "<" in name else [(name, OPTIONS.get(name, {}))]
        try:
            after = irtool.run_passes(module, chosen, opt_level=3, target="llvm -mcpu=skylake-avx512")
        except InternalError as error:
            wrong.append(f"{case}: {error}")
            continue
        except IrError:
            continue  # refused, with a reason
        if after is module:
            continue
        problem = difference(want, irtool.evaluate(after, inputs, entry=entry), tolerance, tolerance)
        if problem:
            wrong.append(f"{case}: {problem}")
    assert len(programs()) > 50
    assert not wrong, "\n".join(wrong)
