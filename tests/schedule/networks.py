"""Small networks of one layer or few, and the machines that they are scheduled for."""

from __future__ import annotations

import numpy as np

import irtool
from irtool.driver.prepare import prepare
from irtool.schedule import VectorTarget

MACHINES = [VectorTarget(0), VectorTarget(16, 16), VectorTarget(32, 16), VectorTarget(64, 32)]

NETWORKS = {
    "convolution": ("nn.relu(nn.conv2d(%x, %w, padding=[1, 1, 1, 1]))", [(1, 4, 6, 5), (16, 4, 3, 3)], "register_tile"),
    "odd channels": ("nn.conv2d(%x, %w, strides=[2, 2])", [(1, 3, 7, 9), (17, 3, 3, 3)], "register_tile"),
    "1 x 1": ("nn.conv2d(%x, %w)", [(1, 8, 3, 5), (16, 8, 1, 1)], "register_tile"),
    "1 x 1 of every other": ("nn.conv2d(%x, %w, strides=[2, 2])", [(1, 4, 6, 6), (16, 4, 1, 1)], ""),
    "dilated": ("nn.conv2d(%x, %w, dilation=[2, 1], padding=[2, 0])", [(1, 2, 5, 6), (8, 2, 3, 2)], "register_tile"),
    "groups": ("nn.conv2d(%x, %w, groups=2, padding=[1, 1])", [(1, 4, 5, 5), (16, 2, 3, 3)], "register_tile"),
    "depthwise": ("nn.conv2d(%x, %w, groups=8, padding=[1, 1])", [(1, 8, 6, 20), (8, 1, 3, 3)], ""),
    "depthwise, strided": (
        "nn.conv2d(%x, %w, groups=4, padding=[1, 1], strides=[2, 2])",
        [(1, 4, 9, 33), (4, 1, 3, 3)],
        "",
    ),
    "row-major channels": (
        'nn.conv2d(%x, %w, data_layout="NHWC", kernel_layout="HWIO", padding=[1, 1])',
        [(1, 5, 4, 3), (3, 3, 3, 16)],
        "register_tile",
    ),
    "sequence": ("nn.conv1d(%x, %w, padding=[1, 1])", [(2, 3, 20), (8, 3, 3)], ""),
    "transposed": (
        'nn.conv2d_transpose(%x, %w, kernel_layout="IOHW", strides=[2, 2], padding=[1, 1])',
        [(1, 3, 4, 5), (3, 8, 4, 4)],
        "",
    ),
    "transposed, more rows": (
        'nn.conv2d_transpose(%x, %w, kernel_layout="IOHW", strides=[2, 3], padding=[1, 0], output_padding=[1, 0])',
        [(1, 2, 3, 4), (2, 8, 3, 3)],
        "",
    ),
    "transposed, three phases": (
        'nn.relu(nn.conv2d_transpose(%x, %w, kernel_layout="IOHW", strides=[3, 1], padding=[0, 1, 2, 0]))',
        [(1, 2, 4, 3), (2, 5, 5, 2)],
        "",
    ),
    "transposed sequence": (
        "nn.conv1d_transpose(%x, %w, strides=[2], padding=[1, 2])",
        [(1, 3, 7), (3, 8, 5)],
        "",
    ),
    "max pool": ("nn.max_pool2d(%x, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1])", [(1, 2, 20, 40)], ""),
    "mean pool": ("nn.avg_pool2d(%x, pool_size=[3, 3], padding=[1, 1, 1, 1])", [(1, 2, 9, 20)], ""),
    "mean pool, counted": (
        "nn.avg_pool2d(%x, pool_size=[2, 3], strides=[1, 2], padding=[0, 1, 1, 0], count_include_pad=True)",
        [(1, 2, 9, 19)],
        "",
    ),
    "whole mean": ("nn.global_avg_pool2d(%x)", [(1, 16, 5, 7)], ""),
    "dense": ("nn.dense(%x, %w, units=None)", [(5, 40), (24, 40)], ""),
    "one row": ("nn.dense(%x, %w, units=None)", [(1, 40), (20, 40)], ""),
    "product": ("nn.batch_matmul(%x, %w, transpose_b=True)", [(2, 7, 12), (2, 18, 12)], ""),
    "product, transposed": (
        "nn.batch_matmul(%x, %w, transpose_a=True, transpose_b=False)",
        [(2, 12, 7), (2, 12, 18)],
        "",
    ),
    "softmax": ("nn.softmax(%x)", [(6, 37)], ""),
    "softmax along columns": ("nn.softmax(%x, axis=0)", [(6, 37)], ""),
    "mean of rows": ("mean(%x, axis=[1], keepdims=True)", [(9, 50)], ""),
    "sum of columns": ("sum(multiply(%x, %w), axis=[0])", [(9, 50), (9, 50)], ""),
    "largest": ("max(%x, axis=[0, 2])", [(5, 6, 21)], ""),
    "where the largest is": ("argmax(%x, axis=[1])", [(7, 33)], ""),
    "spread out": ("nn.relu(add(multiply(%x, %w), %x))", [(3, 5, 21), (5, 1)], ""),
    "turned": ("add(transpose(%x, axes=[1, 0]), %w)", [(19, 23), (23, 19)], ""),
    "turned back": ("transpose(nn.relu(transpose(%x, axes=[0, 2, 3, 1])), axes=[0, 3, 1, 2])", [(1, 18, 5, 7)], ""),
    "joined": ("concatenate((%x, %w, nn.relu(%x)), axis=1)", [(3, 5, 7), (3, 2, 7)], ""),
    "padded": ("nn.pad(%x, 1.5f, pad_width=[[0, 0], [1, 2], [3, 0]])", [(2, 5, 17)], ""),
    "cut": ("strided_slice(%x, begin=[0, 1, 2], end=[2, 5, 19], strides=[1, 2, 3], axes=None)", [(2, 6, 20)], ""),
    "mirrored": ("add(reverse(%x, axis=1), %w)", [(4, 33), (33,)], ""),
    "normalized": ("nn.layer_norm(%x, %w, %w)", [(5, 40), (40,)], ""),
    "summed up": ("cumsum(%x, axis=1)", [(4, 9)], ""),
    "two layers": (
        "nn.conv2d(nn.relu(nn.conv2d(%x, %w, padding=[1, 1])), %v, padding=[1, 1])",
        [(1, 3, 6, 6), (8, 3, 3, 3), (16, 8, 3, 3)],
        "register_tile",
    ),
    "layer and rest": (
        "nn.relu(add(nn.conv2d(%x, %w, padding=[1, 1]), %x))",
        [(1, 16, 5, 5), (16, 16, 3, 3)],
        "register_tile",
    ),
    "attention": (
        "nn.batch_matmul(nn.softmax(nn.batch_matmul(%x, %x, transpose_b=True)), %x)",
        [(2, 9, 16)],
        "",
    ),
}


def build_network(key: str, weights: bool):
    """A module, its inputs, and what it computes; `weights`: all but the first are constants."""
    text, shapes, _ = NETWORKS[key]
    names = "xwv"[: len(shapes)]
    params = ", ".join(f"%{n}: Tensor[{s}, float32]" for n, s in zip(names, shapes)).replace(",)", ")")
    generator = np.random.RandomState(len(key))
    arrays = {n: generator.randn(*s).astype("float32") for n, s in zip(names, shapes)}
    module = irtool.infer_types(irtool.parse(f'#[version = "0.0.5"]\ndef @main({params}) {{ {text} }}\n'))
    want = irtool.evaluate(module, arrays)
    bound = {n: a for n, a in arrays.items() if weights and n != "x"}
    return prepare(module, params=bound), [a for n, a in arrays.items() if n not in bound], want
