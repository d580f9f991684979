"""Normalisations and reductions: of rows, of columns, of channels, of everything."""

from __future__ import annotations

from ..single import POSITIVE, ROUNDED, Single, between
from .convolutions import FRAME, IMAGE

MATRIX = (1024, 1024)

NORMALISATIONS = (
    Single("softmax", ((512, 1000),), "nn.softmax(%a)", lambda t, f, a: f.softmax(a, -1)),
    Single("softmax of channels", ((1, 64, 64, 64),), "nn.softmax(%a, axis=1)", lambda t, f, a: f.softmax(a, 1)),
    Single("softmax of short rows", ((8192, 10),), "nn.softmax(%a)", lambda t, f, a: f.softmax(a, -1)),
    Single("log_softmax", ((512, 1000),), "nn.log_softmax(%a)", lambda t, f, a: f.log_softmax(a, -1)),
    Single("logsumexp", ((512, 1000),), "%0 = max(%a, axis=[1], keepdims=True); add(log(sum(exp(subtract(%a, %0)), axis=[1], keepdims=True)), %0)", lambda t, f, a: a.logsumexp(1, keepdim=True)),
    Single("layer_norm", ((512, 768), (768,), (768,)), "nn.layer_norm(%a, %b, %c)", lambda t, f, a, b, c: f.layer_norm(a, (768,), b, c)),
    Single("rms_norm", ((512, 768), (768,)), "%0 = mean(multiply(%a, %a), axis=[1], keepdims=True); multiply(multiply(%a, rsqrt(add(%0, 1e-6f))), %b)", lambda t, f, a, b: f.rms_norm(a, (768,), b, 1e-6)),
    Single("group_norm", (FRAME, (64,), (64,)), "nn.group_norm(%a, %b, %c, num_groups=8)", lambda t, f, a, b, c: f.group_norm(a, 8, b, c)),
    Single("instance_norm", (FRAME, (64,), (64,)), "nn.instance_norm(%a, %b, %c)", lambda t, f, a, b, c: f.instance_norm(a, weight=b, bias=c)),
    Single("batch_norm", (IMAGE, (32,), (32,), (32,), (32,)), "%0 = nn.batch_norm(%a, %b, %c, %d, %e); %0.0", lambda t, f, a, b, c, d, e: f.batch_norm(a, d, e, b, c), values={"e": POSITIVE}),
    Single("l2_normalize", ((512, 768),), "nn.l2_normalize(%a, eps=1e-12f, axis=[1])", lambda t, f, a: f.normalize(a)),
    Single("lrn", ((1, 64, 28, 28),), "nn.lrn(%a, size=5, alpha=0.0001f, beta=0.75f, bias=1f)", lambda t, f, a: f.local_response_norm(a, 5, 0.0001, 0.75, 1.0)),
)  # fmt: skip

REDUCTIONS = (
    Single("sum axis 0", (MATRIX,), "sum(%a, axis=[0])", lambda t, f, a: a.sum(0)),
    Single("sum axis 1", (MATRIX,), "sum(%a, axis=[1])", lambda t, f, a: a.sum(1)),
    Single("sum of all", (MATRIX,), "sum(%a)", lambda t, f, a: a.sum()),
    Single("sum of int64", (MATRIX,), "sum(%a, axis=[1])", lambda t, f, a: a.sum(1), values={"a": between(-99, 99)}),
    Single("max axis 1", (MATRIX,), "max(%a, axis=[1])", lambda t, f, a: a.amax(1)),
    Single("min middle axis", ((64, 128, 128),), "min(%a, axis=[1])", lambda t, f, a: a.amin(1)),
    Single("prod of rows", ((4096, 64),), "prod(%a, axis=[1])", lambda t, f, a: a.prod(1), values={"a": POSITIVE}),
    Single("mean of images", (IMAGE,), "mean(%a, axis=[0, 2, 3])", lambda t, f, a: a.mean((0, 2, 3))),
    Single("mean of short rows", ((1, 512, 7, 7),), "mean(%a, axis=[2, 3])", lambda t, f, a: a.mean((2, 3))),
    Single("variance of rows", ((512, 1000),), "variance(%a, mean(%a, axis=[1], keepdims=True), axis=[1])", lambda t, f, a: a.var(1, correction=0)),
    Single("norm of rows", ((512, 1000),), "sqrt(sum(multiply(%a, %a), axis=[1]))", lambda t, f, a: a.norm(dim=1)),
    Single("any of rows", (MATRIX,), "any(greater(%a, 4f), axis=[1])", lambda t, f, a: (a > 4).any(1)),
    Single("argmax of rows", ((512, 1000),), "argmax(%a, axis=[1])", lambda t, f, a: a.argmax(1)),
    Single("argmin of columns", (MATRIX,), "argmin(%a, axis=[0])", lambda t, f, a: a.argmin(0)),
    Single("count of nonzeros", (MATRIX,), 'sum(cast(not_equal(%a, 0f), dtype="int64"))', lambda t, f, a: a.count_nonzero(), values={"a": ROUNDED}),
)  # fmt: skip
