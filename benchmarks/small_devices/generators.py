"""Float networks by another generator of C on emulated boards: `python -m benchmarks.small_devices.generators [--write]` writes the last section of
docs/compare_small.md.

emx-onnx-cgen (PyPI) compiles the ONNX models that `irtool export` writes; its C is compiled with `-O3`, as irtool's is, with temporaries on the stack
and weights in the code. `--emx` names its command, which is no part of irtool.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from math import prod
from pathlib import Path
from typing import Any

from irtool.boards.board import Board
from irtool.boards.counts import counting_flags, read_counts
from irtool.boards.project import link_flags, linker_script, startup_code
from irtool.boards.running import BoardRun

from ..networks.mlperf_tiny import NETWORKS, float_network

_PAGE = Path(__file__).parents[2] / "docs" / "compare_small.md"
FLOATS = "## Float32, beside emx-onnx-cgen"
"""The head of the section."""
_BOARDS = {"mps2-an386": "Cortex-M4"}
"""The board whose flash, 4 MB, has room for the C of emx-onnx-cgen; the 512 KB of mps3-an547 have none."""


def emx_instructions(command: str, model: Path, inputs: int, outputs: int, board: Board, folder: Path) -> int:
    """Instructions of a run of an ONNX model by emx-onnx-cgen. Raises CalledProcessError if it or a compiler fails."""
    options = ["--model-name", "net", "--large-temp-threshold", "0", "--large-weight-threshold", str(1 << 30)]
    subprocess.run([command, "compile", *options, model, folder / "net.c"], check=True, capture_output=True)
    arguments = re.search(r"^void net\((.*)\) \{$", (folder / "net.c").read_text(), re.MULTILINE)
    if arguments is None:
        raise ValueError(f"emx-onnx-cgen wrote no function for {model.name}")
    (folder / "main.c").write_text(_program(arguments[1], inputs, outputs))
    (folder / "startup.c").write_text(startup_code(board))
    (folder / "board.ld").write_text(linker_script(board, board.ram.size * 3 // 4))
    base = [board.compiler, f"-mcpu={board.processor}", *board.flags, "-std=gnu99", "-O3"]
    hooks = counting_flags(8, "main").split()
    subprocess.run([*base, "-c", "-o", "net.o", "net.c"], cwd=folder, check=True, capture_output=True)
    subprocess.run([*base, *hooks, "-c", "-o", "main.o", "main.c"], cwd=folder, check=True)
    subprocess.run([*base, hooks[0], "-c", "-o", "startup.o", "startup.c"], cwd=folder, check=True)
    link = [*base, *link_flags(board), "-Wl,-u,start", "-o", "program"]
    subprocess.run([*link, "main.o", "net.o", "startup.o", "-lm"], cwd=folder, check=True)
    run = BoardRun({"board": board.record(), "kernels": []}, folder / "program", 600, True)
    run.run(["program"], folder)
    return read_counts("".join(run.printed), folder / "program", board.prefix)["whole"].instructions


def _program(arguments: str, inputs: int, outputs: int) -> str:
    """A program that runs the network once in a function of its own; its tensors are flat, as the call does not see their shapes."""
    declared = ", ".join(["const float *"] * arguments.count("const float") + ["float *"])
    return (
        f"#include <stdio.h>\nstatic float x[{inputs}], y[{outputs}];\nvoid net({declared});\n"
        "__attribute__((noinline)) void whole(void);\nvoid whole(void) { net(x, y); }\n"
        "int main(int argc, char **argv) {\n  int i;\n  (void)argc;\n  (void)argv;\n"
        f"  for (i = 0; i < {inputs}; ++i) x[i] = (float)(i % 17) / 16.0f - 0.5f;\n"
        '  whole();\n  printf("%g\\n", (double)y[0]);\n  return 0;\n}\n'
    )


def own_instructions(module: Any, board: str, shape: tuple[int, ...]) -> int:
    """Instructions of a run by irtool."""
    import numpy as np

    from irtool.driver.counting import count_instructions
    from irtool.driver.options import choose_options

    x = np.random.default_rng(5).uniform(-1, 1, shape).astype("float32")
    return count_instructions(module, choose_options("c", ({"board": board},)), [x], 600).total


def section(command: str, boards: list[str]) -> str:
    """The section of the page."""
    import irtool
    from irtool.boards.listing import find_board
    from irtool.passes.core.bind import bind_params

    version = subprocess.run(
        [Path(command).with_name("python"), "-m", "pip", "show", "emx-onnx-cgen"],
        capture_output=True,
        text=True,
        check=False,
    )
    number = re.search(r"^Version: (.*)$", version.stdout, re.MULTILINE)
    lines = [
        FLOATS,
        "",
        f"The same networks in float32, and the C that emx-onnx-cgen{' ' + number[1] if number else ''} makes of the ONNX models of `irtool export`, both compiled with "
        "`-O3`. `python -m benchmarks.small_devices.generators --write` writes this section.",
        "",
        "| network | board | instructions, irtool | emx-onnx-cgen | ratio |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    for network in NETWORKS:
        module = irtool.infer_types(bind_params(*float_network(network)))
        main = module["main"]
        shape = tuple(int(d) for d in main.params[0].checked_type.shape)
        outputs = prod(int(d) for d in main.body.checked_type.shape)
        with tempfile.TemporaryDirectory() as work:
            folder = Path(work)
            model = folder / "net.onnx"
            text = folder / "net.relay"
            text.write_text(irtool.to_text(module), encoding="utf-8")
            subprocess.run(
                [sys.executable, "-m", "irtool", "export", text, "-o", model], check=True, capture_output=True
            )
            for name in boards:
                other = emx_instructions(command, model, prod(shape), outputs, find_board(name), folder)
                own = own_instructions(module, name, shape)
                title = f"{_BOARDS.get(name, name)} ({name})"
                lines.append(f"| {network.replace('_', ' ')} | {title} | {own:,} | {other:,} | {own / other:.2f} |")
                print(lines[-1], flush=True)
    return "\n".join([*lines, ""])


def main() -> None:
    """Prints the section, or writes it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--emx", default="emx-onnx-cgen", help="its command")
    parser.add_argument("--boards", default=",".join(_BOARDS), help="on these boards")
    parser.add_argument("--write", action="store_true", help="write the page")
    arguments = parser.parse_args()
    text = section(arguments.emx, arguments.boards.split(","))
    if arguments.write:
        page = _PAGE.read_text(encoding="utf-8").split(FLOATS)[0].rstrip()
        _PAGE.write_text(f"{page}\n\n{text}", encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
