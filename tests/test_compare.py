"""The side-by-side with other engines: its tables and its chart say what was measured, failures included."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from benchmarks.compare.export import NETWORKS
from benchmarks.compare.precisions import PRECISIONS
from benchmarks.compare.quantized import SAMPLES, samples
from benchmarks.compare.tables import (
    _LEFT,
    chart,
    geometric_mean,
    mean_sentence,
    ratio,
    resource_table,
    scaling_table,
    speed_table,
    values_table,
    with_mean_sentence,
    wrong_outputs,
)
from benchmarks.compare.turns import Measured, compare_outputs, settle
from benchmarks.compare.values import Agreement, agreement
from benchmarks.signals import emptiness
from irtool.viz.sizes import text_width


def measured(best: float) -> dict[str, float]:
    return {"best": best, "median": 1.5 * best, "first_seconds": 2.0, "bytes": 3e6, "memory": 4e6}


RESULTS = {
    "a": {
        "title": "Net A",
        "threads": {"1": {"irtool": measured(0.008), "onnxruntime": measured(0.010), "openvino": measured(0.016)}},
    },
    "b": {
        "title": "Net B",
        "threads": {"1": {"irtool": measured(0.2), "onnxruntime": {"error": "no"}, "openvino": measured(0.1)}},
    },
    "c": {
        "title": "Net C",
        "threads": {"1": {"irtool": {"error": "no"}, "onnxruntime": measured(1.0), "openvino": measured(1.0)}},
    },
}


def test_the_ratio_is_to_the_better_peer() -> None:
    assert ratio(RESULTS["a"]["threads"]["1"]) == 0.8
    assert ratio(RESULTS["b"]["threads"]["1"]) == 2.0
    assert ratio(RESULTS["c"]["threads"]["1"]) is None
    assert geometric_mean(RESULTS, "1") == math.sqrt(0.8 * 2.0)


def test_the_mean_becomes_the_sentence_of_the_readme() -> None:
    sentence = "The geometric mean of the ratios of 2 networks is 1.26 with 1 thread."
    assert mean_sentence(RESULTS, ["1"]) == mean_sentence(RESULTS, ["1", "2"]) == sentence
    both = {
        n: {**r, "threads": {"1": r["threads"]["1"], "2": RESULTS["a"]["threads"]["1"]}} for n, r in RESULTS.items()
    }
    longer = "The geometric mean of the ratios of 3 networks is 1.26 with 1 thread and 0.80 with 2 threads."
    assert mean_sentence(both, ["1", "2"]) == longer
    assert with_mean_sentence(f"a\n{longer}\nb\n", sentence) == f"a\n{sentence}\nb\n"
    for text in ("", f"{longer}\n{sentence}\n"):
        with pytest.raises(ValueError, match="needs one line"):
            with_mean_sentence(text, sentence)
    with pytest.raises(ValueError, match="no network has a ratio"):
        mean_sentence({"c": RESULTS["c"]}, ["1"])


def test_the_readme_has_the_means_of_the_page() -> None:
    root = Path(__file__).parents[1]
    page = (root / "docs" / "compare.md").read_text(encoding="utf-8")
    means = next(line for line in page.splitlines() if line.startswith("| geometric mean"))
    one, two = (cell for cell in means.split() if cell[0].isdigit())
    sentence = (
        f"The geometric mean of the ratios of {len(NETWORKS)} networks is {one} with 1 thread and {two} with 2 threads."
    )
    readme = (root / "README.md").read_text(encoding="utf-8")
    assert sentence in readme.splitlines() and "](docs/compare.svg)" in readme


def test_losses_and_failures_stand_in_the_table() -> None:
    lines = speed_table(RESULTS, ["1"]).splitlines()
    assert "| Net A | 8.00 (12.0) | 10.0 (15.0) | 16.0 (24.0) | 0.80 |" in lines
    assert "| Net B | 200 (300) | fails | 100 (150) | 2.00 |" in lines
    assert any(line.startswith("| Net C | fails |") for line in lines)
    assert len({line.count("|") for line in lines}) == 1
    assert len({line.count("|") for line in resource_table(RESULTS, "1").splitlines()}) == 1


def test_threads_are_counted_where_both_were_measured() -> None:
    results = {
        "a": {"title": "Net A", "threads": {"1": RESULTS["a"]["threads"]["1"], "2": {"irtool": measured(0.004)}}}
    }
    assert scaling_table(results, "1", "2").splitlines()[2:] == ["| Net A | 2.00 | – | – | – |"]  # noqa: RUF001
    results["a"]["threads"]["2"]["irtool"]["handover"] = 3.14e-8
    assert scaling_table(results, "1", "2").splitlines()[2:] == ["| Net A | 2.00 | – | – | 31 |"]  # noqa: RUF001


def test_turns_of_processors_apart_do_not_count() -> None:
    """Where every engine has others; the times of one engine together are not to be compared with those of another apart."""
    near, far = (30e-9, [1.0, 1.1]), (160e-9, [2.0])
    mixed = [Measured(turns=[near, far, near]), Measured(turns=[far, near, near, far])]
    settle(mixed)
    assert [m.times for m in mixed] == [[1.0, 1.1] * 2] * 2 and mixed[0].handover == 30e-9
    unlike = [Measured(turns=[near, near]), Measured(turns=[far, far, near])]
    settle(unlike)
    assert [len(m.times) for m in unlike] == [4, 4]
    alone = [Measured(times=[1.0])]
    settle(alone)
    assert alone[0].times == [1.0] and alone[0].handover == 0.0


def texts_of(drawing: str) -> list[str]:
    return [t.text for t in ElementTree.fromstring(drawing).iter() if t.tag.endswith("text") and t.text]


def test_the_chart_is_an_image() -> None:
    drawing = chart(RESULTS, ["1"])
    assert {"Net A", "0.80", "Net B", "2.00", "Net C", "fails"} <= set(texts_of(drawing))
    bars = [r for r in ElementTree.fromstring(drawing).iter() if r.tag.endswith("rect") and r.get("height") == "15"]
    assert [float(b.get("width", 0)) for b in bars] == [101.6, 254.0] and all(
        float(b.get("x", 0)) + float(b.get("width", 0)) <= 480 for b in bars
    )


def test_no_name_of_a_network_leaves_the_chart() -> None:
    for network in NETWORKS.values():
        assert text_width(network.title, 13) <= _LEFT - 10


def test_the_chart_in_docs_is_that_of_the_page() -> None:
    docs = Path(__file__).parents[1] / "docs"
    rows = [line.strip("| ").split(" | ") for line in (docs / "compare.md").read_text(encoding="utf-8").splitlines()]
    ratios = [cell for row in rows if len(row) == 9 and row[1][:1].isdigit() for cell in (row[4], row[8])]
    shown = [t for t in texts_of((docs / "compare.svg").read_text(encoding="utf-8")) if t[1:2] == "."]
    assert shown == ratios and len(shown) == 2 * len(NETWORKS)


@pytest.mark.promise("outputs that say something")
@pytest.mark.parametrize(
    ("output", "why"),
    [
        ([1e-23, -2e-23], "no element of the output is larger than 2.0e-23"),
        ([0.5, 0.5001], "all elements of the output are equal"),
        ([1.0, math.nan], "the output is not finite"),
        ([], "the output has no elements"),
        ([0.5, 0.6], ""),
        ([0.7], ""),
    ],
)
def test_outputs_that_say_nothing(output: list[float], why: str) -> None:
    assert emptiness(output) == why


@pytest.mark.promise("outputs that say something")
def test_no_agreement_stands_beside_an_empty_output(tmp_path: Path) -> None:
    measurements = {}
    for engine, scale in (("irtool", 1.0), ("onnxruntime", 1.0), ("openvino", 1e-9)):
        (tmp_path / engine).mkdir()
        np.save(tmp_path / engine / "output.npy", scale * np.array([1.0, 2.0]))
        measurements[engine] = Measured()
    compare_outputs(measurements, tmp_path)
    assert [bool(m.empty) for m in measurements.values()] == [False, False, True]
    assert measurements["irtool"].difference == 0.0
    engines = {e: measured(0.1) | {"empty": m.empty, "difference": m.difference} for e, m in measurements.items()}
    assert "| shows nothing |" in resource_table({"d": {"title": "D", "threads": {"1": engines}}}, "1")


@pytest.mark.promise("outputs that say something")
@pytest.mark.parametrize("difference", [0.2, 1e35, float("inf"), float("nan")])
def test_times_of_wrong_outputs_are_no_result(difference: float) -> None:
    results = {"d": {"title": "D", "threads": {"1": {"irtool": {"difference": difference}}}}}
    assert len(wrong_outputs(results, 0.1)) == 1
    for fine in (0.05, 0.0, None):
        results["d"]["threads"]["1"]["irtool"]["difference"] = fine
        assert not wrong_outputs(results, 0.1)


def test_every_precision_has_a_page_of_its_own_and_known_networks() -> None:
    assert len({p.page for p in PRECISIONS.values()}) == len(PRECISIONS)
    assert all(set(p.networks) <= set(NETWORKS) for p in PRECISIONS.values())


def test_calibration_draws_inputs_like_the_one_of_the_comparison() -> None:
    inputs = {"x": np.full((2, 3), 5.0, "float32") + np.eye(2, 3, dtype="float32"), "ids": np.arange(8)}
    drawn = list(samples(inputs))
    assert len(drawn) == SAMPLES and drawn[0] is inputs
    for one, again in zip(drawn, samples(inputs), strict=True):
        for name, array in inputs.items():
            assert (one[name].dtype, one[name].shape) == (array.dtype, array.shape)
            assert np.array_equal(one[name], again[name])
        assert 3 < one["x"].mean() < 8 and 0 <= one["ids"].min() <= one["ids"].max() <= 7
    assert not np.array_equal(drawn[1]["x"], drawn[2]["x"])


def test_quantized_outputs_are_compared_in_steps_with_what_the_file_says(tmp_path: Path) -> None:
    outputs = {
        "irtool": [0.5, 1.02, 2.5, -3.0],
        "onnxruntime": [0.5, 1.0, 2.0, -3.0],
        "openvino": [0.5, 1.0, 1.75, -3.0],
    }
    measurements = {}
    for engine, output in outputs.items():
        (tmp_path / engine).mkdir()
        np.save(tmp_path / engine / "output.npy", np.array(output))
        measurements[engine] = Measured()
    compare_outputs(measurements, tmp_path, step=0.25, reference=np.array([0.5, 1.0, 1.75, -3.0]))
    assert [(m.equal, m.steps) for m in measurements.values()] == [(0.75, 3), (0.75, 1), (1.0, 0)]
    assert [(m.alike, m.apart) for m in measurements.values()] == [(0.75, 2), (1.0, 0), (0.75, 1)]
    engines = {e: measured(0.1) | asdict(m) | {"times": []} for e, m in measurements.items()}
    layers = {
        "irtool": {"tensors": 7, "values": 100_000, "equal": 0.9999999, "steps": 1},
        "onnxruntime": {"tensors": 7, "values": 100_000, "equal": 1.0, "steps": 0},
    }
    results = {"d": {"title": "D", "threads": {"1": engines}, "layers": layers}}
    row = "| D | 4 | 75.0 %, 3 away | 75.0 %, 2 away | 75.0 %, 1 away | 7 | 100,000 | 99.9999 %, 1 away | all |"
    assert row in values_table(results, "1").splitlines()
    assert len({line.count("|") for line in values_table(results, "1").splitlines()}) == 1
    assert "| 2e-01 |" in resource_table(results, "1")


def test_agreement_counts_values_that_differ() -> None:
    expected = {"a": np.array([0, 255, 7], "uint8"), "b": np.array([[-128, 127]], "int8")}
    same = agreement(list(expected.values()), expected)
    assert (same.equal, same.steps, same.worst) == (1.0, 0, "")
    other = agreement([np.array([0, 0, 7], "uint8"), np.array([[-127, 127]], "int8")], expected)
    assert other == Agreement(2, 5, 2, 255, "b: 50.000 %") and other.equal == 0.6


def test_memory_is_that_of_the_process_alone() -> None:
    """A process that needs little is not charged what the one that started it had."""
    block = bytearray(b"1") * (400 << 20)
    code = "import json; from benchmarks.compare.worker import peak_memory; print(json.dumps(peak_memory()))"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 1 << 20 < json.loads(process.stdout) < len(block)
