"""One row for each ONNX operator with operands that must fit each other, or attributes that its schema says nothing of.

A row draws operands and attributes. Operators without one are drawn from their schemas: see `from_schema`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.fuzz.onnx_draws import DTYPES, Draw, known

Drawn = tuple[Sequence[Any], dict[str, Any]] | tuple[Sequence[Any], dict[str, Any], int]
ROWS: dict[str, Callable[[Draw], Drawn]] = {}


def row(*names: str) -> Callable[[Callable[[Draw], Drawn]], Callable[[Draw], Drawn]]:
    """Decorator: files a row under the names of its operators."""

    def file(function: Callable[[Draw], Drawn]) -> Callable[[Draw], Drawn]:
        ROWS.update(dict.fromkeys(names, function))
        return function

    return file


def from_schema(d: Draw, schema: Any) -> Drawn:
    """Operands of one shape up to broadcasting, of types that the schema has, and numbers for its attributes."""
    chosen: dict[str, str] = {}
    shape = d.shape(0, 4)
    operands: list[np.ndarray] = []
    count = len(schema.inputs)
    variadic = bool(count) and "Variadic" in str(schema.inputs[-1].option)
    for k in range(d.n(1, 3) if variadic else count):
        declared = schema.inputs[min(k, count - 1)].type_str
        types = next((c.allowed_type_strs for c in schema.type_constraints if c.type_param_str == declared), [declared])
        options = sorted(DTYPES[t] for t in types if t in DTYPES)
        favoured = [t for t in options if t == "float32"] * 6
        dtype = chosen.setdefault(declared, d.pick(*options, *favoured))
        operands.append(d.array(shape if k == 0 else d.like(shape), dtype))
    attributes: dict[str, Any] = {}
    for name, attribute in schema.attributes.items():
        if d.chance(0.4):
            continue
        kind = str(attribute.type).rsplit(".", 1)[-1]
        if kind == "FLOAT":
            attributes[name] = d.floats(0.0)
        elif kind == "INT" and name == "axis" and shape:
            attributes[name] = d.axis(len(shape), None if d.opset >= 11 else False)
        elif kind == "INT" and name in (
            "keepdims",
            "exclusive",
            "reverse",
            "select_last_index",
            "detect_negative",
            "detect_positive",
        ):
            attributes[name] = d.n(0, 1)
    return operands, attributes


def _windows(d: Draw, rank: int, spatial: Sequence[int], kernel: Sequence[int], **more: Any) -> dict[str, Any]:
    """Attributes of windows that fit."""
    attributes: dict[str, Any] = d.some(
        strides=[d.n(1, 3) for _ in range(rank)],
        dilations=[d.n(1, 2) for _ in range(rank)] if more.pop("dilated", True) else None,
        **more,
    )
    if d.chance(0.6):
        attributes["pads"] = [d.n(0, max(k - 1, 0)) for k in (*kernel, *kernel)]
    elif d.chance(0.5):
        attributes["auto_pad"] = d.pick("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET")
    reach = [(k - 1) * s + 1 for k, s in zip(kernel, attributes.get("dilations", [1] * rank), strict=True)]
    pads = attributes.get("pads", [0] * 2 * rank)
    if any(n + pads[i] + pads[rank + i] < reach[i] for i, n in enumerate(spatial)):
        attributes.pop("dilations", None)
    return attributes


def _image(d: Draw, dtype: str = "float32", low: int = 1, high: int = 3) -> tuple[np.ndarray, list[int], list[int]]:
    """An image or volume, its spatial extents, and a kernel that fits."""
    rank = d.n(low, high)
    spatial = [d.n(3, 8) for _ in range(rank)]
    kernel = [d.n(1, 3) for _ in range(rank)]
    return d.array([d.n(1, 2), d.n(1, 4), *spatial], dtype), spatial, kernel


def pool_of(d: Draw, name: str) -> Drawn:
    """A pool, with the attributes that the operator of this name has at the version."""
    d.special = False
    since = {"AveragePool": (10, 19), "MaxPool": (10, 10), "LpPool": (18, 18)}[name]
    x, spatial, kernel = _image(d, d.pick("float32", "float32", "float16") if name == "AveragePool" else "float32")
    attributes = _windows(d, len(spatial), spatial, kernel, dilated=d.opset >= since[1])
    if d.opset >= since[0]:
        attributes |= d.some(ceil_mode=d.n(0, 1))
    if name == "AveragePool":
        attributes |= d.some(count_include_pad=d.n(0, 1))
    if name == "LpPool":
        attributes |= d.some(p=d.n(1, 3))
    outputs = 2 if name == "MaxPool" and d.opset >= 8 and d.chance(0.4) and "auto_pad" not in attributes else 1
    if outputs == 2:
        attributes |= d.some(storage_order=d.n(0, 1))
    return [x], {"kernel_shape": kernel, **attributes}, outputs


ROWS |= {n: (lambda d, n=n: pool_of(d, n)) for n in ("AveragePool", "MaxPool", "LpPool")}


@row("Conv")
def conv(d: Draw) -> Drawn:
    x, spatial, kernel = _image(d)
    group = d.pick(1, 1, x.shape[1])
    attributes = _windows(d, len(spatial), spatial, kernel)
    filters = group * d.n(1, 3)
    w = d.array([filters, x.shape[1] // group, *kernel])
    return [x, w, d.array([filters]) if d.chance(0.5) else None], {"group": group, "kernel_shape": kernel, **attributes}


@row("ConvTranspose")
def conv_transpose(d: Draw) -> Drawn:
    d.special = False
    x, spatial, kernel = _image(d, high=2)
    rank, group = len(spatial), d.pick(1, 1, x.shape[1])
    strides = [d.n(1, 3) for _ in range(rank)]
    attributes: dict[str, Any] = {"strides": strides, **d.some(dilations=[d.n(1, 2) for _ in range(rank)])}
    if d.chance(0.5):
        attributes["pads"] = [d.n(0, 1) for _ in range(2 * rank)]
    else:
        attributes |= d.some(auto_pad=d.pick("SAME_UPPER", "SAME_LOWER", "VALID"))
    if max(strides) > 1:
        attributes |= d.some(output_padding=[d.n(0, s - 1) for s in strides])
    w = d.array([x.shape[1], d.n(1, 3), *kernel])
    bias = d.array([w.shape[1] * group]) if d.chance(0.5) else None
    return [x, w, bias], {"group": group, "kernel_shape": kernel, **attributes}


@row("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pools(d: Draw) -> Drawn:
    d.special = False
    return [_image(d)[0]], {}


@row("MaxRoiPool")
def max_roi_pool(d: Draw) -> Drawn:
    d.special = False
    x = d.array([2, d.n(1, 3), d.n(4, 8), d.n(4, 8)])
    rois = np.array(
        [[d.n(0, 1), a := d.n(0, 3), b := d.n(0, 3), a + d.n(0, 4), b + d.n(0, 4)] for _ in range(d.n(1, 3))]
    )
    return [x, rois.astype("float32")], {
        "pooled_shape": [d.n(1, 3), d.n(1, 3)],
        **d.some(spatial_scale=d.pick(1.0, 0.5)),
    }


@row("RoiAlign")
def roi_align(d: Draw) -> Drawn:
    d.special = False
    x = d.array([2, d.n(1, 3), d.n(3, 8), d.n(3, 8)])
    count = d.n(1, 4)
    corner = d.numbers.uniform(-1, 6, (count, 2))
    size = d.numbers.uniform(0, d.pick(0.5, 1.5, 6), (count, 2)) * (0 if d.chance(0.1) else 1)
    rois = np.concatenate([corner, corner + size], 1).astype("float32")
    ratio = d.n(0, 3)
    attributes = d.some(output_height=d.n(1, 3), output_width=d.n(1, 3), spatial_scale=d.pick(1.0, 0.5, 0.25))
    if ratio:
        attributes |= d.some(mode=d.pick("avg", "max"))
    if d.opset >= 16:
        attributes |= d.some(coordinate_transformation_mode=d.pick("half_pixel", "output_half_pixel"))
    return [x, rois, d.array([count], "int64", 0, 1)], {"sampling_ratio": ratio, **attributes}


@row("Slice")
def slice_(d: Draw) -> Drawn:
    x = d.array(d.shape(1, 4), d.dtype())
    axes = d.axes(x.ndim, 1)
    huge = [2**31 - 1, 2**63 - 1, -(2**31), -(2**63) + 1]
    starts = [d.n(-9, 9) if d.chance(0.9) else d.pick(*huge) for _ in axes]
    ends = [d.n(-9, 9) if d.chance(0.8) else d.pick(*huge) for _ in axes]
    if d.opset < 10:
        ordered = sorted(zip([abs(a) % x.ndim if a >= 0 else a % x.ndim for a in axes], starts, ends, strict=True))
        return [x], {
            "axes": [o[0] for o in ordered],
            "starts": [o[1] for o in ordered],
            "ends": [o[2] for o in ordered],
        }
    steps = [d.pick(1, 1, 2, -1, -2, 3, -7) for _ in axes]
    if d.chance(0.3):
        return [x, known(starts), known(ends), known(axes)], {}
    index = d.pick("int64", "int64", "int32")
    bound = [np.clip(v, -(2**31), 2**31 - 1) if index == "int32" else v for v in (starts, ends)]
    return [x, known(bound[0], index), known(bound[1], index), known(axes, index), known(steps, index)], {}


@row("Gather")
def gather(d: Draw) -> Drawn:
    x = d.array([d.n(1, 5) for _ in range(d.n(1, 3))], d.dtype())
    axis = d.axis(x.ndim)
    extent = x.shape[axis]
    indices = d.array(d.shape(0, 2), d.pick("int64", "int32"), -extent if d.opset >= 11 else 0, extent - 1)
    return [x, known(indices, indices.dtype) if d.chance(0.5) else indices], {"axis": axis}


@row("GatherElements")
def gather_elements(d: Draw) -> Drawn:
    x = d.array([d.n(1, 5) for _ in range(d.n(1, 3))], d.dtype())
    axis = d.axis(x.ndim)
    shape = [d.n(1, e) if d.chance(0.3) else e for e in x.shape]
    shape[axis] = d.extent(5)
    return [x, d.array(shape, d.pick("int64", "int32"), -x.shape[axis], x.shape[axis] - 1)], {"axis": axis}


@row("GatherND")
def gather_nd(d: Draw) -> Drawn:
    x = d.array([d.n(1, 4) for _ in range(d.n(2, 4))], d.dtype())
    batch = d.n(0, 1) if d.opset >= 12 else 0
    depth = d.n(1, x.ndim - batch)
    lead = [*x.shape[:batch], *[d.n(1, 3) for _ in range(d.n(0, 1))]]
    indices = np.stack([d.array(lead, "int64", -e, e - 1) for e in x.shape[batch : batch + depth]], -1)
    return [x, indices], {"batch_dims": batch} if batch else {}


@row("ScatterElements", "Scatter")
def scatter_elements(d: Draw) -> Drawn:
    d.special = False
    x = d.array([d.n(1, 5) for _ in range(d.n(1, 3))], d.pick("float32", "float32", "int64", "int32"))
    axis = d.axis(x.ndim)
    shape = [d.n(1, e) if d.chance(0.3) else e for e in x.shape]
    reduction = (
        d.pick("none", "add", "mul", "max", "min")
        if d.opset >= 18
        else d.pick("none", "add", "mul")
        if d.opset >= 16
        else ""
    )
    if reduction in ("", "none"):
        shape[axis] = d.n(1, x.shape[axis])
        line = d.rng.sample(range(-x.shape[axis], 0) if d.opset >= 11 else range(x.shape[axis]), shape[axis])
        indices = np.broadcast_to(
            np.reshape(line, [-1 if k == axis % x.ndim else 1 for k in range(x.ndim)]), shape
        ).astype("int64")
    else:
        indices = d.array(shape, "int64", -x.shape[axis], x.shape[axis] - 1)
    return [x, np.ascontiguousarray(indices), d.array(shape, x.dtype.name)], {
        "axis": axis,
        **({"reduction": reduction} if reduction else {}),
    }


@row("ScatterND")
def scatter_nd(d: Draw) -> Drawn:
    d.special = False
    x = d.array([d.n(1, 4) for _ in range(d.n(1, 3))], d.pick("float32", "float32", "int64"))
    depth = d.n(1, x.ndim)
    reduction = (
        d.pick("none", "add", "mul", "max", "min")
        if d.opset >= 18
        else d.pick("none", "add", "mul")
        if d.opset >= 16
        else ""
    )
    places = list(np.ndindex(*x.shape[:depth]))
    chosen = d.rng.sample(places, d.n(1, len(places)))
    if reduction not in ("", "none"):
        chosen = [d.pick(*places) for _ in range(d.n(1, 6))]
    indices = np.array(chosen, "int64").reshape(len(chosen), depth)
    return [x, indices, d.array([len(chosen), *x.shape[depth:]], x.dtype.name)], {
        "reduction": reduction
    } if reduction else {}


@row("Pad")
def pad(d: Draw) -> Drawn:
    x = d.array([d.n(2, 5) for _ in range(d.n(1, 4))], d.pick("float32", "float32", "float64", "int64", "int32"))
    if d.opset < 11 and x.dtype.kind != "f":
        x = x.astype("float32")
    mode = d.pick("constant", "constant", "edge", "reflect", *(["wrap"] if d.opset >= 19 else []))
    least = -1 if mode == "constant" else 0
    axes = sorted(a % x.ndim for a in d.axes(x.ndim, 1)) if d.opset >= 18 and d.chance(0.5) else None
    count = x.ndim if axes is None else len(axes)
    pads = [d.n(least, 1 if mode == "reflect" else 3) for _ in range(2 * count)]
    value = d.floats(0.0)
    if d.opset < 11:
        return [x], {"pads": pads, "mode": mode, "value": value}
    operands = [x, known(pads), known(value, x.dtype) if mode == "constant" and d.chance(0.6) else None]
    return [*operands, *([] if axes is None else [known(axes)])], {"mode": mode}


@row("Resize")
def resize(d: Draw) -> Drawn:
    d.special = False
    mode = d.pick("nearest", "linear", "linear", "cubic")
    rank = 4 if mode == "cubic" else d.n(1, 4)
    x = d.array([d.n(1, 4) for _ in range(rank)])
    spatial = [n if rank >= 3 and k < rank - 2 else None for k, n in enumerate(x.shape)]
    attributes: dict[str, Any] = {"mode": mode}
    if d.opset >= 11:
        attributes |= d.some(
            coordinate_transformation_mode=d.pick("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
        )
        if mode == "nearest":
            attributes |= d.some(nearest_mode=d.pick("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"))
        if mode == "cubic":
            attributes |= d.some(cubic_coeff_a=d.pick(-0.5, -0.75, -0.3), exclude_outside=d.n(0, 1))
    if d.opset >= 18 and d.chance(0.3) and mode != "nearest":
        attributes["antialias"] = d.n(0, 1)
    if d.opset >= 11 and d.chance(0.5):
        sizes = [d.n(0 if d.empty else 1, 8) if s is None else s for s in spatial]
        return [x, None, None, known(sizes)], attributes
    scales = [d.pick(0.5, 1.0, 1.5, 2.0, 3.0, 0.7, *([0.2] if d.empty else [])) if s is None else 1.0 for s in spatial]
    if min(int(n * s) for n, s in zip(x.shape, scales, strict=True)) < 1 and not d.empty:
        scales = [max(s, 1.0) for s in scales]
    return ([x, known(scales, "float32")] if d.opset < 11 else [x, None, known(scales, "float32")]), attributes


@row("Upsample")
def upsample(d: Draw) -> Drawn:
    d.special = False
    x = d.array([1, d.n(1, 3), d.n(1, 4), d.n(1, 4)])
    scales = [1.0, 1.0, d.pick(1.0, 2.0, 3.0), d.pick(1.0, 2.0, 1.5)]
    mode = d.pick("nearest", "linear")
    return ([x], {"mode": mode, "scales": scales}) if d.opset < 9 else ([x, known(scales, "float32")], {"mode": mode})


@row("GridSample")
def grid_sample(d: Draw) -> Drawn:
    d.special = False
    rank = 3 if d.opset >= 20 and d.chance(0.3) else 2
    new = d.opset >= 20
    mode = d.pick("nearest", "linear" if new else "bilinear", *([] if rank == 3 else ["cubic" if new else "bicubic"]))
    x = d.array([d.n(1, 2), d.n(1, 2), *[d.n(1, 6) for _ in range(rank)]])
    grid = d.numbers.uniform(-1.6, 1.6, [x.shape[0], *[d.n(1, 4) for _ in range(rank)], rank])
    return [x, grid.astype("float32")], {
        "mode": mode,
        **d.some(padding_mode=d.pick("zeros", "border", "reflection"), align_corners=d.n(0, 1)),
    }


@row("Gemm")
def gemm(d: Draw) -> Drawn:
    m, k, n = d.extent(), d.n(1, 6), d.extent()
    a, b = d.n(0, 1), d.n(0, 1)
    dtype = d.pick("float32", "float32", "float64", "float16")
    c = d.array(d.like([m, n]), dtype) if d.chance(0.7) or d.opset < 11 else None
    attributes = d.some(alpha=d.floats(0.0), beta=d.floats(0.0))
    return [d.array([k, m] if a else [m, k], dtype), d.array([n, k] if b else [k, n], dtype), c], {
        "transA": a,
        "transB": b,
        **attributes,
    }


@row("MatMul")
def matmul(d: Draw) -> Drawn:
    return product_of(d, d.real())


def product_of(d: Draw, dtype: str, other: str = "") -> Drawn:
    """A product of batches of matrices and vectors."""
    lead = d.shape(0, 2, 3)
    m, k, n = d.extent(), d.n(1, 5), d.extent()
    a = d.array([*d.like(lead), m, k] if d.chance(0.85) else [k], dtype)
    b = d.array([*(lead if a.ndim < 3 else d.like(lead)), k, n] if d.chance(0.85) else [k], other or dtype)
    return [a, b], {}


@row("MatMulInteger")
def matmul_integer(d: Draw) -> Drawn:
    a, b = d.pick("int8", "uint8"), d.pick("int8", "uint8")
    (x, y), _ = product_of(d, a, b)[:2]
    points = [known(d.n(0, 5), a), known(d.n(0, 5), b)] if d.chance(0.5) else []
    return [x, known(y, b) if d.chance(0.5) else y, *points], {}


@row("Einsum")
def einsum(d: Draw) -> Drawn:
    e = dict(zip("abcd", (d.n(1, 4) for _ in range(4)), strict=True))
    text = d.pick(
        "ab,bc->ac",
        "ab,bc",
        "ab->ba",
        "ab->a",
        "aa->a",
        "ab,ab->",
        "...ab,...bc->...ac",
        "abc,cd->abd",
        "ab,cb->ca",
        "a,b->ab",
        "abc->b",
    )
    shapes = [[e[c] for c in part.replace("...", "")] for part in text.split("->")[0].split(",")]
    dtype = d.pick("float32", "float64")
    return [d.array([2, *s] if "..." in text else s, dtype) for s in shapes], {"equation": text}


@row("Concat")
def concat(d: Draw) -> Drawn:
    shape, dtype = d.shape(1, 4), d.dtype()
    axis = d.axis(len(shape), None if d.opset >= 11 else False)
    parts = []
    for _ in range(d.n(1, 4)):
        own = list(shape)
        own[axis] = d.extent()
        parts.append(d.array(own, dtype))
    return parts, {"axis": axis}


@row("Split")
def split(d: Draw) -> Drawn:
    extents = [d.extent(3) for _ in range(d.n(1, 4))]
    shape = d.shape(1, 3)
    axis = d.axis(len(shape), None if d.opset >= 11 else False)
    shape[axis] = sum(extents)
    x = d.array(shape, d.dtype())
    if d.opset < 13:
        return [x], {"axis": axis, "split": extents}, len(extents)
    if d.opset >= 18 and d.chance(0.4) and shape[axis] >= len(extents) ** 2:
        return [x], {"axis": axis, "num_outputs": len(extents)}, len(extents)
    return [x, known(extents)], {"axis": axis}, len(extents)


@row("Tile")
def tile(d: Draw) -> Drawn:
    x = d.array(d.shape(1, 4, 4), d.dtype())
    return [x, known([d.n(0 if d.empty else 1, 3) for _ in x.shape])], {}


@row("Expand")
def expand(d: Draw) -> Drawn:
    shape = d.shape(1, 4, 4)
    x = d.array(d.like(shape), d.dtype())
    return [x, known(d.like(shape) if d.chance(0.3) else shape)], {}


@row("Reshape")
def reshape(d: Draw) -> Drawn:
    x = d.array([d.n(1, 4) for _ in range(d.n(1, 4))], d.dtype())
    new = [int(x.size)] if d.chance(0.2) else [*x.shape]
    d.rng.shuffle(new)
    if d.chance(0.5):
        new[d.n(0, len(new) - 1)] = -1
    elif new[0] == x.shape[0]:
        new[0] = 0
    return [x, known(new)], {}


@row("Flatten")
def flatten(d: Draw) -> Drawn:
    x = d.array(d.shape(1, 4), "float32")
    return [x], {"axis": d.n(-x.ndim if d.opset >= 11 else 0, x.ndim)}


@row("Transpose")
def transpose(d: Draw) -> Drawn:
    x = d.array(d.shape(0, 5, 4), d.dtype())
    return [x], d.some(perm=d.rng.sample(range(x.ndim), x.ndim) or None)


@row("Squeeze")
def squeeze(d: Draw) -> Drawn:
    shape = d.shape(1, 3)
    axes = sorted(d.rng.sample(range(len(shape) + 2), 2))
    for p in axes:
        shape.insert(p, 1)
    return _along(
        d, d.array(shape, d.dtype()), [p - len(shape) if d.chance(0.3) and d.opset >= 11 else p for p in axes]
    )


@row("Unsqueeze")
def unsqueeze(d: Draw) -> Drawn:
    x = d.array(d.shape(0, 3), d.dtype())
    axes = d.rng.sample(range(x.ndim + 2), 2)
    return _along(d, x, sorted(axes) if d.opset < 11 else [a - x.ndim - 2 if d.chance(0.3) else a for a in axes])


def _along(d: Draw, x: np.ndarray, axes: list[int]) -> Drawn:
    return ([x], {"axes": axes}) if d.opset < 13 else ([x, known(axes)], {})


REDUCTIONS = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")


def reduce_of(d: Draw, name: str) -> Drawn:
    """A reduction of some axes, of none, or of all."""
    x = d.array(
        d.shape(0 if d.opset >= 13 else 1, 4, 4), d.pick("float32", "float32", "float32", "float64", "int32", "int64")
    )
    if name in ("LogSum", "LogSumExp", "Mean", "L2", "Prod") and x.dtype.kind != "f":
        x = x.astype("float32")
    if name in ("LogSum", "Prod"):
        x = np.abs(x) + x.dtype.type(0.5)
    axes = d.axes(x.ndim, 1)
    attributes: dict[str, Any] = d.some(keepdims=d.n(0, 1))
    if d.opset < (13 if name == "Sum" else 18):
        return [x], {**attributes, **({} if d.chance(0.3) or not axes else {"axes": axes})}
    attributes |= d.some(noop_with_empty_axes=d.n(0, 1))
    return [x, *([] if d.chance(0.3) else [known([] if d.chance(0.2) else axes)])], attributes


ROWS |= {f"Reduce{n}": (lambda d, n=n: reduce_of(d, n)) for n in REDUCTIONS}


@row("ArgMax", "ArgMin")
def arg_extreme(d: Draw) -> Drawn:
    x = d.array([d.n(1, 5) for _ in range(d.n(1, 4))], d.pick("float32", "float32", "int32", "float64"))
    attributes = d.some(axis=d.axis(x.ndim, None if d.opset >= 11 else False), keepdims=d.n(0, 1))
    return [x], {**attributes, **(d.some(select_last_index=d.n(0, 1)) if d.opset >= 12 else {})}


@row("TopK")
def topk(d: Draw) -> Drawn:
    x = d.numbers.permuted(np.arange(np.prod(shape := [d.n(1, 5) for _ in range(d.n(1, 3))]))).reshape(shape)
    axis = d.axis(x.ndim, None if d.opset >= 11 else False)
    k, x = d.n(1, x.shape[axis]), x.astype("float32")
    if d.opset < 10:
        return [x], {"axis": axis, "k": k}, 2
    more = d.some(largest=d.n(0, 1)) if d.opset >= 11 else {}
    return [x, known([k])], {"axis": axis, **more}, 2


@row("Softmax", "LogSoftmax", "Hardmax")
def softmax(d: Draw) -> Drawn:
    d.special = d.special and d.opset >= 13
    x = d.array(d.shape(1, 4), d.pick("float32", "float32", "float64", "float16"))
    return [x], d.some(axis=d.axis(x.ndim, None if d.opset >= 11 else False))


@row("LpNormalization")
def lp_normalization(d: Draw) -> Drawn:
    x = d.array([d.n(1, 5) for _ in range(d.n(1, 4))], d.real())
    if d.chance(0.2):
        x = np.zeros_like(x)
    return [x], d.some(axis=d.axis(x.ndim), p=d.n(1, 2))


@row("LRN")
def lrn(d: Draw) -> Drawn:
    d.special = False
    return [d.array([1, d.n(1, 6), *d.shape(1, 2, 4)])], {
        "size": d.n(1, 5),
        **d.some(alpha=d.pick(0.01, 1.0), beta=d.pick(0.5, 0.75, 1.0), bias=d.pick(1.0, 2.0)),
    }


@row("InstanceNormalization")
def norms(d: Draw) -> Drawn:
    x = d.array([d.n(1, 3), d.n(1, 4), *[d.n(2, 5) for _ in range(d.n(1, 3))]])
    c = x.shape[1]
    return [x, d.array([c]), d.array([c])], d.some(epsilon=d.pick(1e-5, 1e-2))


@row("BatchNormalization")
def batch_normalization(d: Draw) -> Drawn:
    (x, scale, bias), attributes = norms(d)[:2]
    return [x, scale, bias, d.array([x.shape[1]]), np.abs(d.array([x.shape[1]])) + np.float32(0.1)], attributes


@row("GroupNormalization")
def group_normalization(d: Draw) -> Drawn:
    groups, each = d.n(1, 3), d.n(1, 3)
    count = groups * each if d.opset >= 21 else groups
    x = d.array([d.n(1, 3), groups * each, *[d.n(2, 4) for _ in range(d.n(1, 2))]])
    return [x, d.array([count]), d.array([count])], {"num_groups": groups, **d.some(epsilon=d.pick(1e-5, 1e-2))}


@row("LayerNormalization", "RMSNormalization")
def layer_normalization(d: Draw) -> Drawn:
    x = d.array([d.n(2, 5) for _ in range(d.n(1, 4))])
    axis = d.axis(x.ndim)
    return [x, d.array(x.shape[axis:])], {"axis": axis, **d.some(epsilon=d.pick(1e-5, 1e-2))}


def quantized_of(d: Draw, name: str) -> Drawn:
    """Of one scale, one for each channel, or one for each block, of which the last may be short."""
    d.special = False
    x = d.array([d.n(1, 6) for _ in range(d.n(1, 4))], "float32")
    dtype = d.pick("int8", "uint8")
    axis, attributes = d.axis(x.ndim), {}
    shape: list[int] = []
    if d.opset >= 13 and d.chance(0.6):
        shape, attributes = [x.shape[axis]], {"axis": axis}
        if d.opset >= 21 and d.chance(0.5):
            size = d.n(1, 4)
            shape = [*x.shape]
            shape[axis] = -(-x.shape[axis] // size)
            attributes["block_size"] = size
    scale = known(d.numbers.choice([0.25, 0.5, 1.0, 2.0], shape), "float32")
    point = known(d.array(shape, dtype, -5, 5), dtype) if d.chance(0.7) else None
    if name == "DequantizeLinear":
        x = d.array(x.shape, dtype if point is not None else "uint8", -100, 100)
    return [x, scale, point], attributes


ROWS |= {n: (lambda d, n=n: quantized_of(d, n)) for n in ("QuantizeLinear", "DequantizeLinear")}


@row("DynamicQuantizeLinear")
def dynamic_quantize(d: Draw) -> Drawn:
    d.special = False
    return [d.array(d.shape(1, 3), "float32")], {}, 3


@row("DepthToSpace")
def depth(d: Draw) -> Drawn:
    size = d.n(1, 3)
    x = d.array([d.n(1, 2), d.n(1, 3) * size * size, d.n(1, 3), d.n(1, 3)])
    return [x], {"blocksize": size, **(d.some(mode=d.pick("DCR", "CRD")) if d.opset >= 11 else {})}


@row("SpaceToDepth")
def space(d: Draw) -> Drawn:
    size = d.n(1, 3)
    return [d.array([d.n(1, 2), d.n(1, 3), d.n(1, 3) * size, d.n(1, 3) * size])], {"blocksize": size}


@row("Where")
def where(d: Draw) -> Drawn:
    shape, dtype = d.shape(0, 4), d.dtype()
    return [d.array(d.like(shape), "bool"), d.array(shape, dtype), d.array(d.like(shape), dtype)], {}


@row("Clip")
def clip(d: Draw) -> Drawn:
    if d.opset < 11:
        low = d.floats(0.0)
        return [d.array(d.shape(0, 4))], d.some(min=low, max=low + d.n(0, 3))
    x = d.array(d.shape(0, 4), d.dtype() if d.opset >= 12 else "float32")
    bounds = [known(d.n(0, 3), x.dtype) if d.chance(0.7) else None for _ in range(2)]
    return [x, *bounds], {}


@row("OneHot")
def one_hot(d: Draw) -> Drawn:
    indices = d.array(d.shape(0, 3), d.pick("int64", "float32", "int32"), -3, 5)
    indices = np.floor(indices) if indices.dtype.kind == "f" else indices
    indices = np.nan_to_num(indices, posinf=1, neginf=1) if indices.dtype.kind == "f" else indices
    return [indices, known([d.n(1, 6)]), known([0, d.n(1, 5)], d.pick("float32", "int64"))], d.some(
        axis=d.n(-indices.ndim - 1, indices.ndim)
    )


@row("CumSum", "CumProd")
def cumulative(d: Draw) -> Drawn:
    x = d.array([d.n(1, 5) for _ in range(d.n(1, 3))], d.pick("float32", "float32", "int32", "float64"))
    return [x, known(d.axis(x.ndim))], d.some(exclusive=d.n(0, 1), reverse=d.n(0, 1))


@row("Trilu")
def trilu(d: Draw) -> Drawn:
    x = d.array(d.shape(2, 4), d.dtype())
    return [x, *([known(d.n(-6, 6))] if d.chance(0.7) else [])], d.some(upper=d.n(0, 1))


@row("EyeLike")
def eye_like(d: Draw) -> Drawn:
    return [d.array(d.shape(2, 2), d.dtype())], d.some(k=d.n(-6, 6))


@row("Compress")
def compress(d: Draw) -> Drawn:
    x = d.array([d.n(1, 5) for _ in range(d.n(1, 3))], d.dtype())
    axis = d.axis(x.ndim) if d.chance(0.6) else None
    length = x.size if axis is None else x.shape[axis]
    return [x, known(d.array([d.n(1, length)], "bool"), "bool")], {} if axis is None else {"axis": axis}


@row("ReverseSequence")
def reverse_sequence(d: Draw) -> Drawn:
    x = d.array([d.n(1, 4) for _ in range(d.n(2, 4))], d.dtype())
    batch = d.n(0, 1)
    return [x, d.array([x.shape[batch]], "int64", 1, x.shape[1 - batch])], {"batch_axis": batch, "time_axis": 1 - batch}


@row("Mod")
def mod(d: Draw) -> Drawn:
    dtype = d.dtype()
    shape = d.shape(0, 3)
    y = d.array(d.like(shape), dtype)
    d.special = False
    return [d.array(shape, dtype), np.where(y == 0, 3, y).astype(dtype)], {
        "fmod": 1 if dtype.startswith("float") else d.n(0, 1)
    }


@row("Div", "Pow")
def divide(d: Draw) -> Drawn:
    dtype = d.pick("float32", "float32", "float64", "int32", "int64") if d.opset >= 12 else "float32"
    shape = d.shape(0, 3)
    y = np.abs(d.array(d.like(shape), dtype))
    return [d.array(shape, dtype), np.where(y == 0, 3, y).astype(dtype)], {}


@row("BitShift")
def bit_shift(d: Draw) -> Drawn:
    dtype, shape = d.pick("uint8", "uint16", "uint32", "uint64"), d.shape(0, 3)
    return [d.array(shape, dtype), d.array(d.like(shape), dtype, 0, 7)], {"direction": d.pick("LEFT", "RIGHT")}


@row("Gelu")
def gelu(d: Draw) -> Drawn:
    return [d.array(d.shape(0, 4), d.real())], d.some(approximate=d.pick("none", "tanh"))


@row("PRelu")
def prelu(d: Draw) -> Drawn:
    shape, dtype = d.shape(1, 4), d.pick("float32", "float32", "float64")
    return [d.array(shape, dtype), d.array(d.like(shape), dtype)], {}


def activation_of(d: Draw, *names: str) -> Drawn:
    """An activation function with numbers of either sign."""
    return [d.array(d.shape(0, 4))], d.some(**{n: d.floats(0.1, -0.5) for n in names})


ROWS |= {
    n: (lambda d, names=names: activation_of(d, *names))
    for n, names in {
        "Elu": ("alpha",),
        "Selu": ("alpha", "gamma"),
        "Celu": ("alpha",),
        "LeakyRelu": ("alpha",),
        "ThresholdedRelu": ("alpha",),
        "HardSigmoid": ("alpha", "beta"),
        "Shrink": ("bias", "lambd"),
        "Swish": ("alpha",),
    }.items()
}


@row("Cast")
def cast(d: Draw) -> Drawn:
    d.special = False
    to = d.pick(1, 2, 3, 5, 6, 7, 9, 10, 11)
    x = d.array(d.shape(0, 3), d.pick("float32", "float64", "int32", "int64", "uint8", "bool"))
    return [np.abs(x) if to == 2 and x.dtype.kind in "fi" else x], {"to": to}


@row("Range")
def range_(d: Draw) -> Drawn:
    step = d.pick(1, 2, -1, -3)
    return [known(v, t) for t in [d.pick("int64", "float32", "int32")] for v in (d.n(-5, 5), d.n(-5, 9), step)], {}


@row("CenterCropPad")
def center_crop_pad(d: Draw) -> Drawn:
    x = d.array(d.shape(1, 4), "float32")
    axes = d.axes(x.ndim, 1)
    if d.chance(0.4):
        return [x, known([d.n(1, 8) for _ in x.shape])], {}
    return [x, known([d.n(1, 8) for _ in axes])], {"axes": axes}


def recurrent_of(d: Draw, name: str) -> Drawn:
    """A recurrent network, with initial state or without, of the lengths that sequences have, in one direction or both."""
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[name]
    steps, batch, size, hidden = d.n(1, 4), d.n(1, 3), d.n(1, 3), d.n(1, 4)
    direction = d.pick("forward", "reverse", "bidirectional")
    n = 2 if direction == "bidirectional" else 1
    d.special = False
    layout = d.n(0, 1) if d.opset >= 14 and d.chance(0.2) else 0
    state = [batch, n, hidden] if layout else [n, batch, hidden]
    operands = [
        d.array([batch, steps, size] if layout else [steps, batch, size]),
        d.array([n, gates * hidden, size]),
        d.array([n, gates * hidden, hidden]),
        d.array([n, 2 * gates * hidden]) if d.chance(0.6) else None,
        d.array([batch], "int32", 1, steps) if d.chance(0.4) else None,
        d.array(state) if d.chance(0.5) else None,
    ]
    attributes: dict[str, Any] = {"hidden_size": hidden, "direction": direction, **d.some(clip=d.pick(0.5, 3.0))}
    attributes |= {"layout": layout} if layout else {}
    if name == "GRU":
        attributes |= d.some(linear_before_reset=d.n(0, 1))
    if name == "LSTM":
        operands += [d.array(state) if d.chance(0.5) else None, d.array([n, 3 * hidden]) if d.chance(0.3) else None]
        attributes |= d.some(input_forget=d.n(0, 1) if d.chance(0.2) else None)
    return operands, attributes, 3 if name == "LSTM" else 2


ROWS |= {n: (lambda d, n=n: recurrent_of(d, n)) for n in ("RNN", "GRU", "LSTM")}


@row("Attention")
def attention(d: Draw) -> Drawn:
    batch, groups, each, q, k, size = d.n(1, 2), d.n(1, 2), d.n(1, 2), d.n(1, 4), d.n(1, 4), d.n(1, 4)
    d.special = False
    heads = groups * each
    flat = d.chance(0.4)

    def rows(count: int, length: int) -> np.ndarray:
        return d.array([batch, length, count * size] if flat else [batch, count, length, size])

    operands: list[Any] = [rows(heads, q), rows(groups, k), rows(groups, k)]
    if d.chance(0.4):
        operands.append(d.array([q, k]) if d.chance(0.5) else d.array([batch, heads, q, k]))
    attributes: dict[str, Any] = {"q_num_heads": heads, "kv_num_heads": groups} if flat else {}
    return operands, {**attributes, **d.some(is_causal=d.n(0, 1), scale=d.pick(0.5, 1.0), softcap=d.pick(0.0, 2.0))}


@row("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def losses(d: Draw) -> Drawn:
    d.special = False
    n, c = d.n(1, 4), d.n(2, 5)
    rest = [d.n(1, 3) for _ in range(d.n(0, 2))]
    weight = np.abs(d.array([c])) + np.float32(0.25) if d.chance(0.5) else None
    attributes = d.some(reduction=d.pick("none", "mean", "sum"), ignore_index=d.pick(0, -1, 1))
    return [
        d.array([n, c, *rest]),
        d.array([n, *rest], "int64", 0, c - 1),
        *([] if weight is None else [weight]),
    ], attributes


@row("AffineGrid")
def affine_grid(d: Draw) -> Drawn:
    rank = d.n(2, 3)
    n = d.n(1, 2)
    size = [n, 1, *[d.n(2, 4) for _ in range(rank)]]
    d.special = False
    return [d.array([n, rank, rank + 1]), known(size)], d.some(align_corners=d.n(0, 1))


@row("Col2Im")
def col2im(d: Draw) -> Drawn:
    image, block = [d.n(3, 6), d.n(3, 6)], [d.n(1, 3), d.n(1, 3)]
    strides, pads = [d.n(1, 2), d.n(1, 2)], [d.n(0, 1) for _ in range(4)]
    count = np.prod([(image[i] + pads[i] + pads[2 + i] - block[i]) // strides[i] + 1 for i in range(2)])
    x = d.array([d.n(1, 2), d.n(1, 2) * block[0] * block[1], int(count)])
    return [x, known(image), known(block)], {"strides": strides, "pads": pads}


@row("ConvInteger")
def conv_integer(d: Draw) -> Drawn:
    image, spatial, kernel = _image(d, high=2)
    x = d.array(image.shape, "uint8", 0, 255)
    w = d.array([d.n(1, 3), x.shape[1], *kernel], d.pick("int8", "uint8"))
    points = [known(d.n(0, 9), "uint8"), known(d.n(0, 3), w.dtype)] if d.chance(0.6) else []
    return [x, known(w, w.dtype), *points], {"kernel_shape": kernel, **_windows(d, len(spatial), spatial, kernel)}


@row("com.microsoft.MultiHeadAttention")
def multi_head_attention(d: Draw) -> Drawn:
    d.special = False
    batch, heads, q, k, size = d.n(1, 2), d.n(1, 2), d.n(1, 4), d.n(1, 4), d.pick(1, 2, 4)
    hidden = heads * size
    operands: list[Any] = [d.array([batch, q, hidden]), d.array([batch, k, hidden]), d.array([batch, k, hidden])]
    bias = d.array([3 * hidden]) if d.chance(0.3) else None
    extra = d.array([batch if d.chance(0.5) else 1, heads, q, k]) if d.chance(0.3) else None
    return [*operands, bias, None, extra], {
        "num_heads": heads,
        **d.some(unidirectional=d.n(0, 1), scale=d.pick(0.5, 1.0)),
    }


@row("com.microsoft.QLinearAveragePool")
def qlinear_average_pool(d: Draw) -> Drawn:
    image, spatial, kernel = _image(d, low=2, high=2)
    attributes = _windows(d, 2, spatial, kernel, dilated=False, ceil_mode=d.n(0, 1), count_include_pad=d.n(0, 1))
    dtype = d.pick("uint8", "int8")
    x = d.array(image.shape, dtype, -100, 100)
    return [
        x,
        known(0.5, "float32"),
        known(d.n(0, 9), dtype),
        known(d.pick(0.5, 0.25), "float32"),
        known(d.n(0, 9), dtype),
    ], {"kernel_shape": kernel, **attributes}


@row("QLinearMatMul")
def qlinear_matmul(d: Draw) -> Drawn:
    a, b = d.pick("int8", "uint8"), d.pick("int8", "uint8")
    (x, y), _ = product_of(d, a, b)[:2]
    parameters = [[known(d.pick(0.25, 0.5), "float32"), known(d.n(0, 5), t)] for t in (a, b, a)]
    return [x, *parameters[0], y, *parameters[1], *parameters[2]], {}


@row("QLinearConv")
def qlinear_conv(d: Draw) -> Drawn:
    image, spatial, kernel = _image(d, low=2, high=2)
    dtype = d.pick("int8", "uint8")
    w = d.array([d.n(1, 3), image.shape[1], *kernel], "int8", -100, 100)
    scale = d.numbers.choice([0.25, 0.5], [len(w)] if d.chance(0.5) else [])
    quantities = [known(0.5, "float32"), known(d.n(0, 9), dtype)]
    weights = [known(w, "int8"), known(scale, "float32"), known(np.zeros(scale.shape), "int8")]
    out = [known(d.pick(0.5, 8.0), "float32"), known(d.n(0, 9), dtype)]
    bias = [known(d.array([len(w)], "int32"), "int32")] if d.chance(0.5) else []
    attributes = {"kernel_shape": kernel, **_windows(d, 2, spatial, kernel)}
    return [d.array(image.shape, dtype, -100, 100), *quantities, *weights, *out, *bias], attributes


@row("RotaryEmbedding")
def rotary_embedding(d: Draw) -> Drawn:
    batch, heads, length, half = d.n(1, 2), d.n(1, 3), d.n(1, 4), d.n(1, 3)
    part = d.n(1, half) if d.chance(0.4) else half
    flat = d.chance(0.5)
    x = d.array([batch, length, heads * 2 * half] if flat else [batch, heads, length, 2 * half])
    attributes: dict[str, Any] = {"num_heads": heads} if flat else {}
    attributes |= {"rotary_embedding_dim": 2 * part} if part != half else {}
    attributes |= d.some(interleaved=d.n(0, 1))
    if d.chance(0.5):
        return [x, *(d.array([7, part]) for _ in range(2)), d.array([batch, length], "int64", 0, 6)], attributes
    return [x, *(d.array([batch, length, part]) for _ in range(2))], attributes


@row("Det")
def det(d: Draw) -> Drawn:
    d.special = False
    n = d.n(1, 4)
    return [d.array([*d.shape(0, 2, 3), n, n])], {}


@row("NonMaxSuppression")
def non_max_suppression(d: Draw) -> Drawn:
    batch, boxes, classes = d.n(1, 2), d.n(1, 6), d.n(1, 3)
    corner = d.numbers.uniform(0, 1, (batch, boxes, 2))
    corners = np.concatenate([corner, corner + d.numbers.uniform(0.1, 1, (batch, boxes, 2))], 2).astype("float32")
    scores = d.numbers.permuted(np.arange(batch * classes * boxes)).reshape(batch, classes, boxes) / np.float32(64)
    more = [
        known([d.n(1, 4)]),
        known([d.pick(0.3, 0.5)], "float32"),
        *([known([0.25], "float32")] if d.chance(0.5) else []),
    ]
    return [corners, scores.astype("float32"), *more], d.some(center_point_box=d.n(0, 1))


@row("ConstantOfShape")
def constant_of_shape(d: Draw) -> Drawn:
    return [known(d.shape(0, 4))], {}


@row("Dropout")
def dropout(d: Draw) -> Drawn:
    return [d.array(d.shape(0, 4), d.real())], d.some(ratio=0.3) if d.opset < 12 else d.some(seed=1)


@row("CastLike")
def cast_like(d: Draw) -> Drawn:
    d.special = False
    return [
        d.array(d.shape(0, 3), d.pick("float32", "int32", "bool")),
        d.array([1], d.pick("float32", "int64", "float16", "int8")),
    ], {}


@row("HannWindow", "HammingWindow", "BlackmanWindow")
def window(d: Draw) -> Drawn:
    return [known(d.n(1, 9))], d.some(periodic=d.n(0, 1))


@row("DFT")
def dft(d: Draw) -> Drawn:
    d.special = False
    real, one_sided = d.chance(0.5), d.chance(0.3)
    x = d.array([d.n(1, 2), d.n(2, 6), d.n(2, 6), 1 if real or one_sided else 2])
    axis = d.pick(1, 2)
    length = known(d.n(2, 8)) if d.chance(0.3) else None
    attributes = {"onesided": 1} if one_sided else d.some(inverse=d.n(0, 1))
    return ([x, length], {"axis": axis, **attributes}) if d.opset < 20 else ([x, length, known(axis)], attributes)


@row("TensorScatter")
def tensor_scatter(d: Draw) -> Drawn:
    batch, length, size, count = d.n(1, 3), d.n(2, 6), d.n(1, 3), d.n(1, 2)
    mode = d.pick("linear", "circular")
    start = d.array([batch], "int64", 0, length - count if mode == "linear" else length - 1)
    return [d.array([batch, 2, length, size]), d.array([batch, 2, count, size]), start], {"mode": mode, "axis": -2}


@row("DeformConv")
def deform_conv(d: Draw) -> Drawn:
    d.special = False
    image, spatial, kernel = _image(d, low=2, high=2)
    strides, pads = [d.n(1, 2), d.n(1, 2)], [d.n(0, 1) for _ in range(4)]
    out = [(spatial[i] + pads[i] + pads[2 + i] - kernel[i]) // strides[i] + 1 for i in range(2)]
    groups = d.pick(1, image.shape[1])
    taps = groups * kernel[0] * kernel[1]
    w = d.array([d.n(1, 3), image.shape[1], *kernel])
    offset = d.numbers.uniform(-1.5, 1.5, [len(image), 2 * taps, *out]).astype("float32")
    more = [d.array([len(w)]) if d.chance(0.5) else None, d.array([len(image), taps, *out]) if d.chance(0.5) else None]
    return [image, w, offset, *more], {"kernel_shape": kernel, "strides": strides, "pads": pads, "offset_group": groups}


@row("com.microsoft.QLinearGlobalAveragePool")
def qlinear_global_average_pool(d: Draw) -> Drawn:
    image = _image(d, low=2, high=2)[0]
    x = d.array(image.shape, "uint8", 0, 200)
    return [x, known(0.5, "float32"), known(3, "uint8"), known(0.25, "float32"), known(1, "uint8")], {
        "channels_last": d.n(0, 1)
    }


@row("com.microsoft.QLinearAdd", "com.microsoft.QLinearMul")
def qlinear_binary(d: Draw) -> Drawn:
    shape, dtype = d.shape(1, 3), d.pick("int8", "uint8")
    parameters = [[known(d.pick(0.25, 0.5), "float32"), known(d.n(0, 5), dtype)] for _ in range(3)]
    x, y = d.array(shape, dtype, -100, 100), d.array(d.like(shape), dtype, -100, 100)
    return [x, *parameters[0], y, *parameters[1], *parameters[2]], {}


@row("com.microsoft.FusedMatMul")
def fused_matmul(d: Draw) -> Drawn:
    m, k, n = d.n(1, 5), d.n(1, 5), d.n(1, 5)
    a, b = d.n(0, 1), d.n(0, 1)
    lead = d.shape(0, 2, 3)
    return [d.array([*lead, *((k, m) if a else (m, k))]), d.array([*lead, *((n, k) if b else (k, n))])], {
        "transA": a,
        "transB": b,
        **d.some(alpha=0.5),
    }


@row("com.microsoft.FusedGemm")
def fused_gemm(d: Draw) -> Drawn:
    operands, attributes = gemm(d)[:2]
    plain = [np.asarray(o, "float32") for o in operands if o is not None]
    return plain, {**attributes, "activation": d.pick("Relu", "Tanh", "Sigmoid", "LeakyRelu")}


@row("com.microsoft.Gelu", "com.microsoft.QuickGelu", "com.microsoft.FastGelu")
def microsoft_activations(d: Draw) -> Drawn:
    return [d.array(d.shape(1, 3))], {}


NOT_DRAWN = frozenset(
    [
        "Bernoulli",
        "BitCast",
        "",
        "",
        "CausalConvWithState",
        "Constant",
        "",
        "",
        "",
        "",
        "",
        "",
        "",
        "If",
        "ImageDecoder",
        "LinearAttention",
        "Loop",
        "MaxUnpool",
        "MelWeightMatrix",
        "Multinomial",
        "",
        "Optional",
        "OptionalGetElement",
        "OptionalHasElement",
        "",
        "",
        "RandomNormal",
        "RandomNormalLike",
        "RandomUniform",
        "RandomUniformLike",
        "RegexFullMatch",
        "",
        "STFT",
        "Scan",
        "ConcatFromSequence",
        "SequenceAt",
        "SequenceConstruct",
        "SequenceEmpty",
        "SequenceErase",
        "SequenceInsert",
        "SequenceLength",
        "SequenceMap",
        "SplitToSequence",
        "StringConcat",
        "StringNormalizer",
        "StringSplit",
        "",
        "TfIdfVectorizer",
        "Unique",
    ]
)
"""Random, of strings or sequences, with bodies, or with tests of their own."""
