"""The stack of a run: arrays of kernels, frames of host functions, and compilers' own frames.

Sizes are upper bounds for compiled code, not what a compiler makes of it, which only the compiler knows: gcc's figures
(`-fstack-usage`) of kernels without arrays are below 250 bytes for the most part, up to 1,400 for float64 functions in vectors of 512 bits.
"""

from __future__ import annotations

from ..symbolic_int import bound
from .cycles import components
from .program import HostFunction, Program, RunKernel, calls, kernels_in_use, steps
from .stmt import Allocate, Buffer, Scope, Stmt, pre_order
from .vector_target import VectorTarget

_ALIGNMENT = 16
_POINTER = 8
_HOST_FRAME = 96
"""Bytes of a host function's frame beside addresses: what it saves of its caller, its return address, a loop's state."""

_LEAST_FRAME, _VECTORS = 512, 16
"""What a kernel and the entry point take at least, with functions of libm, and how many vectors are put aside at a time."""

_TEAM = 9 << 10
"""Bytes that the threads of a run have in common, on the stack of the first."""


def stack_arrays(root: Stmt) -> list[Buffer]:
    """The arrays of a nest that lie on the stack, each once."""
    buffers = (s.buffer for s in pre_order(root) if isinstance(s, Allocate))
    return list(dict.fromkeys(b for b in buffers if b.scope == Scope.LOCAL and b.ndim))


def frame_bytes(target: VectorTarget) -> int:
    """The largest frame of a compiler for a kernel beside its arrays: live registers and arguments; with the entry point and the
    functions of libm. A sixteenth of the stack is for unforeseen needs."""
    team = _TEAM if target.threads > 1 else 0
    return _LEAST_FRAME + _VECTORS * target.vector_bytes + spare_bytes(target) + team


def spare_bytes(target: VectorTarget) -> int:
    """Bytes of the stack that no kernel is given."""
    return target.stack_bytes // 16


def host_bytes(program: Program) -> int:
    """Bytes of the frames of host functions from an entry to the deepest call."""
    total: dict[str, int] = {}
    for (name,) in components({n: calls(f) for n, f in program.functions.items()}):  # callees come first
        f = program.functions[name]
        total[name] = _host_frame(f) + max((total[c] for c in calls(f)), default=0)
    return max(total[n] for n in program.entry_names)


def _host_frame(f: HostFunction) -> int:
    arguments = max((len(s.reads) + len(s.writes) for s in steps(f.body) if isinstance(s, RunKernel)), default=0)
    return _HOST_FRAME + _POINTER * (len(f.outer) + arguments)


def array_bytes(program: Program) -> int:
    """Bytes of the arrays that one of the program's kernels has on the stack, of that with most of them."""
    return max((sum(bound(b.nbytes) for b in stack_arrays(k.body)) for k in kernels_in_use(program)), default=0)


def stack_bytes(program: Program) -> int:
    """Bytes of the stack that a run of any entry takes at most, with all that it calls: in the thread that runs it, or another one of
    its team. `depth`: calls of a recursive function at a time."""
    total = program.call_bytes + array_bytes(program) + host_bytes(program)
    return -(-total // _ALIGNMENT) * _ALIGNMENT
