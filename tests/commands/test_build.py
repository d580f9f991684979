"""`irtool build` and `irtool check --target=c` as a user meets them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent.parent
SAMPLES = sorted((ROOT / "samples").glob("*.relay"))
MLP = str(ROOT / "samples" / "mlp.relay")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return {**os.environ, "XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache")), "PYTHONPATH": str(ROOT)}


@pytest.fixture
def irtool(environment: dict[str, str], tmp_path: Path):
    def run(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "irtool", *arguments],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**environment, **more},
            timeout=300,
            check=False,
        )

    return run


def assert_refused(done: subprocess.CompletedProcess[str], code: int, *words: str) -> None:
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr


@pytest.mark.parametrize("sample", SAMPLES, ids=[s.stem for s in SAMPLES])
def test_every_sample_passes_its_test_bench(sample: Path, irtool, tmp_path: Path) -> None:
    interface = [] if "type " in sample.read_text() else ["--api=tvm"]  # which takes tensors only
    done = irtool(
        "build", "--emit=exe", "--testbench", *interface, "--missing-constants=random", str(sample), "-o", "out"
    )
    assert done.returncode == 0, done.stderr
    checked = subprocess.run(["./" + sample.stem], cwd=tmp_path / "out", capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout


def test_the_folder_is_named_after_the_file(irtool, tmp_path: Path) -> None:
    done = irtool("build", "--emit=c", MLP)
    assert done.returncode == 0, done.stderr
    assert {p.name for p in (tmp_path / "mlp.out").iterdir()} == {"mlp.c", "mlp.h"}
    assert "arena" in done.stdout and "lower bound" in done.stdout
    assert irtool("build", "--emit=c", "-q", MLP).stdout == ""


@pytest.mark.promise("goldens")
def test_c_on_standard_output_is_the_file_that_is_written(irtool, tmp_path: Path) -> None:
    printed = irtool("build", "--emit=c", "-o", "-", MLP)
    written = irtool("build", "--emit=c", "-o", "out", MLP)
    assert printed.returncode == written.returncode == 0
    assert printed.stdout == (tmp_path / "out" / "mlp.c").read_text()
    assert not (tmp_path / "-").exists()
    refused = irtool("build", "--emit=so", "-o", "-", MLP)
    assert refused.returncode == 2 and "-o - prints tir, isel and c only" in refused.stderr


@pytest.mark.parametrize(
    ("emit", "path", "files"),
    [
        ("tir", "net.tir", {"net.tir"}),
        ("tir", "my-net.1.tir", {"my-net.1.tir"}),
        ("tir", "out/net.tir", {"out/net.tir"}),
        ("tir", "out", {"out/mlp.tir"}),
        ("tir", "out.tir/", {"out.tir/mlp.tir"}),
        ("c", "out/net.c", {"out/net.c", "out/net.h"}),
        ("obj", "net.o", {"net.c", "net.h", "net.o"}),
    ],
)
def test_an_output_named_with_its_ending(irtool, tmp_path: Path, emit: str, path: str, files: set[str]) -> None:
    """As compilers do it: the file that was asked for has that name; a path without its ending is a folder."""
    done = irtool("build", f"--emit={emit}", MLP, "-o", path)
    assert done.returncode == 0, done.stderr
    written = {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()}
    assert written == files


def test_a_folder_with_the_ending_of_a_file(irtool, tmp_path: Path) -> None:
    (tmp_path / "out.c").mkdir()
    assert irtool("build", "--emit=c", MLP, "-o", "out.c").returncode == 0
    assert {p.name for p in (tmp_path / "out.c").iterdir()} == {"mlp.c", "mlp.h"}


def test_an_output_named_with_the_ending_of_another_one(irtool, tmp_path: Path) -> None:
    assert_refused(
        irtool("build", "--emit=c", MLP, "-o", "net.so"), 2, "-o net.so is not a file of --emit=c", "--emit=so"
    )
    assert_refused(irtool("build", MLP, "-o", "net.tir"), 2, "-o net.tir is not a file of --emit=so", "--emit=tir")
    assert_refused(irtool("build", MLP, "-o", "net.so", "--name", "other"), 2, "two names")
    assert_refused(irtool("build", "--emit=c", MLP, "-o", "my-net.c"), 2, "'my-net' cannot be the name of the output")
    assert not list(tmp_path.iterdir())


def test_a_rebuild_says_the_same(irtool) -> None:
    first, second = (irtool("build", MLP, "-o", "out", "--explain", "--report", f"{n}.json") for n in "ab")
    assert first.stdout.splitlines()[:-1] == second.stdout.splitlines()[:-1]
    assert "tvmgen_default_fused_nn_matmul_add_nn_relu: " in first.stdout and " — " in first.stdout


def test_report_and_graph_are_json(irtool, tmp_path: Path) -> None:
    done = irtool("build", "--emit=c", MLP, "--report", "report.json", "--graph", "graph.json", "-q")
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["macs"] == 128 * 784 + 10 * 128 + 10 * 10
    graph = json.loads((tmp_path / "graph.json").read_text())
    assert set(graph) == {"nodes", "arg_nodes", "heads", "attrs", "node_row_ptr"}


def test_a_rebuild_warns_again(irtool, tmp_path: Path) -> None:
    (tmp_path / "old.relay").write_text("def @main(%x: Tensor[(4), float32]) { exp(%x) }\n")
    first, second = (irtool("build", "old.relay", "--emit=c", "--report", f"{n}.json", "-q") for n in "ab")
    assert first.stderr == second.stderr and first.stderr.count("old.relay:1:1: warning") == 1
    assert (tmp_path / "a.json").read_text() == (tmp_path / "b.json").read_text()


def test_reports_and_graphs_are_written_with_the_rest_or_nothing_is(irtool, tmp_path: Path) -> None:
    (tmp_path / "branch.relay").write_text(
        '#[version = "0.0.5"]\ndef @main(%c: bool, %x: Tensor[(4), float32]) { if (%c) { exp(%x) } else { %x } }\n'
    )
    assert_refused(
        irtool("build", "branch.relay", "--graph", "graph.json"),
        1,
        "the graph executor supports straight-line networks only; this is an if",
    )
    for option in ("--graph", "--report"):
        assert_refused(irtool("build", MLP, option, "nowhere/file.json"), 1, "nowhere/file.json")
    (tmp_path / "taken" / "mlp.so").mkdir(parents=True)
    assert_refused(irtool("build", MLP, "-o", "taken", "--report", "report.json"), 1, "taken/mlp.so: Is a directory")
    assert [p.name for p in (tmp_path / "taken").iterdir()] == ["mlp.so"]
    assert {p.name for p in tmp_path.iterdir()} == {"branch.relay", "taken"}


@pytest.mark.skipif(not Path("/dev/stdout").is_symlink(), reason="no such device here")
def test_reports_and_graphs_on_standard_output(irtool, tmp_path: Path) -> None:
    done = irtool("build", MLP, "--report", "-", "-q")
    assert json.loads(done.stdout)["name"] == "mlp"
    with (tmp_path / "kept").open("w") as file:  # the device is written to, and not replaced by a file
        subprocess.run(
            [sys.executable, "-m", "irtool", "build", MLP, "--graph", "/dev/stdout", "-q"],
            stdout=file,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            check=True,
        )
    assert json.loads((tmp_path / "kept").read_text())["nodes"]
    assert Path("/dev/stdout").is_symlink()


def test_weights_from_a_file(irtool, tmp_path: Path) -> None:
    g = np.random.RandomState(0)
    shapes = {"w1": (128, 784), "b1": (128,), "w2": (10, 128), "b2": (10,), "w3": (10, 10), "b3": (10,)}
    weights = {n: g.randn(*s).astype("float32") for n, s in shapes.items()}
    np.savez(tmp_path / "w.npz", **weights)
    done = irtool("build", MLP, "--params", "w.npz", "--input", "x", "-o", "out", "--emit=exe", "--testbench")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "mlp.bin").exists()
    assert subprocess.run(["./mlp"], cwd=tmp_path / "out", capture_output=True, check=False).returncode == 0
    # Other weights in the same file are another build.
    np.savez(tmp_path / "w.npz", **{**weights, "b3": weights["b3"] + 1})
    before = (tmp_path / "out" / "mlp.bin").read_bytes()
    assert irtool("build", MLP, "--params", "w.npz", "--input", "x", "-o", "out", "-q").returncode == 0
    assert (tmp_path / "out" / "mlp.bin").read_bytes() != before
    np.savez(tmp_path / "w.npz", w1=weights["w1"].T, extra=weights["b3"])
    assert_refused(
        irtool("build", MLP, "--params", "w.npz", "--input", "x", "-o", "bad"),
        1,
        "'extra' is not used",
        "%w1 is Tensor[(128, 784), float32], but its value is float32[784, 128]",
        "no weight for the parameter %b3",
    )
    assert not (tmp_path / "bad").exists()
    assert_refused(irtool("build", MLP, "--params", "none.npz"), 1, "none.npz")


def test_several_entries_on_the_command_line(irtool, tmp_path: Path) -> None:
    (tmp_path / "two.relay").write_text(
        '#[version = "0.0.5"]\n'
        "def @first(%x: Tensor[(4), float32]) { exp(%x) }\ndef @second(%x: Tensor[(4), float32]) { negative(%x) }\n"
    )
    assert irtool("build", "two.relay", "--entry", "first", "--entry", "second", "--emit=c", "-q").returncode == 0
    header = (tmp_path / "two.out" / "two.h").read_text()
    assert "int two_run(const float *x, float *out);" in header
    assert "int two_run_second(const float *x, float *out);" in header
    assert_refused(irtool("build", "two.relay"), 1, "no function @main", "@first, @second")


def test_dynamic_shapes_are_pinned_by_the_flag_that_the_error_names(irtool, tmp_path: Path) -> None:
    (tmp_path / "d.relay").write_text('#[version = "0.0.5"]\ndef @main(%x: Tensor[(?, 4), float32]) { exp(%x) }\n')
    assert_refused(irtool("build", "d.relay", "--emit=c"), 1, "d.relay:2:11", "--shape x=1,4")
    assert not (tmp_path / "d.out").exists()
    assert irtool("build", "d.relay", "--emit=c", "--shape", "x=3,4", "-q").returncode == 0
    assert "#define D_X_SHAPE {3, 4}" in (tmp_path / "d.out" / "d.h").read_text()


def test_shapes_of_fields_and_what_contradicts_the_types(irtool, tmp_path: Path) -> None:
    (tmp_path / "d.relay").write_text(
        '#[version = "0.0.5"]\n'
        "def @main(%x: Tensor[(?, 3), float32],\n"
        "          %t: (Tensor[(?), int32], (Tensor[(2), int32], Tensor[(?, 4), int32]))) {\n"
        "  (exp(%x), %t.0, %t.1.1)\n}\n"
    )
    assert_refused(irtool("build", "d.relay"), 1, "--shape x=1,3", "--shape t.0=1", "--shape t.1.1=1,4")
    pins = ["--shape", "x=2,3", "--shape", "t.0=5", "--shape", "%t.1.1=(6,4)"]
    assert irtool("build", "d.relay", "--emit=c", *pins, "-q").returncode == 0
    header = (tmp_path / "d.out" / "d.h").read_text()
    assert "_SHAPE {5}" in header and "_SHAPE {6, 4}" in header
    assert_refused(
        irtool("build", "d.relay", "--shape", "x=2,4", "--shape", "t.0=1,1", "--shape", "t=3", "--shape", "y=1"),
        1,
        "d.relay:2:11: error[E0309]: %x cannot have the shape [2, 4]: it is Tensor[(?, 3), float32], and axis 1 is 3",
        "%t.0 cannot have the shape [1, 1]: it is Tensor[(?), int32], of rank 1 and not 2",
        "%t is no tensor",
        "@main has no parameter %y",
    )
    assert_refused(irtool("build", "d.relay", "--shape", "x=2,-3"), 2, "cannot read the shape")


def test_shapes_that_values_decide_name_the_operator(irtool, tmp_path: Path) -> None:
    (tmp_path / "v.relay").write_text(
        '#[version = "0.0.5"]\ndef @main(%n: Tensor[(1), int64]) {\n  dyn.zeros(%n, shape=None, dtype="float32")\n}\n'
    )
    message = "v.relay:3:3: error[E0601]: shape of dyn.zeros follows from values, and nothing says how large it may be"
    assert_refused(irtool("build", "v.relay"), 1, message)


def test_check_lists_what_cannot_be_compiled(irtool, tmp_path: Path) -> None:
    (tmp_path / "m.relay").write_text(
        '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32], %y: Tensor[(2), int4]) {\n'
        "  (memory.kill(%x),\n   memory.kill(%x), %y)\n}\n"
    )
    assert irtool("check", "m.relay").returncode == 0
    done = irtool("check", "--target=c", "--format=json", "m.relay")
    assert done.returncode == 1
    assert [(r["line"], r["level"]) for r in json.loads(done.stdout)] == [(2, "error"), (3, "error"), (4, "error")]
    assert irtool("check", "--target=c", MLP).returncode == 0


def test_problems_with_the_compiler_are_exit_code_4(irtool, tmp_path: Path) -> None:
    assert_refused(
        irtool("build", MLP, "--cc=nothing-here"), 4, "nothing-here was not found", "sources are kept in mlp.out"
    )
    assert {p.name for p in (tmp_path / "mlp.out").iterdir()} == {"mlp.c", "mlp.h"}
    assert_refused(irtool("build", MLP, CC="false"), 4, "false")
    assert_refused(irtool("build", MLP, "--mcpu=z80", "-o", "z"), 2, "z80")
    assert_refused(irtool("build", MLP, "--target", "c -mcpu=z80", "-o", "z"), 2, "error: cc does not know", "z80")
    assert_refused(irtool("build", MLP, "--cc", "'gcc", "-o", "z"), 2, "no closing quotation")
    assert_refused(irtool("build", MLP, "-o", "z", CFLAGS='-D"'), 2, "CFLAGS")
    assert not (tmp_path / "z").exists()


def test_names_and_options_that_cannot_be(irtool) -> None:
    assert_refused(irtool("build", MLP, "--name", "a b"), 2, "identifier")
    assert_refused(irtool("build", MLP, "--emit=dll"), 2, "dll")
    assert_refused(irtool("build", MLP, "--vector=some"), 2, "some")
    assert_refused(irtool("build", MLP, "--target=cuda"), 2, "cuda")


def test_help_names_every_option_of_build(irtool) -> None:
    import inspect

    from irtool.driver.build import build

    text = irtool("build", "--help").stdout
    renamed = {"opt_level": "-O", "out_dir": "-o", "inputs": "--input", "flags": "--target"}
    renamed |= {"shapes": "--shape", "dims": "--dim", "states": "--state"}
    renamed |= {"required_pass": "--require-pass", "disabled_pass": "--disable-pass", "config": "--pass-config"}
    renamed |= {"calibration": "--calibrate"}
    hidden = {"module", "instruments"}
    for name in inspect.signature(build).parameters:
        if name not in hidden:
            assert renamed.get(name, f"--{name.replace('_', '-')}") in text, name


def test_a_file_name_that_is_no_identifier(irtool, tmp_path: Path) -> None:
    for file in ("1-net.v2.relay", "int.relay", "é.relay"):
        (tmp_path / file).write_text('#[version = "0.0.5"]\ndef @main(%x: Tensor[(4), float32]) { exp(%x) }\n')
        done = irtool("build", file, "-o", "out")
        assert done.returncode == 0, done.stderr


def test_a_full_disk_is_no_bug(irtool, tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        done = irtool("build", MLP, "-o", "out", "--no-cache")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert_refused(done, 1, "File too large")
    assert "bug" not in done.stderr and not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["SIGHUP", "SIGINT", "SIGTERM"])
def test_an_interrupted_build_leaves_nothing(name: str, environment: dict[str, str], tmp_path: Path) -> None:
    """The C compiler is a script that says that it runs, and then does not end."""
    compiler = tmp_path / "slow"
    compiler.write_text(
        f"#!/bin/sh\ncase $* in *.unit.o*) touch {tmp_path}/running; exec sleep 30;; *) exec cc $*;; esac\n"
    )
    compiler.chmod(0o755)
    (tmp_path / "tmp").mkdir()
    command = [sys.executable, "-m", "irtool", "build", MLP, "--cc", str(compiler), "-o", str(tmp_path / "out")]
    with subprocess.Popen(
        command,
        env={**environment, "TMPDIR": str(tmp_path / "tmp")},
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(
            getattr(signal, name), signal.SIG_DFL
        ),  # nohup, and `&` of a script, ignore some
    ) as running:
        for _ in range(600):
            if (tmp_path / "running").exists():
                break
            time.sleep(0.05)
        os.killpg(running.pid, getattr(signal, name))
        running.communicate(timeout=60)
    assert running.returncode == 128 + getattr(signal, name)
    assert not (tmp_path / "out").exists() and not list((tmp_path / "tmp").iterdir())
