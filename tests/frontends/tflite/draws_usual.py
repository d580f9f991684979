"""Layers of usual networks, at random."""

from __future__ import annotations

import numpy as np

from .cases import Drawing, draws

BITS = "int8 uint8"


def scales_of(d: Drawing, i: int) -> np.ndarray:
    return np.atleast_1d(np.asarray(d.tensors[i].scale, np.float64))


def bias(d: Drawing, x: int, w: int, channels: int) -> None:
    """The bias of a layer, or none where it may be left out."""
    if d.dtype == "float32":
        d.constant(d.values((channels,), "float32"), "float32")
        return
    dtype = "int64" if d.dtype == "int16" else "int32"
    scale = (scales_of(d, x) * scales_of(d, w)).astype(np.float32)
    d.constant(d.rng.integers(-3000, 3000, channels), dtype, scale=scale)


def weights(d: Drawing, shape: tuple[int, ...], axis: int, low: int = -127) -> int:
    if d.dtype == "float32":
        return d.constant(d.values(shape, "float32"), "float32")
    if d.dtype == "uint8":
        return d.constant(d.values(shape, "uint8"), "uint8", scale=d.rng.uniform(0.001, 0.02), zero=d.integer(110, 140))
    per_channel = d.choice(True, True, False)
    scale = d.rng.uniform(0.001, 0.02, shape[axis]) if per_channel else d.rng.uniform(0.001, 0.02, 1)
    return d.constant(d.rng.integers(low, 128, shape), "int8", scale=scale, axis=axis)


@draws("CONV_2D", "float32 int8 uint8 int16")
def conv(d: Drawing) -> None:
    kh, kw, c, o = d.integer(1, 3), d.integer(1, 3), d.integer(1, 5), d.integer(1, 6)
    dilation = d.choice(1, 1, 2)
    x = d.input((d.integer(1, 2), d.integer(5, 9), d.integer(5, 9), c))
    w = weights(d, (o, kh, kw, c), 0)
    bias(d, x, w, o)
    d.output(scale=d.rng.uniform(0.05, 0.2)) if d.dtype != "float32" else d.output()
    d.set(
        "Conv2DOptions",
        Padding=d.integer(0, 1),
        StrideW=1 if dilation > 1 else d.integer(1, 2),
        StrideH=1 if dilation > 1 else d.integer(1, 2),
        FusedActivationFunction=d.choice(0, 0, 1, 3),
        DilationWFactor=dilation,
        DilationHFactor=dilation,
    )
    d.version = 3


@draws("DEPTHWISE_CONV_2D", "float32 int8 uint8 int16")
def depthwise(d: Drawing) -> None:
    kh, kw, c, m = d.integer(1, 3), d.integer(1, 3), d.integer(1, 5), d.choice(1, 1, 2)
    stride = d.integer(1, 2)
    x = d.input((d.integer(1, 2), d.integer(5, 9), d.integer(5, 9), c))
    w = weights(d, (1, kh, kw, c * m), 3)
    bias(d, x, w, c * m)
    d.output(scale=d.rng.uniform(0.05, 0.2)) if d.dtype != "float32" else d.output()
    d.set(
        "DepthwiseConv2DOptions",
        Padding=d.integer(0, 1),
        StrideW=stride,
        StrideH=stride,
        DepthMultiplier=m,
        FusedActivationFunction=d.choice(0, 0, 1, 3),
    )
    d.version = 3


@draws("TRANSPOSE_CONV", "float32 int8 uint8 int16")
def transposed(d: Drawing) -> None:
    kh, kw, c, o = d.integer(1, 3), d.integer(1, 3), d.integer(1, 4), d.integer(1, 4)
    n, h, w_ = d.integer(1, 2), d.integer(2, 5), d.integer(2, 5)
    padding, sh, sw = d.integer(0, 1), d.integer(1, 2), d.integer(1, 2)
    oh, ow = (h * sh, w_ * sw) if padding == 0 else ((h - 1) * sh + kh, (w_ - 1) * sw + kw)
    d.constant([n, oh, ow, o])
    w = weights(d, (o, kh, kw, c), 0)
    x = d.input((n, h, w_, c))
    if d.dtype != "float32":
        bias(d, x, w, o)
    d.output(scale=d.rng.uniform(0.05, 0.2)) if d.dtype != "float32" else d.output()
    d.set("TransposeConvOptions", Padding=padding, StrideW=sw, StrideH=sh)
    d.version = 3


@draws("FULLY_CONNECTED", "float32 int8 uint8 int16")
def dense(d: Drawing) -> None:
    depth, units = d.integer(1, 20), d.integer(1, 8)
    x = d.input((d.integer(1, 3), depth))
    w = weights(d, (units, depth), 0)
    bias(d, x, w, units)
    d.output(scale=d.rng.uniform(0.05, 0.2)) if d.dtype != "float32" else d.output()
    d.set("FullyConnectedOptions", FusedActivationFunction=d.choice(0, 0, 1, 3))
    d.version = 4


@draws("BATCH_MATMUL", "float32 int8 int16")
def matmul(d: Drawing) -> None:
    m, k, n, b = d.integer(1, 4), d.integer(1, 9), d.integer(1, 4), d.shape(d.integer(0, 2), 3)
    left, right = d.choice(True, False), d.choice(True, False)
    d.input((*b, k, m) if left else (*b, m, k))
    d.input((*b, n, k) if right else (*b, k, n))
    d.output(scale=d.rng.uniform(0.05, 0.2)) if d.dtype != "float32" else d.output()
    d.set("BatchMatMulOptions", AdjX=left, AdjY=right)
    d.version = {"float32": 1, "int8": 2, "int16": 3}[d.dtype]


@draws("AVERAGE_POOL_2D MAX_POOL_2D", "float32 int8 uint8 int16")
@draws("L2_POOL_2D", "float32")
def pool(d: Drawing) -> None:
    x = d.input((d.integer(1, 2), d.integer(4, 8), d.integer(4, 8), d.integer(1, 5)))
    d.output(**d.same(x))
    d.set(
        "Pool2DOptions",
        Padding=d.integer(0, 1),
        StrideW=d.integer(1, 2),
        StrideH=d.integer(1, 2),
        FilterWidth=d.integer(1, 4),
        FilterHeight=d.integer(1, 4),
        FusedActivationFunction=d.choice(0, 1, 3),
    )
    d.version = 1 if d.operator == "L2_POOL_2D" else 3


KINDS = {"ADD": "AddOptions", "SUB": "SubOptions", "MUL": "MulOptions", "DIV": "DivOptions"}


@draws("ADD SUB MUL", "float32 int32 int8 uint8 int16")
@draws("ADD SUB MUL", "int64 int8/broadcast uint8/broadcast")
@draws("DIV", "float32 int32 uint8")
def arithmetic(d: Drawing) -> None:
    shape = d.shape(d.integer(1, 4))
    other = tuple(d.choice(1, n) for n in shape)[d.integer(0, len(shape) - 1) :] if d.variant else shape
    d.input(shape)
    i = d.input(other, low=1, high=5)
    if d.dtype == "uint8" and d.operator == "DIV":
        d.tensors[i].zero = 20
        d.data[1] = np.maximum(d.data[1], 21)
    d.output()
    d.set(KINDS[d.operator], FusedActivationFunction=0 if d.dtype in ("int64",) else d.choice(0, 1, 3))
    d.version = {"int8": 2, "int16": 4, "uint8": 1}.get(d.dtype, 1)
    if d.operator == "MUL" and d.dtype == "int16":
        d.version = 4
    if d.dtype == "int16":
        d.version = 3
    if d.operator == "MUL" and d.dtype == "int64":
        d.version = 6


@draws("SQUARED_DIFFERENCE", "float32 int32 int8")
@draws("MAXIMUM MINIMUM", "float32 int32 int64 int8 uint8 int16")
def difference(d: Drawing) -> None:
    shape = d.shape(d.integer(1, 4))
    i = d.input(shape)
    same = d.same(i) if d.operator in ("MAXIMUM", "MINIMUM") else {}
    d.input(shape[d.integer(0, len(shape) - 1) :], **same)
    d.output(**same)
    d.set("SquaredDifferenceOptions" if d.operator.startswith("S") else "MaximumMinimumOptions")
    d.version = 2 if d.dtype in ("int8", "uint8") else 4 if d.dtype == "int16" else 1


@draws("SOFTMAX", "float32 int8 uint8 int16")
def softmax(d: Drawing) -> None:
    d.input(d.shape(d.integer(1, 4), 9))
    fixed = {"int8": (1 / 256, -128), "uint8": (1 / 256, 0), "int16": (1 / 32768, 0)}.get(d.dtype)
    d.output(**({"scale": fixed[0], "zero": fixed[1]} if fixed else {}))
    d.set("SoftmaxOptions", Beta=d.choice(1.0, 1.0, 0.5))
    d.version = {"int8": 2, "int16": 3}.get(d.dtype, 1)


@draws("LOG_SOFTMAX", "float32 int8 uint8")
def log_softmax(d: Drawing) -> None:
    d.input(d.shape(d.integer(1, 4), 9))
    fixed = {"int8": (16 / 256, 127), "uint8": (16 / 256, 255)}.get(d.dtype)
    d.output(**({"scale": fixed[0], "zero": fixed[1]} if fixed else {}))
    d.set("LogSoftmaxOptions")
    d.version = 2 if d.dtype == "int8" else 1


@draws("RELU RELU6 RELU_N1_TO_1", "float32 int8 uint8")
@draws("RELU RELU6", "int16")
@draws("RELU_0_TO_1", "float32 int8 uint8")
@draws("TANH LOGISTIC", "float32 int8 uint8 int16")
@draws("TANH LOGISTIC", "int16/power")
@draws("ELU HARD_SWISH", "float32 int8")
@draws("HARD_SWISH", "uint8")
def activation(d: Drawing) -> None:
    fixed = {"scale": 2.0**-12} if d.variant else {}
    if d.operator == "HARD_SWISH" and d.dtype != "float32":
        fixed["scale"] = d.rng.uniform(0.01, 0.1)
    x = d.input(d.shape(d.integer(1, 4), 9), low=-8, high=8, **fixed)
    out = {}
    if d.operator == "LOGISTIC":
        pairs = {"int8": (1 / 256, -128), "uint8": (1 / 256, 0), "int16": (1 / 32768, 0)}
        out = dict(zip(("scale", "zero"), pairs.get(d.dtype, ()), strict=False))
    if d.operator == "TANH":
        pairs = {"int8": (1 / 128, 0), "uint8": (1 / 128, 128), "int16": (1 / 32768, 0)}
        out = dict(zip(("scale", "zero"), pairs.get(d.dtype, ()), strict=False))
    if d.operator == "HARD_SWISH" and d.dtype != "float32":
        out["scale"] = d.tensors[x].scale * d.rng.uniform(0.5, 1.2)
    d.output(**out)
    d.version = {"int8": 2, "int16": 3}.get(d.dtype, 1)
    if d.operator in ("ELU", "HARD_SWISH", "RELU_N1_TO_1", "RELU_0_TO_1"):
        d.version = 1


@draws("LEAKY_RELU", "float32 int8 uint8 int16")
def leaky(d: Drawing) -> None:
    d.input(d.shape(d.integer(1, 4)))
    d.output()
    d.set("LeakyReluOptions", Alpha=float(d.rng.uniform(0.01, 0.5)))
    d.version = 2 if d.dtype == "int16" else 1


@draws("PRELU", "float32 int8 uint8")
def prelu(d: Drawing) -> None:
    shape = d.shape(d.integer(1, 4))
    d.input(shape)
    slope = shape[-1:] if len(shape) == 1 else (1,) * (len(shape) - 2) + shape[-1:]
    d.constant(d.values(slope, d.dtype), d.dtype, **d.quantization(d.dtype))
    d.output()


@draws("GELU", "float32 int8 uint8 float32/tanh int8/tanh")
def gelu(d: Drawing) -> None:
    d.input(d.shape(d.integer(1, 4)))
    d.output()
    d.set("GeluOptions", Approximate=bool(d.variant))
    d.version = 2 if d.dtype != "float32" else 1


@draws("RESHAPE", "float32 int8 int32 bool")
def reshape(d: Drawing) -> None:
    shape = d.shape(d.integer(1, 4))
    d.input(shape)
    d.constant([-1, shape[-1]])
    d.output(**d.same(0))


@draws("SQUEEZE", "float32 int8")
def squeeze(d: Drawing) -> None:
    d.input((1, d.integer(1, 4), 1, d.integer(1, 4)))
    d.output(**d.same(0))
    d.set("SqueezeOptions", SqueezeDims=np.array(d.choice([0], [0, 2], [-2]), np.int32))


@draws("EXPAND_DIMS", "float32 int8 int32")
def expand(d: Drawing) -> None:
    d.input(d.shape(3))
    d.constant(d.integer(-4, 3))
    d.output(**d.same(0))


@draws("CONCATENATION", "float32 int32 int8 uint8 uint8/scales int16")
def concatenation(d: Drawing) -> None:
    shape, axis = list(d.shape(d.integer(1, 4))), 0
    axis = d.integer(0, len(shape) - 1)
    first: dict = {}
    for _ in range(d.integer(1, 4)):
        shape[axis] = d.integer(1, 4)
        i = d.input(tuple(shape), **({} if d.variant else first))
        first = first or d.same(i)
    d.output(**({} if d.variant else first))
    d.set("ConcatenationOptions", Axis=axis - d.choice(0, len(shape)))
    d.version = {"int8": 2, "int16": 3}.get(d.dtype, 1)


@draws("PAD PADV2", "float32 int32 int64 int8 uint8 int16")
def pad(d: Drawing) -> None:
    shape = d.shape(d.integer(1, 4))
    x = d.input(shape)
    d.constant(d.rng.integers(0, 3, (len(shape), 2)))
    if d.operator == "PADV2":
        d.constant(d.values((), d.dtype), d.dtype, **d.same(x))
    d.output(**d.same(x))
    d.version = {"int8": 2, "int16": 4}.get(d.dtype, 1)


@draws("MIRROR_PAD", "float32 int32 int64 int8 uint8 int16")
def mirror(d: Drawing) -> None:
    shape = tuple(n + 2 for n in d.shape(d.integer(1, 4)))
    d.input(shape)
    d.constant(d.rng.integers(0, 3, (len(shape), 2)))
    d.output(**d.same(0))
    d.set("MirrorPadOptions", Mode=d.integer(0, 1))
    d.version = 2 if d.dtype in ("int8", "uint8") else 3 if d.dtype == "int16" else 1


@draws("SUM MEAN", "float32 int32 int64 int8 uint8 int16")
@draws("MEAN", "int8/space uint8/space")
@draws("REDUCE_MAX REDUCE_MIN", "float32 int32 int64 int8 uint8 int16")
@draws("REDUCE_PROD", "float32 int32 int64")
@draws("REDUCE_ANY REDUCE_ALL", "bool")
def reduction(d: Drawing) -> None:
    rank = 4 if d.variant else d.integer(1, 4)
    x = d.input(d.shape(rank))
    axes = [1, 2] if d.variant else sorted({d.integer(-rank, rank - 1) for _ in range(d.integer(1, 2))})
    d.constant(axes)
    same = d.same(x) if d.operator.startswith("REDUCE") or d.choice(True, False) else {}
    d.output(**same)
    d.set("ReducerOptions", KeepDims=True if d.variant else d.choice(True, False))
    d.version = {"int8": 2, "int16": 3}.get(d.dtype, 1)
    if d.operator == "SUM":
        d.version = min(d.version, 2)


@draws("RESIZE_BILINEAR", "float32 int8 uint8 int16")
@draws("RESIZE_NEAREST_NEIGHBOR", "float32 int8 uint8 int16")
def resize(d: Drawing) -> None:
    d.input((d.integer(1, 2), d.integer(2, 6), d.integer(2, 6), d.integer(1, 3)))
    d.constant([d.integer(1, 9), d.integer(1, 9)])
    d.output(**d.same(0))
    mode = d.integer(0, 2)
    kind = "ResizeBilinearOptions" if "BILINEAR" in d.operator else "ResizeNearestNeighborOptions"
    d.set(kind, AlignCorners=mode == 1, HalfPixelCenters=mode == 2)
    d.version = {"int8": 2, "int16": 4}.get(d.dtype, 3)


@draws("TRANSPOSE", "float32 int32 int64 int8 uint8 int16 bool")
def transpose(d: Drawing) -> None:
    rank = d.integer(1, 5)
    d.input(d.shape(rank, 4))
    d.constant(d.rng.permutation(rank))
    d.output(**d.same(0))
    d.set("TransposeOptions")
    d.version = {"int8": 2, "int16": 4, "bool": 3}.get(d.dtype, 1)


@draws("SLICE", "float32 int32 int64 int8 uint8 int16 bool")
def slice_(d: Drawing) -> None:
    shape = tuple(n + 1 for n in d.shape(d.integer(1, 5), 4))
    d.input(shape)
    begin = [d.integer(0, n - 1) for n in shape]
    d.constant(begin)
    d.constant([d.choice(-1, d.integer(1, n - b)) for n, b in zip(shape, begin, strict=True)])
    d.output(**d.same(0))
    d.version = {"int8": 2, "int16": 4, "bool": 3}.get(d.dtype, 1)


@draws("STRIDED_SLICE", "float32 int32 int64 int8 uint8 int16 bool")
def strided(d: Drawing) -> None:
    shape = tuple(n + 2 for n in d.shape(d.integer(1, 4), 4))
    rank = len(shape)
    d.input(shape)
    steps = [d.choice(1, 1, 2, -1) for _ in shape]
    shrink = d.choice(0, 0, 1 << d.integer(0, rank - 1))
    begin, end = [], []
    for k, (n, s) in enumerate(zip(shape, steps, strict=True)):
        a, b = sorted((d.integer(0, n - 1), d.integer(0, n - 1)))
        if shrink & 1 << k:
            steps[k], s = 1, 1
        begin.append(a if s > 0 else b)
        end.append(b + 1 if s > 0 else a)
        if s < 0 and a == b:
            begin[-1], end[-1] = n - 1, 0
    d.constant(begin)
    d.constant(end)
    d.constant(steps)
    d.output(**d.same(0))
    d.set(
        "StridedSliceOptions",
        BeginMask=d.integer(0, (1 << rank) - 1) & ~shrink,
        EndMask=d.integer(0, (1 << rank) - 1) & ~shrink,
        ShrinkAxisMask=shrink,
    )
    d.version = {"int8": 2, "int16": 4, "bool": 3}.get(d.dtype, 1)


@draws("SPLIT SPLIT_V", "float32 int32 int8 uint8 int16")
def split(d: Drawing) -> None:
    rank, count = d.integer(1, 4), d.integer(1, 3)
    shape = list(d.shape(rank))
    axis = d.integer(0, rank - 1)
    shape[axis] = count * d.integer(1, 3)
    if d.operator == "SPLIT":
        d.constant(axis)
        x = d.input(tuple(shape))
    else:
        x = d.input(tuple(shape))
        d.constant([1] * (count - 1) + [d.choice(-1, shape[axis] - count + 1)])
        d.constant(axis - d.choice(0, rank))
    for _ in range(count):
        d.output(**d.same(x))
    d.set("SplitOptions" if d.operator == "SPLIT" else "SplitVOptions", NumSplits=count)
    d.version = {"int8": 2, "int16": 4}.get(d.dtype, 1)
    if d.operator == "SPLIT_V":
        d.version = 2 if d.dtype in ("int8", "uint8", "int16") else 1


@draws("PACK UNPACK", "float32 int32 int64 int8 uint8 int16")
def pack(d: Drawing) -> None:
    shape, count = d.shape(d.integer(1, 3)), d.integer(1, 4)
    if d.operator == "PACK":
        axis = d.integer(-len(shape) - 1, len(shape))
        first: dict = {}
        for _ in range(count):
            i = d.input(shape, **first)
            first = first or d.same(i)
        d.output(**first)
        d.set("PackOptions", ValuesCount=count, Axis=axis)
    else:
        axis = d.integer(-len(shape), len(shape) - 1)
        x = d.input(shape)
        for _ in range(shape[axis]):
            d.output(**d.same(x))
        d.set("UnpackOptions", Num=shape[axis], Axis=axis)
    d.version = {"int8": 2, "int16": 3}.get(d.dtype, 1)


@draws(
    "QUANTIZE",
    "float32/int8 float32/uint8 float32/int16 int8/int8 int8/uint8 uint8/int8 uint8/uint8 int16/int8 int16/int16",
)
def quantize(d: Drawing) -> None:
    d.input(d.shape(d.integer(1, 4)))
    d.output(d.variant)
    d.exact = True
    d.set("QuantizeOptions")
    d.version = 2


@draws("DEQUANTIZE", "int8 uint8 int16 float16")
def dequantize(d: Drawing) -> None:
    d.input(d.shape(d.integer(1, 4)))
    d.output("float32")
    d.exact = True
    d.version = {"int8": 2, "int16": 3, "float16": 3}.get(d.dtype, 1)
