"""Passes keep no lists of operators: what they need to know of one is a fact in its class, or a rule filed under its name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from irtool.ops import operators

pytestmark = pytest.mark.promise("operator facts")

ROOT = Path(__file__).parents[2] / "irtool"
ROOMS = ("passes", "infer", "driver", "commands", "relay")
NAMES = {cls.name for cls in operators}

MEANT = {
    "passes/auto_quantization/annotation.py": "the rules of TVM's quantizer, which are closures over its counters",
    "passes/auto_quantization/partition.py": "the rules of TVM's quantizer, which are closures over its options",
    "passes/auto_quantization/realization.py": "the rules of TVM's quantizer, which are closures over its options",
    "passes/qdq_insertion/operator_roles.py": "what a quantized layer is made of: the choice of the pass",
    "passes/qdq_insertion/same_layers.py": "the forms that quantized layers are written in: the choice of the pass",
    "passes/dataflow/matching.py": "add and multiply commute, as TVM's matcher has it",
    "passes/dataflow/screening.py": "products and quotients match each other, as TVM's matcher has it",
    "passes/flatten_atrous_conv.py": "the pattern of the pass: convolutions between space_to_batch_nd and batch_to_space_nd",
    "passes/gradients/scatter.py": "the reductions of scatters, two of which have the names of operators",
    "passes/lazy_gradient_init.py": "the functions of its library of GradCells",
    "passes/simplify/arithmetic.py": "the identities that the pass is made of",
    "passes/simplify/clips.py": "the layers of bytes behind which libraries look for a clip",
    "passes/simplify_expr.py": "the identities that the pass is made of",
    "passes/partition/libraries/arm_compute_lib.py": "what a library takes is a fact of the library",
    "passes/partition/libraries/bnns.py": "what a library takes is a fact of the library",
    "passes/partition/libraries/clml.py": "what a library takes is a fact of the library",
    "passes/partition/libraries/cutlass.py": "what a library takes is a fact of the library",
    "relay/special.py": "operators whose functions in Python take other arguments",
}
"""Files with a display of operators' names that is a rule of the file itself, and why."""


def lists(path: Path) -> Iterator[ast.AST]:
    """Sets, lists, tuples and dictionaries of operators' names, those of decorators that file a rule left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Set | ast.List | ast.Tuple | ast.Dict):
            values = node.keys if isinstance(node, ast.Dict) else node.elts
            names = [v.value for v in values if isinstance(v, ast.Constant) and v.value in NAMES]
            if len(names) > 1 or (names and isinstance(node, ast.Dict)):
                yield node


def test_no_pass_lists_operators() -> None:
    paths = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
    lines = {str(p.relative_to(ROOT)): node.lineno for p in paths for node in lists(p)}  # type: ignore[attr-defined]
    new = {file: line for file, line in lines.items() if file not in MEANT}
    assert not new, "make it a fact (irtool/ops/facts.py) or a rule filed by name (irtool/passes/rules.py)"
    assert set(MEANT) <= set(lines), "take what has no list any more out of MEANT"


def test_a_list_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "listing.py"
    path.write_text(
        'FEW = {"nn.conv2d": 1}\nMANY = ("nn.dense", "nn.relu")\nwords = ("one", "two")\nadd("nn.relu", "exp")\n'
    )
    assert [node.lineno for node in lists(path)] == [1, 2]  # type: ignore[attr-defined]
