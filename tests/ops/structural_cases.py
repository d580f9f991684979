"""How inputs and attributes are drawn for the operators that move, index, resample and select: `draw_case(name, pick)`.

`pick(low, high)` gives an integer and is all that a drawing uses, so that Hypothesis and a seeded generator share them.
"""

import numpy as np

from irtool.ir import DimExpr, DimVar
from irtool.ir.meta import MetaNode

DRAWINGS = {}
DTYPES = ("float32", "int32", "int8", "float64", "int64", "uint8", "bool")
FLOATS = ("float32", "float64")


class Pick:
    """Draws built on one function that draws an integer between two others, both included."""

    def __init__(self, integer):
        self.integer = integer

    def __call__(self, low, high):
        return int(self.integer(low, high))

    def coin(self):
        return bool(self(0, 1))

    def one(self, *choices):
        return choices[self(0, len(choices) - 1)]

    def some(self, count, low, high):
        return [self(low, high) for _ in range(count)]

    def shape(self, low=1, high=4, most=4):
        return tuple(self.some(self(low, high), 1, most))

    def order(self, n):
        rest, out = list(range(n)), []
        while rest:
            out.append(rest.pop(self(0, len(rest) - 1)))
        return out

    def array(self, shape, dtype="float32"):
        rng = np.random.default_rng(self(0, 10_000))
        if dtype == "bool":
            return np.asarray(rng.integers(0, 2, shape)).astype(bool)
        whole = np.asarray(rng.integers(0 if dtype.startswith("u") else -40, 40, shape))
        return (whole / 8).astype(dtype) if dtype.startswith("float") else whole.astype(dtype)

    def unit(self, shape):
        """float32 values in 0 … 1, all different."""
        rng = np.random.default_rng(self(0, 10_000))
        count = int(np.prod(shape))
        return ((rng.permutation(count) + 0.5) / max(count, 1)).astype("float32").reshape(shape)

    def indices(self, shape, low, high, dtype=None):
        rng = np.random.default_rng(self(0, 10_000))
        return np.asarray(rng.integers(low, high + 1, shape)).astype(dtype or self.one("int32", "int64"))

    def data(self, *dims, dtype=None):
        return self.array(dims, dtype or self.one(*DTYPES))


def drawing(*names):
    def file(function):
        for name in names:
            assert name not in DRAWINGS
            DRAWINGS[name] = function
        return function

    return file


def draw_case(name, integer):
    """(inputs, attributes) of a call of that operator that its rule accepts."""
    return DRAWINGS[name](Pick(integer))


def axis_of(pick, rank):
    axis = pick(0, rank - 1)
    return axis - rank if pick.coin() else axis


@drawing("reshape")
def _(pick):
    a, b, c = pick.some(3, 1, 4)
    code = pick.one([-1], [0, -1], [-3, 0], [-2], [0, -4, 1, -1, c], [a * b * c], [-4, -1, a, -2], [c, -1])
    return [pick.data(a, b, c)], {"newshape": code}


@drawing("contrib_reverse_reshape")
def _(pick):
    return [pick.data(*pick.some(3, 1, 4))], {"newshape": pick.one([-1, 0], [-3, 0], [-1, 0, 0], [-2])}


@drawing("reshape_like")
def _(pick):
    a, b, c = pick.some(3, 1, 3)
    if pick.coin():
        return [pick.data(a, b, c), pick.data(c, a * b)], {}
    return [pick.data(a, b, c), pick.data(4, a * b)], {"lhs_begin": 0, "lhs_end": 2, "rhs_begin": 1, "rhs_end": 2}


@drawing("expand_dims")
def _(pick):
    shape = pick.shape(0, 3)
    return [pick.data(*shape)], {"axis": pick(-len(shape) - 1, len(shape)), "num_newaxis": pick(0, 2)}


@drawing("squeeze")
def _(pick):
    shape = [1 if pick.coin() else d for d in pick.shape()]
    ones = [i for i, d in enumerate(shape) if d == 1 and pick.coin()]
    return [pick.data(*shape)], {"axis": None if pick.coin() else ones}


@drawing("nn.batch_flatten")
def _(pick):
    return [pick.data(*pick.shape())], {}


@drawing("transpose")
def _(pick):
    shape = pick.shape()
    order = pick.order(len(shape))
    return [pick.data(*shape)], {
        "axes": None if pick(0, 3) == 0 else [a - len(shape) if pick.coin() else a for a in order]
    }


@drawing("reverse")
def _(pick):
    shape = pick.shape()
    return [pick.data(*shape)], {"axis": axis_of(pick, len(shape))}


@drawing("reverse_sequence")
def _(pick):
    shape = pick.shape(2, 4)
    seq, batch = pick.order(len(shape))[:2]
    return [pick.data(*shape), pick.indices(shape[batch], -1, 6)], {"seq_axis": seq, "batch_axis": batch - len(shape)}


@drawing("concatenate")
def _(pick):
    shape = pick.shape()
    axis, dtype = axis_of(pick, len(shape)), pick.one(*DTYPES)
    parts = []
    for _ in range(pick(1, 4)):
        part = list(shape)
        part[axis] = pick(1, 4)
        parts.append(pick.array(part, dtype))
    return [tuple(parts)], {"axis": axis}


@drawing("stack")
def _(pick):
    shape, dtype = pick.shape(0, 3), pick.one(*DTYPES)
    return [tuple(pick.array(shape, dtype) for _ in range(pick(1, 4)))], {"axis": pick(-len(shape) - 1, len(shape))}


@drawing("split")
def _(pick):
    shape = list(pick.shape())
    axis = axis_of(pick, len(shape))
    if pick.coin():
        sections = pick(1, 3)
        shape[axis] *= sections
        return [pick.data(*shape)], {"indices_or_sections": sections, "axis": axis}
    shape[axis] = 6
    return [pick.data(*shape)], {"indices_or_sections": pick.one([1], [2, 5], [1, 2, 3]), "axis": axis}


@drawing("tile")
def _(pick):
    return [pick.data(*pick.shape(0, 3))], {"reps": pick.some(pick(1, 4), 1, 3)}


@drawing("repeat")
def _(pick):
    shape = pick.shape()
    return [pick.data(*shape)], {"repeats": pick(1, 3), "axis": axis_of(pick, len(shape))}


@drawing("meshgrid")
def _(pick):
    dtype = pick.one(*DTYPES)
    vectors = tuple(pick.array(() if pick(0, 3) == 0 else (pick(1, 4),), dtype) for _ in range(pick(1, 3)))
    return [vectors], {"indexing": pick.one("ij", "xy")}


@drawing("strided_slice")
def _(pick):
    shape = pick.some(3, 2, 6)
    axes = None if pick.coin() else [2, 0]
    bounds = []
    for extent in (shape[a] for a in axes or range(pick(1, 3))):
        stride = pick.one(1, 2, 3, -1, -2)
        first = pick(0, extent - 1)
        last = pick(first + 1, extent) if stride > 0 else pick(-extent - 1, first - extent - 1)
        bounds.append((first if pick.coin() else first - extent, last, stride))
    begin, end, strides = (list(b) for b in zip(*bounds))
    if pick.coin():
        sizes = [pick.one(-1, 1) for _ in begin]
        begin = [abs(b) - (b < 0) for b in begin]
        return [pick.data(*shape)], {
            "begin": begin,
            "end": sizes,
            "strides": [1] * len(begin),
            "slice_mode": "size",
            "axes": axes,
        }
    return [pick.data(*shape)], {"begin": begin, "end": end, "strides": strides, "axes": axes}


@drawing("strided_set")
def _(pick):
    data = pick.data(4, 5, dtype="float32")
    begin, end, strides = pick.one(
        ([1, 0], [3, 5], [1, 2]),
        ([0], [4], [2]),
        ([3, -1], [0, 0], [-1, -2]),
        ([-3, 1], [-1, -1], [1, 1]),
    )
    target = np.zeros((4, 5))[tuple(slice(b, e, s) for b, e, s in zip(begin, end, strides, strict=True))]
    return [data, pick.array(target.shape), *[np.array(v, "int32") for v in (begin, end, strides)]], {}


@drawing("slice_like")
def _(pick):
    shape = pick.shape(2, 3)
    like = [pick(1, d) for d in shape]
    axes = None if pick.coin() else [0, -1][: pick(1, 2)]
    return [pick.data(*shape), pick.data(*like)], {"axes": axes}


@drawing("sliding_window")
def _(pick):
    shape = pick.some(3, 3, 5)
    axis = pick(0, 2)
    n = 3 - axis
    return [pick.data(*shape)], {"axis": axis, "window_shape": pick.some(n, 1, 3), "strides": pick.some(n, 1, 2)}


@drawing("layout_transform")
def _(pick):
    n, c, h, w = pick(1, 2), pick(1, 9), pick(1, 3), pick(1, 3)
    source, target = pick.one(
        ("NCHW", "NHWC"), ("NCHW", "NCHW4c"), ("NHWC", "NCHW2c"), ("OIHW", "OIHW2i4o2i"), ("HWIO", "IHWO4o")
    )
    extents = dict(zip("NCHW", (n, c, h, w))) | dict(zip("OI", (n, c)))
    data = pick.data(*[extents[letter] for letter in source])
    if pick.coin() and source == "NCHW" and target == "NCHW4c":
        return [pick.data(n, c, h, w, 4)], {"src_layout": target, "dst_layout": pick.one("NCHW", "NHWC", "NCHW8c")}
    return [data], {"src_layout": source, "dst_layout": target}


@drawing("auto_scheduler_layout_transform")
def _(pick):
    return [pick.data(2, 8, 3)], {"src_layout": "2N8C3W", "dst_layout": pick.one("2N2C3W4C", "3W8C2N", "4C1N2C3W2N")}


@drawing("meta_schedule_layout_transform")
def _(pick):
    i, j = DimVar("i"), DimVar("j")
    split = pick(1, 4)
    outer, inner = DimExpr("FloorDiv", (j, split)), DimExpr("FloorMod", (j, split))
    flat = DimExpr("Add", (DimExpr("Mul", (i, 12)), j))
    results = pick.one((outer, i, inner), (inner, outer, i), (j, i), (flat,))
    fields = {"initial_indices": (i, j), "final_indices": results, "inverse_index_map": None}
    return [pick.data(pick(1, 4), 12)], {"index_map": MetaNode("tir.IndexMap", fields)}


@drawing("take")
def _(pick):
    data = pick.data(2, 3, 4)
    mode = pick.one("clip", "wrap", "fast")
    if pick.coin():
        indices = pick.indices(pick.shape(0, 2), -30, 30)
        return [data, indices], {"axis": pick.one(None, 0, 1, -1), "mode": mode}
    return [data, pick.indices((2, 3, 2), -5, 5)], {"axis": 2, "batch_dims": pick.one(1, 2), "mode": mode}


@drawing("gather")
def _(pick):
    shape = list(pick.shape(1, 3))
    data = pick.data(*shape)
    axis = axis_of(pick, len(shape))
    shape[axis] = pick(1, 4)
    return [data, pick.indices(shape, -1, 5)], {"axis": axis}


@drawing("gather_nd")
def _(pick):
    data = pick.data(2, 3, 4)
    if pick.coin():
        return [data, pick.indices((pick(1, 3), *pick.shape(0, 2)), 0, 4)], {}
    return [data, pick.indices((pick(1, 2), 2, pick(1, 3)), 0, 3)], {"batch_dims": 1}


@drawing("adv_index")
def _(pick):
    count, shape = pick(1, 3), pick.shape(0, 2)
    indices = [pick.indices([1 if pick.coin() else d for d in shape], 0, 2) for _ in range(count)]
    return [(pick.data(3, 3, 3), *indices)], {}


@drawing("argwhere")
def _(pick):
    return [pick.data(*pick.shape(1, 3))], {}


@drawing("unravel_index")
def _(pick):
    dtype = pick.one("int32", "int64")
    return [pick.indices(pick.shape(0, 1), 0, 40, dtype), np.array(pick.some(pick(1, 3), 1, 5), dtype)], {}


@drawing("sequence_mask")
def _(pick):
    shape, axis = pick.shape(2, 4), pick(0, 1)
    return [pick.data(*shape, dtype=pick.one("float32", "int32")), pick.indices(shape[1 - axis], 0, 5)], {
        "axis": axis,
        "mask_value": float(pick(-3, 3)),
    }


@drawing("matrix_set_diag")
def _(pick):
    rows, columns = pick.some(2, 1, 5)
    k1 = pick(-rows + 1, columns - 1)
    k2 = pick(k1, columns - 1)
    longest = min(rows + min(k2, 0), columns - max(k1, 0))
    lead = (pick(1, 2),)
    shape = (*lead, longest) if k1 == k2 else (*lead, k2 - k1 + 1, longest)
    attributes = {"k1": k1, "k2": k2, "super_diag_right_align": pick.coin(), "sub_diag_right_align": pick.coin()}
    return [pick.data(*lead, rows, columns, dtype="float32"), pick.array(shape)], attributes


@drawing("scatter", "scatter_add")
def _(pick):
    shape = list(pick.shape(1, 3))
    data = pick.data(*shape, dtype="float32")
    axis = axis_of(pick, len(shape))
    shape[axis] = pick(1, 4)
    return [data, pick.indices(shape, -5, 5), pick.array(shape)], {"axis": axis}


@drawing("scatter_elements")
def _(pick):
    shape = list(pick.shape(1, 3))
    dtype = pick.one("float32", "int32")
    data = pick.data(*shape, dtype=dtype)
    axis = axis_of(pick, len(shape))
    shape[axis] = pick(1, 4)
    reductions = ("update", "add", "mul", "min", "max", *(("mean",) if dtype == "float32" else ()))
    return [data, pick.indices(shape, -5, 5), pick.array(shape, dtype)], {
        "axis": axis,
        "reduction": pick.one(*reductions),
    }


@drawing("scatter_nd")
def _(pick):
    data = pick.data(2, 3, 4, dtype=pick.one("float32", "int32"))
    count, inner = pick(0, 3), pick.shape(0, 2, 3)
    updates = pick.array((*inner, *data.shape[count:]), data.dtype.name)
    how = {"mode": pick.one("update", "add", "mul", "min", "max")} if pick.coin() else {}
    return [data, pick.indices((count, *inner), -3, 4), updates], how


@drawing("invert_permutation")
def _(pick):
    return [np.array(pick.order(pick(1, 6)), "int32")], {}


@drawing("nn.pad")
def _(pick):
    shape = pick.shape(1, 3)
    mode = pick.one("constant", "edge", "reflect")
    most = min(shape) - 1 if mode == "reflect" else 3
    least = 0 if mode != "constant" else -1
    widths = [[pick(least, most), pick(0, most)] for d in shape]
    return [pick.data(*shape), pick.array((), pick.one("float32", "int32"))], {"pad_width": widths, "pad_mode": mode}


@drawing("nn.mirror_pad")
def _(pick):
    shape = pick.shape(1, 3)
    mode = pick.one("SYMMETRIC", "REFLECT")
    widths = [[pick(0, d - (mode == "REFLECT")), pick(0, d - (mode == "REFLECT"))] for d in shape]
    return [pick.data(*shape)], {"mode": mode, "pad_width": widths}


@drawing("nn.space_to_batch_nd")
def _(pick):
    blocks = pick.some(2, 1, 3)
    return [pick.data(2, *pick.some(2, 3, 6), 2, dtype="float32")], {
        "block_shape": blocks,
        "paddings": [pick.some(2, 0, 2) for _ in blocks],
        "pad_value": 1.5,
    }


@drawing("nn.batch_to_space_nd")
def _(pick):
    blocks = pick.some(2, 1, 2)
    data = pick.data(blocks[0] * blocks[1] * pick(1, 2) + pick(0, 1), 3, 4, 2)
    return [data], {"block_shape": blocks, "crops": [pick.some(2, 0, 1) for _ in blocks]}


@drawing("nn.depth_to_space")
def _(pick):
    block, layout = pick(1, 3), pick.one("NCHW", "NHWC")
    extents = {"N": 1, "C": block * block * pick(1, 2), "H": pick(1, 3), "W": pick(1, 3)}
    return [pick.data(*[extents[a] for a in layout])], {
        "block_size": block,
        "layout": layout,
        "mode": pick.one("DCR", "CDR"),
    }


@drawing("nn.space_to_depth")
def _(pick):
    block, layout = pick(1, 3), pick.one("NCHW", "NHWC")
    extents = {"N": 2, "C": pick(1, 3), "H": block * pick(1, 2), "W": block * pick(1, 2)}
    return [pick.data(*[extents[a] for a in layout])], {"block_size": block, "layout": layout}


@drawing("nn.upsampling")
def _(pick):
    layout = pick.one("NCHW", "NHWC", "NCHW4c")
    data = pick.array((1, 2, 4, 3, 4) if layout == "NCHW4c" else (1, 4, 3, 4), pick.one("float32", "int8"))
    return [data], {
        "scale_h": pick.one(1.0, 2.0, 1.5),
        "scale_w": pick.one(1.0, 2.0, 3.0),
        "layout": layout,
        "method": pick.one("nearest_neighbor", "bilinear", "bicubic"),
        "align_corners": pick.coin(),
    }


@drawing("nn.upsampling3d")
def _(pick):
    return [pick.array((1, 3, 2, 3, 2))], {
        "scale_d": 2.0,
        "scale_h": pick.one(1.0, 2.0),
        "scale_w": 3.0,
        "layout": pick.one("NCDHW", "NDHWC"),
        "method": pick.one("nearest_neighbor", "trilinear"),
        "coordinate_transformation_mode": pick.one("half_pixel", "align_corners", "asymmetric"),
    }


@drawing("nn.dilate")
def _(pick):
    shape = pick.shape(1, 3)
    return [pick.data(*shape, dtype="float32")], {"strides": pick.some(len(shape), 1, 3), "dilation_value": 0.5}


@drawing("nn.fifo_buffer")
def _(pick):
    shape = list(pick.shape(1, 3))
    axis = axis_of(pick, len(shape))
    new = list(shape)
    new[axis] = pick(1, shape[axis])
    return [pick.array(new), pick.array(shape)], {"axis": axis}


@drawing("nn.bitpack")
def _(pick):
    bits, lanes = pick(1, 3), pick.one(8, 16, 32)
    shape = [2, 3]
    pack = pick(0, 1)
    shape[pack] = lanes * pick(1, 2)
    return [pick.indices(shape, 0, 7, "int32")], {
        "bits": bits,
        "pack_axis": pack,
        "bit_axis": pick(0, 2),
        "pack_type": f"uint{lanes}",
    }


def resizing(spatial, layouts):
    def draw(pick):
        layout = pick.one(*layouts)
        size = pick.some(spatial, 1, 6)
        mode = pick.one(
            "half_pixel",
            "align_corners",
            "asymmetric",
            "pytorch_half_pixel",
            "tf_half_pixel_for_nn",
            "tf_crop_and_resize",
        )
        attributes = {
            "size": size,
            "roi": [0.1] * spatial + [0.9] * spatial,
            "layout": layout,
            "method": pick.one("nearest_neighbor", "linear", "cubic"),
            "coordinate_transformation_mode": mode,
            "rounding_method": pick.one("", "round", "floor", "ceil", "round_prefer_floor", "round_prefer_ceil"),
            "cubic_exclude": pick(0, 1),
            "out_dtype": pick.one("", "float32"),
        }
        return [pick.array(pick.some(len(layout), 1, 5), pick.one("float32", "int8"))], attributes

    return draw


drawing("image.resize1d")(resizing(1, ("NCW", "NWC")))
drawing("image.resize2d")(resizing(2, ("NCHW", "NHWC")))
drawing("image.resize3d")(resizing(3, ("NCDHW", "NDHWC")))


@drawing("image.crop_and_resize")
def _(pick):
    layout = pick.one("NCHW", "NHWC")
    count = pick(1, 3)
    boxes = (pick.unit((count, 4)) * 1.4 - 0.2).astype("float32")
    return [pick.array((2, 3, 4, 3)), boxes, pick.indices(count, 0, 1, "int32")], {
        "crop_size": pick.some(2, 1, 4),
        "layout": layout,
        "method": pick.one("bilinear", "nearest_neighbor"),
        "extrapolation_value": 0.25,
    }


@drawing("image.affine_grid")
def _(pick):
    return [pick.array((pick(1, 2), 2, 3), pick.one(*FLOATS))], {"target_shape": pick.some(2, 2, 5)}


@drawing("image.grid_sample")
def _(pick):
    volume = pick.coin()
    data = pick.array((2, 2, *pick.some(3 if volume else 2, 2, 4)))
    grid = (pick.unit((2, 3 if volume else 2, *pick.some(3 if volume else 2, 1, 3))) * 3 - 1.5).astype("float32")
    return [data, grid], {
        "method": pick.one(*("bilinear", "nearest", "bicubic")[: 2 if volume else 3]),
        "layout": "NCDHW" if volume else "NCHW",
        "padding_mode": pick.one("zeros", "border", "reflection"),
        "align_corners": pick.coin(),
    }


@drawing("image.dilation2d")
def _(pick):
    data_layout, kernel_layout = pick.one(("NCHW", "IHW"), ("NHWC", "HWI"))
    extents = {"N": 1, "C": 2, "H": pick(3, 6), "W": pick(3, 6)}
    kernel = {"I": 2, "H": pick(1, 2), "W": pick(1, 2)}
    return [pick.array([extents[a] for a in data_layout]), pick.array([kernel[a] for a in kernel_layout])], {
        "strides": pick.some(2, 1, 2),
        "padding": pick.one([0], [1, 0], [0, 1, 1, 0]),
        "dilations": pick.some(2, 1, 2),
        "data_layout": data_layout,
        "kernel_layout": kernel_layout,
    }


@drawing("vision.multibox_prior")
def _(pick):
    return [pick.array((1, 2, pick(1, 4), pick(1, 4)))], {
        "sizes": pick.one([1.0], [0.3, 0.5]),
        "ratios": pick.one([1.0], [1.0, 2.0, 0.5]),
        "steps": pick.one([-1.0, -1.0], [0.5, 0.25]),
        "clip": pick.coin(),
    }


@drawing("vision.multibox_transform_loc")
def _(pick):
    batch, classes, anchors = pick(1, 2), pick(2, 4), pick(1, 5)
    return [pick.unit((batch, classes, anchors)), pick.unit((batch, anchors * 4)), pick.unit((1, anchors, 4))], {
        "clip": pick.coin(),
        "threshold": 0.4,
        "keep_background": pick.coin(),
    }


@drawing("vision.regular_non_max_suppression")
def _(pick):
    batch, count, classes, background = pick(1, 2), pick(1, 6), pick(1, 3), pick(0, 1)
    corners = pick.unit((batch, count, 2)) * 0.7
    boxes = np.concatenate([corners, corners + pick.unit((batch, count, 2)) * 0.6], -1).astype("float32")
    # scores in steps of an eighth: ties are common
    scores = (np.floor(pick.unit((batch, count, classes + background)) * 8) / 8).astype("float32")
    return [boxes, scores], {
        "max_detections_per_class": pick(1, 4),
        "max_detections": pick(1, 6),
        "num_classes": classes,
        "iou_threshold": 0.3,
        "score_threshold": 0.25,
    }


@drawing("vision.yolo_reorg")
def _(pick):
    s = pick(1, 3)
    return [pick.data(pick(1, 2), s * s * pick(1, 2), s * pick(1, 2), s * pick(1, 2))], {"stride": s}


def boxes(pick, count):
    data = pick.unit((2, count, 6))
    data[:, :, 0] = pick.indices((2, count), -1, 1, "int32")
    return data


@drawing("vision.get_valid_counts")
def _(pick):
    return [boxes(pick, pick(1, 6)), np.float32(0.4).reshape(())], {
        "score_threshold": None,
        "id_index": pick.one(0, -1),
        "score_index": 1,
    }


@drawing("vision.non_max_suppression")
def _(pick):
    count = pick(1, 7)
    valid = pick.indices(2, 0, count, "int32")
    indices = np.stack([np.array(pick.order(count), "int32") for _ in range(2)])
    attributes = {
        "force_suppress": pick.coin(),
        "top_k": pick.one(-1, 3),
        "id_index": pick.one(0, -1),
        "return_indices": pick.coin(),
        "invalid_to_bottom": pick.coin(),
    }
    scalars = [np.array(pick.one(-1, 2), "int32"), np.array(pick.one(0.0, 0.1, 0.5), "float32")]
    return [boxes(pick, count), valid, indices, *scalars], attributes


@drawing("vision.all_class_non_max_suppression")
def _(pick):
    count, classes = pick(1, 6), pick(1, 3)
    scalars = [np.array(pick(0, 3), "int32"), np.array(0.2, "float32"), np.array(0.3, "float32")]
    return [pick.unit((2, count, 4)), pick.unit((2, classes, count)), *scalars], {
        "output_format": pick.one("onnx", "tensorflow")
    }


def regions(pick):
    count = pick(1, 3)
    corners = pick.unit((count, 4)) * 8 - 1
    corners[:, 2:] += corners[:, :2]
    return np.concatenate([pick.indices((count, 1), 0, 1, "int32").astype("float32"), corners], 1).astype("float32")


@drawing("vision.roi_align")
def _(pick):
    return [pick.array((2, 3, 5, 4)), regions(pick)], {
        "pooled_size": pick.some(2, 1, 3),
        "spatial_scale": 0.5,
        "sample_ratio": pick.one(-1, 2),
        "layout": pick.one("NCHW", "NHWC"),
        "mode": pick.one("avg", "max"),
    }


@drawing("vision.roi_pool")
def _(pick):
    return [pick.array((2, 3, 5, 4)), regions(pick)], {
        "pooled_size": pick.some(2, 1, 3),
        "spatial_scale": 0.5,
        "layout": pick.one("NCHW", "NHWC"),
    }


@drawing("vision.proposal")
def _(pick):
    h, w = pick.some(2, 1, 3)
    info = np.array([[h * 16, w * 16, 1], [h * 16 - 8, w * 16, 1]], "float32")
    return [pick.unit((2, 8, h, w)), pick.unit((2, 16, h, w)) - np.float32(0.5), info], {
        "scales": [2.0, 4.0],
        "ratios": [0.5, 1.0],
        "rpn_pre_nms_top_n": pick.one(-1, 5),
        "rpn_post_nms_top_n": pick(1, 6),
        "rpn_min_size": 8,
        "iou_loss": pick.coin(),
        "threshold": 0.5,
    }


@drawing("dyn.reshape")
def _(pick):
    a, b = pick.some(2, 1, 4)
    return [pick.data(a, b), np.array(pick.one([-1], [b, a], [0, -1], [-3]), "int64")], {"newshape": []}


@drawing("dyn.squeeze")
def _(pick):
    return [pick.data(1, 3, 1), np.array(pick.one([0], [2, 0], [-1]), "int64")], {"axis": []}


@drawing("dyn.expand_dims")
def _(pick):
    return [pick.data(2, 3), np.array(pick(-3, 2), "int64")], {"num_newaxis": pick(0, 2)}


@drawing("dyn.tile")
def _(pick):
    return [pick.data(*pick.shape(1, 3)), np.array(pick.some(pick(1, 4), 1, 3), "int32")], {"reps": []}


@drawing("dyn.broadcast_to")
def _(pick):
    return [pick.data(3, 1), np.array([2, 3, pick(1, 4)], "int64")], {"shape": None}


@drawing("dyn.strided_slice")
def _(pick):
    n = pick(1, 3)
    bounds = [pick.some(n, -5, 5), pick.some(n, -5, 5), [pick.one(1, 2, -1) for _ in range(n)]]
    attributes = {"begin": None, "end": None, "strides": None, "slice_mode": pick.one("end", "size"), "axes": None}
    return [pick.data(4, 3, 5), *[np.array(b, "int64") for b in bounds]], attributes


@drawing("dyn.zeros", "dyn.ones")
def _(pick):
    return [np.array(pick.shape(), "int64")], {"shape": None, "dtype": pick.one(*DTYPES)}


@drawing("dyn.full")
def _(pick):
    return [pick.array(()), np.array(pick.shape(), "int64")], {"shape": None, "dtype": pick.one("", *DTYPES)}


@drawing("dyn.one_hot")
def _(pick):
    scalars = [np.float32(2).reshape(()), np.float32(-1).reshape(()), np.array(pick(1, 4), "int32")]
    return [pick.indices(pick.shape(1, 2), 0, 4), *scalars], {
        "depth": 0,
        "axis": pick.one(-1, 0, 1),
        "dtype": "float32",
    }


@drawing("dyn.sparse_to_dense")
def _(pick):
    return [np.array([[0, 1], [2, 0]], "int32"), pick.array((2,)), pick.array(()), np.array([3, pick(2, 4)])], {}


@drawing("dyn.topk")
def _(pick):
    return [pick.unit((3, 4)), np.array([pick(1, 3)], "int32")], {
        "k": None,
        "axis": pick.one(0, -1),
        "ret_type": pick.one("both", "values", "indices"),
        "is_ascend": pick.coin(),
        "dtype": "int64",
    }


@drawing("dyn.image.resize2d")
def _(pick):
    size = np.array(pick.some(2, 1, 5), "int64")
    return [pick.array((1, 2, 3, 4)), size, np.zeros(4, "float32")], {
        "size": [],
        "roi": [],
        "layout": pick.one("NCHW", "NHWC"),
        "method": pick.one("nearest_neighbor", "linear", "cubic"),
        "rounding_method": "",
    }


@drawing("dyn.nn.pad")
def _(pick):
    widths = np.array([pick.some(2, 0, 2) for _ in range(2)], "int32")
    return [pick.array((2, 3)), widths, pick.array(())], {"pad_width": [], "pad_mode": pick.one("constant", "edge")}


@drawing("dyn.nn.upsampling")
def _(pick):
    scales = [np.float32(pick(1, 3)).reshape(()) for _ in range(2)]
    return [pick.array((1, 2, 3, 2)), *scales], {"scale_h": 0, "scale_w": 0, "layout": pick.one("NCHW", "NHWC")}


@drawing("dyn.nn.upsampling3d")
def _(pick):
    scales = [np.float32(pick(1, 3)).reshape(()) for _ in range(3)]
    return [pick.array((1, 2, 3, 2, 2)), *scales], {"scale_d": 0, "scale_h": 0, "scale_w": 0}


DYNAMIC = ("argwhere", *[n for n in DRAWINGS if n.startswith("dyn.")])
"""Operators whose results have extents that depend on values."""
COMPILED = sorted(set(DRAWINGS) - set(DYNAMIC))
