"""Reading and printing text: ResNet-50, throughput over sizes, constants in metadata."""

from __future__ import annotations

import resource

import irtool
from irtool.parser import parse

from .measure import seconds
from .networks.resnet import resnet


def _row(name: str, value: str) -> None:
    print(f"  {name:58s} {value}")


def run() -> None:
    """Prints the table."""
    import lark
    import numpy as np

    from irtool.ir import Constant, Function, Module, Tuple

    print("text")
    typed = irtool.to_text(irtool.parse(resnet(50)))
    module = irtool.parse(typed)
    size = len(typed) / 1e3
    _row(f"ResNet-50 ({size:.0f} KB): parse", f"{seconds(lambda: parse(typed)) * 1e3:8.1f} ms")
    _row(f"ResNet-50 ({size:.0f} KB): parse and infer types", f"{seconds(lambda: irtool.parse(typed)) * 1e3:8.1f} ms")
    _row(f"ResNet-50 ({size:.0f} KB): print", f"{seconds(lambda: irtool.to_text(module)) * 1e3:8.1f} ms")
    plain = resnet(50)
    _row(
        f"ResNet-50, no types ({len(plain) / 1e3:.0f} KB): parse",
        f"{seconds(lambda: parse(plain)) * 1e3:8.1f} ms",
    )
    for lines in (1_000, 10_000, 100_000, 400_000):
        text = _chain(lines)
        took = seconds(lambda t=text: parse(t), runs=3)
        _row(f"chain of {lines} calls ({len(text) / 1e6:.2f} MB): parse", f"{len(text) / 1e6 / took:8.2f} MB/s")
    large = _network(1_000_000)
    _row(
        f"1,000,000 operators ({len(large) / 1e6:.0f} MB): parse", f"{seconds(lambda t=large: parse(t), runs=1):8.1f} s"
    )
    del large
    _row("peak memory of this process so far", f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:8.2f} GB")
    values = np.random.default_rng(0).standard_normal(25_000_000, dtype=np.float32).reshape(25, -1)
    big = Module({"main": Function((), Tuple(tuple(Constant(v) for v in values)))})
    printed = irtool.to_text(big)
    _row("100 MB of constants: print", f"{seconds(lambda: irtool.to_text(big), runs=3):8.2f} s")
    _row("100 MB of constants: parse", f"{seconds(lambda: parse(printed), runs=3):8.2f} s")
    _row("peak memory of this process", f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:8.2f} GB")
    _row("lark", lark.__version__)


def _network(calls: int) -> str:
    """Calls of several kinds, with types and attributes: about 69 characters for each."""
    shape = "Tensor[(1, 16), float32]"
    templates = ("nn.dense(%{}, %w, units=16)", "add(%{}, %x)", "nn.relu(%{})", "multiply(%{}, 0.5f)")
    lines = [f"  %{i + 1} = {templates[i % 4].format(i)} /* ty={shape} */;\n" for i in range(calls - 1)]
    head = f'#[version = "0.0.5"]\ndef @main(%x: {shape}, %w: Tensor[(16, 16), float32]) -> {shape} {{\n  %0 = nn.relu(%x);\n'
    return "".join([head, *lines, f"  %{calls - 1}\n}}\n"])


def _chain(lines: int) -> str:
    body = "".join(f"  %{i} = nn.relu(%{i - 1});\n" if i else "  %0 = nn.relu(%x);\n" for i in range(lines))
    return f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(4), float32]) {{\n{body}  %{lines - 1}\n}}\n'
