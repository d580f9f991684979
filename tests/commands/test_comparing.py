"""Differences between two ways of running are judged against double precision."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np
import pytest

from irtool.commands.comparing import report_comparison
from tests.command_line import irtool

pytestmark = pytest.mark.promise("judged in double")

EXACT = np.array([1.0, 2.0, 4.0])


def verdict(interp: list[float], c: list[float], exact: object = EXACT, tolerance: float = 1e-3) -> bool:
    results = {"interp": np.asarray(interp, "float32"), "c": np.asarray(c, "float32")}
    try:
        report_comparison(results, tolerance, False, lambda: exact)
    except click.exceptions.Exit as stop:
        assert stop.exit_code == 1
        return False
    return True


def test_no_worse_than_the_first() -> None:
    inf, nan = float("inf"), float("nan")
    assert verdict([1, 2, 4], [1, 2, 4.001])
    assert not verdict([1, 2, 4], [1, 2, 4.1])  # the interpreter is right
    assert verdict([1, 2, 4.2], [1, 2, 4])  # C is right
    assert verdict([1, 2, 4.1], [1, 2, 3.6])  # both are wrong, alike
    assert not verdict([1, 2, 4.01], [1, 2, 3.6])  # C is forty times as wrong
    assert not verdict([1, 2, 4.1], [1, 2, inf])
    assert not verdict([1, 2, 4.1], [1, nan, 4])
    assert verdict([1, 2, inf], [1, 2, nan])  # too large for both
    assert verdict([1, 2, inf], [1, 2, inf])
    assert not verdict([1, 2, 4.2], [1, 2, 4], None)  # no run in double precision
    assert not verdict([1, 2, 4.2], [1, 2, 4], np.zeros(2))


def test_the_largest_errors_of_several_results_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    exact = [np.array([1.0, 2.0]), np.array([4.0]), np.array([8.0])]
    one = [np.array([1, 2.5], "float32"), np.array([4], "float32"), np.array([8], "float32")]
    two = [np.array([1, 2], "float32"), np.array([4.5], "float32"), np.array([8], "float32")]
    with pytest.raises(click.exceptions.Exit):
        report_comparison({"interp": tuple(one), "c": tuple(two)}, 1e-3, False, lambda: tuple(exact))
    assert "the errors are 0.25 by interp and 0.12 by c, judged in double precision" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["cancels", "explodes"])
def test_unstable_networks_agree(kind: str, tmp_path: Path) -> None:
    """The sum of large numbers that cancel, and a network whose weights are far too large."""
    path = tmp_path / "n.relay"
    body = {
        "cancels": "subtract(sum(multiply(%x, 1e6f), axis=[1]), sum(multiply(add(%x, 1e-9f), 1e6f), axis=[1]))",
        "explodes": "nn.dense(sin(nn.dense(nn.dense(%x, %w, units=256), %w, units=256)), %w, units=256)",
    }[kind]
    path.write_text(
        f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(4, 256), float32], %w: Tensor[(256, 256), float32]) {{ {body} }}\n'
    )
    rng = np.random.default_rng(1)
    np.save(tmp_path / "w.npy", rng.standard_normal((256, 256), "float32") * 3000)
    np.save(tmp_path / "x.npy", rng.standard_normal((4, 256), "float32"))
    code, out, err = irtool(
        "run", path, "--compare=interp,c", f"--input=w={tmp_path / 'w.npy'}", f"--input=x={tmp_path / 'x.npy'}"
    )
    assert code == 0, out + err
    assert "interp and c agree" in out
    if kind == "explodes":
        assert "judged in double precision" in out


def test_of_several_outputs_the_largest_errors_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    def outputs(a: float, b: float, dtype: str = "float32") -> tuple[np.ndarray, ...]:
        return np.array([1.0, a], dtype), np.array([1.0, b], dtype), np.array([1.0, 1.0], dtype)

    results = {"interp": outputs(1.5, 1), "c": outputs(1.25, 1.125)}
    with pytest.raises(click.exceptions.Exit):  # of the second, C is wrong alone
        report_comparison(results, 1e-3, False, lambda: outputs(1, 1, "float64"))
    captured = capsys.readouterr()
    assert "0.5" in captured.out + captured.err and "0.25" in captured.out + captured.err
