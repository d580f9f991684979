"""Operators that move elements without computing: transposed, cut, joined, repeated, padded."""

from __future__ import annotations

from ..single import Single
from .convolutions import FRAME
from .statistics import MATRIX

MOVEMENTS = (
    Single("transpose", (MATRIX,), "transpose(%a, axes=[1, 0])", lambda t, f, a: a.t().contiguous(), view=True),
    Single("transpose 0213", ((8, 64, 16, 64),), "transpose(%a, axes=[0, 2, 1, 3])", lambda t, f, a: a.permute(0, 2, 1, 3).contiguous(), view=True),
    Single("transpose 0231", (FRAME,), "transpose(%a, axes=[0, 2, 3, 1])", lambda t, f, a: a.permute(0, 2, 3, 1).contiguous(), view=True),
    Single("transpose 0312", ((1, 56, 56, 64),), "transpose(%a, axes=[0, 3, 1, 2])", lambda t, f, a: a.permute(0, 3, 1, 2).contiguous(), view=True),
    Single("reverse", (MATRIX,), "reverse(%a, axis=1)", lambda t, f, a: a.flip(1), view=True),
    Single("reverse of rows", (MATRIX,), "reverse(%a, axis=0)", lambda t, f, a: a.flip(0), view=True),
    Single("strided_slice", ((2048, 1024),), "strided_slice(%a, begin=[0, 0], end=[2048, 1024], strides=[1, 2], axes=[0, 1])", lambda t, f, a: a[:, ::2].contiguous(), view=True),
    Single("strided_slice of a block", (MATRIX,), "strided_slice(%a, begin=[100, 101], end=[900, 901], strides=[1, 1], axes=[0, 1])", lambda t, f, a: a[100:900, 101:901].contiguous(), view=True),
    Single("concatenate", (FRAME, FRAME), "%0 = (%a, %b); concatenate(%0, axis=1)", lambda t, f, a, b: t.cat([a, b], 1)),
    Single("concatenate of rows", ((4096, 48), (4096, 80)), "%0 = (%a, %b); concatenate(%0, axis=1)", lambda t, f, a, b: t.cat([a, b], 1)),
    Single("stack", ((256, 1024), (256, 1024)), "%0 = (%a, %b); stack(%0, axis=-1)", lambda t, f, a, b: t.stack([a, b], -1)),
    Single("tile", ((64, 64, 64),), "tile(%a, reps=[1, 2, 2])", lambda t, f, a: a.repeat(1, 2, 2)),
    Single("repeat", ((64, 64, 64),), "repeat(%a, repeats=2, axis=1)", lambda t, f, a: a.repeat_interleave(2, 1)),
    Single("repeat of elements", ((256, 1024),), "repeat(%a, repeats=2, axis=1)", lambda t, f, a: a.repeat_interleave(2, 1)),
    Single("broadcast_to", ((64, 1, 64),), "broadcast_to(%a, shape=[64, 128, 64])", lambda t, f, a: a.expand(64, 128, 64).contiguous(), view=True),
    Single("depth_to_space", (FRAME,), 'nn.depth_to_space(%a, block_size=2, mode="CRD")', lambda t, f, a: f.pixel_shuffle(a, 2)),
    Single("pad", (FRAME,), "nn.pad(%a, 0f, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]])", lambda t, f, a: f.pad(a, (1, 1, 1, 1))),
    Single("pad edge", (FRAME,), 'nn.pad(%a, 0f, pad_width=[[0, 0], [0, 0], [2, 2], [2, 2]], pad_mode="edge")', lambda t, f, a: f.pad(a, (2, 2, 2, 2), "replicate")),
    Single("pad reflect", (FRAME,), 'nn.mirror_pad(%a, pad_width=[[0, 0], [0, 0], [2, 2], [2, 2]], mode="REFLECT")', lambda t, f, a: f.pad(a, (2, 2, 2, 2), "reflect")),
    Single("sliding_window", ((16, 4096),), "sliding_window(%a, axis=1, window_shape=[32], strides=[8])", lambda t, f, a: a.unfold(1, 32, 8).contiguous(), view=True),
    Single("trilu", (MATRIX,), "trilu(%a, 0, upper=False)", lambda t, f, a: a.tril()),
    Single("meshgrid", ((1024,), (1024,)), "%0 = (%a, %b); meshgrid(%0)", lambda t, f, a, b: tuple(g.contiguous() for g in t.meshgrid(a, b, indexing="ij")), view=True),
)  # fmt: skip
