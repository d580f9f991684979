"""Which neighbours of layers each library takes over: `python -m tests.passes.takers` writes it to `takers.txt`.

One line a library and a layer that it takes; a letter for the layer and for each neighbour (`tests.ops.neighbours`) stands for
what the library takes of it: nothing is `-`, and `x` is a neighbour without a type.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from string import ascii_lowercase

import numpy as np

import irtool
from irtool.diagnostics import IrError
from irtool.ir import Call, Function, Module, TensorType, post_order
from irtool.passes.core.bind import bind_params
from irtool.passes.partition.libraries import libraries
from tests.ops.neighbours import neighbours

FILE = Path(__file__).parent / "takers.txt"
IMAGE, ROWS = "%x: Tensor[(1, 4, 8, 8), float32]", "%x: Tensor[(2, 8), float32]"
LAST = "%x: Tensor[(1, 8, 8, 4), float32]"
LAYERS = {
    "convolution": (
        f"{IMAGE}, %w: Tensor[(6, 4, 3, 3), float32], %b: Tensor[(6), float32]",
        'nn.relu(nn.bias_add(nn.conv2d(%x, %w, padding=[1, 1, 1, 1], groups=1, out_dtype="float32"), %b, axis=1))',
    ),
    "convolution and sum": (
        f"{IMAGE}, %w: Tensor[(6, 4, 3, 3), float32], %b: Tensor[(1, 6, 1, 1), float32]",
        "add(nn.conv2d(%x, %w, strides=[2, 2]), %b)",
    ),
    "channels last": (
        f"{LAST}, %w: Tensor[(3, 3, 4, 6), float32], %b: Tensor[(6), float32]",
        'nn.bias_add(nn.conv2d(%x, %w, data_layout="NHWC", kernel_layout="HWIO"), %b, axis=3)',
    ),
    "outer channels first": (
        f"{LAST}, %w: Tensor[(4, 3, 3, 4), float32], %b: Tensor[(4), float32]",
        'nn.relu(add(nn.bias_add(nn.conv2d(%x, %w, padding=[1, 1], data_layout="NHWC", kernel_layout="OHWI"), %b, '
        "axis=-1), %x))",
    ),
    "separable": (
        f"{LAST}, %w: Tensor[(3, 3, 4, 1), float32]",
        'nn.conv2d(%x, %w, groups=4, strides=[1, 1], data_layout="NHWC", kernel_layout="HWOI")',
    ),
    "dense": (f"{ROWS}, %w: Tensor[(5, 8), float32], %b: Tensor[(5), float32]", "add(nn.dense(%x, %w), %b)"),
    "dense, biased": (
        f"{ROWS}, %w: Tensor[(5, 8), float32], %b: Tensor[(5), float32]",
        'nn.relu(nn.bias_add(nn.dense(%x, %w, out_dtype="float32"), %b, axis=1))',
    ),
    "bytes": ("%x: Tensor[(2, 8), int8], %w: Tensor[(4, 8), int8]", 'nn.dense(%x, %w, out_dtype="int32")'),
    "product": (
        "%x: Tensor[(2, 3, 8), float16], %w: Tensor[(2, 5, 8), float16]",
        "nn.batch_matmul(%x, %w, transpose_a=False, transpose_b=True)",
    ),
    "softmax": (ROWS, "nn.softmax(%x, axis=-1)"),
    "logarithms": (ROWS, "nn.log_softmax(%x, axis=1)"),
    "largest, last": (
        LAST,
        'nn.max_pool2d(%x, pool_size=[2, 2], strides=[2, 2], dilation=[1, 1], padding=[0, 0], layout="NHWC", ceil_mode=False)',
    ),
    "largest": (IMAGE, "nn.max_pool2d(%x, pool_size=[3, 3], dilation=[1, 1], padding=[1, 1, 1, 1], ceil_mode=False)"),
    "mean": (IMAGE, "nn.avg_pool2d(%x, pool_size=[2, 2], padding=[1, 1], count_include_pad=True)"),
    "mean of all": (LAST, 'nn.global_avg_pool2d(%x, layout="NHWC")'),
    "sum": ("%x: Tensor[(4, 8), float32], %w: Tensor[(4, 8), float32]", "add(%x, %w)"),
    "bytes to bytes": (
        "%x: Tensor[(4, 8), int8]",
        "qnn.quantize(qnn.dequantize(%x, 0.5f, 1), 0.5f, 1)",
    ),
}


def text(layer: str) -> str:
    """The module of a layer."""
    params, body = LAYERS[layer]
    return f'#[version = "0.0.5"]\ndef @main({params}) {{\n  {body}\n}}\n'


def takes(library: str, module: str) -> str:
    """What a library takes of the text of a module in which all parameters but `%x` are constants, as a letter."""
    try:
        typed = irtool.infer_types(bind_params(irtool.parse(module), _ones(irtool.infer_types(irtool.parse(module)))))
    except IrError:
        return "x"
    pipeline = [
        ("MergeComposite", {"pattern_table": library}),
        ("AnnotateTarget", {"targets": library, "include_non_call_ops": False}),
        "PartitionGraph",
    ]
    after = irtool.run_passes(typed, pipeline)
    taken = [
        e for f in after.functions.values() if isinstance(f, Function) and f.attrs.get("Compiler") for e in _calls(f)
    ]
    return ascii_lowercase[zlib.crc32(" ".join(sorted(taken)).encode()) % 23] if taken else "-"


def _calls(f: Function) -> Iterator[str]:
    """The composite functions, and operators, that a function calls."""
    for e in post_order(f.body):
        if isinstance(e, Call):
            yield str(e.op.attrs.get("Composite")) if isinstance(e.op, Function) else str(getattr(e.op, "name", ""))


def line(library: str, layer: str) -> str:
    """What `takers.txt` says of a library and a layer."""
    marks = [takes(library, t) for t in (text(layer), *neighbours(text(layer)))]
    return f"{library} | {layer} | {''.join(marks)}"


def expected() -> list[str]:
    """The lines of `takers.txt`."""
    return FILE.read_text(encoding="utf-8").splitlines()


def _ones(module: Module) -> dict[str, np.ndarray]:
    weights = {}
    for p in module["main"].params:  # type: ignore[union-attr]
        t = p.checked_type
        assert isinstance(t, TensorType)
        if p.name != "x":
            weights[p.name] = np.ones([int(d) for d in t.shape], t.dtype)  # type: ignore[arg-type]
    return weights


def _lines() -> Iterator[str]:
    for library in libraries():
        for layer in LAYERS:
            if takes(library, text(layer)) not in "-x":
                yield line(library, layer)


if __name__ == "__main__":
    FILE.write_text("".join(f"{x}\n" for x in _lines()), encoding="utf-8")
