"""Networks whose code depends on values of inputs: these are constants of what runs, and that is said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.driver.specialize import BakedInputsWarning
from tests.command_line import irtool as run_command

OPTION = """#[version = "0.0.5"]
type Option[A] { Some(A), None, }
def @main(%c: bool, %x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  let %o: Option[Tensor[(4), float32]] = if (%c) { Some(%x) } else { None };
  match (%o) { Some(%y) => SOME, None => negative(%x) }
}
"""
KERNELS, NONE = OPTION.replace("SOME", "exp(%y)"), OPTION.replace("SOME", "%y")
EXTENTS = '#[version = "0.0.5"]\ndef @main(%s: Tensor[(1), int64], %x: Tensor[(4), float32]) { (dyn.zeros(%s, shape=None, dtype="float32"), exp(%x)) }\n'


@pytest.mark.parametrize("text", [KERNELS, EXTENTS], ids=["a constructor", "an extent"])
def test_python_says_so(text: str) -> None:
    artifact = irtool.build(irtool.parse(text))
    assert any("compiled when it runs" in w for w in artifact.report["warnings"])
    assert "compiled when it runs" in repr(artifact)
    name, value = ("%c", np.array(True)) if text is KERNELS else ("%s", np.array([3]))
    with pytest.warns(BakedInputsWarning, match=name):
        artifact.run([value, np.zeros(4, "float32")])


def test_comparisons_say_so(tmp_path: Path) -> None:
    path = tmp_path / "o.relay"
    path.write_text(KERNELS)
    np.save(tmp_path / "c.npy", np.array(True))
    code, out, err = run_command("run", str(path), "--compare", "interp,c", "--input", f"c={tmp_path / 'c.npy'}")
    assert code == 0 and "%c baked in, 1 kernel" in out and "depends on the value of %c" in err


def test_comparisons_of_nothing_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "o.relay"
    path.write_text(NONE)
    np.save(tmp_path / "c.npy", np.array(True))
    code, out, err = run_command("run", str(path), "--compare", "interp,c", "--input", f"c={tmp_path / 'c.npy'}")
    assert code == 1 and "E0602" in err and "agree" not in out
