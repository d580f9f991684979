"""The tables that come with irtool: found by the processor, up to date with the schedules, and without effect on others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import irtool
from irtool.backends.c.backend import C
from irtool.backends.toolchain import processor
from irtool.commands.shell import group
from irtool.driver import shipped_tables
from irtool.driver.options import choose_options
from irtool.driver.parameters import bind_weights
from irtool.driver.prepare import prepare_entries
from irtool.driver.shipped_tables import conditions, table_for, tables
from irtool.driver.tuned_table import _problem, with_table
from irtool.tune.kernels import find_tunables

pytestmark = pytest.mark.promise("tuning")

ZEN4 = "vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\n\nvendor_id\t: other\n"
BLOCK = """
def @main(%x: Tensor[(1, 1024, 14, 14), float32], %v: Tensor[(1024, 1024, 1, 1), float32],
          %w0: Tensor[(256, 1024, 1, 1), float32], %b0: Tensor[(256, 1, 1), float32],
          %w1: Tensor[(256, 256, 3, 3), float32], %b1: Tensor[(256, 1, 1), float32],
          %w2: Tensor[(1024, 256, 1, 1), float32], %b2: Tensor[(1024, 1, 1), float32]) {
  %0 = nn.relu(nn.conv2d(%x, %v, channels=1024, kernel_size=[1, 1], padding=[0, 0, 0, 0]));
  %1 = nn.relu(add(nn.conv2d(%0, %w0, channels=256, kernel_size=[1, 1], padding=[0, 0, 0, 0]), %b0));
  %2 = nn.relu(add(nn.conv2d(%1, %w1, channels=256, kernel_size=[3, 3], padding=[1, 1, 1, 1]), %b1));
  %3 = add(add(nn.conv2d(%2, %w2, channels=1024, kernel_size=[1, 1], padding=[0, 0, 0, 0]), %b2), %0);
  nn.max_pool2d(nn.relu(%3), pool_size=[2, 2])
}
"""
"""A block of ResNet-50, between others."""


@pytest.fixture
def zen4(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with this processor, whatever this one is."""
    (tmp_path / "cpuinfo").write_text(ZEN4)
    monkeypatch.setattr(processor, "_CPUINFO", tmp_path / "cpuinfo")


def test_each_is_a_table_for_a_processor() -> None:
    assert tables()
    for data in tables().values():
        assert _problem(data) == ""
        assert data["for"]["title"] and data["for"]["mcpu"] and data["for"]["cpuinfo"]
        assert data["machines"] and all(m["stages"] for m in data["machines"].values())
        for machine in data["machines"].values():
            assert any(e["choice"] != e["untuned"] for e in machine["stages"].values())


@pytest.mark.usefixtures("own_machine")
def test_a_processor_is_known_by_its_numbers_or_its_name(zen4: None, tmp_path: Path) -> None:
    here = C(mcpu="native")
    table = table_for("native", here.processor_numbers())
    assert table is not None and table == table_for("znver4", {})
    assert C(mcpu="x86-64-v3").processor_numbers() == {}
    assert table_for("znver1", {}) is None and table_for("cortex-a72", {}) is None
    (tmp_path / "cpuinfo").write_text(ZEN4.replace("17", "15"))
    assert table_for("native", here.processor_numbers()) is None
    (tmp_path / "cpuinfo").unlink()
    assert table_for("native", here.processor_numbers()) is None


def test_builds_take_their_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    data = {
        "format": "irtool tuned 1",
        "for": {"title": "Some", "mcpu": ["x86-64-v3"], "cpuinfo": []},
        "machines": {
            conditions(32, False): {
                "stages": {"0123": {"choice": "b", "untuned": "a"}, "4567": {"choice": "a", "untuned": "a"}}
            }
        },
    }
    monkeypatch.setattr(shipped_tables, "tables", lambda: {"some.json": data})
    monkeypatch.setattr("irtool.driver.tuned_table.tables", lambda: {"some.json": data})
    monkeypatch.setattr("irtool.driver.tuned_table.table_for", shipped_tables.table_for)

    def options(mcpu: str, **flags: object) -> tuple[object, list[str]]:
        chosen, notes = with_table(choose_options("c", ({"mcpu": mcpu, **flags},)), "shipped")
        return chosen.tuned, notes

    assert options("x86-64-v3") == ((("0123", "b"),), [])
    chosen, (warning,) = options("x86-64-v2")
    assert (
        chosen == ()
        and "ships no measurements of x86-64-v2, 128-bit vectors (it has: Some, 256-bit vectors)" in warning
    )
    chosen, (warning,) = options("x86-64-v3", openmp=True)
    assert chosen == () and "threads" in warning


def test_they_are_of_the_schedules_of_today() -> None:
    """The keys of layers that are in ResNet-50 are in the table: else it was measured before schedules changed. Plans are those of Zen 4,
    which makes one multiply-add of 512 bits in a cycle."""
    options = choose_options("c{mcpu=x86-64-v4,multiply_adds=1,loads=1,paired_products=2}", ())
    module = irtool.infer_types(irtool.parse(BLOCK))
    rng = np.random.default_rng(0)
    weights = {
        p.name: rng.standard_normal(p.checked_type.static_shape).astype("float32") for p in module["main"].params[1:]
    }
    prepared = prepare_entries(bind_weights(module, weights, ("main",), None), options)
    tunables, _ = find_tunables(prepared, options, options.backend.machine().resized(dict(options.sizes)))
    keys = {o.key for t in tunables for o in t.stages if "T_relu" in t.kernel.name or "nn_relu" in t.kernel.name}
    known = tables()["zen4.json"]["machines"][conditions(64, False)]["stages"]
    assert len(keys & set(known)) >= 3, "python -m benchmarks.shipped_tables writes it anew"


def test_another_processor_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "_CPUINFO", tmp_path / "none")
    source = tmp_path / "net.relay"
    source.write_text('#[version = "0.0.5"]\ndef @main(%x: Tensor[(2, 3), float32]) { nn.relu(%x) }\n')
    result = CliRunner().invoke(group, ["build", str(source), "--tuned", "shipped", "-o", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "irtool ships no measurements of" in result.output
