"""Attention with a mask, as text and shapes."""

from __future__ import annotations

MASKED = """
  %0 = nn.batch_matmul(%q, %k, transpose_b=True);
  %1 = add(divide(reshape(%0, newshape=[2, 3, 33, 70]), 8f), %m);
  %2 = reshape(nn.softmax(%1), newshape=[6, 33, 70]);
  nn.batch_matmul(%2, %v, transpose_b=False)"""

SHAPES = {"q": (6, 33, 24), "k": (6, 70, 24), "v": (6, 70, 20), "m": (2, 1, 33, 70)}
