"""Type inference and the whole -O3 pipeline, on networks of the usual sizes."""

from __future__ import annotations

import irtool
from irtool.parser import parse

from .measure import seconds
from .networks.resnet import resnet
from .networks.transformer import bert, gpt2
from .networks.vgg import vgg


def run() -> None:
    """Prints the table: seconds per network, and microseconds per operator of long chains."""
    print("passes")
    for name, text in (("ResNet-50", resnet(50)), ("BERT-base", bert()), ("GPT-2", gpt2()), ("VGG-16", vgg())):
        read = parse(text)
        module = irtool.infer_types(read)
        typed = seconds(lambda m=read: irtool.infer_types(m), runs=3)
        pipeline = seconds(lambda m=module: irtool.run_passes(m, "default<O3>", opt_level=3, target="llvm"), runs=3)
        print(f"  {name:20s} infer types {typed * 1e3:8.1f} ms    default<O3> {pipeline * 1e3:8.1f} ms")
    for passes in ("FuseOps", "ToBasicBlockNormalForm", "ToANormalForm", "FoldConstant", "SimplifyExpr"):
        row = []
        for size in (1_000, 10_000, 100_000):
            module = irtool.parse(_chain(size))
            took = seconds(lambda m=module, p=passes: irtool.run_passes(m, p), runs=1)
            row.append(f"{took / size * 1e6:7.1f}")
        print(f"  {passes:24s} µs per operator of a chain of 1,000, 10,000, 100,000: {' '.join(row)}")


def _chain(size: int) -> str:
    lines = "".join(f"  %{i} = nn.relu(%{i - 1});\n" if i else "  %0 = nn.relu(%x);\n" for i in range(size))
    return f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(4), float32]) {{\n{lines}  %{size - 1}\n}}\n'
