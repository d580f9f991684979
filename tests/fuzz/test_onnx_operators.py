"""Operators of ONNX with random attributes: irtool agrees with one of those who say what they are, and C with the interpreter."""

from __future__ import annotations

import importlib.util
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool
from tests.fuzz.compiled import Compiled

onnx = pytest.importorskip("onnx")

from tests.fuzz.onnx_draws import Known, Node, known  # noqa: E402
from tests.fuzz.onnx_operators import (  # noqa: E402
    draw_node,
    draw_operator,
    imported,
    operators,
    run_operators,
    show,
    trial_of,
    write_operator,
)
from tests.fuzz.onnx_peers import LISTED, PEERS, by_reference, distance, listed  # noqa: E402
from tests.fuzz.onnx_rows import NOT_DRAWN, ROWS  # noqa: E402

pytestmark = pytest.mark.promise("mathematics in ONNX")
COMPILED, INTERPRETED = 32, 400


def has_runtime() -> bool:
    """Whether ONNX Runtime is here; without it, the evaluator of the `onnx` package alone does not decide."""
    return importlib.util.find_spec("onnxruntime") is not None


def test_nodes_agree_with_the_interpreter() -> None:
    if not has_runtime():
        pytest.skip("needs onnxruntime")
    outcomes = [draw_operator(seed) for seed in range(INTERPRETED)]
    failed = [(o.seed, *o.pipeline, o.message) for o in outcomes if isinstance(o, Compiled) and o.kind == "failed"]
    assert failed == []
    assert sum(not isinstance(o, Compiled) for o in outcomes) > INTERPRETED * 0.9


def test_nodes_agree_with_c() -> None:
    kinds: Counter[str] = Counter()
    for outcome in run_operators(range(1000, 1000 + COMPILED)):
        kinds[outcome.kind] += 1
        assert outcome.kind != "failed" or not has_runtime(), f"{outcome.seed}: {outcome.pipeline}: {outcome.message}"
    assert kinds["agreed"] > COMPILED * 0.8


def test_every_operator_is_drawn() -> None:
    drawn = Counter(draw_node(seed).operator for seed in range(3000))
    assert {n for n in operators() if n not in drawn} == set()
    assert not NOT_DRAWN & set(ROWS)


def test_seeds_decide() -> None:
    assert [show(draw_node(n)) for n in range(30)] == [show(draw_node(n)) for n in range(30)]


def test_a_wrong_operator_is_noticed_and_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tests.fuzz.onnx_operators.draw_node", lambda seed: Node("Relu", 14, [np.float32([1, -2])]))
    monkeypatch.setattr(irtool, "evaluate", lambda module, inputs: np.float32([1, 2]))
    outcome = draw_operator(7, ["reference"])
    assert isinstance(outcome, Compiled) and outcome.kind == "failed" and "differs at [1]" in outcome.message
    assert write_operator(outcome, tmp_path).exists()


def test_the_list_names_peers_and_operators() -> None:
    assert all(who in PEERS and name in operators() for who, name, *_ in listed())
    lines = LISTED.read_text().splitlines()
    assert lines[2:] == sorted(lines[2:])
    assert len(lines) <= 19


NODES: dict[str, tuple[Node, Any]] = {
    "a start below -n, backwards": (
        Node("Slice", 13, [np.arange(3.0), known([-5]), known([-(2**63)]), known([0]), known([-1])]),
        [0.0],
    ),
    "an end before the begin": (Node("Slice", 13, [np.arange(5.0), known([2]), known([1])]), np.zeros(0)),
    "computed bounds backwards": (
        Node("Slice", 13, [np.arange(3.0), *(np.array([n]) for n in (-5, -(2**63))), known([0]), np.array([-1])]),
        [0.0],
    ),
    "elements of shorter indices": (
        Node("GatherElements", 13, [np.arange(6.0).reshape(2, 3), np.array([[0, 2]])], {"axis": 1}),
        [[0.0, 2.0]],
    ),
    "products of no rows": (Node("MatMul", 13, [np.ones((2, 1, 0, 3)), np.ones((1, 3, 3, 2))]), np.zeros((2, 3, 0, 2))),
    "batches of none": (Node("MatMul", 13, [np.ones((0, 0, 3, 2)), np.ones((0, 0, 2, 5))]), np.zeros((0, 0, 3, 5))),
    "hardmax of nothing": (Node("Hardmax", 13, [np.zeros((3, 0))], {"axis": 1}), np.zeros((3, 0))),
    "a short last block": (
        Node(
            "DequantizeLinear",
            21,
            [np.arange(5, dtype="uint8"), known([1, 2, 4], "float32")],
            {"axis": 0, "block_size": 2},
        ),
        [0.0, 1.0, 4.0, 6.0, 16.0],
    ),
    "NaN among three": (
        Node("Max", 13, [np.array([1.0, np.nan]), np.array([2.0, 1.0]), np.array([0.0, 5.0])]),
        [2.0, np.nan],
    ),
}
"""Nodes whose results the specification gives; C gives them, too."""


@pytest.mark.parametrize("name", NODES)
def test_node(name: str) -> None:
    node, want = NODES[name]
    trial = trial_of(node)
    module, inputs = imported(trial)
    for got in (irtool.evaluate(module, inputs), irtool.build(module, cflags="-O0").run(inputs)):
        np.testing.assert_array_equal(got, want)
    if name not in ("a start below -n, backwards", "computed bounds backwards", "elements of shorter indices"):
        reference = by_reference(trial.model, trial.inputs)
        assert reference is None or not distance([np.asarray(want, reference[0].dtype)], reference, 1e-6)
    assert all(isinstance(o, np.ndarray | Known) for o in node.operands)
