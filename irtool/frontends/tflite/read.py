"""From the bytes of a file to the model as this front end sees it, within bounds: a file of n bytes costs time and memory of that order.

A FlatBuffer is read through offsets, which a damaged file may point anywhere: outside, or many times at one long list. What lies outside is
an error; and all elements of all lists together may not be many more than the file has bytes.
"""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Sequence
from typing import Any

from ...deferred import np
from ...diagnostics import IrError, Source, Span, UsageError
from ...files import open_file
from ..onnx.mistakes import DamagedModel, UnsupportedNode
from .model import Model, Operator, Quantization, Subgraph, Tensor
from .options import default_options, read_options
from .package import tflite_package
from .recognise import is_tflite

MOST_AXES = 8
"""Axes of a tensor: TensorFlow Lite's own kernels take six at most."""
MOST_ELEMENTS = 1 << 40
MOST_BYTES = 1 << 31
"""Bytes of a file, all of whose offsets have 32 bits."""
_ROOM = 4
"""Elements of lists for each byte of the file: lists may be shared, but not by very many."""

_DTYPES = {
    "FLOAT32": "float32",
    "FLOAT16": "float16",
    "FLOAT64": "float64",
    "BFLOAT16": "bfloat16",
    "INT8": "int8",
    "INT16": "int16",
    "INT32": "int32",
    "INT64": "int64",
    "UINT8": "uint8",
    "UINT16": "uint16",
    "UINT32": "uint32",
    "UINT64": "uint64",
    "BOOL": "bool",
    "INT4": "int4",
    "STRING": "string",
    "RESOURCE": "resource",
    "VARIANT": "variant",
    "COMPLEX64": "complex64",
    "COMPLEX128": "complex128",
}
"""Element types by their names in the schema."""


def read_model(model: str | os.PathLike[str] | bytes | Any, name: str = "") -> Model:
    """The model of a file, of its bytes, or of an open file; `name` is its name in messages.

    Raises IrError for a damaged file, OSError for an unreadable path, UsageError where the packages are missing.
    """
    tflite_package()
    if isinstance(model, Model):
        return model
    read = getattr(model, "read", None)
    if callable(read):
        model, name = read(), name or str(getattr(model, "name", ""))
    if isinstance(model, bytes | bytearray | memoryview):
        return _Reader(bytes(model), name or "<bytes>").model()
    if not isinstance(model, str | os.PathLike):
        message = f"a TensorFlow Lite model is a path, bytes or an open file, not {type(model).__name__}"
        raise UsageError(message)
    path = os.fspath(model)
    with open_file(path) as file:
        return _Reader(file.read(), name or path).model()


def _names(enum: type) -> dict[int, str]:
    """The names of an enumeration of the schema by number."""
    return {v: k for k, v in vars(enum).items() if isinstance(v, int) and not k.startswith("_")}


class _Reader:
    def __init__(self, data: bytes, name: str) -> None:
        self.data, self.name = data, name
        self.left = _ROOM * len(data) + 1024
        self.listing = Source(name, "")
        self.lines: list[str] = []
        self.end = 0

    def model(self) -> Model:
        if len(self.data) >= MOST_BYTES:
            raise IrError(f"the file has {len(self.data)} bytes: 2^31 are too many", filename=self.name)
        if not is_tflite(self.data):
            raise self.damaged("the file is no TensorFlow Lite model of schema version 3: its identifier is not TFL3")
        try:
            return self._model()
        except (struct.error, IndexError, OverflowError, TypeError, ValueError, AttributeError) as error:
            # TypeError is how `flatbuffers` says that a number is out of range, ValueError how numpy says it.
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise self.damaged(f"the file is cut off, or an offset points outside of it: {reason}") from None

    def damaged(self, message: str) -> IrError:
        return IrError(message, filename=self.name, code=DamagedModel)

    def charge(self, count: int) -> None:
        """Counts elements that are about to be read."""
        self.left -= count
        if count < 0 or self.left < 0:
            raise self.damaged("the file has lists with more elements than it has room for")

    def _model(self) -> Model:
        package = tflite_package()
        root = package.Model.GetRootAsModel(self.data, 0)
        if root.Version() != 3:
            message = f"the model is of schema version {root.Version()}: version 3 is known"
            raise IrError(message, filename=self.name, code=UnsupportedNode)
        self.operator_names = _names(package.BuiltinOperator)
        self.option_names = _names(package.BuiltinOptions), _names(package.BuiltinOptions2)
        self.type_names = _names(package.TensorType)
        codes = [self._code(root.OperatorCodes(i)) for i in self._numbers(root.OperatorCodesLength())]
        buffers = [self._buffer(root.Buffers(i)) for i in self._numbers(root.BuffersLength())]
        count = self._numbers(root.SubgraphsLength())
        subgraphs = [self._subgraph(root.Subgraphs(i), codes, buffers, len(count)) for i in count]
        if not subgraphs:
            raise self.damaged("the model has no subgraph")
        self.listing.text = "\n".join(self.lines) + "\n"
        return Model(self.name, tuple(subgraphs), self.listing)

    def _numbers(self, count: int) -> range:
        self.charge(count)
        return range(count)

    def _code(self, code: Any) -> tuple[str, int]:
        number = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
        name = self.operator_names.get(number)
        if name == "CUSTOM":
            return f"CUSTOM:{self._text(code.CustomCode())}", code.Version()
        return name or f"BUILTIN_{number}", code.Version()

    def _buffer(self, buffer: Any) -> memoryview | None:
        """The bytes of a constant; None for a tensor without any. Data above 2 GB of a file lie behind the FlatBuffer."""
        count = buffer.DataLength()
        if not count:
            return None
        start = buffer._tab.Vector(buffer._tab.Offset(4))
        if start < 0 or start + count > len(self.data):
            raise self.damaged(f"a buffer of {count} bytes reaches beyond the end of the file")
        return memoryview(self.data)[start : start + count]

    def _subgraph(self, graph: Any, codes: Sequence[tuple[str, int]], buffers: Sequence[Any], graphs: int) -> Subgraph:
        tensors = [self._tensor(graph.Tensors(i), i, buffers) for i in self._numbers(graph.TensorsLength())]
        name = self._text(graph.Name())
        inputs = self._indices(graph.InputsAsNumpy(), len(tensors), f"an input of {name}")
        outputs = self._indices(graph.OutputsAsNumpy(), len(tensors), f"an output of {name}")
        if graphs > 1:
            self._line(f"subgraph {name or len(self.lines)}({', '.join(tensors[i].name for i in inputs)})")
        count = self._numbers(graph.OperatorsLength())
        operators = [self._operator(graph.Operators(i), codes, tensors, graphs > 1) for i in count]
        return Subgraph(name, tuple(tensors), inputs, outputs, tuple(operators))

    def _tensor(self, tensor: Any, index: int, buffers: Sequence[Any]) -> Tensor:
        name = self._text(tensor.Name()) or f"tensor_{index}"
        shape = self._ints(tensor.ShapeAsNumpy())
        if len(shape) > MOST_AXES or any(d < 0 for d in shape) or math.prod(max(d, 1) for d in shape) > MOST_ELEMENTS:
            raise self.damaged(f"the tensor {name} has the shape {shape[: MOST_AXES + 1]}")
        signature = self._ints(tensor.ShapeSignatureAsNumpy())
        open_axes = tuple(i for i, d in enumerate(signature) if d < 0) if len(signature) == len(shape) else ()
        type_name = self.type_names.get(tensor.Type(), f"type {tensor.Type()}")
        number = tensor.Buffer()
        if number >= len(buffers):
            raise self.damaged(f"the tensor {name} has the buffer {number}, and there are {len(buffers)}")
        return Tensor(
            index,
            name,
            _DTYPES.get(type_name, type_name),
            shape,
            open_axes,
            buffers[number],
            self._quantization(tensor.Quantization(), name, shape),
            bool(tensor.IsVariable()),
            tensor.Sparsity(),
        )

    def _quantization(self, q: Any, name: str, shape: Sequence[int]) -> Quantization | None:
        if q is None or not q.ScaleLength():
            return None
        self.charge(q.ScaleLength() + q.ZeroPointLength())
        scales = np.array(q.ScaleAsNumpy(), np.float32)
        zeros = np.array(q.ZeroPointAsNumpy(), np.int64) if q.ZeroPointLength() else np.zeros(len(scales), np.int64)
        if len(zeros) == 1:
            zeros = np.broadcast_to(zeros, scales.shape)
        axis = q.QuantizedDimension()
        if len(zeros) != len(scales):
            raise self.damaged(f"the tensor {name} has {len(scales)} scales and {len(zeros)} zero points")
        if len(scales) > 1 and not (0 <= axis < len(shape) and shape[axis] == len(scales)):
            raise self.damaged(
                f"the tensor {name} of the shape {tuple(shape)} has {len(scales)} scales along axis {axis}"
            )
        return Quantization(scales, zeros, axis)

    def _operator(
        self, operator: Any, codes: Sequence[tuple[str, int]], tensors: Sequence[Tensor], indented: bool
    ) -> Operator:
        if operator.OpcodeIndex() >= len(codes):
            raise self.damaged(f"an operator has the code {operator.OpcodeIndex()}, and there are {len(codes)}")
        op_type, version = codes[operator.OpcodeIndex()]
        inputs = self._indices(operator.InputsAsNumpy(), len(tensors), f"an input of {op_type}", optional=True)
        outputs = self._indices(operator.OutputsAsNumpy(), len(tensors), f"an output of {op_type}")
        inner = self._indices(operator.IntermediatesAsNumpy(), len(tensors), f"an intermediate of {op_type}", True)
        options, defaults = self._options(operator, op_type)
        names = [", ".join(tensors[i].name if i >= 0 else "-" for i in row) for row in (outputs, inputs)]
        shown = ", ".join(f"{k}={v}" for k, v in options.items())
        place = self._line(f"{'  ' * indented}{names[0]} = {op_type}{f'<{shown:.120}>' if shown else ''}({names[1]})")
        return Operator(op_type, version, inputs, outputs, inner, options, defaults, place)

    def _options(self, operator: Any, op_type: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """The attributes that the file sets, and the defaults of all."""
        package = tflite_package()
        for number, table, names in (
            (operator.BuiltinOptionsType(), operator.BuiltinOptions(), self.option_names[0]),
            (operator.BuiltinOptions2Type(), operator.BuiltinOptions2(), self.option_names[1]),
        ):
            if not number:
                continue
            cls = getattr(package, names.get(number, ""), None)
            if cls is None:
                raise self.damaged(f"{op_type} has options of the unknown kind {number}")
            defaults = default_options(cls)
            if table is None:
                return {}, defaults
            values = read_options(cls, table, self.charge)
            return {k: v for k, v in values.items() if v != defaults[k]}, defaults
        return {}, {}

    def _ints(self, vector: Any) -> tuple[int, ...]:
        if isinstance(vector, int):  # what the schema's classes give for a list that is not there
            return ()
        self.charge(len(vector))
        return tuple(int(x) for x in vector)

    def _indices(self, vector: Any, count: int, what: str, optional: bool = False) -> tuple[int, ...]:
        """Numbers of tensors. IrError for one that is not there; `optional` allows -1."""
        indices = self._ints(vector)
        for i in indices:
            if not (0 <= i < count or (optional and i == -1)):
                raise self.damaged(f"{what} is the tensor {i}, and there are {count}")
        return indices

    def _text(self, raw: bytes | None) -> str:
        if raw is None:
            return ""
        self.charge(len(raw))
        return raw.decode("utf-8", "replace")

    def _line(self, line: str) -> Span:
        indent = len(line) - len(line.lstrip())
        line = " " * indent + " ".join(line.split())
        start = self.end + indent
        self.lines.append(line)
        self.end += len(line) + 1
        self.charge(len(line) // 16)
        return Span(self.listing, start, self.end - 1, node=line.split(" =")[0].strip())
