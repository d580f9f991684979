"""The other operators, at random."""

from __future__ import annotations

import numpy as np

from .build import Graph, Op, Tensor
from .cases import Drawing, draws


@draws("EXP LOG SQRT RSQRT SIN COS", "float32")
@draws("FLOOR CEIL ROUND NEG ABS SQUARE SIGN", "float32")
@draws("NEG", "int32 int64")
@draws("ABS", "int32 int8 int16")
@draws("EXP LOG", "int8 int16")
@draws("RSQRT SQRT", "int8 int16")
def unary(d: Drawing) -> None:
    low = 0.1 if d.operator in ("LOG", "SQRT", "RSQRT") else -3
    fixed = {}
    if d.dtype in ("int8", "int16") and low > 0:
        fixed["zero"] = -128 if d.dtype == "int8" else 0
    i = d.input(d.shape(d.integer(1, 4)), low=low, **fixed)
    if low > 0 and d.dtype in ("int8", "int16"):
        d.data[0] = np.maximum(d.data[0], (-127 if d.dtype == "int8" else 1)).astype(d.dtype)
    if d.operator == "EXP" and d.dtype in ("int8", "int16"):
        d.tensors[i].scale = 0.02 if d.dtype == "int8" else 8e-5
    d.output()
    kinds = {
        "EXP": "ExpOptions",
        "COS": "CosOptions",
        "NEG": "NegOptions",
        "ABS": "AbsOptions",
        "SQUARE": "SquareOptions",
    }
    kinds["SIGN"] = "SignOptions"
    d.set(kinds[d.operator]) if d.operator in kinds else None
    d.version = 2 if d.dtype in ("int8", "int16") else 1
    if d.operator == "ABS":
        d.version = {"int8": 2, "int16": 3, "int32": 4}.get(d.dtype, 1)


@draws(
    "CAST",
    "float32/int32 float32/int64 int32/float32 int8/float32 uint8/float32 bool/float32 float32/bool int32/int64 int64/int32 int16/float32",
)
def cast(d: Drawing) -> None:
    d.input(d.shape(d.integer(1, 4)), scale=None)
    d.output(d.variant, scale=None)
    numbers = {"float32": 0, "int32": 2, "uint8": 3, "int64": 4, "bool": 6, "int16": 7, "int8": 9}
    d.set("CastOptions", InDataType=numbers[d.dtype], OutDataType=numbers[d.variant])
    d.version = 4 if "int16" in (d.dtype, d.variant) else 1


@draws("BITCAST", "float32/int32 int32/float32 int32/uint32")
def bitcast(d: Drawing) -> None:
    d.input(d.shape(d.integer(1, 4)))
    d.output(d.variant)
    d.set("BitcastOptions")


@draws("EQUAL NOT_EQUAL", "float32 int32 int64 bool int8 uint8")
@draws("LESS LESS_EQUAL GREATER GREATER_EQUAL", "float32 int32 int64 int8 uint8")
def compare(d: Drawing) -> None:
    shape = d.shape(d.integer(1, 4))
    d.input(shape)
    d.input(shape[d.integer(0, len(shape) - 1) :])
    d.output("bool")
    words = {"EQUAL": "Equal", "NOT_EQUAL": "NotEqual", "LESS": "Less", "LESS_EQUAL": "LessEqual"}
    words |= {"GREATER": "Greater", "GREATER_EQUAL": "GreaterEqual"}
    d.set(f"{words[d.operator]}Options")
    d.version = 2 if d.dtype in ("int8", "uint8") else 1


@draws("LOGICAL_AND LOGICAL_OR LOGICAL_NOT", "bool")
def logic(d: Drawing) -> None:
    shape = d.shape(d.integer(1, 4))
    d.input(shape)
    if d.operator != "LOGICAL_NOT":
        d.input(shape[d.integer(0, len(shape) - 1) :])
    d.output()
    words = {"LOGICAL_AND": "LogicalAnd", "LOGICAL_OR": "LogicalOr", "LOGICAL_NOT": "LogicalNot"}
    d.set(f"{words[d.operator]}Options")


@draws("SELECT SELECT_V2", "float32 int32 int8 bool int64 int16")
def select(d: Drawing) -> None:
    shape = tuple(n + 1 for n in d.shape(d.integer(1, 4)))
    rows = d.operator == "SELECT" and d.choice(True, False) and len(shape) > 1
    d.input(shape[:1] if rows else shape, "bool")
    x = d.input(shape)
    d.input(shape if d.operator == "SELECT" else shape[d.integer(0, len(shape) - 1) :], **d.same(x))
    d.output(**d.same(x))
    d.set("SelectOptions" if d.operator == "SELECT" else "SelectV2Options")


@draws("POW", "float32 int32")
@draws("FLOOR_DIV FLOOR_MOD", "float32 int32 int64 int8 int16")
@draws("ATAN2", "float32")
@draws("BITWISE_XOR", "int32 int8 uint8 int16")
@draws("RIGHT_SHIFT", "int32 int8 uint8 int16")
def binary(d: Drawing) -> None:
    shape = d.shape(d.integer(1, 4))
    d.input(
        shape,
        scale=None,
        low=0.1 if d.operator == "POW" and d.dtype == "float32" else -0.5 if d.operator == "POW" else -3,
        high=0.6 if d.operator == "POW" and d.dtype == "int32" else 3,
    )
    d.input(
        shape[d.integer(0, len(shape) - 1) :],
        scale=None,
        low=0 if d.operator == "POW" else 0.2,
        high=0.4 if d.operator in ("POW", "RIGHT_SHIFT") else 3,
    )
    if d.operator.startswith("FLOOR"):
        d.data[1] = np.where(d.data[1] == 0, 3, d.data[1]).astype(d.dtype)
    if d.operator == "RIGHT_SHIFT":
        d.data[1] = (np.abs(d.data[1].astype(np.int64)) % 5).astype(d.dtype)
    d.output(scale=None)
    kinds = {
        "POW": "PowOptions",
        "FLOOR_DIV": "FloorDivOptions",
        "FLOOR_MOD": "FloorModOptions",
        "ATAN2": "ATan2Options",
    }
    kinds |= {"BITWISE_XOR": "BitwiseXorOptions", "RIGHT_SHIFT": "RightShiftOptions"}
    d.set(kinds[d.operator])
    d.version = 2 if d.operator == "FLOOR_DIV" and d.dtype == "float32" else 1
    if d.operator.startswith("FLOOR") and d.dtype in ("int8", "int16"):
        d.version = 2 if d.operator == "FLOOR_MOD" else 3


@draws("ADD_N", "float32 int32")
def many(d: Drawing) -> None:
    shape = d.shape(d.integer(1, 4))
    for _ in range(d.integer(2, 4)):
        d.input(shape)
    d.output()
    d.set("AddNOptions")


@draws("L2_NORMALIZATION", "float32 int8 uint8")
def l2(d: Drawing) -> None:
    d.input(d.shape(d.integer(2, 4)))
    fixed = {"int8": (1 / 128, 0), "uint8": (1 / 128, 128)}.get(d.dtype)
    d.output(**({"scale": fixed[0], "zero": fixed[1]} if fixed else {}))
    d.set("L2NormOptions")
    d.version = 2 if d.dtype == "int8" else 1


@draws("LOCAL_RESPONSE_NORMALIZATION", "float32")
def lrn(d: Drawing) -> None:
    d.input(d.shape(4))
    d.output()
    d.set("LocalResponseNormalizationOptions", Radius=d.integer(1, 2), Bias=1.0, Alpha=0.3, Beta=0.5)


@draws("SHAPE RANK ZEROS_LIKE", "float32 int32 int8")
def about(d: Drawing) -> None:
    if d.operator == "ZEROS_LIKE":
        d.dtype = {"int8": "int64"}.get(d.dtype, d.dtype)
    d.input(d.shape(d.integer(1, 4)), scale=None)
    out = {"SHAPE": d.choice("int32", "int64"), "RANK": "int32"}.get(d.operator, d.dtype)
    d.output(out, scale=None)
    if d.operator == "SHAPE":
        d.set("ShapeOptions", OutType=2 if out == "int32" else 4)
    else:
        d.set("RankOptions" if d.operator == "RANK" else "ZerosLikeOptions")


@draws("TILE BROADCAST_TO", "float32 int32 int8 bool int64")
def tile(d: Drawing) -> None:
    shape = d.shape(d.integer(1, 4), 4)
    if d.operator == "TILE":
        x = d.input(shape)
        d.constant([d.integer(1, 3) for _ in shape])
        d.set("TileOptions")
    else:
        small = tuple(d.choice(1, n) for n in shape)
        x = d.input(small)
        d.constant([d.integer(1, 3), *shape])
        d.version = 3 if d.dtype == "int8" else 2
        d.set("BroadcastToOptions")
    d.output(**d.same(x))


@draws("BROADCAST_ARGS", "int32 int64")
def broadcast_args(d: Drawing) -> None:
    d.constant([3, 1, 5], d.dtype)
    d.constant([4, 5] if d.choice(True, False) else [4, 1], d.dtype)
    d.output()


@draws("DEPTH_TO_SPACE SPACE_TO_DEPTH", "float32 int8 uint8 int32 int64")
def blocks(d: Drawing) -> None:
    b = d.integer(2, 3)
    n, h, w, c = d.shape(4, 3)
    x = d.input((n, h, w, c * b * b) if d.operator == "DEPTH_TO_SPACE" else (n, h * b, w * b, c))
    d.output(**d.same(x))
    d.set("DepthToSpaceOptions" if d.operator == "DEPTH_TO_SPACE" else "SpaceToDepthOptions", BlockSize=b)
    d.version = 2 if d.dtype == "int8" else 1


@draws("SPACE_TO_BATCH_ND BATCH_TO_SPACE_ND", "float32 int8 uint8 int32 int64")
def batches(d: Drawing) -> None:
    b = [d.integer(1, 2), d.integer(2, 3)]
    n, h, w, c = d.shape(4, 3)
    if d.operator == "SPACE_TO_BATCH_ND":
        x = d.input((n, h * b[0], w * b[1] + 1, c))
        d.constant(b)
        d.constant([[0, 0], [0, b[1] - 1]])
    else:
        x = d.input((n * b[0] * b[1], h, w, c))
        d.constant(b)
        d.constant([[0, 0], [0, 1]])
    d.output(**d.same(x))
    d.set("SpaceToBatchNDOptions" if d.operator == "SPACE_TO_BATCH_ND" else "BatchToSpaceNDOptions")
    d.version = 2 if d.dtype == "int8" else 1


@draws("REVERSE_V2", "float32 int32 int64 uint8 bool int16")
def reverse(d: Drawing) -> None:
    rank = d.integer(1, 4)
    x = d.input(d.shape(rank), scale=None)
    d.constant([d.integer(0, rank - 1)])
    d.output(scale=None)
    d.set("ReverseV2Options")
    d.version = 2 if d.dtype == "bool" else 3 if d.dtype == "int16" else 1
    del x


@draws("REVERSE_SEQUENCE", "float32 int32 int64 uint8 int16")
def reverse_sequence(d: Drawing) -> None:
    shape = tuple(n + 1 for n in d.shape(d.integer(2, 4), 4))
    d.input(shape, scale=None)
    batch = d.integer(0, 1)
    i = d.input((shape[batch],), "int32", scale=None)
    d.data[1] = d.rng.integers(1, shape[1 - batch] + 1, shape[batch]).astype(np.int32)
    del i
    d.output(scale=None)
    d.set("ReverseSequenceOptions", SeqDim=1 - batch, BatchDim=batch)


@draws("GATHER", "float32 int32 int64 int8 uint8 bool int16 float32/batch")
def gather(d: Drawing) -> None:
    shape = d.shape(d.integer(1, 4))
    axis = d.integer(0, len(shape) - 1)
    x = d.input(shape)
    rows = shape[:axis] if d.variant else ()
    d.input((*rows, *d.shape(d.integer(1, 2), 4)), "int32", scale=None)
    d.data[1] = d.rng.integers(0, shape[axis], d.data[1].shape).astype(np.int32)
    d.output(**d.same(x))
    d.set("GatherOptions", Axis=axis, BatchDims=len(rows))
    d.version = 5 if rows else {"bool": 3, "int8": 2, "int16": 4}.get(d.dtype, 1)


@draws("GATHER_ND", "float32 int32 int64 int8 uint8 int16")
def gather_nd(d: Drawing) -> None:
    shape = d.shape(d.integer(1, 4))
    depth = d.integer(1, len(shape))
    x = d.input(shape)
    d.input((*d.shape(d.integer(1, 2), 4), depth), "int32", scale=None)
    index = d.rng.integers(0, 1 << 20, d.data[1].shape) % np.array(shape[:depth])
    d.data[1] = index.astype(np.int32)
    d.output(**d.same(x))
    d.set("GatherNdOptions")
    d.version = 3 if d.dtype == "int16" else 1


@draws("EMBEDDING_LOOKUP", "float32 int8 uint8")
def embedding(d: Drawing) -> None:
    n, width = d.integer(2, 6), d.integer(1, 6)
    d.input((d.integer(1, 5),), "int32", scale=None)
    d.data[0] = (np.abs(d.data[0]) % n).astype(np.int32)
    w = d.constant(
        d.values((n, width), d.dtype), d.dtype, **({"scale": 0.05, "zero": 0} if d.dtype != "float32" else {})
    )
    d.output(**d.same(w))
    d.version = 3 if d.dtype == "int8" else 1


@draws("ONE_HOT", "float32 int32 int64 bool int8 uint8")
def one_hot(d: Drawing) -> None:
    rank = d.integer(1, 3)
    d.input(d.shape(rank, 4), "int32", scale=None)
    d.data[0] = d.rng.integers(0, 5, d.data[0].shape).astype(np.int32)
    d.constant(d.integer(3, 6))
    on, off = (True, False) if d.dtype == "bool" else (5, 2)
    d.constant(on, d.dtype)
    d.constant(off, d.dtype)
    d.output(scale=None)
    d.set("OneHotOptions", Axis=d.integer(-1, rank))


@draws("TOPK_V2", "float32 int32 int64 int8 uint8")
def topk(d: Drawing) -> None:
    shape = d.shape(d.integer(1, 3), 8)
    x = d.input(shape)
    d.data[0] = (
        d.rng.permutation(100)[: int(np.prod(shape))].reshape(shape).astype(d.dtype)
        if np.prod(shape) <= 100
        else d.data[0]
    )
    d.constant(d.integer(1, shape[-1]))
    d.output(**d.same(x))
    d.output("int32", scale=None)
    d.set("TopKV2Options")


@draws("ARG_MAX ARG_MIN", "float32 int32 int8 uint8 bool")
def arg(d: Drawing) -> None:
    rank = d.integer(1, 4)
    d.input(d.shape(rank))
    d.constant(d.integer(0, rank - 1))
    out = d.choice("int32", "int64")
    d.output(out, scale=None)
    d.set("ArgMaxOptions" if d.operator == "ARG_MAX" else "ArgMinOptions", OutputType=2 if out == "int32" else 4)
    d.version = {"int8": 2, "bool": 3}.get(d.dtype, 1)
    d.exact = True


@draws("SCATTER_ND", "float32 int32 int64 int8 uint8 bool")
def scatter(d: Drawing) -> None:
    shape = d.shape(d.integer(1, 3), 5)
    depth, count = d.integer(1, len(shape)), d.integer(1, 4)
    d.input((count, depth), "int32", scale=None)
    d.data[0] = (d.rng.integers(0, 1 << 20, (count, depth)) % np.array(shape[:depth])).astype(np.int32)
    if d.dtype == "bool":
        d.data[0][:] = 0
        count = 1
    d.input((d.data[0].shape[0], *shape[depth:]), scale=None)
    if d.dtype in ("int8", "uint8"):
        d.data[1] = (d.data[1] % 20).astype(d.dtype)
    d.constant(shape)
    d.output(scale=None)
    d.set("ScatterNdOptions")


@draws("SPARSE_TO_DENSE", "float32 int32 int64 int8 uint8")
def sparse_to_dense(d: Drawing) -> None:
    n, count = d.integer(4, 9), d.integer(1, 4)
    d.constant(np.sort(d.rng.permutation(n)[:count]))
    d.constant([n])
    d.input((count,), scale=None)
    d.constant(3, d.dtype)
    d.output(scale=None)
    d.set("SparseToDenseOptions")
    d.version = {"int64": 2, "int8": 3, "uint8": 3}.get(d.dtype, 1)


@draws("MATRIX_DIAG MATRIX_SET_DIAG", "float32 int32 int64 int8 uint8 int16")
def diagonal(d: Drawing) -> None:
    shape = d.shape(d.integer(1, 3), 4)
    if d.operator == "MATRIX_DIAG":
        d.input(shape, scale=None)
    else:
        n = d.integer(1, 4)
        m = d.integer(1, 4)
        d.input((*shape[:-1], n, m), scale=None)
        d.input((*shape[:-1], min(n, m)), scale=None)
    d.output(scale=None)
    d.set("MatrixDiagOptions" if d.operator == "MATRIX_DIAG" else "MatrixSetDiagOptions")


@draws(
    "SEGMENT_SUM UNSORTED_SEGMENT_SUM UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_MIN UNSORTED_SEGMENT_PROD", "float32 int32"
)
def segments(d: Drawing) -> None:
    n = d.integer(3, 6)
    d.input((n, *d.shape(d.integer(0, 2), 3)))
    if d.operator == "SEGMENT_SUM":
        d.constant(np.sort(d.rng.integers(0, 3, n) + np.array([0] * n)))
        d.set("SegmentSumOptions")
    else:
        d.input((n,), "int32", scale=None)
        d.data[1] = d.rng.integers(-1, 3, n).astype(np.int32)
        d.constant(d.integer(3, 4))
        d.set(f"UnsortedSegment{d.operator.rsplit('_', 1)[1].capitalize()}Options")
    d.output()


@draws("WHERE", "bool float32 int32 int64")
def where(d: Drawing) -> None:
    d.input(d.shape(d.integer(1, 3)))
    d.output("int64")
    d.set("WhereOptions")
    d.exact = True


@draws("UNIQUE", "float32 int32 int64 int8 uint8 int16")
def unique(d: Drawing) -> None:
    d.input((d.integer(4, 12),), scale=None)
    d.data[0] = d.rng.integers(0, 5, d.data[0].shape).astype(d.dtype)
    d.output(scale=None)
    d.output("int32")
    d.set("UniqueOptions", IdxOutType=2)


@draws("BUCKETIZE", "float32 int32")
def bucketize(d: Drawing) -> None:
    d.input(d.shape(d.integer(1, 3)))
    d.output("int32")
    d.set("BucketizeOptions", Boundaries=np.sort(d.rng.uniform(-3, 3, 4)).astype(np.float32))


@draws("CUMSUM", "float32 int32 int64")
def cumsum(d: Drawing) -> None:
    rank = d.integer(1, 4)
    d.input(d.shape(rank))
    d.constant(d.integer(-rank, rank - 1))
    d.output()
    d.set("CumsumOptions", Exclusive=d.choice(True, False), Reverse=d.choice(True, False))


@draws("FILL", "float32 int32 int64 bool int8 int16")
def fill(d: Drawing) -> None:
    d.constant(d.shape(d.integer(1, 3)))
    x = d.input(())
    d.output(**d.same(x))
    d.set("FillOptions")
    d.version = 3 if d.dtype == "int16" else 2 if d.dtype == "int8" else 1


@draws("RANGE", "float32 int32 int64")
def numbers(d: Drawing) -> None:
    sign = d.choice(1, -1)
    for value in (
        d.integer(-3, 3),
        4 + d.integer(0, 9) if sign > 0 else -4 - d.integer(0, 9),
        sign * (0.7 if d.dtype == "float32" else d.integer(1, 3)),
    ):
        d.constant(value, d.dtype)
    d.output()
    d.set("RangeOptions")
    d.version = 2 if d.dtype == "int64" else 1


@draws("DYNAMIC_UPDATE_SLICE", "float32 int32 int64 int8 bool")
def update(d: Drawing) -> None:
    shape = d.shape(d.integer(1, 3))
    x = d.input(shape)
    d.input(tuple(d.integer(1, n) for n in shape), **d.same(x))
    d.input((len(shape),), "int32", scale=None)
    d.data[2] = d.rng.integers(-1, 6, len(shape)).astype(np.int32)
    d.output(**d.same(x))
    d.set("DynamicUpdateSliceOptions")


@draws("FAKE_QUANT", "float32")
def fake(d: Drawing) -> None:
    d.input(d.shape(d.integer(1, 4)))
    d.output()
    d.set("FakeQuantOptions", Min=-1.5, Max=2.0, NumBits=d.choice(4, 8), NarrowRange=d.choice(True, False))
    d.version = 2


@draws("CONV_3D CONV_3D_TRANSPOSE", "float32")
def conv3d(d: Drawing) -> None:
    k, c, o = d.shape(3, 3), d.integer(1, 3), d.integer(1, 3)
    padding, strides = d.integer(0, 1), tuple(d.integer(1, 2) for _ in range(3))
    if d.operator == "CONV_3D":
        d.input((d.integer(1, 2), d.integer(4, 6), d.integer(4, 6), d.integer(4, 6), c))
        d.constant(d.values((*k, c, o), "float32"), "float32")
        d.constant(d.values((o,), "float32"), "float32")
    else:
        n, small = d.integer(1, 2), d.shape(3, 3)
        out = [m * s if padding == 0 else (m - 1) * s + f for m, s, f in zip(small, strides, k, strict=True)]
        d.constant([n, *out, o])
        d.constant(d.values((*k, o, c), "float32"), "float32")
        d.input((n, *small, c))
    d.output()
    d.set("Conv3DOptions", Padding=padding, StrideD=strides[0], StrideH=strides[1], StrideW=strides[2])


@draws("IF", "float32 int32")
def branch(d: Drawing) -> None:
    d.input((), "bool")
    shape = d.shape(2)
    d.input(shape)
    d.input(shape)
    d.output(shape=shape)
    d.set("IfOptions", ThenSubgraphIndex=1, ElseSubgraphIndex=2)
    for name, kind in (("ADD", "AddOptions"), ("MUL", "MulOptions")):
        tensors = [Tensor(n, shape, d.dtype) for n in "abc"]
        d.graphs.append(Graph(tensors, [Op(name, [0, 1], [2], {}, kind)], [0, 1], [2], name.lower()))


@draws("WHILE", "float32 int32")
def loop(d: Drawing) -> None:
    shape = d.shape(2)
    d.input((), "int32")
    d.data[0] = np.array(d.integer(0, 9), np.int32)
    d.input(shape)
    d.output("int32")
    d.output(shape=shape)
    d.set("WhileOptions", CondSubgraphIndex=1, BodySubgraphIndex=2)
    first = [Tensor("i", (), "int32"), Tensor("x", shape, d.dtype)]
    limit = Tensor("limit", (), "int32", 7)
    d.graphs.append(
        Graph(
            [*first, limit, Tensor("t", (), "bool")], [Op("LESS", [0, 2], [3], {}, "LessOptions")], [0, 1], [3], "cond"
        )
    )
    rest = [Tensor("one", (), "int32", 1), Tensor("j", (), "int32"), Tensor("y", shape, d.dtype)]
    ops = [Op("ADD", [0, 2], [3], {}, "AddOptions"), Op("ADD", [1, 1], [4], {}, "AddOptions")]
    d.graphs.append(Graph([*first, *rest], ops, [0, 1], [3, 4], "body"))
