"""Arrays that exceed the stack move to the workspace.

    parallel for t in 64: allocate data: float32[36, 8, 64] local; …
    ⇒
    parallel for t in 64: allocate data: float32[36, 8, 64] global.thread; …

Arrays inside of a parallel loop stay private: the workspace has a part for each thread. Smaller arrays stay on the stack as long
as they fit beside spilled registers and the frames of the kernels' callers.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...symbolic_int import bound
from ...tir.buffers import replace_buffers
from ...tir.kernel import Kernel
from ...tir.program import Program
from ...tir.stack import frame_bytes, host_bytes, spare_bytes, stack_arrays
from ...tir.stmt import PARALLEL, Allocate, Buffer, For, Scope, Stmt, children, pre_order
from ...tir.vector_target import VectorTarget
from ..core.program_rewriter import replace_kernels


def bound_stack(program: Program, target: VectorTarget) -> None:
    """Moves arrays of the program's kernels, so that a run stays within `target.stack_bytes`."""
    program.call_bytes, program.spare_bytes = frame_bytes(target), spare_bytes(target)
    available = max(0, target.stack_bytes - program.call_bytes - host_bytes(program))
    replace_kernels(program, lambda k: _bounded(k, available), finished=True)


def _bounded(k: Kernel, available: int) -> Kernel:
    """The kernel with at most `available` bytes of arrays on the stack: the largest ones move first."""
    arrays = stack_arrays(k.body)
    taken = sum(bound(b.nbytes) for b in arrays)
    moving: set[Buffer] = set()
    for b in sorted(arrays, key=lambda b: bound(b.nbytes), reverse=True):
        if taken <= available:
            break
        moving.add(b)
        taken -= bound(b.nbytes)
    if not moving:
        return k
    scopes = dict(_places(k.body, moving))
    moved = {b: b.replace(scope=scopes[b]) for b in moving}
    return k.replace(nests=[replace_buffers(n, moved) for n in k.nests])


def _places(root: Stmt, moving: set[Buffer]) -> Iterator[tuple[Buffer, Scope]]:
    """The new scope of each of some buffers: an array inside of a parallel loop, or around one, becomes private to its thread."""
    stack: list[tuple[Stmt, bool]] = [(root, False)]
    while stack:
        s, shared = stack.pop()
        if isinstance(s, Allocate) and s.buffer in moving:
            yield s.buffer, Scope.THREAD if shared or _has_shared(s.body) else Scope.GLOBAL
        shared = shared or (isinstance(s, For) and s.kind == PARALLEL)
        stack.extend((c, shared) for c in children(s))


def _has_shared(root: Stmt) -> bool:
    return any(isinstance(s, For) and s.kind == PARALLEL for s in pre_order(root))
