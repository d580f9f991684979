"""How inputs and attributes of the elementwise, reducing, creating, sorting and random operators are drawn."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from irtool.ir import Constant, TensorType, Tuple, TupleType, Var
from irtool.ops import operators
from irtool.ops.binary import Binary
from irtool.ops.reduce import Reduction
from irtool.ops.unary import Unary

MODULES = (
    "annotation",
    "binary",
    "broadcasting",
    "cast",
    "creation",
    "dft",
    "einsum",
    "elementwise",
    "extent",
    "fixed_point_per_axis",
    "memory",
    "random",
    "reduce",
    "scan",
    "simulate",
    "sorting",
    "sparse",
    "stft",
    "topk",
    "trees",
    "unary",
)
NEED_A_MODULE = ("call_lowered", "memory.alloc_storage", "memory.alloc_tensor", "vm.invoke_tvm_op")
NAMES = [
    cls.name
    for cls in operators
    if cls.__module__.removeprefix("irtool.ops.") in MODULES and not cls.vendor and cls.name not in NEED_A_MODULE
]
FLOATS = ["float32", "float64", "float16"]
DTYPES = [*FLOATS, "int32", "int8", "uint8", "int64", "bool"]
BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "left_shift", "right_shift")

shapes = hnp.array_shapes(min_dims=0, max_dims=4, max_side=4) | hnp.array_shapes(max_dims=3, min_side=0, max_side=2)


def array(draw, shape, dtype="float32", low=-3, high=3):
    """Small values, so that nothing depends on overflow."""
    if dtype == "bool":
        return draw(hnp.arrays("bool", shape))
    if np.dtype(dtype).kind == "u":
        low = 0
    whole = draw(hnp.arrays("int64", shape, elements=st.integers(low * 4, high * 4)))
    scaled = whole / 4 if np.dtype(dtype).kind == "f" else whole // 4
    return np.asarray(scaled).astype(dtype)


def sub_shape(draw, shape):
    """A shape that broadcasts to `shape`."""
    suffix = shape[draw(st.integers(0, len(shape))) :]
    return tuple(1 if draw(st.booleans()) else d for d in suffix)


def reduction(draw, cls):
    shape = draw(shapes.filter(len))
    axes = draw(st.none() | st.sets(st.integers(0, len(shape) - 1), min_size=0, max_size=len(shape)))
    axes = None if axes is None else [a - len(shape) if draw(st.booleans()) else a for a in sorted(axes)]
    attributes = {"axis": axes, "keepdims": draw(st.booleans()), "exclude": draw(st.booleans())}
    if "select_last_index" in {f.name for f in cls.fields()}:
        attributes["select_last_index"] = draw(st.booleans())
    inputs = [array(draw, shape, draw(st.sampled_from(DTYPES)))]
    if cls.name == "variance":
        inputs = [array(draw, shape), array(draw, tuple(1 if draw(st.booleans()) else d for d in shape))]
        attributes["unbiased"] = draw(st.booleans())
    return inputs, attributes


def key(draw):
    return draw(hnp.arrays("uint64", 10, elements=st.integers(0, 2**64 - 1)))


def drawing(name):
    """Decorator: how inputs and attributes of that operator are drawn."""

    def file(function):
        for n in name.split():
            DRAWINGS[n] = function
        return function

    return file


DRAWINGS = {}


@drawing("where")
def _(draw):
    shape = draw(shapes)
    x = array(draw, sub_shape(draw, shape), "int32")
    return [array(draw, sub_shape(draw, shape), draw(st.sampled_from(DTYPES))), x, array(draw, shape, "int32")], {}


@drawing("cast")
def _(draw):
    return [array(draw, draw(shapes), draw(st.sampled_from(DTYPES)))], {"dtype": draw(st.sampled_from(DTYPES))}


@drawing("cast_like")
def _(draw):
    return [array(draw, draw(shapes), draw(st.sampled_from(DTYPES))) for _ in range(2)], {}


@drawing("reinterpret")
def _(draw):
    return [array(draw, draw(shapes))], {"dtype": draw(st.sampled_from(["int32", "uint32", "float32"]))}


@drawing("clip")
def _(draw):
    low, high = sorted([draw(st.floats(-5, 5)), draw(st.floats(-5, 5))])
    return [array(draw, draw(shapes), draw(st.sampled_from(DTYPES[:-1])))], {"a_min": low, "a_max": high}


@drawing("nn.relu hardswish")
def _(draw):
    return [array(draw, draw(shapes), draw(st.sampled_from(FLOATS)))], {}


@drawing("nn.leaky_relu")
def _(draw):
    return [array(draw, draw(shapes), draw(st.sampled_from(FLOATS)))], {"alpha": draw(st.floats(0, 1))}


@drawing("fixed_point_multiply")
def _(draw):
    multiplier = draw(st.integers(2**30, 2**31 - 1))
    return [array(draw, draw(shapes), "int32")], {"multiplier": multiplier, "shift": draw(st.integers(-10, 10))}


@drawing("broadcast_to")
def _(draw):
    shape = draw(shapes)
    return [array(draw, sub_shape(draw, shape))], {"shape": list(shape)}


@drawing("broadcast_to_like")
def _(draw):
    shape = draw(shapes)
    return [array(draw, sub_shape(draw, shape)), array(draw, shape)], {}


@drawing("collapse_sum_like")
def _(draw):
    shape = draw(shapes)
    return [array(draw, shape), array(draw, sub_shape(draw, shape))], {}


@drawing("collapse_sum_to")
def _(draw):
    shape = draw(shapes)
    target = sub_shape(draw, shape)
    return [array(draw, shape), np.array(target, "int32")], {"shape": draw(st.sampled_from([None, list(target)]))}


@drawing("zeros ones")
def _(draw):
    return [], {"shape": list(draw(shapes)), "dtype": draw(st.sampled_from(DTYPES))}


@drawing(
    "zeros_like ones_like annotation.bitpack_start annotation.bitpack_end annotation.checkpoint annotation.stop_fusion"
)
def _(draw):
    return [array(draw, draw(shapes), draw(st.sampled_from(DTYPES)))], {}


@drawing("annotation.with_funcid memory.kill")
def _(draw):
    return [array(draw, draw(shapes))], {}


@drawing("annotation.cast_hint")
def _(draw):
    return [array(draw, draw(shapes))], {"dtype": "int8"}


@drawing("annotation.compiler_begin annotation.compiler_end")
def _(draw):
    return [array(draw, draw(shapes))], {"compiler": "other"}


@drawing("on_device")
def _(draw):
    return [array(draw, draw(shapes))], {"constrain_result": True}


@drawing("device_copy")
def _(draw):
    return [array(draw, draw(shapes))], {"src_virtual_device": None, "dst_virtual_device": None}


@drawing("debug")
def _(draw):
    return [array(draw, draw(shapes))], {"debug_func": None}


@drawing("full")
def _(draw):
    dtype = draw(st.sampled_from(["", *DTYPES]))
    return [array(draw, (), draw(st.sampled_from(DTYPES)))], {"shape": list(draw(shapes)), "dtype": dtype}


@drawing("full_like")
def _(draw):
    return [array(draw, draw(shapes), draw(st.sampled_from(DTYPES))), array(draw, ())], {}


@drawing("arange")
def _(draw):
    bounds = [np.array(draw(st.integers(-5, 0)), "int32"), np.array(draw(st.integers(1, 9)), "int32")]
    step = np.array(draw(st.integers(1, 3)), "int32")
    known = draw(st.booleans())
    start, stop, by = ((Constant(b) if known else None) for b in (*bounds, step))
    return [*bounds, step], {"start": start, "stop": stop, "step": by, "dtype": "int32"}


@drawing("one_hot")
def _(draw):
    shape = draw(shapes)
    attributes = {
        "depth": draw(st.integers(1, 4)),
        "axis": draw(st.integers(-1, len(shape))),
        "dtype": draw(st.sampled_from(DTYPES)),
    }
    return [array(draw, shape, "int32"), array(draw, ()), array(draw, ())], attributes


@drawing("trilu")
def _(draw):
    shape = draw(hnp.array_shapes(min_dims=2, max_dims=3, max_side=4))
    return [array(draw, shape, "int32"), array(draw, (), "int32")], {"upper": draw(st.booleans())}


@drawing("shape_of ndarray_size vm.shape_of")
def _(draw):
    return [array(draw, draw(shapes))], {"dtype": draw(st.sampled_from(["int32", "int64"]))}


@drawing("vm.reshape_tensor")
def _(draw):
    shape = draw(shapes)
    return [array(draw, shape), np.array([int(np.prod(shape))])], {"newshape": [int(np.prod(shape))]}


@drawing("einsum")
def _(draw):
    a, b, c = (draw(st.integers(1, 4)) for _ in range(3))
    equation, operands = draw(
        st.sampled_from(
            [
                ("ij,jk->ik", [(a, b), (b, c)]),
                ("ij,jk", [(a, b), (b, c)]),
                ("ii->i", [(a, a)]),
                ("ij->", [(a, b)]),
                ("...ij,...jk->...ik", [(a, b, c), (a, c, b)]),
                ("i,j->ji", [(a,), (b,)]),
            ]
        )
    )
    return [tuple(array(draw, shape, "int32") for shape in operands)], {"equation": equation}


@drawing("sort argsort")
def _(draw):
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=5))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    return [array(draw, shape, draw(st.sampled_from(DTYPES)))], {
        "axis": axis,
        "is_ascend": draw(st.booleans()),
        "dtype": "int32",
    }


@drawing("topk")
def _(draw):
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=5))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    return [array(draw, shape)], {
        "k": draw(st.integers(0, shape[axis])),
        "axis": axis,
        "ret_type": draw(st.sampled_from(["both", "values", "indices"])),
        "is_ascend": draw(st.booleans()),
        "dtype": draw(st.sampled_from(["int32", "int64"])),
    }


@drawing("searchsorted")
def _(draw):
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=4))
    rows = (*(() if draw(st.booleans()) else shape[:-1]), draw(st.integers(1, 5)))
    return [np.sort(array(draw, rows), -1), array(draw, shape)], {"right": draw(st.booleans()), "dtype": "int64"}


@drawing("unique")
def _(draw):
    shape = (draw(st.integers(1, 8)),)
    return [array(draw, shape, "int32")], {"sorted": draw(st.booleans()), "return_counts": draw(st.booleans())}


@drawing("cumsum cumprod")
def _(draw):
    shape = draw(hnp.array_shapes(max_dims=3, max_side=4))
    axis = draw(st.none() | st.integers(-len(shape), len(shape) - 1))
    dtype = draw(st.sampled_from(["", "int32", "float64"]))
    return [array(draw, shape)], {"axis": axis, "dtype": dtype, "exclusive": draw(st.booleans())}


@drawing("random.threefry_generate")
def _(draw):
    return [key(draw)], {"out_shape": list(draw(shapes))}


@drawing("random.threefry_split")
def _(draw):
    return [key(draw)], {}


@drawing("random.uniform random.normal")
def _(draw):
    dtype = draw(st.sampled_from(["float32", "float64"]))
    scalars = [np.array(0, dtype), np.array(2, dtype)]
    return [key(draw), *scalars], {"out_shape": list(draw(shapes)), "out_dtype": dtype}


@drawing("random.multinomial")
def _(draw):
    shape = draw(hnp.array_shapes(max_dims=3, max_side=4))
    return [key(draw), np.abs(array(draw, shape)) + 0.5], {"num_samples": draw(st.integers(1, 5))}


@drawing("relay.op.annotation.simulated_quantize")
def _(draw):
    scalars = [np.array(v, "float32") for v in (0.5, -3, 3)]
    return [array(draw, draw(hnp.array_shapes(max_dims=3))), *scalars], {"kind": draw(st.integers(0, 3))}


@drawing("sparse_to_dense")
def _(draw):
    shape = draw(hnp.array_shapes(max_dims=3, max_side=4))
    count = draw(st.integers(1, 4))
    indices = np.array([[draw(st.integers(0, d - 1)) for d in shape] for _ in range(count)], "int32")
    return [indices, array(draw, (count,)), array(draw, ())], {"output_shape": list(shape)}


@drawing("sparse_fill_empty_rows")
def _(draw):
    rows = draw(st.integers(1, 5))
    drawn_rows = sorted(draw(st.lists(st.integers(0, rows - 1), min_size=1, max_size=5)))
    indices = np.array([[r, 1] for r in drawn_rows], "int64")
    return [indices, np.arange(len(drawn_rows)), np.array([rows, 3]), np.array([7])], {}


@drawing("sparse_reshape")
def _(draw):
    indices = np.array([[draw(st.integers(0, 1)), draw(st.integers(0, 5))] for _ in range(3)], "int64")
    return [indices, np.array([2, 6]), np.array(draw(st.sampled_from([[3, -1], [4, 3], [12, 1]])))], {}


@drawing("dft")
def _(draw):
    shape, dtype = draw(shapes.filter(len)), draw(st.sampled_from(FLOATS))
    return [array(draw, shape, dtype), array(draw, shape, dtype)], {"inverse": draw(st.booleans())}


@drawing("fixed_point_multiply_per_axis")
def _(draw):
    shape = draw(shapes.filter(len))
    axes = draw(st.permutations(range(len(shape))))[: draw(st.integers(0, len(shape)))]
    wide = tuple(shape[a] for a in axes)

    def parameter(low, high):
        return draw(hnp.arrays("int32", wide, elements=st.integers(low, high)))

    data = draw(hnp.arrays("int32", shape, elements=st.integers(-(2**20), 2**20)))
    left = draw(st.booleans())
    parameters = [parameter(-(2**31) + 1, 2**31 - 1), parameter(0, 6), parameter(0, 40)]
    return [data, *parameters], {"axes": axes, "is_lshift_required": left, "is_rshift_required": True}


@drawing("stft")
def _(draw):
    n, hop = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    batch = draw(st.sampled_from([(), (2,)]))
    attributes = {"n_fft": n, "hop_length": hop, "win_length": n, "normalized": True, "onesided": draw(st.booleans())}
    return [array(draw, (*batch, draw(st.integers(n, 9)))), array(draw, (n,))], attributes


@drawing("tree_ensemble")
def _(draw):
    rows, features, trees, nodes, leaves, targets = (
        draw(st.integers(low, high)) for low, high in ((0, 4), (1, 3), (0, 4), (0, 5), (1, 5), (0, 3))
    )
    dtype, wide = draw(st.sampled_from(FLOATS)), draw(st.sampled_from(FLOATS))

    def indices(count, low, high):
        return draw(
            hnp.arrays(
                draw(st.sampled_from(["int8", "int16", "int32", "int64"])), count, elements=st.integers(low, high)
            )
        )

    values = [
        array(draw, (rows, features), dtype),
        indices(trees, -leaves, nodes - 1),
        indices(nodes, 0, features - 1),
        array(draw, (nodes,), dtype),
        *(indices(nodes, -leaves, nodes - 1) for _ in range(2)),
        array(draw, (leaves, targets), wide),
    ]
    return values, {"depth": draw(st.integers(0, 6)), "combine": draw(st.sampled_from(["sum", "min", "max"]))}


def type_of(value):
    if isinstance(value, tuple):
        return TupleType(tuple(type_of(v) for v in value))
    return TensorType(value.shape, value.dtype.name)


def argument(value):
    if isinstance(value, tuple):
        return Tuple(tuple(argument(v) for v in value))
    return Var("x", type_of(value))


def drawn(draw, name):
    cls = operators.get(name)
    if issubclass(cls, Reduction):
        return reduction(draw, cls)
    if name in DRAWINGS:
        return DRAWINGS[name](draw)
    dtypes = ["int32", "uint8", "int64", "bool"] if name in BITWISE else DTYPES
    dtype, shape = draw(st.sampled_from(dtypes)), draw(shapes)
    if issubclass(cls, Unary):
        return [array(draw, shape, dtype)], {}
    assert issubclass(cls, Binary), f"nothing says how to draw inputs of {name}"
    left, right = shape, sub_shape(draw, shape)
    left, right = (left, right) if draw(st.booleans()) else (right, left)
    return [array(draw, left, dtype), array(draw, right, dtype, low=0 if "shift" in name else -3)], {}
