"""The tensors that a network reads, as parameters of `@main`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...deferred import np
from ...diagnostics import Diagnostic, IrError
from ...ir import TensorType, Var
from ...ir.block_tensor import BlockTensor
from ...ir.conversion import dtype_name, marked
from ..onnx.arithmetic import cast
from ..onnx.mistakes import DamagedModel
from ..onnx.names import RelayNames
from ..onnx.value import Value

_REAL = ("float16", "bfloat16", "float32", "float64")


class Weights:
    """The tensors of a file by name, and the parameters for those that were asked for.

    Attributes:
        params: the parameters, in the order of the calls for them, with their values.
    """

    def __init__(self, tensors: Mapping[str, Any], names: RelayNames) -> None:
        self.tensors, self.names = tensors, names
        self.params: dict[Var, Any] = {}
        self._values: dict[str, Value] = {}
        self._problems: list[str] = []
        self._read: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self.tensors

    def tensor(self, name: str, *shape: int) -> Value:
        """A tensor of that shape, in float32. One that is missing or has another shape is noted, and stands there nevertheless."""
        value = self._values.get(name)
        if value is None:
            value = self._values[name] = self._parameter(name, shape)
        elif tuple(value.shape) != shape:
            raise IrError(f"{name} is read in the shapes {list(value.shape)} and {list(shape)}", code=DamagedModel)
        return value

    def optional(self, name: str, *shape: int) -> Value | None:
        """The same, or None if the file does not have it."""
        return self.tensor(name, *shape) if name in self else None

    def array(self, name: str, length: int) -> Any:
        """The elements of a vector that is no parameter; None if the file does not have it."""
        self._read.add(name)
        data = self.tensors.get(name)
        if data is None:
            return None
        if tuple(data.shape) != (length,):
            self._problems.append(f"{name} has the shape {list(data.shape)}, and not {[length]}")
            return None
        return data

    def ignore(self, *names: str) -> None:
        """Notes tensors as read."""
        self._read.update(names)

    def require_sound(self, name: str) -> None:
        """Raises IrError, naming the file, for all tensors that are missing, have other shapes, or have no place in the network."""
        others = [n for n in self.tensors if n not in self._read]
        if others:
            more = f" and {len(others) - 8} more" if len(others) > 8 else ""
            self._problems.append(f"the architecture has no place for {', '.join(others[:8])}{more}")
        if self._problems:
            raise IrError([Diagnostic(p, filename=name, code=DamagedModel) for p in self._problems])

    def _parameter(self, name: str, shape: tuple[int, ...]) -> Value:
        self._read.add(name)
        data = self.tensors.get(name)
        dtype = "float32" if data is None or isinstance(data, BlockTensor) else dtype_name(data)
        problem = ""
        if data is None:
            problem = f"there is no tensor {name} of the shape {list(shape)}"
        elif tuple(data.shape) != shape:
            problem = f"{name} has the shape {list(data.shape)}, and not {list(shape)}"
        elif dtype not in _REAL:
            problem = f"{name} is of {dtype}, and weights are real"
        if problem:
            self._problems.append(problem)
            data = np.broadcast_to(np.float32(0), shape)
        return self._blocks(name, data) if isinstance(data, BlockTensor) else cast(self._array(name, data), "float32")

    def _array(self, name: str, data: Any) -> Value:
        """The parameter for an array."""
        t = TensorType(tuple(data.shape), dtype_name(data))
        var = Var(self.names.of(name), t, None, t)
        self.params[var] = data
        return Value(var)

    def _blocks(self, name: str, tensor: BlockTensor) -> Value:
        """A tensor in blocks: parameters for its numbers, its scales and its zeros, which may be tensors in blocks themselves."""
        numbers = self._array(name, marked(tensor.data, tensor.dtype))
        scale, zero = (self._part(f"{name}.{p}", x) for p, x in (("scale", tensor.scale), ("zero", tensor.zero)))
        axis, size = len(tensor.shape) - 1, tensor.block
        return numbers.call("qnn.dequantize_blocks", scale, zero, axis=axis, block_size=size, out_dtype="float32")

    def _part(self, name: str, part: Any) -> Value:
        if isinstance(part, int):
            return Value.constant(part, "int32")
        return self._blocks(name, part) if isinstance(part, BlockTensor) else self._array(name, part)
