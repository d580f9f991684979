"""The schedules that networks get, in few words: `python -m tests.schedule.plans` writes them to `plans.txt`.

One line a kernel: its strategy, some digits that differ where anything is computed otherwise, then its loops — kind and
extent; `p` parallel, `v` vectorized, `u` unrolled — around the buffers that are stored to, with what is allocated between them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import irtool
from irtool.driver.prepare import prepare
from irtool.lower import lower_module
from irtool.schedule import Machine, schedule_program
from irtool.tir.stmt import Allocate, For, If, Let, PrimFunc, Seq, Stmt, Store, While
from tests.nests import write_nest
from tests.schedule.test_nests import NETWORKS

FILE = Path(__file__).parent / "plans.txt"
MACHINES = {"scalar": Machine(0), "16 x 16": Machine(16, 16), "32 x 16": Machine(32, 16), "64 x 32": Machine(64, 32)}
LARGE = {
    "layer of ResNet": ("nn.conv2d(%x, %w, padding=[1, 1, 1, 1])", [(1, 64, 28, 28), (64, 64, 3, 3)]),
    "first layer": ("nn.conv2d(%x, %w, strides=[2, 2], padding=[3, 3])", [(1, 3, 56, 56), (64, 3, 7, 7)]),
    "separable layer": ("nn.conv2d(%x, %w, groups=32, padding=[1, 1])", [(1, 32, 56, 56), (32, 1, 3, 3)]),
    "rows of separable layer": ("nn.conv2d(%x, %w, groups=32, strides=[2, 2])", [(1, 32, 57, 57), (32, 1, 3, 3)]),
    "large dense": ("nn.dense(%x, %w, units=None)", [(64, 768), (768, 768)]),
    "one large row": ("nn.dense(%x, %w, units=None)", [(1, 1024), (1000, 1024)]),
    "large product": ("nn.batch_matmul(%x, %w, transpose_b=True)", [(12, 64, 64), (12, 64, 64)]),
    "large softmax": ("nn.softmax(%x)", [(128, 1000)]),
    "large normalization": ("nn.layer_norm(%x, %w, %w)", [(128, 768), (768,)]),
    "large pool": ("nn.max_pool2d(%x, pool_size=[3, 3], strides=[2, 2], padding=[1, 1])", [(1, 64, 112, 112)]),
    "large whole mean": ("nn.global_avg_pool2d(%x)", [(1, 512, 7, 7)]),
    "large sum": ("nn.relu(add(%x, %w))", [(1, 64, 56, 56), (1, 64, 56, 56)]),
    "large turn": ("transpose(%x, axes=[0, 2, 1])", [(4, 256, 192)]),
    "large mean of columns": ("mean(%x, axis=[0])", [(512, 300)]),
    "decoder layer": (
        'nn.conv2d_transpose(%x, %w, kernel_layout="IOHW", strides=[2, 2], padding=[1, 1])',
        [(1, 64, 14, 14), (64, 32, 4, 4)],
    ),
    "attention of 64": ("nn.batch_matmul(nn.softmax(nn.batch_matmul(%x, %x, transpose_b=True)), %x)", [(12, 64, 64)]),
}


def networks() -> dict[str, tuple[str, list[tuple[int, ...]]]]:
    """Name, expression, shapes of its operands."""
    return {**{key: (text, shapes) for key, (text, shapes, _) in NETWORKS.items()}, **LARGE}


def plans(key: str) -> list[str]:
    """How a network is scheduled on each machine."""
    text, shapes = networks()[key]
    names = "xwv"[: len(shapes)]
    params = ", ".join(f"%{n}: Tensor[{s}, float32]" for n, s in zip(names, shapes)).replace(",)", ")")
    module = prepare(irtool.parse(f'#[version = "0.0.5"]\ndef @main({params}) {{ {text} }}\n'))
    found = []
    for name, machine in MACHINES.items():
        program = lower_module(module)
        schedule_program(program, machine)
        for kernel in program.kernels:
            loops = " ".join(_words(kernel.body))
            found.append(f"{key} | {name} | {kernel.choice.strategy} | {digits(kernel, loops)} | {shortened(loops)}")
    return found


def digits(kernel: PrimFunc, loops: str) -> str:
    """Six digits of all that a kernel does, in which order: indices, guards and values included, names left out."""
    return hashlib.sha256(f"{loops}\n{write_nest(kernel)}".encode()).hexdigest()[:6]


def shortened(loops: str) -> str:
    """What is long is cut."""
    return loops[:400].rstrip()


def _words(root: Stmt) -> Iterator[str]:
    stack: list[Stmt | str] = [root]
    while stack:
        s = stack.pop()
        if isinstance(s, str):
            yield s
        elif isinstance(s, Seq):
            stack += reversed(s.stmts)
        elif isinstance(s, For):
            kind = "" if s.kind == "serial" else s.kind[0]
            yield f"{kind}{s.extent}("
            stack += [")", s.body]
        elif isinstance(s, Store):
            yield s.buffer.name
        elif isinstance(s, If):
            yield "if("
            stack += [")", *([s.other, "|"] if s.other is not None else []), s.then]
        elif isinstance(s, Allocate):
            yield f"{s.buffer.scope}:{s.buffer.size}"
            stack.append(s.body)
        elif isinstance(s, While | Let):
            stack.append(s.body)


if __name__ == "__main__":
    FILE.write_text("".join(f"{line}\n" for key in networks() for line in plans(key)), encoding="utf-8")
