"""Operators of programs after lowering: explicit memory, calls of kernels, shapes as values.

They are typed and run: storage is a byte count, a tensor made of it is zeros, which `vm.invoke_tvm_op` overwrites.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..deferred import np
from ..diagnostics import IrError
from ..ir import UNIT, Constant, FuncType, GlobalTypeVar, GlobalVar, TensorType, TupleType, Type, TypeCall
from ..ir.dims import Dim
from ..ir.expr import MissingData
from ..ir.meta import VirtualDevice
from ..ir.types import tuple_leaves
from .base import VOID, DType, Operator, Pattern, RelationError, Reporter, operator
from .dtypes import numpy_dtype
from .shape.reshape import reshape_tensor
from .shapes import is_unknown, product, require_compatible, tensor

STORAGE = TypeCall(GlobalTypeVar("Storage"), ())
"""The type of allocated memory: `Storage[]`, which the module must define."""

_FLOAT32 = DType("float32")


def _require_int64_scalar(type: Type, what: str) -> bool:
    """False while the type is unknown; RelationError unless it is `int64`."""
    actual = tensor(type, what)
    if actual is None:
        return False
    if actual != TensorType((), "int64"):
        raise RelationError(f"{what} must be an int64 scalar, not {actual}")
    return True


@operator("memory.alloc_storage", "size", "alignment", pattern=Pattern.OPAQUE, attrs="AllocStorageAttrs")
@dataclass(frozen=True, kw_only=True)
class AllocStorage(Operator):
    """Allocates `size` bytes of memory, aligned to `alignment`, on `virtual_device`.

    Since 0.14 a call may say, between the two, the shape of the tensor that the memory is for.
    """

    layout_rule = "elementwise"
    named_types = ("Storage",)

    dtype: DType = _FLOAT32
    virtual_device: VirtualDevice | None

    noncomputational = True
    on_host = ("size", "shape", "alignment")
    later_arguments = (("size", "shape", "alignment"),)

    @property
    def result_device(self) -> VirtualDevice | None:
        return self.virtual_device

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """`size` and `alignment` are `int64`, the shape a tensor; gives `Storage[]`."""
        names = self.names_of_arguments(len(types))
        known = [
            tensor(t, name) is not None if name == "shape" else _require_int64_scalar(t, name)
            for t, name in zip(types, names, strict=True)
        ]
        return STORAGE if all(known) else None

    def evaluate(self, size: np.ndarray, *rest: np.ndarray) -> int:
        return int(size)


@operator("memory.alloc_tensor", "storage", "offset", "shape", pattern=Pattern.OPAQUE, attrs="AllocTensorAttrs")
@dataclass(frozen=True, kw_only=True)
class AllocTensor(Operator):
    """A tensor at `offset` in a storage; its shape is the constant `const_shape`, or is assumed to be `assert_shape`."""

    layout_rule = "elementwise"
    named_types = ("Storage",)

    dtype: DType = _FLOAT32
    const_shape: Any
    assert_shape: tuple[int, ...] | None

    noncomputational = True
    on_host = ("offset", "shape")

    def known_shape(self) -> tuple[Dim, ...]:
        """The shape that the attributes say."""
        if isinstance(self.const_shape, Constant) and not isinstance(self.const_shape.data, MissingData):
            return tuple(int(d) for d in np.atleast_1d(self.const_shape.data))
        if self.assert_shape is None:
            raise RelationError("either const_shape or assert_shape must be given")
        return self.assert_shape

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """`dtype`, with the shape that `const_shape` or `assert_shape` says, whose rank is the length of the shape
        argument.
        """
        reporter.assign(0, STORAGE)
        offset, shape = tensor(types[1], "offset"), tensor(types[2], "shape")
        if offset is None or shape is None:
            return None
        known = self.known_shape()
        rank = shape.shape[0] if shape.shape else 0
        if rank != len(known):
            raise RelationError(f"shape has {rank} extents, but {len(known)} are asserted")
        return TensorType(known, self.dtype)

    def evaluate(self, storage: int, offset: np.ndarray, shape: np.ndarray) -> np.ndarray:
        return np.zeros(tuple(int(d) for d in np.atleast_1d(shape)), numpy_dtype(self.dtype))


@operator("memory.kill", "to_free", pattern=Pattern.OPAQUE, stateful=True)
@dataclass(frozen=True)
class Kill(Operator):
    """Marks the end of a variable's lifetime; its memory may be reused."""

    layout_rule = "elementwise"

    noncomputational = True

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The empty tuple, for any argument."""
        return UNIT

    def evaluate(self, x: Any) -> tuple[()]:
        return ()


@operator("vm.shape_of", "tensor", pattern=Pattern.OPAQUE, attrs="ShapeOfAttrs")
@dataclass(frozen=True)
class ShapeOf(Operator):
    """The shape of a tensor, as a vector; of a scalar, a scalar."""

    layout_rule = "elementwise"
    folds = False

    dtype: DType = VOID

    noncomputational = True
    on_host = ("result",)

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """A vector of `dtype` as long as the data has axes; a scalar for a scalar."""
        x = tensor(types[0])
        return x and TensorType((len(x.shape),) if x.shape else (), self.dtype)

    def evaluate(self, x: np.ndarray) -> np.ndarray:
        return np.array(x.shape if x.ndim else 0, numpy_dtype(self.dtype))


@operator("vm.reshape_tensor", "data", "shape", pattern=Pattern.OPAQUE, attrs="ReshapeTensorAttrs")
@dataclass(frozen=True)
class ReshapeTensor(Operator):
    """The elements of `data` in the same order in the shape `shape`; `newshape` gives that shape to the type checker."""

    layout_rule = "elementwise"

    newshape: tuple[int, ...]

    noncomputational = True
    on_host = ("shape",)

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype with the shape `newshape`, of as many elements."""
        x = tensor(types[0], "data")
        tensor(types[1], "shape")
        if x is not None:
            require_compatible(product(x.shape), product(self.newshape), "the numbers of elements before and after")
        return x and TensorType(self.newshape, x.dtype)

    def evaluate(self, x: np.ndarray, shape: np.ndarray) -> np.ndarray:
        if all(isinstance(d, int) for d in self.newshape):
            shape = np.array(self.newshape)
        try:
            return x.reshape(tuple(int(d) for d in np.atleast_1d(shape)))
        except ValueError:
            raise IrError(f"{x.size} elements do not fill the shape {tuple(shape)}") from None

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        return reshape_tensor(inputs[0], out_type.shape)


@operator("vm.invoke_tvm_op", "op", "ins", "outs", pattern=Pattern.OPAQUE, stateful=True)
@dataclass(frozen=True)
class InvokeTvmOp(Operator):
    """Runs a kernel on the tensors `ins`, writing its results into the tensors `outs`."""

    layout_rule = "elementwise"

    noncomputational = True

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The empty tuple; the tuples `ins` and `outs` have the tensors of the function's argument and result types, in the same order: a
        loop nest has a parameter for each tensor of a tuple."""
        function, ins, outs = types
        if any(is_unknown(t) for t in types):
            return None
        if not isinstance(function, FuncType):
            raise RelationError(f"op must be a function, not {function}")
        if not isinstance(ins, TupleType) or not isinstance(outs, TupleType):
            raise RelationError(f"ins and outs must be tuples, not {ins} and {outs}")
        result = function.ret_type
        reporter.unify(_of_tensors(TupleType(function.arg_types)), _of_tensors(ins))
        reporter.unify(_of_tensors(TupleType((result,))), _of_tensors(outs))
        return UNIT

    def evaluate(self, function: Any, ins: Sequence[Any], outs: Sequence[np.ndarray]) -> tuple[()]:
        if not callable(function):
            raise IrError("the kernel has no body that can be evaluated")
        results = function(*ins)
        for out, result in zip(outs, results if isinstance(results, tuple) else (results,), strict=True):
            out[...] = result
        return ()


InvokeTvmOp.attrs_name = "DictAttrs"


@operator("call_lowered", "func", "call_args", pattern=Pattern.OPAQUE, attrs="CallLoweredAttrs")
@dataclass(frozen=True)
class CallLowered(Operator):
    """Calls a lowered function with the fields of a tuple; `metadata` holds information from lowering."""

    layout_rule = "elementwise"

    metadata: Any = None

    def __post_init__(self) -> None:
        """Text without a metadata section has functions by name."""
        function_names = self.metadata.get("all_prim_fn_vars") if isinstance(self.metadata, dict) else None
        if isinstance(function_names, tuple) and any(isinstance(v, str) for v in function_names):
            functions = tuple(GlobalVar(v) if isinstance(v, str) else v for v in function_names)
            object.__setattr__(self, "metadata", {**self.metadata, "all_prim_fn_vars": functions})

    noncomputational = True

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The result type of the function, whose argument types are those of the tuple's fields."""
        function, arguments = types
        if not isinstance(function, FuncType) or not isinstance(arguments, TupleType):
            return None
        reporter.unify(arguments, TupleType(function.arg_types))
        return function.ret_type

    def evaluate(self, function: Any, arguments: Sequence[Any]) -> Any:
        if not callable(function):
            raise IrError("the lowered function has no body that can be evaluated")
        return function(*arguments)


@operator("parser.MetaRef", attrs="MetaRefAttrs", vendor="TVM's reader of text")
@dataclass(frozen=True)
class MetaRef(Operator):
    """Placeholder for an entry of the metadata section during parsing; a parsed module contains none."""

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """None: it stands for an object of the metadata while text is read, and never in a module."""
        raise RelationError("a reference to the metadata section is left over")


def _of_tensors(t: TupleType) -> TupleType:
    """The tuple of all tensors in a tuple and in the tuples inside of it."""
    return TupleType(tuple(tuple_leaves(t)))
