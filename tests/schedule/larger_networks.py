"""Networks of one layer or few in sizes of networks that people use, beside the small ones of `networks.py`."""

from __future__ import annotations

from tests.schedule.networks import NETWORKS

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
    "layer in bands": ("nn.conv2d(%x, %w, padding=[1, 1])", [(1, 32, 64, 66), (32, 32, 3, 3)]),
    "every other row in bands": (
        "nn.conv2d(%x, %w, strides=[2, 2], padding=[3, 3])",
        [(1, 8, 130, 130), (24, 8, 7, 7)],
    ),
    "row-major layer in bands": (
        'nn.conv2d(%x, %w, data_layout="NHWC", kernel_layout="HWIO", padding=[1, 2], dilation=[1, 2])',
        [(1, 60, 68, 40), (3, 3, 40, 16)],
    ),
    "large separable layer": ("nn.conv2d(%x, %w, groups=64, padding=[1, 1])", [(1, 64, 56, 56), (64, 1, 3, 3)]),
    "attention of 64": ("nn.batch_matmul(nn.softmax(nn.batch_matmul(%x, %x, transpose_b=True)), %x)", [(12, 64, 64)]),
}


OTHERS = {
    "just enough for threads": ("nn.relu(%x)", [(32, 1024)]),
    "not enough for threads": ("nn.relu(%x)", [(31, 1057)]),
    "rows, just enough for threads": ("mean(%x, axis=[1])", [(64, 512)]),
    "product, just enough for threads": ("nn.dense(%x, %w, units=None)", [(64, 64), (64, 64)]),
    "pool, just enough for threads": ("nn.max_pool2d(%x, pool_size=[2, 2], strides=[2, 2])", [(1, 16, 128, 128)]),
    "wide pool": ("nn.max_pool2d(%x, pool_size=[3, 3], strides=[2, 2], padding=[1, 1])", [(1, 2, 224, 224)]),
    "flat turn": ("transpose(%x, axes=[1, 0])", [(512, 384)]),
    "turn of four rows": ("transpose(%x, axes=[1, 0])", [(4, 700)]),
    "blocks": (
        'nn.conv2d(%x, %w, data_layout="NCHW8c", kernel_layout="OIHW8i8o", padding=[1, 1])',
        [(1, 2, 6, 6, 8), (2, 2, 3, 3, 8, 8)],
    ),
    "blocks of one group": (
        'nn.conv2d(%x, %w, groups=16, data_layout="NCHW8c", kernel_layout="OIHW1i8o", padding=[1, 1])',
        [(1, 2, 6, 6, 8), (2, 1, 3, 3, 1, 8)],
    ),
    "volume": ("nn.conv3d(%x, %w, padding=[1, 1, 1])", [(1, 2, 4, 5, 9), (8, 2, 3, 3, 3)]),
    "odd 1 x 1": ("nn.relu(nn.conv2d(%x, %w))", [(1, 9, 7, 7), (13, 9, 1, 1)]),
    "deep 1 x 1": ("nn.conv2d(%x, %w)", [(1, 512, 7, 7), (128, 512, 1, 1)]),
    "bytes": (
        'nn.dense(%x, %w, units=None, out_dtype="int32")',
        ["Tensor[(6, 32), int8]", "Tensor[(24, 32), int8]"],
    ),
    "layer of bytes": (
        'nn.conv2d(%x, %w, padding=[1, 1], out_dtype="int32")',
        ["Tensor[(1, 8, 6, 6), uint8]", "Tensor[(16, 8, 3, 3), int8]"],
    ),
    "half rows": ("nn.softmax(%x)", ["Tensor[(4, 40), float16]"]),
    "half sum": ("nn.relu(add(%x, %w))", ["Tensor[(4, 40), float16]", "Tensor[(40), float16]"]),
    "double": ("nn.dense(%x, %w, units=None)", ["Tensor[(5, 24), float64]", "Tensor[(16, 24), float64]"]),
    "whole numbers": ("sum(%x, axis=[1])", ["Tensor[(9, 50), int32]"]),
    "choice": ("where(greater(%x, %w), %x, nn.relu(%w))", [(3, 37), (3, 37)]),
    "conversion": ('cast(%x, dtype="int8")', [(3, 37)]),
    "group normalization": ("nn.group_norm(%x, %w, %w, num_groups=2)", [(2, 8, 5, 5), (8,)]),
    "instance normalization": ("nn.instance_norm(%x, %w, %w)", [(2, 8, 5, 5), (8,)]),
    "logarithms of softmax": ("nn.log_softmax(%x)", [(6, 40)]),
    "local response": ("nn.lrn(%x, size=3)", [(1, 8, 5, 20)]),
    "length": ("nn.l2_normalize(%x, eps=0.001, axis=[1])", [(6, 40)]),
    "larger image": ("nn.upsampling(%x, scale_h=2f, scale_w=2f)", [(1, 3, 5, 20)]),
    "mean of any form": ("nn.adaptive_avg_pool2d(%x, output_size=[3, 5])", [(1, 4, 10, 17)]),
    "vector_segments": ("split(%x, indices_or_sections=[5, 21], axis=1)", [(3, 40)]),
    "many joined": ("concatenate((%x, %w, nn.relu(%w)), axis=1)", [(1, 4, 6, 6), (1, 8, 6, 6)]),
    "stacked": ("stack((%x, %w), axis=1)", [(3, 20), (3, 20)]),
    "repeated": ("tile(%x, reps=[2, 3])", [(3, 7)]),
    "picked": ('take(%x, %w, axis=0, mode="clip")', [(9, 20), "Tensor[(5), int32]"]),
    "sorted": ("sort(%x, axis=1)", [(3, 9)]),
    "sum of products": ("sum(multiply(%x, %w), axis=[1, 2])", [(5, 6, 20), (5, 6, 20)]),
    "product of few": ("nn.dense(%x, %w, units=None)", [(3, 3), (5, 3)]),
    "product of one row in blocks": ("nn.contrib_dense_pack(%x, %w, units=None)", [(1, 24), (2, 24, 8)]),
    "mean and variance": ("variance(%x, mean(%x, axis=[1], keepdims=True), axis=[1])", [(6, 40)]),
    "rest after a product": ("tanh(add(nn.dense(%x, %w, units=None), %v))", [(7, 24), (20, 24), (20,)]),
    "depthwise, then all channels": (
        "nn.conv2d(nn.relu(nn.conv2d(%x, %w, groups=8, padding=[1, 1])), %v)",
        [(1, 8, 7, 7), (8, 1, 3, 3), (16, 8, 1, 1)],
    ),
    "turn to four rows": ("transpose(%x, axes=[1, 0])", [(24, 4)]),
    "turn of squares": ("transpose(nn.relu(%x), axes=[0, 2, 1])", [(3, 4, 4)]),
    "turn of twos": ("transpose(%x, axes=[1, 0])", [(2, 33)]),
    "turn of lines": ("transpose(%x, axes=[1, 0, 2])", [(6, 7, 16)]),
    "strided columns": ("strided_slice(%x, begin=[0, 0], end=[9, 40], strides=[1, 4], axes=None)", [(9, 40)]),
    "positions of bytes": ("argmax(%x, axis=[1])", ["Tensor[(1, 21, 200), int8]"]),
    "positions in short rows": ("argmax(%x, axis=[1])", [(150, 12)]),
    "pool of colours": ('nn.max_pool2d(%x, pool_size=[2, 2], strides=[2, 2], layout="NHWC")', [(1, 12, 70, 3)]),
    "padded pool of colours": (
        'nn.max_pool2d(%x, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1], layout="NHWC")',
        [(1, 13, 21, 3)],
    ),
    "mean of colours": ('nn.avg_pool2d(%x, pool_size=[8, 8], strides=[8, 8], layout="NHWC")', [(2, 16, 40, 3)]),
    "larger colours": ('nn.upsampling(%x, scale_h=2f, scale_w=2f, layout="NHWC")', [(1, 5, 20, 3)]),
    "larger bytes": ("nn.upsampling(%x, scale_h=2f, scale_w=2f)", ["Tensor[(1, 3, 5, 40), int8]"]),
    "pool of fours": ("nn.max_pool2d(%x, pool_size=[2, 4], strides=[2, 4])", [(1, 3, 8, 64)]),
    "mean of fives": ("nn.avg_pool2d(%x, pool_size=[5, 5], strides=[3, 3], padding=[2, 2])", [(1, 4, 21, 50)]),
    "pool of lines": ("nn.max_pool1d(%x, pool_size=[3], strides=[2], padding=[1, 1])", [(2, 3, 77)]),
    "dilated pool": ("nn.max_pool2d(%x, pool_size=[3, 3], dilation=[2, 2])", [(1, 2, 15, 40)]),
    "dilated separable layer": (
        "nn.conv2d(%x, %w, groups=6, dilation=[1, 2], padding=[1, 2])",
        [(1, 6, 9, 37), (6, 1, 3, 3)],
    ),
    "separable layer of fives": ("nn.conv2d(%x, %w, groups=3, padding=[2, 2])", [(1, 3, 11, 70), (3, 1, 5, 5)]),
    "two results of each channel": ("nn.conv2d(%x, %w, groups=3, padding=[1, 1])", [(1, 3, 9, 40), (6, 1, 3, 3)]),
    "product of odd depth": ("nn.dense(%x, %w, units=None)", [(13, 31), (37, 31)]),
    "product of two columns": ("nn.dense(%x, %w, units=None)", [(65, 130), (2, 130)]),
    "sum of all": ("sum(%x)", [(7, 130)]),
    "largest of columns": ("max(%x, axis=[0])", [(70, 9)]),
    "sums of middles": ("sum(%x, axis=[1])", [(4, 37, 21)]),
    "1 x 1 x 1": ("nn.conv3d(%x, %w)", [(1, 8, 3, 4, 5), (16, 8, 1, 1, 1)]),
}


def networks() -> dict[str, tuple[str, list[tuple[int, ...] | str]]]:
    """Name, expression, shapes of its operands (of float32, or types)."""
    return {**{key: (text, shapes) for key, (text, shapes, _) in NETWORKS.items()}, **LARGE, **OTHERS}


def module_text(key: str) -> str:
    """A network as the text of a module."""
    text, shapes = networks()[key]
    names = "xwv"[: len(shapes)]
    types = [s if isinstance(s, str) else f"Tensor[{s}, float32]" for s in shapes]
    params = ", ".join(f"%{n}: {t}" for n, t in zip(names, types)).replace(",)", ")")
    return f'#[version = "0.0.5"]\ndef @main({params}) {{ {text} }}\n'
