"""Networks whose code depends on values of inputs: these are constants of what runs, and that is said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.driver.specialize import BakedInputsWarning
from tests.command_line import irtool as run_command

EXTENTS = '#[version = "0.0.5"]\ndef @main(%s: Tensor[(1), int64], %x: Tensor[(4), float32]) { (dyn.zeros(%s, shape=None, dtype="float32"), exp(%x)) }\n'


def test_python_says_so() -> None:
    artifact = irtool.build(irtool.parse(EXTENTS))
    assert any("compiled when it runs" in w for w in artifact.report["warnings"])
    assert "compiled when it runs" in repr(artifact)
    with pytest.warns(BakedInputsWarning, match="%s"):
        artifact.run([np.array([3]), np.zeros(4, "float32")])


def test_comparisons_say_so(tmp_path: Path) -> None:
    path = tmp_path / "o.relay"
    path.write_text(EXTENTS)
    np.save(tmp_path / "s.npy", np.array([3]))
    code, out, err = run_command("run", str(path), "--compare", "interp,c", "--input", f"s={tmp_path / 's.npy'}")
    assert code == 0 and "%s baked in" in out and "depends on the value of %s" in err


def test_comparisons_of_nothing_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "o.relay"
    path.write_text(
        '#[version = "0.0.5"]\ndef @main(%x: Tensor[(1, 1, 2, 2), float32], %s: float32) '
        "{ dyn.nn.upsampling(%x, %s, %s, scale_h=0f, scale_w=0f) }\n"
    )
    np.save(tmp_path / "s.npy", np.array(2, "float32"))
    code, out, err = run_command("run", str(path), "--compare", "interp,c", "--input", f"s={tmp_path / 's.npy'}")
    assert code == 1 and "E0601" in err and "agree" not in out
