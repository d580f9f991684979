"""The command line as a user meets it: exit codes, one clear message, nothing half-written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SIMPLE = ROOT / "samples" / "simplenet.relay"


def irtool(
    *arguments: str, text: str | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "irtool", *arguments],
        input=text,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **(env or {})},
        timeout=120,
        check=False,
    )


def assert_refused(done: subprocess.CompletedProcess[str], code: int, *words: str) -> None:
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr


def test_opt_prints_the_transformed_module() -> None:
    done = irtool("opt", "--passes=SimplifyInference,FuseOps", str(SIMPLE))
    assert done.returncode == 0, done.stderr
    assert "Primitive=1" in done.stdout
    assert "nn.batch_norm" not in done.stdout


def test_opt_reads_standard_input_and_its_own_output() -> None:
    first = irtool("opt", "--passes=SimplifyInference", "-", text=SIMPLE.read_text())
    again = irtool("opt", "-", text=first.stdout)
    assert again.stdout == first.stdout


def test_output_file_is_written_only_on_success(tmp_path: Path) -> None:
    out = tmp_path / "out.relay"
    assert irtool("opt", "--passes=NoSuchPass", str(SIMPLE), "-o", str(out)).returncode == 2
    assert not out.exists()
    assert irtool("opt", "--passes=SimplifyInference", str(SIMPLE), "-o", str(out)).returncode == 0
    assert "nn.conv2d" in out.read_text()
    assert list(tmp_path.iterdir()) == [out]


def test_unknown_pass_suggests_the_nearest() -> None:
    assert_refused(irtool("opt", "--passes=FuseOp", str(SIMPLE)), 2, "unknown pass FuseOp", "did you mean FuseOps?")


def test_unknown_option_of_a_pass() -> None:
    done = irtool("opt", "--passes=FuseOps{fuse_level=1}", str(SIMPLE))
    assert_refused(done, 2, "has no option fuse_level", "did you mean fuse_opt_level?")


def test_malformed_pipeline_points_at_the_place() -> None:
    assert_refused(irtool("opt", "--passes=FuseOps{fuse_opt_level=", str(SIMPLE)), 2, "<passes>:1:", "^")


def test_bad_regular_expression() -> None:
    assert_refused(irtool("opt", "--passes=FuseOps", "--func=(", str(SIMPLE)), 2, "regular expression", "malformed")


def test_regular_expression_that_matches_nothing() -> None:
    done = irtool("opt", "--passes=FuseOps", "--func=nothing", str(SIMPLE))
    assert_refused(done, 1, "no function matches 'nothing'", "@main")
    fine = irtool("opt", "--passes=FuseOps", "--func=nothing", "--allow-no-match", str(SIMPLE))
    assert fine.returncode == 0
    assert "Primitive=1" not in fine.stdout


def test_func_leaves_other_functions_alone() -> None:
    done = irtool(
        "opt", "--passes=FuseOps", "--func=^gelu$", "--types=none", str(ROOT / "samples" / "two_functions.relay")
    )
    assert done.returncode == 0, done.stderr
    gelu, main = done.stdout.split("def @main")
    assert "Primitive=1" in gelu
    assert "Primitive=1" not in main


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ["is empty"]),
        (b"\xff\xfe\x00junk", ["is not UTF-8"]),
        (b"def @main(", ["error"]),
        (b"\x00\x01\x02", ["error"]),
    ],
)
def test_unreadable_content(tmp_path: Path, content: bytes, words: list[str]) -> None:
    path = tmp_path / "bad.relay"
    path.write_bytes(content)
    assert_refused(irtool("opt", str(path)), 1, "bad.relay", *words)


def test_missing_file() -> None:
    assert_refused(irtool("opt", "nowhere.relay"), 1, "cannot read nowhere.relay")


def test_unwritable_output(tmp_path: Path) -> None:
    target = tmp_path / "folder" / "out.relay"
    assert_refused(irtool("opt", str(SIMPLE), "-o", str(target)), 1, "cannot write")


def test_unknown_command_and_option() -> None:
    assert_refused(irtool("optt"), 2, "did you mean opt?")
    assert_refused(irtool("opt", "--pases=X", str(SIMPLE)), 2, "--pases")


def test_check_reports_every_error(tmp_path: Path) -> None:
    path = tmp_path / "two.relay"
    path.write_text('#[version = "0.0.5"]\ndef @f(%x) {\n  nn.reluu(%x)\n}\n\ndef @g(%x) {\n  add(%x, %nope)\n}\n')
    done = irtool("check", str(path))
    assert_refused(done, 1, "nn.reluu", "did you mean nn.relu?", "%nope")


def test_run_takes_parameters_by_name(tmp_path: Path) -> None:
    import numpy as np

    source = tmp_path / "add.relay"
    source.write_text(
        '#[version = "0.0.5"]\ndef @main(%x: Tensor[(3), float32], %y: Tensor[(3), float32]) { add(%x, %y) }\n'
    )
    np.savez(tmp_path / "in.npz", x=np.arange(3, dtype="float32"), y=np.ones(3, "float32"))
    out = tmp_path / "out.npz"
    done = irtool("run", str(source), "--inputs", str(tmp_path / "in.npz"), "-o", str(out))
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(out)["out0"], np.array([1, 2, 3], "float32"))


def test_run_refuses_unknown_names_and_wrong_shapes(tmp_path: Path) -> None:
    import numpy as np

    source = tmp_path / "id.relay"
    source.write_text('#[version = "0.0.5"]\ndef @main(%data: Tensor[(3), float32]) { nn.relu(%data) }\n')
    np.savez(tmp_path / "name.npz", dat=np.zeros(3, "float32"))
    assert_refused(irtool("run", str(source), "--inputs", str(tmp_path / "name.npz")), 1, "did you mean data?")
    np.savez(tmp_path / "shape.npz", data=np.zeros(4, "float32"))
    assert_refused(irtool("run", str(source), "--inputs", str(tmp_path / "shape.npz")), 1, "data")


def test_no_compiler() -> None:
    done = irtool("run", "--via", "c", str(SIMPLE), env={"CC": "no-such-compiler"})
    assert_refused(done, 4, "no-such-compiler")


def test_version_needs_no_heavy_import() -> None:
    code = "import sys; from irtool.cli import main\ntry: main(['--version'])\nexcept SystemExit: pass\nprint(sorted(m for m in ('numpy', 'lark', 'click', 'rich') if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.splitlines()[1] == "[]"


@pytest.mark.parametrize("option", ["--time-passes", "--check-values", "--print-changed"])
def test_an_option_whose_value_is_left_out_leaves_the_file_alone(option: str) -> None:
    done = irtool("opt", "--passes=FuseOps", option, str(SIMPLE))
    assert done.returncode == 0, done.stderr
    assert "def @main" in done.stdout


def test_a_pass_of_ones_own_that_changes_results_is_found(tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    own.write_text(
        "from dataclasses import dataclass\n"
        "from irtool.ir import Call, rewrite\n"
        "from irtool.ops.base import op\n"
        "from irtool.passes.core.base import FunctionPass, register_pass\n"
        "@register_pass('DropRelu')\n"
        "@dataclass(frozen=True)\n"
        "class DropRelu(FunctionPass):\n"
        "    def transform(self, function, module, context):\n"
        "        def leave(old, new):\n"
        "            return new.args[0] if isinstance(new, Call) and new.op is op('nn.relu') else new\n"
        "        return rewrite(function, leave)\n"
    )
    where = tmp_path / "failing.relay"
    options = ["--load", str(own), "--passes=DropRelu", f"--reproducer={where}"]
    done = irtool("opt", *options, "--check-values", str(SIMPLE))
    assert done.returncode == 1
    assert "DropRelu changes the results" in done.stderr
    assert "// RUN: irtool opt" in where.read_text()
    assert irtool("opt", *options, str(SIMPLE)).returncode == 0
