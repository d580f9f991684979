"""NaN and infinity among weights: one line a weight, whatever is done with the network; masks are none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.ir import Constant, Function
from irtool.ir.odd_weights import odd_weights
from tests.command_line import irtool as invoke

pytestmark = pytest.mark.promise("NaN and overflow")
TEXT = "def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) { nn.dense(%x, %w, units=None) }"


@pytest.mark.parametrize("command", [["run"], ["check"], ["build", "--emit=c", "-o", "out"]])
def test_commands_name_the_weight(command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    weights = np.ones((4, 3), "float32")
    weights[1, 2], weights[0, 0] = np.nan, np.inf
    np.savez("w.npz", w=weights)
    Path("net.relay").write_text(TEXT)
    code, _, err = invoke(*command, "net.relay", "--params", "w.npz")
    assert code == 0
    assert err.count("warning[W0201]: the weight w holds 1 NaN and 1 infinity among 12 elements") == 1
    np.savez("w.npz", w=np.ones((4, 3), "float32"))
    assert "holds" not in invoke(*command, "net.relay", "--params", "w.npz")[2]


@pytest.mark.parametrize(
    "values, numbers",
    [
        ([1.0, np.nan], "1 NaN among 2 elements"),
        ([1.0, -np.inf, np.inf], "2 infinities among 3 elements"),
        ([np.nan], "1 NaN among 1 element"),
        ([0.0, -np.inf], ""),
        (-np.inf, ""),
        ([1.0, 2.0], ""),
    ],
)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_constants_and_masks(values: object, numbers: str, dtype: str) -> None:
    data = np.array(values, dtype)
    module = irtool.Module({"main": Function((), Constant(data, dtype))})
    messages = [d.message for d in odd_weights(module, {})]
    assert len(messages) == bool(numbers) and all(m.endswith(f"holds {numbers}") for m in messages)
