"""Calls of lowered functions: their nests are kernels as they stand.

Nobody schedules such a kernel again: how its loops run was decided where it was made, by passes or by hand. Only what compiled code
could not keep its word on is taken back: loops are shared by threads, or done at once, where no step touches what another one
writes, and large arrays do not lie on the stack.
"""

from __future__ import annotations

from typing import Any

from ..diagnostics import IrError
from ..ir import Call, Expr, GlobalVar, Module, Op, Tuple
from ..ir.meta import LoweredText
from ..symbolic_int import bound
from ..tir.buffers import replace_buffers
from ..tir.expr import Const
from ..tir.independence import is_independent
from ..tir.kernel import Choice, Kernel
from ..tir.sharing import loop_bounds
from ..tir.stmt import (
    PARALLEL,
    SERIAL,
    UNROLLED,
    Allocate,
    Buffer,
    For,
    PrimFunc,
    Scope,
    Stmt,
    pre_order,
    rewrite_stmt,
    without_annotations,
)
from ..tir.vectorize_loop import vectorize_loops
from ..tir.verify import find_problems
from .mistakes import NoCounterpart

_STACK = 4096
"""Bytes that an array on the stack may have."""

_UNROLLED = 256
"""Steps that are written out."""


def lowered_callee(module: Module, e: Call) -> tuple[GlobalVar, PrimFunc, tuple[Expr, ...]] | None:
    """The nest that a call applies, by `call_lowered` or as it is, and the arguments; None for a call of anything else.

    Raises IrError if the function is there as text only.
    """
    callee: Any = e.op
    args: tuple[Expr, ...] = e.args
    if isinstance(e.op, Op) and e.op.name == "call_lowered":
        callee, args = e.args[0], e.args[1:]
        if isinstance(args[0], Tuple):
            args = args[0].fields
    if not isinstance(callee, GlobalVar):
        return None
    function = module.functions.get(callee.name)
    if isinstance(function, LoweredText):
        raise IrError(f"@{callee.name} is kept as text: it has no loop nest to compile", e.span, code=NoCounterpart)
    return (callee, function, args) if isinstance(function, PrimFunc) else None


def kernel_of(name: str, f: PrimFunc) -> Kernel:
    """The kernel of a nest. Raises IrError if the nest is not well formed."""
    problem = next(find_problems(f), None)
    if problem is not None:
        raise IrError(f"@{name} is not a well-formed loop nest: {problem}")
    named = PrimFunc(name, f.params, without_annotations(f.body), f.num_outputs)
    nest = vectorize_loops(named.with_body(_settled(named)))
    choice = Choice("as_written", "a lowered function is compiled as it stands")
    kernel = Kernel(name, f.params, (), f.num_outputs, nests=[nest.body], choice=choice, finished=True)
    return kernel.measured()


def _settled(f: PrimFunc) -> Stmt:
    """The body in which loops run, and buffers lie, as compiled code can keep it."""
    bounds = loop_bounds(f)
    moved: dict[Buffer, Buffer] = {}

    def scope_of(b: Buffer) -> Scope:
        if bound(b.nbytes) > _STACK:
            return Scope.GLOBAL
        return Scope.LOCAL if b.scope is Scope.REGISTER else b.scope

    for s in pre_order(f.body):
        if isinstance(s, Allocate) and scope_of(s.buffer) != s.buffer.scope:
            b = s.buffer
            moved[b] = b.replace(scope=scope_of(b))

    def change(s: Stmt) -> Stmt:
        if isinstance(s, For) and s.kind == PARALLEL and not _may_be_shared(s, bounds):
            return For(s.var, s.extent, s.body, SERIAL)
        if isinstance(s, For) and s.kind == UNROLLED and isinstance(s.extent, Const) and s.extent.value > _UNROLLED:
            return For(s.var, s.extent, s.body, SERIAL)
        return s

    # Where buffers lie comes first: a loop around memory of all threads is not shared.
    return rewrite_stmt(replace_buffers(f.body, moved), change)


def _may_be_shared(s: For, bounds: dict[Any, tuple[float, float]]) -> bool:
    """True if threads may share a loop: scratch memory inside of it would be that of all of them."""
    if any(isinstance(x, Allocate) and x.buffer.scope is Scope.GLOBAL for x in pre_order(s.body)):
        return False
    return is_independent(s, bounds)
