"""One call by hand: its tensor expressions, and their loop nest::

x_te = te.placeholder((4, 2), name="x_te")
lowered = lower_call(module["main"].body, [x_te], "llvm")
print(lowered.outputs)     # [Tensor(T_relu, [4, 2], float32)]
print(lowered)             # T_relu[ax0, ax1] = max(x_te[ax0, ax1], 0.0)
print(irtool.to_text(lowered.nest("main")))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import te
from ..diagnostics import IrError, UsageError
from ..infer import infer_types
from ..ir import Call, Function, FuncType, GlobalVar, Module, Op, TensorType, Tuple, Var
from ..ir.module import describe
from ..ir.target import Target
from ..ops.base import call
from ..te.tensor import Compute, Operation
from ..tir.kernel import Kernel
from ..tir.show import show_expr
from ..tir.stmt import PrimFunc
from .compose import TensorGraph, compute_call, flat_types
from .nest import lower_function
from .plain import lower_plainly


@dataclass(frozen=True)
class LoweredCall:
    """The tensor expressions of a call.

    Attributes:
        call: the call, typed.
        inputs: the tensors that stand for its arguments, tuples flattened.
        outputs: the tensors of its result.
        target: the target of the lowering.
    """

    call: Call
    inputs: tuple[te.Tensor, ...]
    outputs: tuple[te.Tensor, ...]
    target: Target

    def nest(self, name: str = "main") -> PrimFunc:
        """The loop nest that fills the outputs, without any schedule; `irtool.to_text` writes it as TVM does."""
        nest = lower_plainly(self._graph(), name)
        nest.attrs.update(self.attributes(name))
        return nest

    def _graph(self) -> TensorGraph:
        return TensorGraph(self.inputs, self.outputs, (), (self.call,))

    def attributes(self, name: str) -> dict[str, Any]:
        """The attributes of a loop nest of that name."""
        return {
            "from_legacy_te_schedule": True,
            "global_symbol": name,
            "tir.noalias": True,
            "target": self.target.record(),
        }

    def kernel(self, name: str = "main") -> Kernel:
        """The stages that fill the outputs, to be scheduled (`irtool.create_schedule`); buffers are called as tensors are."""
        kernel = lower_function(self._graph(), name)
        for buffer, tensor in zip(kernel.params, (*self.inputs, *self.outputs), strict=True):
            buffer.name = tensor.name
        return kernel

    def module(self, nest: PrimFunc) -> Module:
        """A module whose `@main` calls a loop nest of this call: it can be run, built, and printed with its types."""
        result = self.call.checked_type
        assert result is not None
        params = tuple(Var(t.name, TensorType(t.shape, t.dtype)) for t in self.inputs)
        type = FuncType(tuple(TensorType(t.shape, t.dtype) for t in self.inputs), result)
        typed = PrimFunc(nest.name, nest.params, nest.body, nest.num_outputs, nest.attrs, type, nest.preflattened)
        name = nest.name if nest.name != "main" else "nest"
        body = call("call_lowered", GlobalVar(name), Tuple(params))
        return infer_types(Module({"main": Function(params, body), name: typed}))

    def __str__(self) -> str:
        """The tensor expressions, one a line, in order of computation."""
        lines: list[str] = []
        for op in _operations(self.outputs):
            if isinstance(op, Compute):
                axes = ", ".join(a.name for a in op.axes)
                lines += [f"{t.name}[{axes}] = {show_expr(b)}" for t, b in zip(op.outputs, op.bodies, strict=True)]
            elif op.inputs or op.outputs[0] not in self.inputs:
                lines.append(f"{', '.join(t.name for t in op.outputs)} by a loop nest of their own")
        return "\n".join(lines)


def lower_call(
    call: Call, inputs: Sequence[te.Tensor], target: str | Mapping[str, Any] | Target | None = None
) -> LoweredCall:
    """The tensor expressions of the call of an operator, of tensors in the place of its arguments (tuples flattened).

    A call without types is inferred first. Raises UsageError for what is no call of an operator, IrError where a tensor does
    not have the shape and dtype of its argument, or the operator has no tensor expression.
    """
    if not isinstance(call, Call) or not isinstance(call.op, Op):
        what = describe(call) if not isinstance(call, Call) else f"a call of {call.op!r}"
        raise UsageError(f"the call of an operator is expected, not {what}")
    if isinstance(inputs, te.Tensor) or not all(isinstance(t, te.Tensor) for t in inputs):
        raise UsageError("the inputs are a list of tensors: te.placeholder((4, 2), name='x') makes one")
    typed = infer_types(call)
    assert isinstance(typed, Call)
    types = [t for a in typed.args for t in flat_types(a.checked_type, a)]
    if len(inputs) != len(types):
        raise IrError(f"{call.op.name} takes {len(types)} tensors here, but {len(inputs)} are given", call.span)
    for tensor, t in zip(inputs, types, strict=True):
        if tuple(tensor.shape) != tuple(t.shape) or tensor.dtype != t.dtype:
            raise IrError(f"{tensor!r} stands for an argument of type {t}", call.span)
    try:
        outputs = compute_call(typed, inputs)
    except NotImplementedError:
        raise IrError(f"{call.op.name} has no tensor expression", call.span) from None
    return LoweredCall(typed, tuple(inputs), tuple(outputs), Target.parse("c" if target is None else target))


def _operations(outputs: Sequence[te.Tensor]) -> list[Operation]:
    """The operations that the outputs rest on, each after those it reads."""
    order: dict[Operation, None] = {}
    stack: list[tuple[Operation, bool]] = [(t.op, False) for t in reversed(outputs)]
    while stack:
        op, ready = stack.pop()
        if ready:
            order[op] = None
        elif op not in order:
            stack.append((op, True))
            stack.extend((t.op, False) for t in reversed(op.inputs))
    return list(order)
