"""Random modules around one operator that is worth a schedule, for the strategies of C.

Extents are odd, windows dilated, strided and padded unevenly, operands of all widths and transposed, weights constant or not; what
stands behind it is fused into it. The numbers of the processor for which nests are sized are drawn, too (`draw_target`): on one with
small caches, short blocks and cheap threads, small operators are treated as large ones.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

import irtool
from irtool.ir import Constant, Expr, Function, Module, TensorType, Tuple, Var
from irtool.ops.base import call

Shape = tuple[int, ...]
Drawn = Expr | None
BYTES = (("int8", "int8"), ("uint8", "int8"), ("int8", "uint8"), ("uint8", "uint8"))
FLOATS = ("float32", "float32", "float32", "float64", "float16")


class KernelMaker:
    """Draws one module. What draws an operator returns its call, and adds the parameters that it needs."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(f"kernels {seed}")
        self.numbers = np.random.default_rng(seed)
        self.params: list[Var] = []

    def module(self) -> Module:
        """An operator, and mostly something behind it; its type is inferred."""
        anchors: tuple[Callable[[], Expr], ...] = (
            *(
                self.convolution,
                self.convolution,
                self.convolution,
                self.dilated,
                self.dilated,
                self.square_windows,
                self.square_windows_in_slices,
                self.transposed,
                self.transposed,
            ),
            *(
                self.product,
                self.product,
                self.batch_product,
                self.attention,
                self.permuted,
                self.permuted,
                self.channels,
                self.channels,
            ),
            *(
                self.quantized,
                self.pool,
                self.reduction,
                self.formulas,
                self.formulas,
                self.softmax,
                self.rows,
                self.upsampled,
            ),
        )
        e = self.rng.choice(anchors)()
        for _ in range(self.rng.choice((0, 1, 1, 2, 3))):
            e = self.behind(e)
        module = Module({"main": Function(tuple(self.params), e)})
        return irtool.infer_types(module)

    # Operands

    def param(self, shape: Shape, dtype: str) -> Var:
        v = Var(f"x{len(self.params)}", TensorType(shape, dtype))
        self.params.append(v)
        return v

    def weight(self, shape: Shape, dtype: str) -> Expr:
        """A constant mostly; now and then with a number that is none, so that zeros of padding times it are no zeros."""
        if self.rng.random() < 0.2:
            return self.param(shape, dtype)
        if dtype in ("int8", "uint8"):
            ends = np.iinfo(dtype)
            return Constant(np.asarray(self.numbers.integers(ends.min, ends.max, shape, dtype, endpoint=True)))
        if dtype.startswith("int"):
            return Constant(np.asarray(self.numbers.integers(-9, 9, shape)).astype(dtype))
        values = np.asarray(self.numbers.random(shape) - 0.5).astype(dtype)
        if self.rng.random() < 0.1 and values.size:
            values.reshape(-1)[self.numbers.integers(values.size)] = self.rng.choice((np.inf, np.nan, -np.inf))
        return Constant(values)

    def dtypes(self) -> tuple[str, str, dict[str, str]]:
        """Of data and of weights, and what the operator is told of the result's."""
        if self.rng.random() < 0.35:
            return *self.rng.choice(BYTES), {"out_dtype": "int32"}
        if self.rng.random() < 0.1:
            return "int16", "int16", {"out_dtype": "int32"}
        dtype = self.rng.choice(FLOATS)
        return dtype, dtype, {"out_dtype": "float32"} if dtype == "float16" and self.rng.random() < 0.5 else {}

    # Anchors

    def convolution(self, most_dilation: int = 2) -> Expr:
        rng, axes = self.rng, self.rng.choice((1, 2, 2, 2, 2, 3))
        a, b, out_dtype = self.dtypes()
        groups = rng.choice((1, 1, 1, 1, 2, 3))
        inside, outside = (groups * rng.choice((1, 2, 3, 4, 5, 7, 8, 16)) for _ in range(2))
        if rng.random() < 0.2:
            groups = inside = outside = rng.choice((3, 8, 16, 19, 32))
        kernel = tuple(rng.choice((1, 2, 3, 3, 3, 5) if axes < 3 else (1, 2, 3)) for _ in range(axes))
        dilation = tuple(rng.randint(1, most_dilation) for _ in range(axes))
        padding = [
            rng.choice((0, (k - 1) * d // 2, (k - 1) * d, rng.randint(0, 3)))
            for k, d in zip(kernel, dilation, strict=True)
        ] * 2
        if rng.random() < 0.2:
            padding[rng.randrange(len(padding))] = rng.randint(0, 4)
        reach = [1 + (k - 1) * d for k, d in zip(kernel, dilation, strict=True)]
        most = {1: 60, 2: 20, 3: 8}[axes]
        extents = tuple(max(rng.randint(1, most), r - 2 * p) for r, p in zip(reach, padding[:axes], strict=True))
        letters = "DHW"[3 - axes :]
        back = rng.random() < 0.3
        data_layout = f"N{letters}C" if back else f"NC{letters}"
        kernel_layout = {1: "WIO", 2: "HWIO", 3: "DHWIO"}[axes] if back else f"OI{letters}"
        if back and 1 < groups == inside and axes == 2:
            kernel_layout = "HWOI"
        extents_of = {"O": outside, "I": inside // groups, **dict(zip(letters, kernel, strict=True))}
        shape = {"N": rng.choice((1, 1, 2, 3)), "C": inside, **dict(zip(letters, extents, strict=True))}
        return call(
            f"nn.conv{axes}d",
            self.param(tuple(shape[c] for c in data_layout), a),
            self.weight(tuple(extents_of[c] for c in kernel_layout), b),
            strides=tuple(rng.choice((1, 1, 1, 2, 3)) for _ in range(axes)),
            padding=tuple(padding),
            dilation=dilation,
            groups=groups,
            channels=outside,
            kernel_size=kernel,
            data_layout=data_layout,
            kernel_layout=kernel_layout,
            **out_dtype,
        )

    def dilated(self) -> Expr:
        """Windows that lie in the padding for the most part."""
        return self.convolution(self.rng.choice((4, 9, 14)))

    def square_windows(self) -> Expr:
        """What may be computed from transformed tiles."""
        rng, dtype = self.rng, self.rng.choice(("float32", "float32", "float32", "float64"))
        inside, outside = rng.choice((3, 8, 16, 32)), rng.choice((4, 16, 17, 32))
        shape = (rng.choice((1, 2)), inside, rng.randint(3, 20), rng.randint(3, 20))
        return call(
            "nn.conv2d",
            self.param(shape, dtype),
            self.weight((outside, inside, 3, 3), dtype),
            channels=outside,
            kernel_size=(3, 3),
            padding=rng.choice(((0,) * 4, (1,) * 4, (1,) * 4, (0, 1, 1, 0))),
        )

    def square_windows_in_slices(self) -> Expr:
        """What may be computed from transformed tiles, summed over slices."""
        rng, taps = self.rng, self.rng.choice((1, 2, 3, 3, 5))
        inside, outside = rng.choice((4, 8, 16)), rng.choice((4, 16, 17))
        shape = (rng.choice((1, 2)), inside, rng.randint(taps, 7), rng.randint(3, 12), rng.randint(3, 12))
        return call(
            "nn.conv3d",
            self.param(shape, "float32"),
            self.weight((outside, inside, taps, 3, 3), "float32"),
            channels=outside,
            kernel_size=(taps, 3, 3),
            strides=(rng.choice((1, 1, 2)), 1, 1),
            dilation=(rng.choice((1, 1, 2)) if taps == 2 and shape[2] > 2 else 1, 1, 1),
            padding=rng.choice(((0,) * 6, (1,) * 6, (taps // 2, 1, 1) * 2, (0, 1, 1, 2, 1, 0))),
        )

    def whole_window(self) -> Expr:
        """A window as large as the data, or each channel for itself."""
        rng, (a, b, out_dtype) = self.rng, self.dtypes()
        height, width, inside = rng.randint(1, 9), rng.randint(1, 9), rng.choice((3, 8, 16, 33))
        if rng.random() < 0.5:
            data = self.param((1, inside, height, width), a)
            weight = self.weight((5, inside, height, width), b)
            return call(
                "nn.conv2d", data, weight, channels=5, kernel_size=(height, width), padding=(0,) * 4, **out_dtype
            )
        data, weight = self.param((1, inside, height + 20, width + 20), a), self.weight((inside, 1, 3, 5), b)
        padding = (rng.choice((0, 1)), 2) * 2
        return call(
            "nn.conv2d", data, weight, channels=inside, groups=inside, kernel_size=(3, 5), padding=padding, **out_dtype
        )

    def adaptive(self) -> Expr:
        rng = self.rng
        x = self.param((1, rng.choice((1, 4, 17)), rng.randint(1, 30), rng.randint(1, 30)), rng.choice(FLOATS))
        kind = rng.choice(("nn.adaptive_avg_pool2d", "nn.adaptive_max_pool2d"))
        return call(kind, x, output_size=(rng.randint(1, 9), rng.randint(1, 9)))

    def resized(self) -> Expr:
        rng = self.rng
        x = self.param(
            (1, rng.choice((1, 3)), rng.randint(1, 12), rng.randint(1, 20)), rng.choice(("float32", "uint8"))
        )
        return call(
            "image.resize2d",
            x,
            size=(rng.randint(1, 15), rng.randint(1, 30)),
            layout="NCHW",
            method=rng.choice(("linear", "linear", "cubic", "nearest_neighbor")),
            rounding_method="round_prefer_floor",
            coordinate_transformation_mode=rng.choice(("half_pixel", "align_corners", "asymmetric")),
        )

    def longest(self) -> Expr:
        """The places of the greatest or least numbers, some of them equal."""
        rng = self.rng
        shape = (rng.choice((1, 5, 17)), rng.choice((1, 7, 16, 70)), rng.choice((1, 3, 33)))
        x: Expr = self.param(shape, rng.choice(("float32", "float64", "int8", "uint8", "int32", "int64")))
        if rng.random() < 0.4:
            x = call("clip", x, a_min=0.0, a_max=3.0)
        attributes = {
            "axis": (rng.randrange(3),),
            "keepdims": rng.random() < 0.5,
            "select_last_index": rng.random() < 0.4,
        }
        return call(rng.choice(("argmax", "argmin")), x, **attributes)

    def transposed(self) -> Expr:
        rng, axes = self.rng, self.rng.choice((1, 2, 2, 2, 3))
        dtype = rng.choice(FLOATS[:4])
        strides = tuple(rng.randint(1, 4 if axes < 3 else 2) for _ in range(axes))
        kernel = tuple(rng.randint(1, 5 if axes < 3 else 3) for _ in range(axes))
        inside, outside = (rng.choice((1, 2, 3, 5, 8, 16)) for _ in range(2))
        extents = tuple(rng.randint(1, {1: 40, 2: 9, 3: 4}[axes]) for _ in range(axes))
        padding = tuple(
            rng.randint(0, max(0, min((n - 1) * s + k - 1, k) // 2))
            for n, s, k in zip(extents, strides, kernel, strict=True)
        )
        return call(
            f"nn.conv{axes}d_transpose",
            self.param((rng.choice((1, 2)), inside, *extents), dtype),
            self.weight((inside, outside, *kernel), dtype),
            channels=outside,
            kernel_size=kernel,
            strides=strides,
            padding=padding * 2,
            output_padding=tuple(rng.randint(0, s - 1) for s in strides),
            kernel_layout={1: "IOW", 2: "IOHW", 3: "OIDHW"}[axes],
        )

    def product(self) -> Expr:
        rng = self.rng
        a, b, out_dtype = self.dtypes()
        rows, columns, inner = (
            rng.choice((1, 2, 5, 16, 33)),
            rng.choice((1, 3, 16, 31, 48, 65)),
            rng.choice((1, 2, 3, 4, 7, 32, 63)),
        )
        if rng.random() < 0.6:
            return call(
                "nn.dense", self.param((rows, inner), a), self.weight((columns, inner), b), units=columns, **out_dtype
            )
        turn = [rng.random() < 0.5 for _ in range(2)]
        first = (inner, rows) if turn[0] else (rows, inner)
        second = (columns, inner) if turn[1] else (inner, columns)
        return call(
            "nn.matmul",
            self.param(first, a),
            self.weight(second, b),
            units=columns,
            transpose_a=turn[0],
            transpose_b=turn[1],
            **out_dtype,
        )

    def words(self) -> Expr:
        """Products of bytes that are large enough for dot-product instructions."""
        rng, (a, b) = self.rng, self.rng.choice(BYTES)
        rows, columns, inner = rng.choice((1, 16, 33)), rng.choice((16, 31, 48, 65)), rng.choice((5, 32, 63, 100))
        if rng.random() < 0.5:
            data, weight = self.param((rows, inner), a), self.weight((columns, inner), b)
            return call("nn.dense", data, weight, units=columns, out_dtype="int32")
        size, k = rng.choice((7, 12, 15)), rng.choice((1, 3))
        back = rng.random() < 0.5
        data = self.param((1, size, size, inner) if back else (1, inner, size, size), a)
        weight = self.weight((k, k, inner, columns) if back else (columns, inner, k, k), b)
        return call(
            "nn.conv2d",
            data,
            weight,
            channels=columns,
            kernel_size=(k, k),
            padding=(rng.choice((0, 1)),) * 4,
            strides=(rng.choice((1, 2)),) * 2,
            data_layout="NHWC" if back else "NCHW",
            kernel_layout="HWIO" if back else "OIHW",
            out_dtype="int32",
        )

    def batch_product(self) -> Expr:
        rng = self.rng
        a, b, out_dtype = self.dtypes()
        count, rows, columns, inner = rng.choice((1, 2, 5)), *(rng.choice((1, 3, 8, 17, 31)) for _ in range(3))
        turn = [rng.random() < 0.5 for _ in range(2)]
        first = (count, inner, rows) if turn[0] else (count, rows, inner)
        batch = rng.choice((1, count))
        second = (batch, columns, inner) if turn[1] else (batch, inner, columns)
        return call(
            "nn.batch_matmul",
            self.param(first, a),
            self.weight(second, b),
            transpose_a=turn[0],
            transpose_b=turn[1],
            **out_dtype,
        )

    def attention(self) -> Expr:
        rng, dtype = self.rng, self.rng.choice(FLOATS[:4])
        heads, rows, keys, width, values = (
            rng.choice((1, 2, 3)),
            rng.choice((1, 7, 16, 33)),
            rng.choice((1, 9, 32, 50)),
            8,
            rng.choice((5, 16)),
        )
        scores = call(
            "nn.batch_matmul",
            self.param((heads, rows, width), dtype),
            self.param((heads, keys, width), dtype),
            transpose_b=True,
        )
        if rng.random() < 0.7:
            scores = call("multiply", scores, Constant(np.array(0.35, dtype)))
        if rng.random() < 0.4:
            scores = call(
                "add", scores, self.param(rng.choice(((heads, rows, keys), (1, 1, keys), (rows, keys))), dtype)
            )
        weights = call("nn.softmax", scores, axis=-1)
        return call("nn.batch_matmul", weights, self.param((heads, keys, values), dtype), transpose_b=False)

    def quantized(self) -> Expr:
        """A layer of bytes with zero points, and its requantization."""
        rng, (a, b) = self.rng, self.rng.choice(BYTES[:2])
        zero = [Constant(np.array(rng.choice((0, 0, 3, -5 if d == "int8" else 128)), "int32")) for d in (a, b)]
        scale = [Constant(np.array(s, "float32")) for s in (0.05, 0.1, 0.3)]
        inside, outside = rng.choice((1, 3, 4, 16, 30)), rng.choice((2, 8, 16, 33))
        if rng.random() < 0.5:
            e = call(
                "qnn.dense",
                self.param((rng.choice((1, 9, 20)), inside), a),
                self.weight((outside, inside), b),
                *zero,
                *scale[:2],
                units=outside,
                out_dtype="int32",
            )
        else:
            k = rng.choice((1, 3))
            e = call(
                "qnn.conv2d",
                self.param((1, inside, rng.randint(3, 14), rng.randint(3, 14)), a),
                self.weight((outside, inside, k, k), b),
                *zero,
                *scale[:2],
                channels=outside,
                kernel_size=(k, k),
                padding=(rng.choice((0, 1)),) * 4,
                strides=(rng.choice((1, 2)),) * 2,
                out_dtype="int32",
            )
        product = Constant(np.array(0.005, "float32"))
        if rng.random() < 0.3:
            return e
        none = Constant(np.array(0, "int32"))
        return call(
            "qnn.requantize", e, product, none, scale[2], zero[0], out_dtype=rng.choice(("int8", "uint8")), axis=1
        )

    def permuted(self) -> Expr:
        """Axes in another order, alone or between other operators."""
        rng = self.rng
        rank = rng.choice((2, 2, 3, 3, 4, 5))
        shape = tuple(rng.choice((1, 2, 3, 5, 8, 17, 33) if rank < 4 else (1, 2, 3, 4, 9)) for _ in range(rank))
        dtype = rng.choice(
            ("float32", "float32", "float64", "int8", "uint8", "int16", "float16", "int32", "int64", "bool")
        )
        x: Expr = self.param(shape, dtype)
        if dtype == "float32" and rng.random() < 0.4:
            x = call(rng.choice(("exp", "nn.relu", "sigmoid")), x)
        axes = tuple(rng.sample(range(rank), rank))
        e = call("transpose", x, axes=axes)
        if dtype != "bool" and rng.random() < 0.4:
            e = call("add", e, self.param(tuple(shape[a] for a in axes), dtype))
        if rng.random() < 0.3:
            e = call(
                "cast",
                e,
                dtype=rng.choice(("float32", "int32", "uint8"))
                if dtype in ("int8", "uint8", "bool", "int16")
                else dtype,
            )
        return e

    def channels(self) -> Expr:
        """Pixels of a few channels side by side, which are taken apart, put together or put in another order."""
        rng, few = self.rng, self.rng.choice((2, 3, 3, 4))
        dtype = rng.choice(("uint8", "uint8", "int8", "float32", "int16", "float16"))
        pixels = (rng.randint(1, 9), rng.randint(1, 70))
        kind = rng.randrange(4)
        if kind == 0:  # apart
            x: Expr = self.param((*pixels, few), dtype)
            x = call("cast", x, dtype="float32") if rng.random() < 0.6 else x
            return call("transpose", x, axes=(2, 0, 1))
        if kind == 1:  # together
            return call("transpose", self.param((few, *pixels), dtype), axes=(1, 2, 0))
        if kind == 2:
            parts = call("split", self.param((*pixels, few), dtype), indices_or_sections=few, axis=-1)
            fields = [irtool.ir.TupleGetItem(parts, i) for i in range(few)]
            rng.shuffle(fields)
            return call("concatenate", Tuple(tuple(fields)), axis=rng.choice((-1, 0)))
        step = rng.choice((-1, 1, 2, 3))
        x = self.param((*pixels, few), dtype)
        if step < 0:
            return call("reverse", x, axis=rng.randrange(3))
        return call(
            "strided_slice",
            x,
            begin=(0, 0, rng.randrange(few)),
            axes=(0, 1, 2),
            end=(pixels[0], pixels[1], few),
            strides=(1, step, rng.choice((1, 2))),
        )

    def pool(self) -> Expr:
        rng = self.rng
        dtype = rng.choice(("float32", "float32", "float16", "int8", "uint8", "int32"))
        back = rng.random() < 0.3
        n, c, h, w = rng.choice((1, 2)), rng.choice((1, 3, 16, 17)), rng.randint(3, 15), rng.randint(3, 33)
        x = self.param((n, h, w, c) if back else (n, c, h, w), dtype)
        layout = "NHWC" if back else "NCHW"
        if rng.random() < 0.2:
            return call(rng.choice(("nn.global_max_pool2d", "nn.global_avg_pool2d")), x, layout=layout)
        size = tuple(rng.randint(1, 3) for _ in range(2))
        attributes: dict[str, Any] = {
            "pool_size": size,
            "strides": tuple(rng.randint(1, 3) for _ in range(2)),
            "layout": layout,
        }
        attributes |= {"padding": tuple(rng.randint(0, s - 1) for s in size) * 2, "ceil_mode": rng.random() < 0.3}
        if rng.random() < 0.5:
            return call("nn.max_pool2d", x, **attributes)
        return call("nn.avg_pool2d", x, **attributes, count_include_pad=rng.random() < 0.5)

    def upsampled(self) -> Expr:
        rng = self.rng
        x = self.param(
            (1, rng.choice((1, 3, 8)), rng.randint(1, 9), rng.randint(1, 20)), rng.choice(("float32", "uint8"))
        )
        if rng.random() < 0.3:
            block = 2
            x = self.param((1, block * block * rng.choice((1, 3)), rng.randint(1, 9), rng.randint(1, 20)), "float32")
            return call("nn.depth_to_space", x, block_size=block, mode=rng.choice(("DCR", "CRD")))
        return call(
            "nn.upsampling",
            x,
            scale_h=rng.choice((1.0, 2.0, 3.0)),
            scale_w=2.0,
            method=rng.choice(("nearest_neighbor", "bilinear")),
        )

    def reduction(self) -> Expr:
        rng, rank = self.rng, self.rng.choice((1, 2, 3))
        shape = tuple(rng.choice((1, 2, 7, 16, 33, 70)) for _ in range(rank))
        x = self.param(
            shape, rng.choice(("float32", "float32", "float64", "float16", "int32", "int64", "uint8", "int8"))
        )
        axis = tuple(sorted(rng.sample(range(rank), rng.randint(1, rank))))
        kind = rng.choice(("sum", "max", "min", "mean", "argmax", "argmin", "prod", "cumsum", "any"))
        if kind == "cumsum":
            return call("cumsum", x, axis=axis[0])
        if kind == "any":
            return call("any", call("cast", x, dtype="bool"), axis=axis)
        if kind == "prod":
            x = call("clip", x, a_min=0.0, a_max=1.0)
        return call(kind, x, axis=axis, keepdims=rng.random() < 0.5, exclude=rng.random() < 0.1 and rank > 1)

    def softmax(self) -> Expr:
        rng, rank = self.rng, self.rng.choice((1, 2, 3))
        shape = tuple(rng.choice((1, 3, 8, 17, 50)) for _ in range(rank))
        x = self.param(shape, rng.choice(FLOATS))
        return call(rng.choice(("nn.softmax", "nn.log_softmax")), x, axis=rng.choice((-1, -1, 0)))

    def rows(self) -> Expr:
        """A normalization of rows."""
        shape, dtype = (
            (self.rng.choice((1, 5, 16)), self.rng.choice((1, 3, 16, 33))),
            self.rng.choice(FLOATS),
        )
        x = self.param(shape, dtype)
        return call("nn.layer_norm", x, self.param(shape[1:], dtype), self.param(shape[1:], dtype), axis=-1)

    def formulas(self) -> Expr:
        """Functions of one number, and of two, in a row."""
        rng, dtype = self.rng, self.rng.choice(("float32", "float32", "float64", "float64", "float16"))
        shape = rng.choice(((37,), (5, 16), (3, 33), (129,), (2, 3, 7)))
        e: Expr = self.param(shape, dtype)
        for _ in range(rng.randint(1, 3)):
            if rng.random() < 0.35:
                other = self.param(rng.choice((shape, shape[-1:])), dtype)
                e = call(rng.choice(("power", "mod", "floor_mod", "divide", "maximum", "multiply")), e, other)
            else:
                e = call(rng.choice(ONE_NUMBER), e)
        return e

    # Behind an anchor

    def behind(self, e: Expr) -> Expr:
        rng = self.rng
        t = irtool.infer_types(Module({"main": Function(tuple(self.params), e)}))["main"].ret_type
        if not isinstance(t, TensorType) or not all(isinstance(d, int) for d in t.shape):
            return e
        shape, dtype = tuple(int(d) for d in t.shape), t.dtype
        followers: list[Callable[[], Expr]] = [
            lambda: call(
                "cast",
                e,
                dtype=rng.choice(
                    ("float32", "float64") if dtype.startswith("float") else ("int32", "float32", "int64")
                ),
            )
        ]
        if dtype != "bool":
            some = rng.choice(
                (shape, shape, shape[-1:], (), (shape[1], *[1] * (len(shape) - 2)) if len(shape) > 2 else shape)
            )
            followers += [
                lambda: call(rng.choice(("add", "multiply", "subtract", "maximum")), e, self.weight(some, dtype))
            ] * 3
            followers.append(lambda: call("clip", e, a_min=-1.0 if dtype[0] != "u" else 0.0, a_max=6.0))
        if dtype.startswith("float"):
            followers += [lambda: call(rng.choice(("nn.relu", "sigmoid", "tanh", "exp", "nn.leaky_relu")), e)] * 2
        if shape:
            followers.append(
                lambda: call("reshape", e, newshape=rng.choice(((-1,), (1, -1), (*shape, 1)))) if 0 not in shape else e
            )
            followers.append(lambda: call("transpose", e, axes=tuple(rng.sample(range(len(shape)), len(shape)))))
            followers.append(lambda: Tuple((e, call("nn.relu", e))) if dtype.startswith("float") else e)
        return rng.choice(followers)()


ONE_NUMBER = (
    *(
        "exp",
        "log",
        "log2",
        "log10",
        "tanh",
        "sigmoid",
        "erf",
        "sin",
        "cos",
        "tan",
        "atan",
        "asin",
        "acos",
        "sinh",
        "cosh",
    ),
    *(
        "asinh",
        "atanh",
        "sqrt",
        "rsqrt",
        "round",
        "floor",
        "ceil",
        "trunc",
        "abs",
        "negative",
        "sign",
        "fast_exp",
        "fast_tanh",
    ),
)

SIZES: dict[str, tuple[Any, ...]] = {
    "registers": (8, 16, 32),
    "stack_bytes": (1, 4096, 1 << 15),
    "scratch_bytes": (256, 4096, 1 << 15),
    "packed_bytes": (512, 1 << 14),
    "l1_cache_bytes": (256, 4096),
    "l2_cache_bytes": (1024, 1 << 16),
    "prefetched_tiles": (1, 4),
    "streamed_bytes": (256, 1 << 12),
    "tiles_bytes": (1024, 1 << 14),
    "transformed_updates": (1, 1000),
    "parallel_updates": (1, 500),
    "parallel_elements": (1, 100),
    "most_parts": (2, 5, 32),
    "least_parts": (1, 3),
    "joined_parts": (1, 3),
    "part_stores": (1, 50),
    "interleaved_rows": (1, 3),
    "unrolled_updates": (8, 40),
    "blocked_updates": (1, 100),
    "copied_steps": (1, 3),
    "band_results": (1, 16),
    "paired_products": (1, 2),
    "native_halves": (1, 2),
    "copy_cost": (1, 100),
    "copied_reads": (1.0, 4.0),
    "guarded_reads": (1, 100),
    "recomputed_cost": (1, 100),
    "word_products": (1, 2),
    "product_rows": (1, 2),
    "summed_products": (1, 16),
    "scalar_results": (1, 4, 9),
    "byte_tiles": (1, 16),
    "pair_tiles": (1, 16),
}
"""Numbers of a processor that are drawn: what is large for one, or pays off on it, is small on another."""


def draw_target(rng: random.Random) -> dict[str, Any]:
    """Options of a build for C: some processor, the size of its parts, its levels, whether there are threads."""
    options: dict[str, Any] = {
        "opt_level": rng.choice((1, 2, 3, 3, 3)),
        "vector": "auto" if rng.random() < 0.9 else "none",
    }
    if rng.random() < 0.3:
        options["mcpu"] = rng.choice(
            (
                "x86-64-v2",
                "x86-64-v3",
                "x86-64-v4",
                "none",
                "x86-64,x86-64-v3",
                "x86-64-v2,x86-64-v3,x86-64-v4",
                "x86-64-v2,x86-64-v3",
            )
        )
    if rng.random() < 0.35:
        options["openmp"] = True
    if rng.random() < 0.15:
        options["math"] = "strict"
    elif rng.random() < 0.2:
        options["winograd"] = rng.choice(("off", "2", "4"))
        options["strassen"] = rng.choice(("off", "on", "on"))
    # Where everything is small all thresholds are passed; one number alone finds what they mean for each other.
    share = rng.choice((0, 0.2, 0.6))
    options |= {n: rng.choice(values) for n, values in SIZES.items() if rng.random() < share}
    if "openmp" in options:
        options |= {"parallel_updates": rng.choice((1, 500)), "parallel_elements": rng.choice((1, 100))}
    return options
