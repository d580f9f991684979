"""The comment before a kernel in C: its operators with shapes and attributes, their origin, and the operands of each use."""

from __future__ import annotations

from collections.abc import Sequence

from ...tir.kernel import Kernel
from ...tir.program import RunKernel
from .names import sanitize

_USES = 8
"""The most uses of one kernel that are listed."""


def describe(kernel: Kernel, uses: Sequence[RunKernel]) -> list[str]:
    """The lines of the comment, as in::

        nn.conv2d, nn.relu: register_tile
          nn.conv2d(float32[1, 3, 8, 8], float32[4, 3, 3, 3]) -> float32[1, 4, 6, 6], kernel_size=[3, 3]
          nn.relu(float32[1, 4, 6, 6]) -> float32[1, 4, 6, 6]
        net.relay:3:8, net.relay:4:3: p0 = x, p1 = weight

    with a last line for each use of the kernel.
    """
    operators = ", ".join(kernel.operators) or "a kernel"
    lines = [f"{operators}: {kernel.choice.strategy}"]
    lines += [f"  {c}" for c in kernel.calls]
    for use in uses[:_USES]:
        spans = ", ".join(dict.fromkeys(str(p) for p in use.places if p.at))
        arguments = [f"{b.name} = {sanitize(s.resolve().name)}" for b, s in zip(kernel.inputs, use.inputs)]
        line = ": ".join(filter(None, [spans, ", ".join(arguments)]))
        if line:
            lines.append(line)
    if len(uses) > _USES:
        lines.append(f"and {len(uses) - _USES} more")
    return [t.encode("ascii", "backslashreplace").decode() for t in lines]
