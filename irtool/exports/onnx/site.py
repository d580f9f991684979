"""One call while its nodes are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from ...deferred import np
from ...diagnostics import Span
from ...ir import Call, TensorType, TupleType, Type
from .dtypes import ELEMENT_TYPES
from .graph import Graph, Initializers, ModelNames, Node, Value
from .kernels import ORDERED, computed_in
from .no_form import NoForm


@dataclass
class Writer:
    """Adds nodes to a graph.

    Attributes:
        graph: where nodes go.
        constants: the constants of the model.
        names: the names of the model.
        opset: the version of ONNX's operators.
        label: the name of the nodes.
        hint: the base of the names of values.
    """

    graph: Graph
    constants: Initializers
    names: ModelNames
    opset: int
    label: str = ""
    hint: str = ""

    def nodes(
        self, op: str, count: int, *inputs: Value | None, dtypes: Sequence[str], **attributes: Any
    ) -> list[Value]:
        """A node with several outputs of these dtypes."""
        outputs = [Value(self.names.fresh(f"{self.hint or op}"), dtype) for dtype in dtypes[:count]]
        input_names = [v.name if v is not None else "" for v in inputs]
        while input_names and not input_names[-1]:
            input_names.pop()
        known = {name: value for name, value in attributes.items() if value is not None}
        self.graph.nodes.append(
            Node(op, input_names, [v.name for v in outputs], known, self.names.fresh(f"{self.label or op}"))
        )
        self.graph.defined.update(v.name for v in outputs)
        return outputs

    def node(self, op: str, *inputs: Value | None, dtype: str = "", **attributes: Any) -> Value:
        """A node with one output, of the dtype of its first input if none is said.

        Where ONNX Runtime has no kernel for the dtype of the first input, all inputs of that dtype are widened, and so is the
        output, which is cast back.
        """
        first = next((v for v in inputs if v is not None), None)
        if op == "Where":
            first = inputs[1]
        input_dtype = first.dtype if first is not None else ""
        if input_dtype == "uint64" and op in ORDERED:
            moved = [
                self.shifted(v) if v is not None and v.dtype == input_dtype and i < 2 else v
                for i, v in enumerate(inputs)
            ]
            result = self.node(op, *moved, dtype=dtype, **attributes)
            return result if dtype else self.unshifted(result)
        if op == "ReduceSum" and input_dtype == "uint64":
            whole = [self.cast(v, "int64") if v is not None else v for v in inputs]
            return self.cast(self.node(op, *whole, **attributes), input_dtype)
        if op == "ReduceSum" and input_dtype in ("int32", "int64"):
            return self._exact_sum(inputs, input_dtype, attributes)
        wide = computed_in(op, input_dtype) if input_dtype else input_dtype
        if wide == input_dtype:
            return self.nodes(op, 1, *inputs, dtypes=[dtype or input_dtype], **attributes)[0]
        first_input = 1 if op == "Where" else 0  # the condition, which holds truth values for operands of any dtype
        widened = [
            self.cast(v, wide) if v is not None and v.dtype == input_dtype and i >= first_input else v
            for i, v in enumerate(inputs)
        ]
        output = self.nodes(op, 1, *widened, dtypes=[dtype or wide], **attributes)[0]
        return output if dtype else self.cast(output, input_dtype)

    def cast(self, v: Value, dtype: str) -> Value:
        """`v` in another dtype; `v` itself if it has that."""
        if v.dtype == dtype:
            return v
        return self.nodes("Cast", 1, v, dtypes=[dtype], to=element_type(dtype))[0]

    def _exact_sum(self, inputs: Sequence[Value | None], dtype: str, attributes: dict[str, Any]) -> Value:
        """A sum of integers, which ONNX Runtime adds up in float64: that of both halves of the bits, each exact up to 2^21 elements."""
        x = inputs[0]
        assert x is not None

        def summed(v: Value) -> Value:
            return self.nodes("ReduceSum", 1, v, *inputs[1:], dtypes=["int64"], **attributes)[0]

        if dtype == "int32":
            return self.cast(summed(self.cast(x, "int64")), dtype)
        half = self.constant(1 << 32, "int64")
        low = self.nodes("Mod", 1, x, half, dtypes=["int64"])[0]
        high = self.nodes("Div", 1, self.sub(x, low), half, dtypes=["int64"])[0]
        return self.add(summed(low), self.mul(summed(high), half))

    def shifted(self, v: Value) -> Value:
        """Numbers of uint64 less 2^63 as int64: in the same order."""
        return self.add(self.cast(v, "int64"), self.constant(-(1 << 63), "int64"))

    def unshifted(self, v: Value) -> Value:
        """The numbers of which `shifted` made these."""
        return self.cast(self.add(v, self.constant(-(1 << 63), "int64")), "uint64")

    def constant(self, data: Any, dtype: str, hint: str = "const") -> Value:
        """A constant of a dtype."""
        if dtype == "bfloat16":
            bits = np.asarray(data, "float32").view("uint32")
            raw = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("uint16")
            return self.constants.constant(raw, dtype, hint)
        with np.errstate(over="ignore", invalid="ignore"):
            return self.constants.constant(np.asarray(data).astype(dtype), dtype, hint)

    def ints(self, *values: int) -> Value:
        """A vector of int64: shapes, axes, bounds."""
        return self.constant(np.array(values, "int64").reshape(len(values)), "int64", "shape")

    def scalar(self, value: Any, like: Value) -> Value:
        """A scalar of the dtype of another value."""
        return self.constant(value, like.dtype)

    def add(self, a: Value, b: Value) -> Value:
        return self.node("Add", a, b)

    def sub(self, a: Value, b: Value) -> Value:
        return self.node("Sub", a, b)

    def mul(self, a: Value, b: Value) -> Value:
        return self.node("Mul", a, b)

    def div(self, a: Value, b: Value) -> Value:
        return self.node("Div", a, b)

    def compare(self, op: str, a: Value, b: Value) -> Value:
        """A comparison, as truth values."""
        return self.node(op, a, b, dtype="bool")

    def where(self, condition: Value, a: Value, b: Value) -> Value:
        return self.node("Where", condition, a, b)

    def reshape(self, v: Value, shape: Sequence[int]) -> Value:
        """Reshape; -1 stands for one extent that follows. An extent of 0 is one."""
        return self.node("Reshape", v, self.ints(*shape), allowzero=1 if 0 in shape else None)

    def transpose(self, v: Value, axes: Sequence[int]) -> Value:
        """Transpose; `v` itself if no axis moves."""
        return v if list(axes) == list(range(len(axes))) else self.node("Transpose", v, perm=list(axes))

    def unsqueeze(self, v: Value, *axes: int) -> Value:
        return self.node("Unsqueeze", v, self.ints(*axes)) if axes else v

    def squeeze(self, v: Value, *axes: int) -> Value:
        return self.node("Squeeze", v, self.ints(*axes)) if axes else v

    def reduce(self, op: str, v: Value, axes: Sequence[int], keepdims: bool) -> Value:
        """A reduction over these axes, none among them possible."""
        return self.node(op, v, self.ints(*axes), keepdims=int(keepdims)) if axes else self.node("Identity", v)

    def slice(self, v: Value, starts: Any, ends: Any, axes: Any, steps: Any = None) -> Value:
        steps = [1] * len(starts) if steps is None else steps
        return self.node("Slice", v, self.ints(*starts), self.ints(*ends), self.ints(*axes), self.ints(*steps))

    def concat(self, values: Sequence[Value], axis: int) -> Value:
        return values[0] if len(values) == 1 else self.node("Concat", *values, axis=axis)

    def shape(self, v: Value) -> Value:
        """The shape as a vector of int64."""
        return self.node("Shape", v, dtype="int64")


@dataclass(kw_only=True)
class OnnxSite(Writer):
    """One call of an operator.

    Attributes:
        call: the call, typed.
        inputs: its arguments: a `Value` each, or a tuple of these.
        types: the types of the arguments.
        type: the type of the result.
    """

    call: Call
    inputs: tuple[Any, ...]
    types: tuple[Type | None, ...]
    type: Type | None

    @property
    def attrs(self) -> Any:
        """The attributes of the call."""
        return self.call.attrs

    @property
    def span(self) -> Span | None:
        return self.call.span

    @property
    def out(self) -> TensorType:
        """The type of the result, which is a tensor."""
        if not isinstance(self.type, TensorType):
            self.refuse("its result is no tensor")
        return self.type

    def tensor(self, index: int) -> TensorType:
        """The type of an argument, which is a tensor."""
        t = self.types[index]
        if not isinstance(t, TensorType):
            self.refuse("an argument is no tensor")
        return t

    def type_fields(self, index: int) -> list[TensorType]:
        """The types of the fields of a tuple argument."""
        return self._fields(self.types[index])

    @property
    def fields(self) -> list[TensorType]:
        """The types of the fields of the result, which is a tuple."""
        return self._fields(self.type)

    def _fields(self, t: Type | None) -> list[TensorType]:
        if not isinstance(t, TupleType):
            self.refuse("a tuple is expected")
        tensor_types = [f for f in t.fields if isinstance(f, TensorType)]
        if len(tensor_types) != len(t.fields):
            self.refuse("a tuple in it holds something else than tensors")
        return tensor_types

    def dims(self, index: int) -> tuple[int, ...]:
        """The shape of an argument. Raises NoForm if it is not known."""
        return self.static(self.tensor(index))

    def static(self, t: TensorType) -> tuple[int, ...]:
        """The shape of a tensor type. Raises NoForm if it is not known."""
        known = t.extents
        if known is None:
            self.refuse("the shape must be known")
        return known

    def known(self, t: TensorType, axis: int) -> int:
        """One extent of a tensor type. Raises NoForm if it is not known."""
        extent = t.shape[axis]
        if not isinstance(extent, int):
            self.refuse(f"the extent of axis {axis} must be known")
        return int(extent)

    def extent(self, index: int, axis: int) -> Value:
        """The extent of an argument along an axis that counts from the front, int64[1]: computed by the model where it is not known."""
        known = self.tensor(index).shape[axis]
        if isinstance(known, int):
            return self.ints(known)
        return self.slice(self.shape(self.inputs[index]), [axis], [axis + 1], [0])

    def spatial(self, t: TensorType) -> list[int]:
        """The extents behind batch and channels. Raises NoForm if one is not known."""
        return [self.known(t, axis) for axis in range(2, len(t.shape))]

    def axes(self, index: int, axes: Sequence[int]) -> list[int]:
        """Axes of an argument, none counted from the back."""
        rank = len(self.tensor(index).shape)
        return [a % rank if rank else 0 for a in axes]

    def refuse(self, reason: str) -> NoReturn:
        """Raises NoForm."""
        raise NoForm(reason)

    def need_opset(self, opset: int, what: str) -> None:
        """Raises NoForm if the opset is older than the first with `what`."""
        if self.opset < opset:
            self.refuse(f"{what} needs opset {opset}, and --opset is {self.opset}")


def element_type(dtype: str) -> int:
    """ONNX's number of a dtype. Raises NoForm if it has none."""
    if dtype not in ELEMENT_TYPES:
        raise NoForm(f"ONNX has no element type {dtype}")
    return ELEMENT_TYPES[dtype]
