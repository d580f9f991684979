"""Writes docs/compare_small.md: `python -m benchmarks.small_devices --cmsis CLONE [--write]`.

Instructions are counted by qemu (`-icount`), code is read from object files, and RAM is that of tensors and scratch memory, planned or summed up.
CLONE is a clone of https://github.com/ARM-software/CMSIS-NN.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..networks.mlperf_tiny import NETWORKS, int8_network
from .cmsis import CmsisCounts, count, library
from .generators import FLOATS

_PAGE = Path(__file__).parents[2] / "docs" / "compare_small.md"
_BOARDS = {"mps2-an386": "Cortex-M4", "mps3-an547": "Cortex-M55"}


@dataclass(frozen=True)
class Counts:
    """A network by irtool: instructions of a run, bytes of code with the functions of the C library, and bytes of the arena."""

    instructions: int
    code_bytes: int
    ram_bytes: int
    macs: int


def own_counts(name: str, board: str, dtype: str) -> Counts:
    """The quantized network with activations in `dtype`, with its input in float32."""
    import numpy as np

    import irtool
    from irtool.driver.counting import count_instructions
    from irtool.driver.options import choose_options
    from irtool.passes.core.bind import bind_params

    module = irtool.infer_types(bind_params(*int8_network(name, dtype=dtype)))
    shape = tuple(int(d) for d in module["main"].params[0].checked_type.shape)
    x = np.random.default_rng(5).uniform(-1, 1, shape).astype("float32")
    counts = count_instructions(module, choose_options("c", ({"board": board},)), [x], 600)
    footprint: dict[str, Any] = irtool.build(module, board=board, emit="obj").report["footprint"]
    flash = footprint["flash"]
    code = sum(flash["code"].values()) + flash["other_code"] + flash["library"]
    return Counts(counts.total, code, footprint["ram"]["arena"], counts.report["macs"])


def row(name: str, own: Counts, other: CmsisCounts) -> str:
    """A row of the table."""
    cells = [name.replace("_", " "), f"{own.macs / 1e6:.2f}"]
    for value, reference in (
        (own.instructions, other.instructions),
        (own.code_bytes, other.code_bytes),
        (own.ram_bytes, other.ram_bytes),
    ):
        cells += [f"{value:,}", f"{reference:,}", f"{value / reference:.2f}"]
    return f"| {' | '.join(cells)} |"


_HEAD = """# MLPerf Tiny on small devices

The four networks of MLPerf Tiny (Banbury et al. 2021) with random weights, in 8 bits (`irtool quantize --form integer`, activations in {dtype}), and the
same layers by the kernels of [CMSIS-NN](https://github.com/ARM-software/CMSIS-NN) (`{commit}`), on boards that qemu emulates. `python -m benchmarks.small_devices
--cmsis CLONE --write` writes this page.

- Instructions of a run are counted by qemu (`-icount`). irtool's include the input's quantization from float32 and a softmax in float32, which CMSIS-NN computes
  in 8 bits.
- Code: bytes of functions with those of the C library; of CMSIS-NN the kernels that the network links, without the code that calls them.
- RAM: irtool's arena; of CMSIS-NN the most bytes of live tensors with the scratch buffer of a layer, as the best plan of a caller would have
  it. Inputs of irtool's networks are in float32, in the caller's memory.
- An instruction is no cycle: both columns have loads and multiplications of the same kinds, but not in the same shares.
- irtool's code has a kernel for each set of extents, CMSIS-NN one for all: this decides the code of networks with many layers on the Cortex-M55.
- The arena of anomaly detection has the quantized input and the result of its first layer, both of which a dense layer needs whole.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cmsis", type=Path, required=True, help="a clone of CMSIS-NN")
    parser.add_argument("--boards", default=",".join(_BOARDS), help="of these boards")
    parser.add_argument("--networks", default=",".join(NETWORKS), help="of these networks")
    parser.add_argument(
        "--dtype", default="int8", choices=("int8", "uint8"), help="activations of irtool's networks; CMSIS-NN has int8"
    )
    parser.add_argument("--write", action="store_true", help="write the page")
    arguments = parser.parse_args()
    from irtool.boards.listing import find_board

    clone = arguments.cmsis
    commit = subprocess.run(
        ["git", "-C", clone, "rev-parse", "--short=10", "HEAD"], capture_output=True, text=True, check=False
    )
    lines = [_HEAD.format(commit=commit.stdout.strip() or "a copy", dtype=arguments.dtype)]
    for name in arguments.boards.split(","):
        board = find_board(name)
        title = f"{_BOARDS.get(name, board.processor)} ({name})"
        lines += [
            f"## {title}",
            "",
            "| network | million multiply-adds | instructions, irtool | CMSIS-NN | ratio | code, irtool | CMSIS-NN | ratio | RAM, irtool | CMSIS-NN | ratio |",
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        ]
        with tempfile.TemporaryDirectory() as work:
            folder = Path(work)
            archive = library(clone.resolve(), board, folder)
            for network in arguments.networks.split(","):
                other = count(clone.resolve(), board, archive, NETWORKS[network](), folder)
                lines.append(row(network, own_counts(network, name, arguments.dtype), other))
                print(f"{title}: {lines[-1]}", flush=True)
        lines.append("")
    if arguments.write:
        measured = "\n".join(lines).rstrip() + "\n"
        _, mark, floats = _PAGE.read_text(encoding="utf-8").partition(FLOATS)  # by generators.py
        _PAGE.write_text(f"{measured}\n{mark}{floats}" if mark else measured, encoding="utf-8")


if __name__ == "__main__":
    main()
