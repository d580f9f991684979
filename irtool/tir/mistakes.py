"""Codes of mistakes in programs."""

from __future__ import annotations

from ..diagnostics import Code
from ..plugin.codes import code


@code("E0604")
class PoolsTooSmall(Code):
    """Workspace or constant pools too small for all buffers of a program.

    Each buffer lies whole in one pool. A last pool without a size hint takes the buffers that fit in no other. The region of
    data and recursion is one buffer, of `--region-size` bytes.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(64, 64), float32]) {
  nn.softmax(nn.dense(%x, %x, units=64))
}
"""
    command = "build --emit=c --workspace-pools=sram --workspace-pools-size-hint-bytes=sram:4096 --no-cache -o %t %s"


@code("E0607")
class NotCertifiable(Code):
    """A program that cannot keep the rules of `--profile=certifiable`.

    Each loop has a static bound there, no function calls itself, and memory is static: loops and recursion of the network, loops whose
    condition the data decides, lengths that the run decides, data types and references, and states are refused.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: int32) -> int32 {
  if (less(%x, 0)) { 0 } else { @main(subtract(%x, 1)) }
}
"""
    command = "build --emit=c --profile=certifiable --no-cache -o %t %s"
