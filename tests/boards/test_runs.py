"""Programs on emulated boards: results, counts of instructions, faults, limits."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.boards.board import Board
from irtool.boards.listing import board_names
from irtool.boards.project import link_flags, linker_script, startup_code
from irtool.boards.running import BoardRun
from irtool.diagnostics import ToolError
from tests.backends.bundle import assert_close
from tests.boards.tools import require_board

NET = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 16), float32], %w1: Tensor[(32, 16), float32], %w2: Tensor[(4, 32), float32]) {
  %0 = nn.relu(nn.dense(%x, %w1, units=32));
  nn.softmax(nn.dense(%0, %w2, units=4))
}
"""
DRAW = np.random.default_rng(1)
WEIGHTS = {n: DRAW.standard_normal(s).astype("float32") for n, s in {"w1": (32, 16), "w2": (4, 32)}.items()}
X = DRAW.standard_normal((1, 16)).astype("float32")
LENGTHS = """#[version = "0.0.5"]
def @main(%x: Tensor[(?, 3), float32], %y: Tensor[(2), float32]) { (nn.relu(%x), exp(%y)) }
"""


@pytest.mark.parametrize("name", board_names())
def test_results_are_those_of_the_interpreter(name: str) -> None:
    require_board(name)
    module = irtool.parse(NET)
    artifact = irtool.build(module, WEIGHTS, board=name, emit="exe")
    assert_close([artifact.run([X])], [irtool.evaluate(module, {"x": X, **WEIGHTS})], 1e-5)


def test_lengths_are_arguments_of_the_program() -> None:
    require_board("mps2-an386")
    artifact = irtool.build(irtool.parse(LENGTHS), shapes={"x": ["n<=9", 3]}, board="mps2-an386", emit="exe")
    for n in (1, 9):
        x = DRAW.standard_normal((n, 3)).astype("float32")
        assert_close(list(artifact.run([x, X[0, :2]])), [np.maximum(x, 0), np.exp(X[0, :2])], 1e-6)


@pytest.mark.parametrize("name", ["mps3-an547", "riscv32-virt"])
def test_make_builds_and_runs_the_test_bench(name: str, tmp_path: Path) -> None:
    require_board(name)
    artifact = irtool.build(irtool.parse(NET), WEIGHTS, board=name, out_dir=tmp_path, name="net")
    run = subprocess.run(["make", "-C", tmp_path, "run"], capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0 and "passed: 0 elements differ" in run.stdout + run.stderr
    source = tmp_path / "net_test.c"
    text = source.read_text()
    begin = text.index("{", text.index("out_expected")) + 1
    source.write_text(f"{text[:begin]} 9.0 + {text[begin:]}")  # another result is expected
    run = subprocess.run(["make", "-C", tmp_path, "run"], capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode != 0 and "FAILED: 1 elements differ" in run.stdout + run.stderr
    sizes = subprocess.run(["make", "-C", tmp_path, "size"], capture_output=True, text=True, timeout=120, check=False)
    assert ".text" in sizes.stdout
    constants = artifact.report["footprint"]["flash"]["constants"]  # as they are stored: packed, on some processors
    assert sorted(constants.values()) == sorted(w.nbytes for w in WEIGHTS.values())


def program(board: Board, body: str, folder: Path) -> BoardRun:
    """A program with a function that a report takes for the kernel of a convolution."""
    text = f"#include <stdio.h>\nvoid kernel(int n);\nvoid kernel(int n) {{ volatile char room[300]; room[n % 3] = 1; {body} }}\n"
    text += "int main(int argc, char **argv) { (void)argv; kernel(argc); return 0; }\n"
    (folder / "main.c").write_text(text)
    (folder / "startup.c").write_text(startup_code(board))
    (folder / "board.ld").write_text(linker_script(board, 2048))
    arm = board.family == "cortex-m"
    processor = f"-mcpu={board.processor}" if arm else f"-march={board.processor}"
    command = [board.compiler, "-O1", "-fno-optimize-sibling-calls", processor, *board.flags, *link_flags(board)]
    subprocess.run([*command, "-o", "program", "main.c", "startup.c"], cwd=folder, check=True)
    kernel = {"name": "conv", "c_name": "kernel", "operators": ["nn.conv2d"], "places": ["net.relay:3:8"]}
    return BoardRun({"board": board.record(), "kernels": [kernel]}, folder / "program", seconds=5)


FAULTS = {
    "no memory": ("*(volatile int *)0xA0000000u = n;", "no memory at 0xa0000000", True),
    "undefined": ('__asm__ volatile(".short 0");', "an undefined instruction", True),
    "stack": ("if (n) kernel(n + 1); room[1] = 2;", "the stack is full", False),
}


@pytest.mark.parametrize("name", ["mps2-an386", "mps2-an505", "riscv32-virt"])
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_name_kernel_and_line(fault: str, name: str, tmp_path: Path) -> None:
    board = require_board(name)
    body, message, has_place = FAULTS[fault]
    if fault == "undefined" and board.family == "cortex-m":
        body = '__asm__ volatile("udf #1");'
    with pytest.raises(ToolError) as caught:
        program(board, body, tmp_path).run(["program"], tmp_path)
    (diagnostic,) = caught.value.diagnostics
    assert f"the program on {name} ended with a fault: {message}" in diagnostic.message
    if has_place:
        notes = "\n".join(diagnostic.notes)
        assert "kernel, main.c:3" in notes and "the kernel conv: nn.conv2d of net.relay:3:8" in notes


@pytest.mark.parametrize(
    ("body", "seconds", "message"),
    [
        ("for (;;) continue;", 1, "did not end within 1 s"),
        ('for (;;) puts("again and again, for ever and ever, and once more");', 60, "printed more than"),
    ],
)
def test_endless_programs_are_ended(body: str, seconds: float, message: str, tmp_path: Path) -> None:
    run = program(require_board("mps2-an386"), body, tmp_path)
    with pytest.raises(ToolError, match=message):
        BoardRun(run.report, run.program, seconds).run(["program"], tmp_path)


def test_the_code_of_a_program_and_its_words(tmp_path: Path) -> None:
    board = require_board("mps2-an386")
    run = program(board, "", tmp_path)
    (tmp_path / "main.c").write_text("#include <stdio.h>\nint main(int n, char **w) { puts(w[n - 1]); return n; }\n")
    command = [board.compiler, f"-mcpu={board.processor}", *board.flags, *link_flags(board)]
    subprocess.run([*command, "-o", "program", "main.c", "startup.c"], cwd=tmp_path, check=True)
    with pytest.raises(ToolError, match="ended with code 3") as caught:
        run.run(["program", "first", "second,third"], tmp_path)
    assert caught.value.diagnostics[0].notes == ("second,third",)


@pytest.mark.parametrize("name", ["mps2-an386", "riscv32-virt"])
def test_counts_of_instructions(name: str) -> None:
    require_board(name)
    from irtool.driver.counting import count_instructions
    from irtool.driver.options import choose_options
    from irtool.passes.core.bind import bind_params

    options = choose_options("c", ({"board": name},))
    module = irtool.infer_types(bind_params(irtool.parse(NET), WEIGHTS))
    first, second = (count_instructions(module, options, [X], 60).record() for _ in range(2))
    assert first == second
    parts = sum(k["instructions"] for k in first["kernels"])
    assert 0 < parts <= first["instructions"] <= parts + 600
    dense = next(k for k in first["kernels"] if k["macs"] == 512)
    assert 2 <= dense["instructions"] / dense["macs"] <= 8


def test_footprint_is_that_of_the_linked_program(tmp_path: Path) -> None:
    board = require_board("mps2-an386")
    artifact = irtool.build(irtool.parse(NET), WEIGHTS, board=board.name, out_dir=tmp_path, name="net")
    subprocess.run(["make", "-s", "-C", tmp_path, "net.o"], check=True, timeout=120)
    sizes = subprocess.run([f"{board.prefix}size", tmp_path / "net.o"], capture_output=True, text=True, check=True)
    text, data, bss = map(int, sizes.stdout.splitlines()[1].split()[:3])
    footprint = artifact.report["footprint"]
    flash, ram = footprint["flash"], footprint["ram"]
    code = sum(flash["code"].values()) + flash["other_code"]
    assert len(flash["code"]) == 3
    assert code + sum(flash["constants"].values()) + flash["other_constants"] + flash["data"] == text + data
    assert ram["static"] == bss + data == ram["arena"]
    assert 0 < ram["stack"] <= artifact.report["stack_bytes"]


def test_a_network_that_does_not_fit(tmp_path: Path) -> None:
    require_board("microbit")
    text = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(1, 64, 20, 20), float32]) { exp(nn.softmax(tanh(%x))) }\n'
    with pytest.raises(irtool.IrError) as caught:
        irtool.build(irtool.parse(text), board="microbit", out_dir=tmp_path)
    (diagnostic,) = caught.value.diagnostics
    assert "more than the 16384 of microbit" in diagnostic.message and diagnostic.code is not None
    assert not list(tmp_path.iterdir())


def test_floats_without_a_unit_for_them() -> None:
    for name, dtype, warned in (
        ("mps2-an385", "float32", True),
        ("mps2-an386", "float32", False),
        ("mps2-an386", "float64", True),
        ("mps2-an385", "int32", False),
    ):
        require_board(name)
        module = irtool.parse(f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(4), {dtype}]) {{ add(%x, %x) }}\n')
        warnings = irtool.build(module, board=name, emit="c").report["warnings"]
        assert any("by functions of the library" in w for w in warnings) == warned
