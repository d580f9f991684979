"""Tuning: what is measured is kept, found again by its key, and used by builds, whose results stay the same."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import irtool
from irtool.backends.timing import TimingConditions, TimingJob
from irtool.commands.shell import group
from irtool.diagnostics import ToolError, UsageError
from irtool.driver.options import Options
from irtool.driver.prepare import prepare_entries
from irtool.driver.stages import run_up_to
from irtool.driver.tuned_table import Table, machine_name
from irtool.schedule.scripts.tuned import stage_key, tuned
from irtool.tune import Budget, tune
from irtool.tune.kernels import SCHEDULING, find_tunables

DENSE = """
def @main(%x: Tensor[(20, 32), float32], %w: Tensor[(48, 32), float32]) {
  nn.relu(nn.dense(%x, %w, units=48))
}
"""
OTHER_NAMES = DENSE.replace("%x", "%rows").replace("%w", "%columns")
LARGER = DENSE.replace("20", "40")


def prepared(text: str = DENSE) -> irtool.Module:
    return prepare_entries(irtool.infer_types(irtool.parse(text)), Options())


def keys(text: str) -> list[str]:
    options = Options()
    tunables, _ = find_tunables(prepared(text), options, options.backend.machine())
    return [o.key for t in tunables for o in t.stages]


@pytest.mark.promise("tuning")
def test_tiles_of_attention_are_offered() -> None:
    text = "def @main(%q: Tensor[(2, 64, 32), float32], %k: Tensor[(2, 128, 32), float32], %v: Tensor[(2, 128, 64), float32]) {{{}}}"
    products = "nn.batch_matmul(nn.softmax(nn.batch_matmul(%q, %k, transpose_b=True)), %v, transpose_b=False)"
    options = Options()
    ((tunable,), _) = find_tunables(prepared(text.format(products)), options, options.backend.machine())
    (offers,) = tunable.stages
    assert len(offers.labels) > 3 and all(label.startswith("attention: ") for label in offers.labels)
    job = tunable.job(options.backend, options.backend.machine(), {offers.key: offers.labels[1]}, TimingConditions())
    other = tunable.job(options.backend, options.backend.machine(), {}, TimingConditions())
    assert job.files != other.files


@pytest.fixture
def timed(monkeypatch):
    """Measurements whose outcome is the test's: seconds by what the generated C says of its schedule."""
    seen: list[TimingJob] = []

    def run(self: TimingJob, runner=(), patience=60) -> float:
        seen.append(self)
        return 1e-6 * (100 if len(seen) == 1 else 50 if len(seen) == 3 else 70 + len(seen))

    monkeypatch.setattr(TimingJob, "run", run)
    return seen


def search(table: Table, trials: int = 4, text: str = DENSE):
    with ThreadPoolExecutor(1) as pool:
        return tune(prepared(text), Options(), table, pool, 1, Budget(trials, each=0.01))


@pytest.mark.promise("tuning")
def test_a_key_tells_what_is_computed_and_nothing_of_names() -> None:
    assert keys(DENSE)
    assert keys(DENSE) == keys(OTHER_NAMES)
    assert not set(keys(DENSE)) & set(keys(LARGER))


@pytest.mark.promise("tuning")
def test_the_fastest_choice_is_kept_and_used(timed, tmp_path) -> None:
    table = Table()
    outcome = search(table)
    assert outcome.measured == 4
    (machine,) = table.machines
    choices = table.choices(machine)
    assert len(choices) == 1 and outcome.improved == 1 and outcome.after < outcome.before
    path = tmp_path / "tuned.json"
    table.write(path)
    args = [np.random.default_rng(0).random(s, "float32") for s in ((20, 32), (48, 32))]
    module = irtool.parse(DENSE)
    plain, by_table = irtool.build(module), irtool.build(module, tuned=path)
    (label,) = choices.values()
    strategies = [s["strategy"] for k in by_table.report["kernels"] for s in k["stages"]]
    assert "tuned" in strategies and "tuned" not in str(plain.report["kernels"])
    assert label in str(by_table.report["kernels"])
    np.testing.assert_allclose(by_table.run(args), plain.run(args), rtol=1e-5)


BEFORE_SCHEDULING = {
    "a product": ("nn.dense(%x, %y, units=48)", (20, 32), (48, 32)),
    "a long product": ("nn.dense(%x, %y, units=40)", (100, 200), (40, 200)),
    "products of batches": ("nn.batch_matmul(%x, %y, transpose_b=True)", (3, 20, 32), (3, 24, 32)),
    "a strided convolution": ("nn.conv2d(%x, %y, padding=[1, 1], strides=[2, 2])", (1, 8, 32, 32), (64, 8, 3, 3)),
    "an enlarged image": ("image.resize2d(nn.conv2d(%x, %y), size=[24, 41], roi=[0f, 0f, 0f, 0f])", (1, 3, 12, 20), (16, 3, 1, 1)),
}  # fmt: skip


@pytest.mark.parametrize("case", BEFORE_SCHEDULING)
def test_a_table_leaves_the_stages_that_were_measured_as_they_are(case: str) -> None:
    """No choice lets a rewrite before scheduling, such as a copy of an operand, replace the stage that it is for."""
    call, x, y = BEFORE_SCHEDULING[case]
    module = prepared(f"def @main(%x: Tensor[{x}, float32], %y: Tensor[{y}, float32]) {{ {call} }}")
    options = Options()
    machine = options.backend.machine()

    def stages() -> list[str]:
        program = run_up_to(module, options.entries, machine, SCHEDULING)
        return [stage_key(form) for kernel in program.kernels for form in kernel.stages]

    expected = stages()
    tunables, _ = find_tunables(module, options, machine)
    choices = [(o.key, label) for t in tunables for o in t.stages for label in o.labels[:8]]
    assert choices
    for key, label in choices:
        with tuned({key: label}):
            assert stages() == expected, label


def test_what_is_known_is_not_measured_again(timed) -> None:
    table = Table()
    search(table, 3)
    before = len(timed)
    outcome = search(table, 2)
    assert outcome.known == 3 and outcome.measured == 2
    assert len(timed) >= before + 2


@pytest.mark.promise("tuning")
def test_a_choice_that_fails_when_it_is_measured_again_is_dropped_and_the_rest_is_filed(monkeypatch) -> None:
    seen: list[TimingJob] = []

    def run(self: TimingJob, runner=(), patience=60) -> float:
        seen.append(self)
        if len(seen) > 4:
            raise ToolError("the device has gone")
        return 1e-6 * (50 if len(seen) == 3 else 100)

    monkeypatch.setattr(TimingJob, "run", run)
    table = Table()
    outcome = search(table)
    assert len(seen) == 5, "nothing else is measured of that stage"
    assert outcome.measured == 4 and outcome.improved == 0 and "the device has gone" in outcome.failures[0]
    (entry,) = table.stages(outcome.machine).values()
    assert entry["choice"] == entry["untuned"] and len(entry["trials"]) == 3, "it is measured anew by a later run"


def test_an_interrupted_search_keeps_what_it_measured(monkeypatch) -> None:
    seen: list[TimingJob] = []

    def run(self: TimingJob, runner=(), patience=60) -> float:
        seen.append(self)
        if len(seen) > 2:
            raise KeyboardInterrupt
        return 1e-6

    monkeypatch.setattr(TimingJob, "run", run)
    saved: list[str] = []
    with ThreadPoolExecutor(1) as pool, pytest.raises(KeyboardInterrupt):
        tune(
            prepared(),
            Options(),
            Table(),
            pool,
            1,
            Budget(4, each=0.01),
            keep=lambda t: saved.append(json.dumps(t.data)),
        )
    (entry,) = json.loads(saved[-1])["machines"].popitem()[1]["stages"].values()
    assert len(entry["trials"]) == 2


def test_what_is_slower_or_no_faster_is_not_chosen(monkeypatch) -> None:
    monkeypatch.setattr(TimingJob, "run", lambda self, runner=(), patience=60: 1e-6)
    table = Table()
    outcome = search(table)
    assert outcome.improved == 0 and not table.choices(table.machines[0])


def test_a_measurement_is_one_of_the_kernel(tmp_path) -> None:
    options = Options()
    target = options.backend.machine()
    (tunable,), weights = find_tunables(prepared(), options, target)
    assert not weights
    job = tunable.job(options.backend, target, {}, TimingConditions(0.01, (1,), 1 << 20))
    assert 1e-9 < job.run() < 1
    with pytest.raises(ToolError, match="false failed"):
        job.run(["false"])
    with pytest.raises(ToolError, match="no number of seconds"):
        job.run(["echo"])


@pytest.mark.promise("tuning")
def test_the_command(tmp_path) -> None:
    model, table = tmp_path / "net.relay", tmp_path / "tuned.json"
    model.write_text(f'#[version = "0.0.5"]\n{DENSE}')
    words = ["tune", str(model), "-o", str(table), "--each", "0.005", "--trials", "2"]
    done = CliRunner().invoke(group, words, catch_exceptions=False)
    assert done.exit_code == 0 and "2 measurements" in done.output, done.output
    data = json.loads(table.read_text())
    options = Options()
    machine = machine_name(options.backend, options.backend.machine())
    (entry,) = data["machines"][machine]["stages"].values()
    assert entry["computes"][0].startswith("nn.dense(float32[20, 32], float32[48, 32])")
    assert len(entry["trials"]) >= 2 and min(entry["trials"].values()) > 0
    again = CliRunner().invoke(group, words, catch_exceptions=False)
    assert "known from before" in again.output


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "is no table of measurements"),
        ("[]", "its format is not"),
        ('{"format": "irtool tuned 1"}', "it has no machines"),
        ('{"format": "irtool tuned 1", "machines": {"m": 1}}', "m has no stages"),
        ('{"format": "irtool tuned 1", "machines": {"m": {"stages": {"k": {}}}}}', "stage k of m has no choice"),
    ],
)
def test_other_files_are_refused(text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "tuned.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=problem):
        irtool.build(irtool.parse(DENSE), tuned=path, emit="c", out_dir=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_table_of_other_machines_and_stale_choices_do_no_harm(tmp_path) -> None:
    options = Options()
    machine = machine_name(options.backend, options.backend.machine())
    (key,) = keys(DENSE)
    entry = {"choice": "register_tile: axis 9, tile 1 x 1 x 1", "untuned": "register_tile: x"}
    for name in ("another machine", machine):
        path = tmp_path / f"{len(name)}.json"
        path.write_text(
            json.dumps({"format": "irtool tuned 1", "machines": {name: {"stages": {key: entry}}}}), encoding="utf-8"
        )
        artifact = irtool.build(irtool.parse(DENSE), tuned=path, emit="c", mcpu="native", out_dir=tmp_path / "out")
        warned = any("has no measurements of" in w for w in artifact.report["warnings"])
        assert warned == (name != machine)
        assert "tuned" not in str(artifact.report["kernels"])


def test_a_backend_without_measurements_is_refused() -> None:
    from irtool.driver.options import choose_backend

    backend, target, _ = choose_backend("llvm", {})
    with ThreadPoolExecutor(1) as pool, pytest.raises(UsageError, match="the backend llvm measures no kernels"):
        tune(prepared(), Options(backend=backend, target=target), Table(), pool)
