"""Limits of the workspace of training steps: values are computed again, to the same bits."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.diagnostics import UsageError
from irtool.training import TrainOptions, TrainStep, train_step
from tests.command_line import irtool as irtool_command

from .networks import network

LAYERS = 6


def convolutions() -> str:
    """Convolutions of 8 channels on images of 16 x 16, each with a softmax, which a kernel of its own computes."""
    weights = ", ".join(f"%w{n}: Tensor[(8, 8, 3, 3), float32]" for n in range(LAYERS))
    lines = [
        f"  %{2 * n} = nn.conv2d({f'%{2 * n - 1}' if n else '%x'}, %w{n}, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3]);\n"
        f"  %{2 * n + 1} = nn.softmax(%{2 * n}, axis=1);"
        for n in range(LAYERS)
    ]
    body = "\n".join(lines)
    return f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(2, 8, 16, 16), float32], {weights}) {{\n{body}\n  %{2 * LAYERS - 1}\n}}\n'


def step_of(limit: int | None) -> TrainStep:
    module, weights, _ = network(convolutions())
    return train_step(module, weights, TrainOptions(loss="mse", learning_rate=10.0, ram_limit=limit))


@pytest.mark.parametrize("share", [0.9, 0.75])
def test_a_step_within_a_limit_gives_the_same_bits(share: float) -> None:
    free = step_of(None)
    plain = irtool.build(free.module, free.params, name="net")
    assert plain.report["recomputed"] == []
    limit = int(share * plain.report["arena_bytes"])
    step = step_of(limit)
    limited = irtool.build(step.module, step.params, name="net")
    assert limited.report["arena_bytes"] <= limit
    again = limited.report["recomputed"]
    assert again and limited.report["macs"] == plain.report["macs"] + sum(r["macs"] for r in again)
    x = np.random.default_rng(1).standard_normal((2, 8, 16, 16)).astype("float32")
    target = np.zeros_like(x)
    instances = [plain.instance(), limited.instance()]
    for _ in range(3):
        losses = [np.asarray(i.step([x, target])) for i in instances]
        np.testing.assert_array_equal(*losses)
    values = [i.values() for i in instances]
    for name, value in values[0].items():
        np.testing.assert_array_equal(value, values[1][name])
    assert not np.array_equal(values[0]["w0"], step.params["w0"])


def test_a_limit_that_cannot_be_met_says_by_how_much() -> None:
    step = step_of(1000)
    with pytest.raises(
        irtool.IrError, match=r"at most, and takes \d+, with \d+ values computed again: \d+ bytes too many"
    ) as e:
        irtool.build(step.module, step.params, name="net")
    assert e.value.diagnostics[0].code is not None and e.value.diagnostics[0].code.name == "E0606"


def test_a_negative_limit_is_refused() -> None:
    with pytest.raises(UsageError, match="number of bytes, not -1"):
        step_of(-1)


def test_the_command_prints_the_plan_or_the_excess(tmp_path: Path) -> None:
    source, weights = tmp_path / "net.relay", tmp_path / "net.npz"
    source.write_text(convolutions())
    np.savez(weights, **network(convolutions())[1])
    common = ["train-step", str(source), "--params", str(weights), "--loss", "mse", "-o", str(tmp_path / "step.relay")]
    code, out, err = irtool_command(*common, "--ram-limit", "1G", "--json")
    assert code == 0, err
    largest = json.loads(out)["workspace"]["bytes"]
    assert json.loads(out)["workspace"]["recomputed"] == []
    code, out, err = irtool_command(*common, "--ram-limit", str(int(0.9 * largest)))
    assert code == 0, err
    assert "computed again, which takes" in out and "multiply-adds more (" in out
    assert "ram_limit=" in (tmp_path / "step.relay").read_text()
    (tmp_path / "step.relay").unlink()
    code, out, err = irtool_command(*common, "--ram-limit", "1K")
    assert code == 1 and "bytes too many" in err
    assert not (tmp_path / "step.relay").exists()
    code, _, err = irtool_command(*common, "--ram-limit", "much")
    assert code == 2 and "is not a size" in err


def normalised_layers(channels: int = 48, layers: int = 6) -> str:
    """Convolutions, each with its channels' means taken off, and a ReLU."""
    weights = ", ".join(f"%w{n}: Tensor[({channels}, {channels}, 3, 3), float32]" for n in range(layers))
    lines = []
    for n in range(layers):
        x = f"%{4 * n - 1}" if n else "%x"
        lines += [
            f"  %{4 * n} = nn.conv2d({x}, %w{n}, padding=[1, 1, 1, 1], channels={channels}, kernel_size=[3, 3]);",
            f"  %{4 * n + 1} = mean(%{4 * n}, axis=[0, 2, 3], keepdims=True);",
            f"  %{4 * n + 2} = subtract(%{4 * n}, %{4 * n + 1});",
            f"  %{4 * n + 3} = nn.relu(%{4 * n + 2});",
        ]
    body = "\n".join([*lines, f"  %{4 * layers - 1}"])
    return f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(2, {channels}, 16, 16), float32], {weights}) {{\n{body}\n}}\n'


def test_values_of_little_work_are_computed_again_without_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    module, weights, _ = network(normalised_layers())
    step = train_step(module, weights, TrainOptions(loss="mse", learning_rate=0.1))
    usual = irtool.build(step.module, step.params, name="net")
    monkeypatch.setattr("irtool.lower.ram_limit._LITTLE_WORK", 0.0)
    stored = irtool.build(step.module, step.params, name="net", cache=False)
    assert stored.report["recomputed"] == []
    again = usual.report["recomputed"]
    assert again and usual.report["arena_bytes"] <= 0.9 * stored.report["arena_bytes"]
    assert sum(r["macs"] for r in again) <= stored.report["macs"] / 64
    x = np.random.default_rng(1).standard_normal((2, 48, 16, 16)).astype("float32")
    instances = [usual.instance(), stored.instance()]
    for _ in range(3):
        np.testing.assert_array_equal(*(np.asarray(i.step([x, np.zeros_like(x)])) for i in instances))


def test_a_function_that_is_no_training_step_stores_its_values() -> None:
    module, weights, _ = network(normalised_layers())
    assert irtool.build(module, weights, name="net").report["recomputed"] == []
