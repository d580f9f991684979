"""`run --per-layer`: the first layer that differs, by its name and place."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.command_line import irtool

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 8), float32], %w: Tensor[(8, 8), float32]) {
  %0 = nn.dense(%x, %w, units=8);
  let %a = nn.relu(%0);
  %1 = wrong.twice(%a);
  (exp(%1), split(%a, indices_or_sections=2, axis=1))
}
"""
OPERATOR = '''
from dataclasses import dataclass
from irtool import te
from irtool.ops import Operator, Pattern, operator
from irtool.ops.relations import identity

@operator("wrong.twice", "data", pattern=Pattern.ELEMWISE)
@dataclass(frozen=True)
class Twice(Operator):
    """Twice the argument, and in C three times."""

    precision = "follow"

    def relate(self, types, reporter):
        return identity(types, reporter)

    def evaluate(self, x):
        return 2 * x

    def compute(self, inputs, out_type):
        (x,) = inputs
        return te.compute(x.shape, lambda *i: x[i] * FACTOR, name="twice", tag="elemwise")
'''

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")


def run(tmp_path: Path, factor: str, *options: str) -> tuple[int, str, str]:
    (tmp_path / "net.relay").write_text(TEXT)
    (tmp_path / "wrong.py").write_text(OPERATOR.replace("FACTOR", factor))
    line = ("run", "-q", "--load", tmp_path / "wrong.py", tmp_path / "net.relay", "--per-layer")
    return irtool(*line, *(options or ("--compare", "interp,c")))


def test_the_first_layer_that_differs(tmp_path: Path) -> None:
    code, out, err = run(tmp_path, "3.0")
    assert code == 1, err
    assert out.startswith("layer 3 of 5, wrong.twice at ") and "net.relay:5:8: interp and c differ by " in out
    assert "\ninterp and c differ: " in out


def test_all_layers_agree(tmp_path: Path) -> None:
    code, out, err = run(tmp_path, "2.0")
    assert (code, out) == (0, "interp and c: 5 of 5 layers agree\ninterp and c agree\n"), err
    code, out, _ = run(tmp_path, "2.0", "--compare", "interp,c,c{vector=none}")
    assert code == 0 and out.count("5 of 5 layers agree") == 2


def test_what_it_needs(tmp_path: Path) -> None:
    code, _, err = run(tmp_path, "2.0", "--via", "c")
    assert code == 2 and "--per-layer compares two ways of running" in err
    text = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(3), float32], %h: Tensor[(3), float32]) { let %n = add(%x, %h); (%n, %n) }\n'
    (tmp_path / "state.relay").write_text(text)
    code, _, err = irtool("run", tmp_path / "state.relay", "--state", "h=out1", "--compare", "interp,c", "--per-layer")
    assert code == 2 and "this network has states" in err
    (tmp_path / "id.relay").write_text('#[version = "0.0.5"]\ndef @main(%x: Tensor[(3), float32]) { %x }\n')
    code, out, _ = irtool("run", "-q", tmp_path / "id.relay", "--compare", "interp,c", "--per-layer")
    assert code == 0 and "there are no layers to compare" in out
