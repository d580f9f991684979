"""ChangeBatch: parameters get another number of samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ..diagnostics import IrError, UsageError, nearest
from ..ir import Function, Module, TensorType, Var, substitute, with_function, without_return_type
from .core.base import FunctionPass, register_pass
from .core.context import PassContext


@register_pass("ChangeBatch", level=1)
@dataclass(frozen=True)
class ChangeBatch(FunctionPass):
    """Changes the extent of one axis of parameters, and the types of all values computed from them.

    ::

        def @main(%x: Tensor[(1, 3, 8, 8), float32]) { nn.relu(%x) }      with data={"x": 0} batch_size=4
            ⇒  def @main(%x: Tensor[(4, 3, 8, 8), float32]) { nn.relu(%x) }

    Attributes stay as they are: a program that writes the old number into one of them (`newshape=[1, -1]`) is refused where
    types no longer fit, and means something else where they do.

    Options:
        data: for parameters by name, which of their axes is the batch.
        batch_size: how many samples there are.
    """

    changes: ClassVar[str] = "interface"

    data: dict
    batch_size: int = 16

    def __hash__(self) -> int:
        return hash((tuple(self.data), self.batch_size))

    def apply(self, module: Module, context: PassContext) -> Module:
        names = [p.name for f in module.functions.values() if isinstance(f, Function) for p in f.params]
        for name in self.data:
            if name not in names:
                raise IrError(f"no function has a parameter {name}", help=nearest(str(name), names))
        if self.batch_size < 1:
            raise UsageError(f"batch_size must be positive, not {self.batch_size}")
        changed = super().apply(module, context)
        return self._typed(changed)

    def _typed(self, module: Module) -> Module:
        """The module with types. Raises IrError if they do not fit any more."""
        from ..infer import infer_types

        try:
            return infer_types(module)
        except IrError as error:
            first = error.diagnostics[0]
            raise IrError(f"with {self.batch_size} samples the types do not fit: {first.message}", first.span) from None

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        axes: Mapping[str, object] = self.data
        changed = {p: self._with_batch(p, axes[p.name]) for p in function.params if p.name in axes}
        if not changed:
            return function

        params = tuple(changed.get(p, p) for p in function.params)
        return with_function(without_return_type(function), params=params, body=substitute(function.body, changed))

    def _with_batch(self, p: Var, axis: object) -> Var:
        t = p.type_annotation or p.checked_type
        if not isinstance(t, TensorType):
            raise IrError(f"%{p.name} has no batch: it is no tensor", p.span)
        rank = len(t.shape)
        if isinstance(axis, bool) or not isinstance(axis, int) or not -rank <= axis < rank:
            raise UsageError(f"%{p.name} has {rank} axes, and no axis {axis}")
        shape = list(t.shape)
        shape[axis] = self.batch_size
        return Var(p.name, TensorType(tuple(shape), t.dtype), p.span, None, p.virtual_device)
