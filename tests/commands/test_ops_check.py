"""`irtool ops --check`: the cases of operators are run, and what does not hold is said."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import irtool

pytestmark = pytest.mark.promise("operator cases")

FILE = """
from dataclasses import dataclass
import numpy as np
from irtool import te
from irtool.ops import Operator, Pattern, operator
from irtool.ops.relations import identity


@operator("my.twice", "data", pattern=Pattern.ELEMWISE)
@dataclass(frozen=True)
class Twice(Operator):
    '''Twice each element.'''

    CASES

    def relate(self, types, reporter):
        return identity(types, reporter)

    def evaluate(self, data):
        return data + data

    def compute(self, inputs, out_type):
        (x,) = inputs
        return te.compute(x.shape, lambda *i: x[i] * 3, tag="elemwise")
"""


def check(folder: Path, cases: str) -> tuple[int, str, str]:
    path = folder / "twice.py"
    path.write_text(FILE.replace("CASES", cases), encoding="utf-8")
    words = [sys.executable, "-m", "irtool", "ops", "--load", str(path), "my.twice", "--check"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_the_cases_of_an_operator() -> None:
    code, out, _ = irtool("ops", "clip", "--check")
    assert code == 0 and out.endswith("cases hold\n")
    assert "cases:\n  %x: " in irtool("ops", "clip")[1]
    assert "more in conv.cases" in irtool("ops", "nn.conv2d")[1]


def test_what_c_gives_is_compared(tmp_path: Path) -> None:
    code, out, err = check(tmp_path, 'cases = "%x: Tensor[(2), int32] = [1, 2] | my.twice(%x) == [2, 4]"')
    assert (code, err) == (1, "")
    assert "the cases of my.twice: C gives [3, 6], the interpreter [2, 4]\n  %x: " in out
    assert out.endswith("0 of 1 cases hold\n")


@pytest.mark.parametrize(
    ("cases", "words"),
    [
        ("", "my.twice has no cases"),
        ('cases = "my.twice(%x)"', "a case is written as PARAMETERS | CALL"),
        ('cases = "%x: float32 | nn.relu(%x)"', "this is a call of nn.relu"),
    ],
)
def test_no_cases_and_wrong_ones(cases: str, words: str, tmp_path: Path) -> None:
    code, _, err = check(tmp_path, cases)
    assert code == 1 and words in err, err


def test_a_list_since_a_version_is_not_checked() -> None:
    assert irtool("ops", "--check", "--since", "0.12")[0] == 2
