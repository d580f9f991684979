"""Random models of one operator each: `cases(seed)` draws one for each operator and element type, with attributes and shapes at random."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .build import Graph, Op, Tensor, model_bytes

Draw = Callable[["Drawing"], None]


@dataclass
class Case:
    """A model.

    Attributes:
        operator: the name of its operator.
        variant: what it is an example of: the element type, and more where there are several.
        exact: whether the result is to be equal bit by bit.
        tolerance: the most by which other results may differ, beside as much of their size.
    """

    operator: str
    variant: str
    model: bytes
    inputs: list[np.ndarray]
    exact: bool
    tolerance: float = 1e-5

    @property
    def name(self) -> str:
        """`CONV_2D int8`."""
        return f"{self.operator} {self.variant}"


class Drawing:
    """One model that is being drawn."""

    def __init__(self, operator: str, dtype: str, rng: np.random.Generator) -> None:
        self.operator, self.dtype, self.rng = operator, dtype, rng
        self.tensors: list[Tensor] = []
        self.data: list[np.ndarray] = []
        self.inputs: list[int] = []
        self.operands: list[int] = []
        self.outputs: list[int] = []
        self.options: dict[str, Any] = {}
        self.kind = ""
        self.version = 1
        self.graphs: list[Graph] = []
        self.exact = dtype not in ("float32", "float16")
        self.tolerance = 1e-5
        self.variant = ""

    def integer(self, low: int, high: int) -> int:
        """An integer between two, both included."""
        return int(self.rng.integers(low, high + 1))

    def choice(self, *values: Any) -> Any:
        """One of the values."""
        return values[self.integer(0, len(values) - 1)]

    def shape(self, rank: int, high: int = 6) -> tuple[int, ...]:
        """A shape of that rank."""
        return tuple(self.integer(1, high) for _ in range(rank))

    def values(self, shape: Sequence[int], dtype: str, low: float = -3, high: float = 3) -> np.ndarray:
        """Random elements: real numbers between two, integers of all the range of 8 and 16 bits."""
        if dtype.startswith("float"):
            return np.asarray(self.rng.uniform(low, high, shape)).astype(dtype)
        if dtype == "bool":
            return np.asarray(self.rng.integers(0, 2, shape)).astype(bool)
        if dtype in ("int8", "uint8", "int16"):
            info = np.iinfo(dtype)
            return np.asarray(self.rng.integers(info.min, info.max + 1, shape)).astype(dtype)
        return np.asarray(self.rng.integers(int(low * 10), int(high * 10) + 1, shape)).astype(dtype)

    def quantization(self, dtype: str, **fixed: Any) -> dict[str, Any]:
        """A random scale and zero point of a quantized type; none for others."""
        if dtype not in ("int8", "uint8", "int16"):
            return {}
        scale = float(self.rng.uniform(0.005, 0.1)) if dtype != "int16" else float(self.rng.uniform(1e-4, 1e-3))
        zero = {"int8": self.integer(-30, 30), "uint8": self.integer(100, 150), "int16": 0}[dtype]
        return {"scale": scale, "zero": zero, **fixed}

    def add(self, t: Tensor) -> int:
        self.tensors.append(t)
        return len(self.tensors) - 1

    def input(self, shape: Sequence[int], dtype: str = "", low: float = -3, high: float = 3, **fixed: Any) -> int:
        """An input of the model, and of the operator."""
        dtype = dtype or self.dtype
        q = self.quantization(dtype) | fixed
        if q.get("scale", 1) is None:
            q = {}
        i = self.add(Tensor(f"x{len(self.inputs)}", shape, dtype, **q))
        self.inputs.append(i)
        self.operands.append(i)
        self.data.append(self.values(shape, dtype, low, high))
        return i

    def constant(self, data: Any, dtype: str = "int32", **q: Any) -> int:
        """A constant operand."""
        array = np.asarray(data, dtype)
        i = self.add(Tensor(f"c{len(self.tensors)}", array.shape, dtype, array, **q))
        self.operands.append(i)
        return i

    def absent(self) -> None:
        """An operand that is left out."""
        self.operands.append(-1)

    def output(self, dtype: str = "", shape: Sequence[int] = (), **fixed: Any) -> int:
        """An output; its shape does not matter, since runtimes compute it."""
        dtype = dtype or self.dtype
        q = self.quantization(dtype) | fixed
        if q.get("scale", 1) is None:
            q = {}
        i = self.add(Tensor(f"y{len(self.outputs)}", shape, dtype, **q))
        self.outputs.append(i)
        return i

    def same(self, i: int) -> dict[str, Any]:
        """The scale and zero point of a tensor, for another one."""
        t = self.tensors[i]
        return {"scale": t.scale, "zero": t.zero} if t.scale is not None else {}

    def set(self, kind: str, **options: Any) -> None:
        """The attributes."""
        self.kind, self.options = kind, options

    def model(self) -> bytes:
        """The file."""
        op = Op(self.operator, self.operands, self.outputs, self.options, self.kind, self.version)
        return model_bytes(Graph(self.tensors, [op], self.inputs, self.outputs), *self.graphs)


_DRAWS: list[tuple[str, str, Draw]] = []


def draws(operators: str, dtypes: str) -> Callable[[Draw], Draw]:
    """Files a function that draws models of these operators, in these element types; `type/variant` says more."""

    def file(draw: Draw) -> Draw:
        _DRAWS.extend((o, d, draw) for o in operators.split() for d in dtypes.split())
        return draw

    return file


def cases(seed: int, only: str = "") -> Iterator[Case]:
    """One case for each operator and type, the same ones for the same seed; `only` those whose names begin so."""
    from . import draws_more, draws_recurrent, draws_stablehlo, draws_usual  # noqa: F401  # they file their functions

    for operator, variant, draw in _DRAWS:
        name = f"{operator} {variant}"
        if not name.startswith(only):
            continue
        d = Drawing(operator, variant.split("/")[0], np.random.default_rng([seed, zlib.crc32(name.encode())]))
        d.variant = variant.partition("/")[2]
        draw(d)
        yield Case(operator, variant, d.model(), d.data, d.exact, d.tolerance)


def operators() -> list[str]:
    """The operators of which there are cases."""
    from . import draws_more, draws_recurrent, draws_stablehlo, draws_usual  # noqa: F401

    return list(dict.fromkeys(o for o, _, _ in _DRAWS))
