"""`irtool opt --bisect`: the first pass that changes results, and the smallest module on which it does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from irtool.plugin.loading import plugins_kept
from tests.command_line import irtool

PASS = '''"""A pass that computes something else."""
from dataclasses import dataclass
from irtool import relay
from irtool.ir import Call, rewrite
from irtool.ops import call
from irtool.passes import FunctionPass, register_pass

@register_pass("Wrong")
@dataclass(frozen=True)
class Wrong(FunctionPass):
    """Takes sigmoid for tanh."""

    def transform(self, function, module, context):
        def leave(old, new):
            return call("tanh", *new.args) if getattr(getattr(new, "op", None), "name", "") == "sigmoid" else new

        return rewrite(function, leave)
'''
NET = """#[version = "0.0.5"]
def @main(%x: Tensor[(4, 16), float32], %w: Tensor[(16), float32]) {
  let %a = nn.relu(add(exp(%x), %w));
  multiply(sigmoid(%a), log(%a))
}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "net.relay").write_text(NET)
    (tmp_path / "wrong.py").write_text(PASS.replace("from irtool import relay\n", ""))
    monkeypatch.chdir(tmp_path)
    with plugins_kept():
        yield tmp_path


@pytest.mark.parametrize("has_inputs", [False, True])
def test_the_pass_and_the_smallest_expression_are_shown(has_inputs: bool, folder: Path) -> None:
    np.savez("in.npz", w=np.full(16, 0.25, "float32"))
    words = [
        "--load=wrong.py",
        "-p",
        "ToGraphNormalForm,Wrong,FoldConstant",
        *(["--inputs=in.npz"] if has_inputs else []),
    ]
    code, out, err = irtool("opt", "--bisect", "net.relay", *words)
    assert code == 1, err
    first, second, *rest = out.splitlines()
    assert first.startswith("pass Wrong changes the results of @main: result differs by up to ")
    assert second == "the smallest module on which Wrong does so:"
    text = "\n".join(rest)
    assert text.count("sigmoid(") == 1 and not any(word in text for word in ("exp(", "log(", "relu(", "add(", "let "))
    before, after = (line for line in rest if line.startswith(("before: ", "after: ")))
    x = float(next(line for line in rest if line.startswith("%")).split()[-1])
    assert float(before.split()[-1]) == pytest.approx(1 / (1 + np.exp(-x)), rel=1e-4)
    assert float(after.split()[-1]) == pytest.approx(np.tanh(x), rel=1e-4)


def test_passes_that_keep_results(folder: Path) -> None:
    assert irtool("opt", "--bisect", "-O3", "net.relay")[:2] == (0, "no pass changes the results\n")
    assert irtool("opt", "--bisect", "-p", "FastMath", "net.relay", "-o", "out.txt")[:2] == (0, "")
    assert Path("out.txt").read_text() == "no pass changes the results\n"
    assert irtool("opt", "--bisect", "-p", "FastMat", "net.relay")[0] == 2
    assert irtool("opt", "--bisect", "no.relay")[0] == 1
