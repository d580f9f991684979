"""What kernels and constants of a program are called from outside, in whatever language they are written."""

from __future__ import annotations

from ...tir.kernel import Kernel
from ...tir.program import Slot
from .names import sanitize

_GENERIC_PREFIX = "tvmgen_default_"
"""What names of kernels begin with until the program has a name."""


def kernel_symbol(kernel: Kernel, program: str) -> str:
    """The name of a kernel in a program: `tvmgen_net_fused_nn_relu`."""
    if kernel.name.startswith(_GENERIC_PREFIX):
        return f"tvmgen_{program}_{kernel.name.removeprefix(_GENERIC_PREFIX)}"
    return kernel.name


def constant_symbol(constant: Slot, program: str) -> str:
    """The name of a constant in a program: apart from the words of libc, and from the entry points, which get their names later."""
    between = "weight_" if sanitize(constant.name).startswith("run") else ""
    return f"{program}_{between}{constant.name}"
