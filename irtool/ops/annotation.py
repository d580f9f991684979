"""Operators that leave their argument as it is and say something about it: to passes, to a debugger, to a device.

A new annotation without attributes is a row of `_ROWS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from .. import te
from ..ir import Type
from ..ir.meta import VirtualDevice
from .base import DType, Operator, Pattern, Reporter, operator
from .relations import one_type


@dataclass(frozen=True)
class Annotation(Operator):
    """Base: any type and any value of the argument."""

    layout_rule: ClassVar[str | None] = "elementwise"

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The type of the argument, of any kind."""
        return one_type(types, reporter)

    def evaluate(self, x: Any) -> Any:
        return x

    def compute(self, inputs: Sequence[Any], out_type: Type) -> Any:
        copies = [te.compute(x.shape, lambda *i, x=x: x[i], name="T_identity", tag="elemwise") for x in inputs]
        return copies[0] if len(copies) == 1 else copies


# name, and its statement about the argument
_ROWS: list[tuple[str, str]] = [
    ("bitpack_start", "Marks the start of bit packing."),
    ("bitpack_end", "Marks the end of bit packing."),
    ("checkpoint", "Marks a value that the gradient keeps; values between checkpoints are recomputed."),
    ("stop_fusion", "Prevents fusion of the operators before and after it."),
]


def _register(name: str, says: str) -> None:
    camel = "".join(part.capitalize() for part in name.split("_"))
    cls: type[Annotation] = type(camel, (Annotation,), {"__doc__": says, "__module__": __name__})
    operator(f"annotation.{name}", "data", pattern=Pattern.OPAQUE)(cls)


for _row in _ROWS:
    _register(*_row)


@operator("annotation.with_funcid", "func")
@dataclass(frozen=True)
class WithFuncid(Annotation):
    """The function carries an identifier."""

    no_gradient = "it marks a function"

    layout_rule = None


@operator("annotation.cast_hint", "data", pattern=Pattern.OPAQUE, attrs="CastHintAttrs", declares_attrs=False)
@dataclass(frozen=True)
class CastHint(Annotation):
    """Hints that the value should be cast to `dtype`."""

    dtype: DType


@operator("annotation.compiler_begin", "data", pattern=Pattern.OPAQUE, attrs="CompilerAttrs", declares_attrs=False)
@dataclass(frozen=True)
class CompilerBegin(Annotation):
    """Marks an input of a region for the external compiler `compiler`."""

    compiler: str


@operator("annotation.compiler_end", "data", pattern=Pattern.OPAQUE, attrs="CompilerAttrs", declares_attrs=False)
@dataclass(frozen=True)
class CompilerEnd(Annotation):
    """Marks an output of a region for the external compiler `compiler`."""

    compiler: str


@operator("on_device", "body", pattern=Pattern.OPAQUE, attrs="OnDeviceAttrs")
@dataclass(frozen=True)
class OnDevice(Annotation):
    """Pins the argument's computation (`constrain_body`) or its result (`constrain_result`) to `virtual_device`."""

    virtual_device: VirtualDevice | None = None
    constrain_result: bool = False
    constrain_body: bool = True

    noncomputational = True


@operator("device_copy", "data", pattern=Pattern.OPAQUE, attrs="DeviceCopyAttrs")
@dataclass(frozen=True)
class DeviceCopy(Annotation):
    """Copies the value from one device to another."""

    folds = False

    src_virtual_device: VirtualDevice | None
    dst_virtual_device: VirtualDevice | None


@operator("debug", "program", pattern=Pattern.OPAQUE, attrs="DebugAttrs", level=1)
@dataclass(frozen=True)
class Debug(Annotation):
    """A breakpoint in TVM's interpreter; `debug_func` names a function to call."""

    layout_rule = None

    debug_func: Any
