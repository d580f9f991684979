"""Gathering and scattering, running sums, sorting and searching."""

from __future__ import annotations

from ..single import POSITIVE, Single, below, between
from .statistics import MATRIX

INDICES = (
    Single("take rows", ((1000, 768), (128,)), "take(%a, %b, axis=0)", lambda t, f, a, b: a[b], values={"b": below(1000)}),
    Single("take columns", ((768, 1000), (128,)), "take(%a, %b, axis=1)", lambda t, f, a, b: a[:, b], values={"b": below(1000)}),
    Single("take of elements", ((100000,), (100000,)), "take(%a, %b, axis=0)", lambda t, f, a, b: a[b], values={"b": below(100000)}),
    Single("embedding", ((30000, 128), (8, 128)), "take(%a, %b, axis=0)", lambda t, f, a, b: f.embedding(b, a), values={"b": below(30000)}),
    Single("gather", ((1000, 512), (512, 512)), "gather(%a, %b, axis=0)", lambda t, f, a, b: a.gather(0, b), values={"b": below(1000)}),
    Single("gather axis 1", ((512, 1000), (512, 512)), "gather(%a, %b, axis=1)", lambda t, f, a, b: a.gather(1, b), values={"b": below(1000)}),
    Single("gather_nd", ((128, 128, 64), (2, 4096)), "gather_nd(%a, %b)", lambda t, f, a, b: a[b[0], b[1]], values={"b": below(128)}),
    Single("scatter_add", ((1000, 256), (512, 256), (512, 256)), 'scatter_elements(%a, %b, %c, axis=0, reduction="add")', lambda t, f, a, b, c: a.scatter_add(0, b, c), values={"b": below(1000)}),
    Single("scatter_add axis 1", ((256, 1000), (256, 512), (256, 512)), 'scatter_elements(%a, %b, %c, axis=1, reduction="add")', lambda t, f, a, b, c: a.scatter_add(1, b, c), values={"b": below(1000)}),
    Single("scatter_nd of rows", ((1000, 256), (1, 512), (512, 256)), 'scatter_nd(%a, %b, %c, mode="add")', lambda t, f, a, b, c: a.index_add(0, b[0], c), values={"b": below(1000)}),
    Single("one_hot", ((2048,),), 'one_hot(%a, 1f, 0f, depth=256, axis=-1, dtype="float32")', lambda t, f, a: f.one_hot(a, 256).float(), values={"a": below(256)}),
)  # fmt: skip

SCANS = (
    Single("cumsum rows", (MATRIX,), "cumsum(%a, axis=1)", lambda t, f, a: a.cumsum(1)),
    Single("cumsum columns", (MATRIX,), "cumsum(%a, axis=0)", lambda t, f, a: a.cumsum(0)),
    Single("cumsum middle axis", ((16, 256, 256),), "cumsum(%a, axis=1)", lambda t, f, a: a.cumsum(1)),
    Single("cumsum of short rows", ((16384, 16),), "cumsum(%a, axis=1)", lambda t, f, a: a.cumsum(1)),
    Single("cumsum of int64", (MATRIX,), "cumsum(%a, axis=1)", lambda t, f, a: a.cumsum(1), values={"a": between(-99, 99)}),
    Single("cumprod rows", ((1024, 64),), "cumprod(%a, axis=1)", lambda t, f, a: a.cumprod(1), values={"a": POSITIVE}),
    Single("cumprod columns", ((64, 1024),), "cumprod(%a, axis=0)", lambda t, f, a: a.cumprod(0), values={"a": POSITIVE}),
)  # fmt: skip

ORDERS = (
    Single("topk 10", ((256, 1000),), 'topk(%a, k=10, ret_type="values")', lambda t, f, a: a.topk(10).values),
    Single("topk 300", ((16, 8400),), 'topk(%a, k=300, dtype="int64")', lambda t, f, a: tuple(a.topk(300))),
    Single("sort rows", ((512, 1000),), "sort(%a)", lambda t, f, a: a.sort().values),
    Single("sort columns", ((1000, 256),), "sort(%a, axis=0)", lambda t, f, a: a.sort(0).values),
    Single("sort of int64", ((512, 1000),), "sort(%a)", lambda t, f, a: a.sort().values, values={"a": between(-(10**6), 10**6)}),
    Single("argsort rows", ((512, 1000),), 'argsort(%a, dtype="int64")', lambda t, f, a: a.argsort(stable=True)),
    Single("searchsorted", ((1000,), (256, 256)), 'searchsorted(sort(%a), %b, dtype="int64")', lambda t, f, a, b: t.searchsorted(a.sort().values, b)),
)  # fmt: skip
