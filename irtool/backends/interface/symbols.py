"""The symbols of a program's kernels and constants, in any language."""

from __future__ import annotations

from collections.abc import Sequence

from ...tir.kernel import Kernel
from ...tir.program import Slot
from .names import sanitize

_GENERIC_PREFIX = "tvmgen_default_"
"""The beginning of kernels' names before the program has a name."""


_LONGEST = 64
"""The most characters behind the program's name in that of a kernel: longer names are not read, and wrap lines."""


def kernel_symbol(kernel: Kernel, program: str) -> str:
    """The name of a kernel in a program: `tvmgen_net_fused_nn_relu`.

    If the part behind the program's name is longer than 64 characters, the name has the first operators and the number of the
    others, `tvmgen_net_fused_nn_conv2d_cast_multiply_and_9_more`. Such names may collide; see `Identifiers.fresh`.
    """
    if not kernel.name.startswith(_GENERIC_PREFIX):
        return kernel.name
    own = kernel.name.removeprefix(_GENERIC_PREFIX)
    if len(own) > _LONGEST and kernel.operators:
        own = _first_operators(kernel.operators)
    return f"tvmgen_{program}_{own}"


def _first_operators(operators: Sequence[str]) -> str:
    """The longest name of at most 64 characters with the first operators, one at least, and the number of the others."""
    for named in range(len(operators), 0, -1):
        others = len(operators) - named
        name = "_".join(["fused", *operators[:named], *([f"and_{others}_more"] if others else [])])
        if len(name) <= _LONGEST:
            break
    return sanitize(name)


def constant_symbol(constant: Slot, program: str) -> str:
    """The name of a constant in a program, which differs from the words of libc, and from entry points, which get their names
    later."""
    between = "weight_" if sanitize(constant.name).startswith("run") else ""
    return f"{program}_{between}{constant.name}"
