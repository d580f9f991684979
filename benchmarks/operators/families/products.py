"""Products of matrices: every layout, operands that are views of others, one row, few columns, and blocks of several products."""

from __future__ import annotations

from typing import Any

from ..single import BYTES, Single


def _lstm_cell(t: Any, f: Any, x: Any, h: Any, c: Any, w: Any, u: Any) -> Any:
    i, o, g, s = (f.linear(x, w) + f.linear(h, u)).chunk(4, 1)
    return t.sigmoid(s) * t.tanh(t.sigmoid(o) * c + t.sigmoid(i) * t.tanh(g))


_LSTM_CELL = """
  %0 = add(nn.dense(%a, %d, units=1024), nn.dense(%b, %e, units=1024));
  %1 = split(%0, indices_or_sections=4, axis=1);
  %2 = add(multiply(sigmoid(%1.1), %c), multiply(sigmoid(%1.0), tanh(%1.2)));
  multiply(sigmoid(%1.3), tanh(%2))
"""
_ATTENTION = """
  %0 = nn.batch_matmul(%a, %b, transpose_b=True);
  nn.batch_matmul(nn.softmax(multiply(%0, 0.125f)), %c, transpose_b=False)
"""

PRODUCTS = (
    Single("dense", ((64, 768), (768, 768)), "nn.dense(%a, %b, units=768)", lambda t, f, a, b: f.linear(a, b)),
    Single("dense one row", ((1, 4096), (4096, 4096)), "nn.dense(%a, %b, units=4096)", lambda t, f, a, b: f.linear(a, b)),
    Single("dense 8 rows", ((8, 1024), (1024, 1024)), "nn.dense(%a, %b, units=1024)", lambda t, f, a, b: f.linear(a, b)),
    Single("dense of odd extents", ((77, 333), (219, 333)), "nn.dense(%a, %b, units=219)", lambda t, f, a, b: f.linear(a, b)),
    Single("dense gelu", ((128, 512), (1024, 512), (1024,)), "%0 = nn.bias_add(nn.dense(%a, %b, units=1024), %c); multiply(multiply(%0, 0.5f), add(erf(multiply(%0, 0.70710678f)), 1f))", lambda t, f, a, b, c: f.gelu(f.linear(a, b, c))),
    Single("matmul nn 256", ((256, 256), (256, 256)), "nn.matmul(%a, %b, units=256)", lambda t, f, a, b: a @ b),
    Single("matmul tn 256", ((256, 256), (256, 256)), "nn.matmul(%a, %b, units=256, transpose_a=True)", lambda t, f, a, b: a.t() @ b),
    Single("matmul nt 256", ((256, 256), (256, 256)), "nn.matmul(%a, %b, units=256, transpose_b=True)", lambda t, f, a, b: a @ b.t()),
    Single("matmul tt 256", ((256, 256), (256, 256)), "nn.matmul(%a, %b, units=256, transpose_a=True, transpose_b=True)", lambda t, f, a, b: a.t() @ b.t()),
    Single("matmul 1024", ((1024, 1024), (1024, 1024)), "nn.matmul(%a, %b, units=1024)", lambda t, f, a, b: a @ b),
    Single("matmul of few columns", ((2048, 256), (256, 10)), "nn.matmul(%a, %b, units=10)", lambda t, f, a, b: a @ b),
    Single("matmul of short sums", ((1024, 16), (16, 1024)), "nn.matmul(%a, %b, units=1024)", lambda t, f, a, b: a @ b),
    Single("matmul of long sums", ((32, 8192), (8192, 32)), "nn.matmul(%a, %b, units=32)", lambda t, f, a, b: a @ b),
    Single("matmul one row", ((1, 2048), (2048, 2048)), "nn.matmul(%a, %b, units=2048)", lambda t, f, a, b: a @ b),
    Single("matmul of every other column", ((256, 512), (256, 256)), "nn.matmul(strided_slice(%a, begin=[0, 0], end=[256, 512], strides=[1, 2], axes=[0, 1]), %b, units=256)", lambda t, f, a, b: a[:, ::2] @ b),
    Single("matmul of heads", ((1, 128, 12, 64), (1, 128, 12, 64)), "%0 = reshape(transpose(%a, axes=[0, 2, 1, 3]), newshape=[12, 128, 64]); %1 = reshape(transpose(%b, axes=[0, 2, 1, 3]), newshape=[12, 128, 64]); nn.batch_matmul(%0, %1, transpose_b=True)", lambda t, f, a, b: (a.transpose(1, 2) @ b.permute(0, 2, 3, 1))[0]),
    Single("batch_matmul", ((12, 128, 64), (12, 128, 64)), "nn.batch_matmul(%a, %b, transpose_b=True)", lambda t, f, a, b: t.bmm(a, b.transpose(1, 2))),
    Single("batch_matmul nn", ((12, 128, 128), (12, 128, 64)), "nn.batch_matmul(%a, %b, transpose_b=False)", lambda t, f, a, b: t.bmm(a, b)),
    Single("batch_matmul tn", ((12, 128, 128), (12, 128, 64)), "nn.batch_matmul(%a, %b, transpose_a=True, transpose_b=False)", lambda t, f, a, b: t.bmm(a.transpose(1, 2), b)),
    Single("batch_matmul one row", ((12, 1, 64), (12, 512, 64)), "nn.batch_matmul(%a, %b, transpose_b=True)", lambda t, f, a, b: t.bmm(a, b.transpose(1, 2))),
    Single("batch_matmul of one matrix", ((16, 64, 128), (1, 128, 64)), "nn.batch_matmul(%a, %b, transpose_b=False)", lambda t, f, a, b: a @ b),
    Single("einsum bhqk", ((4, 64, 8, 32), (4, 64, 8, 32)), '%0 = (%a, %b); einsum(%0, equation="bqhd,bkhd->bhqk")', lambda t, f, a, b: t.einsum("bqhd,bkhd->bhqk", a, b)),
    Single("outer product", ((1024, 1), (1, 1024)), "nn.matmul(%a, %b, units=1024)", lambda t, f, a, b: a @ b),
    Single("dense int8", ((64, 512), (512, 512)), 'nn.dense(%a, %b, units=512, out_dtype="int32")', lambda t, f, a, b: t._int_mm(a, b.t()), values={"a": BYTES, "b": BYTES}),
    Single("attention", ((12, 128, 64),) * 3, _ATTENTION, lambda t, f, a, b, c: f.scaled_dot_product_attention(a, b, c)),
    Single("lstm cell", ((8, 256), (8, 256), (8, 256), (1024, 256), (1024, 256)), _LSTM_CELL, _lstm_cell),
)  # fmt: skip
