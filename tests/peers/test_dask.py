"""Kernels measured by the workers of a Dask cluster: two processes on this machine."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from irtool.cli import run
from irtool.commands.shell import group


@pytest.fixture(autouse=True)
def with_peers(pytestconfig: pytest.Config) -> None:
    if not pytestconfig.getoption("--peers"):
        pytest.skip("only with --peers")
    pytest.importorskip("distributed")


MODEL = """#[version = "0.0.5"]
def @main(%x: Tensor[(20, 32), float32], %w: Tensor[(48, 32), float32]) {
  nn.relu(nn.dense(%x, %w, units=48))
}
"""


def test_two_workers_measure(tmp_path) -> None:
    import distributed

    model, table = tmp_path / "net.relay", tmp_path / "tuned.json"
    model.write_text(MODEL)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        words = ["tune", str(model), "-o", str(table), "--each", "0.01", "--trials", "6"]
        done = CliRunner().invoke(group, [*words, "--scheduler", cluster.scheduler_address], catch_exceptions=False)
        assert done.exit_code == 0 and "6 measurements" in done.output, done.output
        assert len(cluster.workers) == 2
    (machine,) = json.loads(table.read_text())["machines"].values()
    assert sum(len(e["trials"]) for e in machine["stages"].values()) >= 6


def test_nobody_there(tmp_path, capsys) -> None:
    model = tmp_path / "net.relay"
    model.write_text(MODEL)
    words = ["tune", str(model), "-o", str(tmp_path / "t.json"), "--scheduler", "tcp://127.0.0.1:9"]
    assert run(words) == 4
    assert "cannot be reached" in capsys.readouterr().err
