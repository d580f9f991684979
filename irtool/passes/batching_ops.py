"""BatchingOps: parallel convolutions, dense layers and products of batches become one each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .combine_parallel.batch_matmul import CombineParallelBatchMatmul
from .combine_parallel.conv2d import CombineParallelConv2D
from .combine_parallel.dense import CombineParallelDense
from .core.base import Composite, Pass, register_pass


@register_pass("BatchingOps", level=0)
@dataclass(frozen=True)
class BatchingOps(Composite):
    """CombineParallelConv2D, CombineParallelDense and CombineParallelBatchMatmul, each at its own level.

    ::

        (nn.dense(%x, %w1), nn.dense(%x, %w2), nn.dense(%x, %w3))
            ⇒  %0 = split(nn.batch_matmul(stack((%x, %x, %x)), stack((%w1, %w2, %w3))), 3)
               (squeeze(%0.0), squeeze(%0.1), squeeze(%0.2))
    """

    def passes(self) -> Sequence[Pass]:
        return (CombineParallelConv2D(), CombineParallelDense(), CombineParallelBatchMatmul())
