"""`--precision` on the command line: the line about the error, what is refused, and the cache."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.command_line import irtool as in_this_process

ROOT = Path(__file__).parent.parent.parent
NETWORK = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 8, 12, 12), float32], %w: Tensor[(16, 8, 3, 3), float32], %d: Tensor[(10, 16), float32]) {
  %0 = nn.relu(nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=16, kernel_size=[3, 3]));
  nn.softmax(nn.dense(nn.batch_flatten(nn.global_avg_pool2d(%0)), %d, units=10))
}
"""
ALL = "bfloat16{layers=all}"
LINE = r"{}: error against float32: [\d.e-]+ of the largest output, signal-to-noise ratio \d+\.\d dB"


@pytest.fixture
def irtool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "net.relay").write_text(NETWORK)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "irtool", *arguments]
        return subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, timeout=300, check=False)

    return run


@pytest.mark.parametrize(
    "command", [("build", "--emit=c"), ("run",), ("tune", "--trials=1", "--each=0.001", "-o", "tuned.json")]
)
def test_calibration_shows_how_far_it_is(command: tuple[str, ...], tmp_path: Path, monkeypatch) -> None:
    """Eight random inputs, one after the other."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "net.relay").write_text(NETWORK)
    shown: list[tuple[str, int, int]] = []

    class Bar:
        def step(self, what: str, done: int, total: int) -> None:
            shown.append((what, done, total))

    monkeypatch.setattr("irtool.commands.progress._opened", lambda what, quiet: contextlib.nullcontext(Bar()))
    code, _, err = in_this_process(*command, "net.relay", "--precision=int8", "--calibrate=random")
    assert code == 0, err
    assert [s for s in shown if s[0] == "calibrating"] == [("calibrating", n, 8) for n in range(1, 9)]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_run_says_the_error_on_the_inputs(irtool, tmp_path: Path, dtype: str) -> None:
    np.save(tmp_path / "x.npy", np.ones((1, 8, 12, 12), "float32"))
    all_layers = f"{dtype}{{layers=all}}"
    process = irtool("run", "net.relay", "--precision", all_layers, "--compare=interp,c", "--input", "x=x.npy")
    assert process.returncode == 0, process.stderr
    assert "out0: float32[1, 10]" in process.stdout and re.search(LINE.format(re.escape(all_layers)), process.stdout)
    assert "interp and c agree" in process.stdout and "allowed 0.05" in process.stdout
    assert "error against" not in irtool("run", "net.relay", "--precision", dtype, "-q").stdout
    assert "error against" not in irtool("run", "net.relay").stdout


def test_build_measures_on_random_inputs_and_the_cache_remembers(irtool, tmp_path: Path) -> None:
    quiet = irtool("build", "net.relay", "--precision=bfloat16", "-q", "-o", "a/")
    assert quiet.returncode == 0 and not quiet.stdout
    outputs = [irtool("build", "net.relay", f"--precision={ALL}", "-o", "b/").stdout for _ in range(2)]
    matches = [re.search(LINE.format("bfloat16") + r" \(random inputs\)", text) for text in outputs]
    assert all(matches) and "from the cache" in outputs[1]
    assert matches[0][0] == matches[1][0]
    left = [irtool("build", "net.relay", "--precision=bfloat16", "--mcpu=x86-64-v3", "-o", "d/") for _ in range(2)]
    assert all("1 layer stays in float32" in m.stderr and "error against float32: none" in m.stdout for m in left)
    assert "error against" not in irtool("build", "net.relay", "-o", "c/").stdout


def test_the_testbench_agrees_as_far_as_16_bits_go(irtool, tmp_path: Path) -> None:
    process = irtool("build", "net.relay", f"--precision={ALL}", "--emit=exe", "--testbench", "-o", "t/")
    assert process.returncode == 0, process.stderr
    ran = subprocess.run([tmp_path / "t" / "net"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0 and "passed" in ran.stdout


def test_what_is_refused(irtool, tmp_path: Path) -> None:
    wrong = irtool("build", "net.relay", "--precision=bf16")
    assert wrong.returncode == 2 and "bfloat16" in wrong.stderr
    heavy = np.full((16, 8, 3, 3), 1e5, "float32")
    np.savez(tmp_path / "w.npz", w=heavy)
    for command in ("build", "run"):
        refused = irtool(
            command,
            "net.relay",
            "--precision=float16{layers=all}",
            "--params=w.npz",
            "--via=c" if command == "run" else "-q",
        )
        assert refused.returncode == 1 and "100000 is beyond float16, which ends at 65504" in refused.stderr
        assert "bfloat16 has the range of float32" in refused.stderr
    assert not list(tmp_path.glob("*.out"))


def test_kernels_are_tuned_in_the_precision_that_they_are_built_in(irtool) -> None:
    process = irtool("tune", "net.relay", "--precision=bfloat16", "-o", "t.json", "--trials=1", "--each=0.001")
    assert process.returncode == 0, process.stderr
    assert irtool("build", "net.relay", "--precision=bfloat16", "--tuned=t.json", "-o", "b/").returncode == 0


# ---------------------------------------------------------------------------------------------------------------------
# int8


@pytest.fixture
def data(tmp_path: Path) -> None:
    g = np.random.default_rng(0)
    w, d = g.normal(size=(16, 8, 3, 3)) / 9, g.normal(size=(10, 16))
    np.savez(tmp_path / "w.npz", w=w.astype("float32"), d=d.astype("float32"))
    for name, size in (("near", 1), ("far", 9)):
        np.savez(tmp_path / f"{name}.npz", x=g.normal(size=(3, 1, 8, 12, 12)).astype("float32") * size)


INT8 = LINE.format("int8")


def test_run_in_8_bits_says_what_calibrated(irtool, tmp_path: Path, data: None) -> None:
    arguments = ("run", "net.relay", "--params=w.npz", "--precision=int8", "--compare=interp,c")
    process = irtool(*arguments, "--calibrate=random")
    assert process.returncode == 0, process.stderr
    assert re.search(INT8 + r" \(random inputs\), calibrated on 8 random samples\n", process.stdout)
    assert "interp and c agree" in process.stdout and "allowed 0.05" in process.stdout
    assert (
        "warning[W1101]: the ranges are from random inputs (seeds 1 to 8): ranges and errors say nothing of real data"
        in process.stderr
    )
    process = irtool(*arguments, "--calibrate=near.npz")
    assert process.returncode == 0 and re.search(
        INT8 + r" \(random inputs\), calibrated on 2 samples\n", process.stdout
    ), process.stderr
    assert "ranges are from random" not in process.stderr


def test_the_cache_tells_calibration_data_apart(irtool, tmp_path: Path, data: None) -> None:
    def build(*more: str) -> tuple[str, bool, str]:
        process = irtool("build", "net.relay", "--params=w.npz", "--precision=int8", "-o", "b/", *more)
        assert process.returncode == 0, process.stderr
        match = re.search(INT8 + r" \((random inputs|1 held-out sample)\), calibrated on (.*)\n", process.stdout)
        assert match, process.stdout
        return match[0], "from the cache" in process.stdout, process.stderr

    near, far = build("--calibrate=near.npz"), build("--calibrate=far.npz")
    assert near[0] != far[0] and not near[1] and not far[1]
    (tmp_path / "near.npz").rename(tmp_path / "other.npz")
    assert build("--calibrate=other.npz") == (near[0], True, "")
    (tmp_path / "far.npz").replace(tmp_path / "other.npz")
    assert build("--calibrate=other.npz") == (far[0], True, "")
    random = build("--calibrate=random")
    assert not random[1] and "random inputs (seeds 1 to 8)" in random[2]
    assert build("--calibrate=random") == (random[0], True, random[2])


def test_layers_without_weights_stay_and_are_named(irtool) -> None:
    process = irtool("build", "net.relay", "--precision=int8", "--calibrate=random", "-o", "b/")
    assert process.returncode == 0
    assert "note: conv2d_0 stays in floating point: its weights are not constant" in process.stderr


def test_python_builds_what_the_command_builds(irtool, tmp_path: Path, data: None) -> None:
    import irtool as package

    module = package.parse(NETWORK)
    weights, near = (dict(np.load(tmp_path / f"{n}.npz")) for n in ("w", "near"))
    x = np.random.default_rng(1).normal(size=(1, 8, 12, 12)).astype("float32")
    np.save(tmp_path / "x.npy", x)
    exact = package.evaluate(module, {**weights, "x": x})
    options = ("--params=w.npz", "--input=x=x.npy", "--calibrate=near.npz", "--via=c", "-o", "out.npz")
    assert irtool("run", "net.relay", "--precision=int8", *options).returncode == 0
    artifact = package.build(module, weights, precision="int8", calibration=near)
    assert artifact.report["precision"]["calibrated"] == {"samples": 2, "seed": None, "left": {}, "held_out": 1}
    actual = artifact.run([x])
    np.testing.assert_array_equal(actual, np.load(tmp_path / "out.npz")["out0"])
    assert 0 < np.abs(actual - exact).max() < 0.05
    assert any("int8_t" in Path(f).read_text() for f in artifact.files if f.endswith(".c"))
    several = package.build(module, weights, precision="int8", calibration=[{"x": x} for x in near["x"]])
    np.testing.assert_array_equal(several.run([x]), actual)


def test_what_8_bits_refuse(irtool, tmp_path: Path, data: None) -> None:
    np.savez(tmp_path / "shape.npz", x=np.ones((1, 8, 12, 11), "float32"))
    np.savez(tmp_path / "nan.npz", x=np.full((1, 8, 12, 12), np.nan, "float32"))
    (tmp_path / "none.relay").write_text('#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) { exp(%x) }\n')
    entries = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) { exp(%x) }\ndef @b(%x: float32) { %x }\n'
    (tmp_path / "two.relay").write_text(entries)
    int8, weights = "--precision=int8", "--params=w.npz"
    for words, code, message in (
        (("net.relay", "--precision=bfloat16", "--calibrate=near.npz"), 2, "error[E0016]: --calibrate is for"),
        (("net.relay", "--calibrate=random"), 2, "error[E0016]: --calibrate is for"),
        (("net.relay", weights, int8, "--calibrate=random", "--calibrate=near.npz"), 2, "error[E0016]"),
        (
            ("net.relay", weights, int8, "--calibrate=shape.npz"),
            1,
            "error[E1102]: the calibration data for %x have the",
        ),
        (("net.relay", weights, int8, "--calibrate=nan.npz"), 1, "error[E1102]: the calibration data for %x have nan"),
        (("net.relay", weights, int8, "--calibrate=w.npz"), 1, "error[E1102]"),
        (("net.relay", weights, int8, "--calibrate=missing.npz"), 1, "error[E0001]: cannot read missing.npz"),
        (("net.relay", weights, int8), 2, "error[E0016]: --precision int8 needs --calibrate"),
        (("none.relay", int8, "--calibrate=random"), 1, "error[E1103]: there is no layer to quantize"),
    ):
        for command in (("build", "-o", "b/"), ("run",), ("tune", "-o", "t.json", "--trials=1")):
            refused = irtool(*command, *words)
            assert refused.returncode == code and message in refused.stderr, (command, words, refused.stderr)
    refused = irtool("build", "two.relay", int8, "--calibrate=random", "--entry=main", "--entry=b", "-o", "b/")
    assert refused.returncode == 2 and "error[E1101]: precision int8 is for one entry" in refused.stderr
    assert not list(tmp_path.glob("b/*")) and not (tmp_path / "t.json").exists()


def test_python_refuses_data_that_nothing_takes() -> None:
    import irtool as package

    with pytest.raises(
        package.diagnostics.UsageError, match="calibration data are for precision 'int8', not 'float32'"
    ):
        package.build(package.parse(NETWORK), calibration="random")
    with pytest.raises(package.diagnostics.UsageError, match="precision 'int8' needs calibration data"):
        package.build(package.parse(NETWORK), precision="int8")
    with pytest.raises(package.diagnostics.UsageError, match="needs calibration data"):
        package.quantize(package.parse(NETWORK))


def test_an_error_is_measured_on_samples_that_no_range_is_from(irtool, tmp_path: Path, data: None) -> None:
    """One sample is far beyond the others: held out, it shows what ranges that never saw it do to it; a warning names layers."""
    near = np.load(tmp_path / "near.npz")["x"]
    np.savez(tmp_path / "apart.npz", x=np.stack([near[0], near[1] * 50, near[2]]))
    np.savez(tmp_path / "one.npz", x=near[0])
    arguments = ("build", "net.relay", "--params=w.npz", "--precision=int8", "-o", "b/", "--emit=c")
    for _ in range(2):  # the second is from the cache
        apart = irtool(*arguments, "--calibrate=apart.npz")
        assert apart.returncode == 0 and "(1 held-out sample), calibrated on 2 samples" in apart.stdout, apart.stderr
        assert "dB is below 20 dB" in apart.stderr and "the worst layers are" in apart.stderr
    fine = irtool(*arguments, "--calibrate=near.npz")
    assert "(1 held-out sample)" in fine.stdout and "is below 20 dB" not in fine.stderr
    single = irtool(*arguments, "--calibrate=one.npz")
    assert "(the sample that calibrated), calibrated on 1 sample\n" in single.stdout
    assert "note: the ranges are from a single sample" in single.stderr


def test_kernels_in_8_bits_are_tuned_and_checked_by_a_testbench(irtool, tmp_path: Path, data: None) -> None:
    options = ("--params=w.npz", "--precision=int8", "--calibrate=near.npz")
    process = irtool("tune", "net.relay", *options, "-o", "t.json", "--trials=1", "--each=0.001")
    assert process.returncode == 0, process.stderr
    built = irtool("build", "net.relay", *options, "--tuned=t.json", "--emit=exe", "--testbench", "-o", "t/")
    assert built.returncode == 0, built.stderr
    ran = subprocess.run([tmp_path / "t" / "net"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0 and "passed" in ran.stdout
