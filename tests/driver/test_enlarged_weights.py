"""`build` says where weights that are stored transformed are much larger, and which option stores them plain."""

from __future__ import annotations

import re

import numpy as np
import pytest

import irtool
from irtool.driver.artifact import Artifact

WINOGRAD = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, CHANNELS, 20, 20), float32], %u: Tensor[(CHANNELS, CHANNELS, 3, 3), float32],
          %v: Tensor[(CHANNELS, CHANNELS, 3, 3), float32], %w: Tensor[(CHANNELS, CHANNELS, 3, 3), float32]) {
  %0 = nn.relu(nn.conv2d(%x, %u, padding=[1, 1]));
  %1 = nn.relu(nn.conv2d(%0, %v, padding=[1, 1]));
  nn.conv2d(%1, %w, padding=[1, 1])
}
"""
HALVES = """#[version = "0.0.5"]
def @main(%x: Tensor[(256, 512), float32], %w: Tensor[(512, 512), float32]) { nn.dense(nn.relu(%x), %w, units=512) }
"""


def built(text: str, target: str, **options: str) -> Artifact:
    module = irtool.infer_types(irtool.parse(text))
    shapes = {p.name: [int(n) for n in p.checked_type.shape] for p in module["main"].params if p.name != "x"}
    g = np.random.default_rng(0)
    weights = {n: g.standard_normal(s).astype("float32") for n, s in shapes.items()}
    return irtool.build(module, weights, target=target, emit="c", **options)


@pytest.mark.parametrize(
    ("text", "on", "off"),
    [
        (WINOGRAD.replace("CHANNELS", "64"), "c{winograd=4,mcpu=x86-64-v3}", "winograd=off"),
        (HALVES, "c{strassen=on,mcpu=x86-64-v3}", "strassen=off"),
    ],
    ids=["winograd", "strassen"],
)
def test_a_note_has_the_factor_and_the_flag(text: str, on: str, off: str) -> None:
    artifact = built(text, on, opt="speed")
    (note,) = (n for n in artifact.report["warnings"] if n.startswith("note: weights take"))
    assert note.endswith("--opt=balanced stores them plain, and transforms them when they are loaded")
    plain = built(text, f"c{{{off},mcpu=x86-64-v3}}")
    stored, factor, less = re.search(r"take (\d+) bytes, ([\d.]+) times the (\d+)", note).groups()
    assert int(stored) == artifact.report["weight_bytes"]
    assert int(less) == artifact.report["plain_weight_bytes"] == plain.report["weight_bytes"]
    assert float(factor) == pytest.approx(int(stored) / int(less), abs=0.051) and float(factor) > 1.25
    assert not plain.report["warnings"] and plain.report["plain_weight_bytes"] == plain.report["weight_bytes"]
    assert artifact.report["stored_weight_bytes"] == int(stored) and plain.report["stored_weight_bytes"] == int(less)


@pytest.mark.parametrize("opt", ["balanced", "size"])
def test_weights_that_are_stored_plain_are_no_note(opt: str) -> None:
    artifact = built(WINOGRAD.replace("CHANNELS", "64"), "c{winograd=4,mcpu=x86-64-v3}", opt=opt)
    assert not artifact.report["warnings"] and artifact.report["opt"] == opt
    assert (
        artifact.report["stored_weight_bytes"]
        == artifact.report["plain_weight_bytes"]
        < artifact.report["weight_bytes"]
    )


def test_weights_in_the_source_are_transformed_by_the_build() -> None:
    artifact = built(WINOGRAD.replace("CHANNELS", "64"), "c{winograd=4,mcpu=x86-64-v3}", weights="split")
    (note,) = artifact.report["warnings"]
    assert note.endswith("--opt=size does not transform them")
    assert artifact.report["stored_weight_bytes"] == artifact.report["weight_bytes"]


def test_little_more_is_no_note() -> None:
    artifact = built(WINOGRAD.replace("CHANNELS", "16"), "c{winograd=4,mcpu=x86-64-v3}")
    assert artifact.report["weight_bytes"] > artifact.report["plain_weight_bytes"] and not artifact.report["warnings"]
