"""The body of a vectorized loop: values, each computed once, and stores, in the order of execution.

::

    body  ::= step*
    step  ::= value                                    computed here; `named` if it is used more than once
            | Assign(register, value)
            | StoreVector(buffer, base, value)         `count` elements, `stride` apart
    value ::= Lanes | Splat(scalar) | Build(scalars) | Read(register) | LoadVector(buffer, base) | Unary | Arithmetic | Compare | Logic
            | LookUp(buffer, value) | Shift | Convert | Bitcast | Same | Pack(values) | Apply(function, values)
            | Pick(scalar condition, body, body)

Scalars and indices are expressions of the loop nest, which do not change with the lane.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ...tir import dtypes
from ...tir.expr import Const, Expr
from ...tir.shuffles import name_of
from ...tir.stmt import Buffer
from .channels import Channel
from .types import VectorType

Function = tuple[str, str, int]
"""A function of vectors: its name, dtype and lanes."""

Register = tuple[Buffer, tuple[int, ...]]
"""A row of a buffer whose rows are vectors."""


@dataclass(eq=False)
class Value:
    """A vector. `named`: it is used more than once."""

    type: VectorType
    named: bool = field(default=False, init=False)


@dataclass(eq=False)
class Lanes(Value):
    """0, 1, 2, …"""


@dataclass(eq=False)
class Splat(Value):
    """A scalar in every lane; for a bool, a mask."""

    scalar: Expr


@dataclass(eq=False)
class Build(Value):
    """A scalar for each lane."""

    scalars: tuple[Expr, ...]


@dataclass(eq=False)
class Read(Value):
    """The contents of a register."""

    register: Register


@dataclass(eq=False)
class LoadVector(Value):
    """`count` elements of a buffer, `stride` apart, from `base` on, with the bits in memory.

    Attributes:
        once: the vector is worth a register, and must not be read again for each use.
        places: the offset of each lane's element behind `base`, if irregular.
        channel: one of several interleaved channels, the first of which begins at `base`.
        words: each lane is four bytes of a buffer of bytes, or two numbers of a buffer of bfloat16, the first of them lowest.
        stays_in_register: the vector must stay in a register.
    """

    buffer: Buffer
    base: Expr
    stride: int
    count: int
    once: bool = False
    places: tuple[int, ...] = ()
    channel: Channel | None = None
    words: bool = False
    stays_in_register: bool = field(default=False, init=False)

    @property
    def is_whole(self) -> bool:
        """True if every lane has an element."""
        return self.count == self.type.lanes


@dataclass(eq=False)
class LookUp(Value):
    """The elements of a table of 256 bytes, whose numbers are in the lanes."""

    buffer: Buffer
    value: Value

    @property
    def function(self) -> Function:
        """The library function that looks up."""
        return ("look_up", *self.type)


@dataclass(eq=False)
class Unary(Value):
    """`not` for a mask; `is_set`, the mask of bytes that are not 0; `byte`, 0 or 1 for a mask; `number`, the same as another type
    of that width."""

    op: str
    value: Value


@dataclass(eq=False)
class Arithmetic(Value):
    """`+ - * /` of equal types; integers wrap. `& | ^` of integers."""

    op: str
    a: Value
    b: Value


@dataclass(eq=False)
class Compare(Value):
    """`< <= == !=`: a mask."""

    op: str
    a: Value
    b: Value


@dataclass(eq=False)
class Logic(Value):
    """`& | ^ == !=` for masks of equal types, and `choose` for masks (condition, then, other)."""

    op: str
    values: tuple[Value, ...]


@dataclass(eq=False)
class Shift(Value):
    """`<< >>` by a number of bits; `&` with a number: divisions by powers of two become these."""

    op: str
    value: Value
    amount: int


@dataclass(eq=False)
class Convert(Value):
    """The numbers as another type; a mask as a wider or narrower one. Floats are in the range of integers that they become."""

    value: Value


@dataclass(eq=False)
class Bitcast(Value):
    """The bits as a type of the same width."""

    value: Value


@dataclass(eq=False)
class Same(Value):
    """The value itself, as another dtype with the same type of arithmetic."""

    value: Value


@dataclass(eq=False)
class Pack(Value):
    """A word of several numbers in each lane, the first of them lowest: four 8-bit numbers, two that are widened to 16 bits, or
    the upper halves of two float32 numbers. `rewrite` removes all of them."""

    numbers: tuple[Value, ...]


@dataclass(eq=False)
class Apply(Value):
    """A function of the vector library. The first argument of `select` is a mask."""

    function: Function
    args: tuple[Value, ...]


@dataclass(eq=False)
class Pick(Value):
    """The result of one of two bodies, of which only that one is executed."""

    cond: Expr
    then: Body
    other: Body


@dataclass(eq=False)
class Assign:
    """A register gets a value."""

    register: Register
    value: Value


@dataclass(eq=False)
class StoreVector:
    """The first `count` lanes are stored, `stride` elements apart, from `base` on."""

    buffer: Buffer
    base: Expr
    value: Value
    stride: int
    count: int

    @property
    def is_whole(self) -> bool:
        """True if every lane is stored."""
        return self.count == self.value.type.lanes


@dataclass(eq=False)
class CopySquare:
    """`target[to + j * down + i] = source[start + i * rows + j]` for `i` below the number of lanes and `j` below that of columns,
    which is the same, half of it or a quarter. A body of its own. `streams`: a hint that the result need not stay in a cache."""

    type: VectorType
    columns: int
    target: Buffer
    to: Expr
    down: int
    source: Buffer
    start: Expr
    rows: int
    streams: bool = False

    @property
    def function(self) -> Function:
        """The library function that copies it."""
        part = {1: "square", 2: "half_square", 4: "quarter_square"}[self.type.lanes // self.columns]
        return (f"stream_{part}" if self.streams else part, *self.type)


Step = Value | Assign | StoreVector


@dataclass(eq=False)
class Body:
    """Steps in order; the `result` of a part of a `Pick` is one of its values or of the body around it."""

    steps: list[Step] = field(default_factory=list)
    result: Value | None = None
    functions: list[Function] = field(default_factory=list)
    """The functions that it calls, in the order of first calls; for the outermost body only."""


def constant_of(v: Value) -> float | None:
    """The literal in every lane; None for other values."""
    return v.scalar.value if isinstance(v, Splat) and isinstance(v.scalar, Const) else None


def is_at_hand(v: Value) -> bool:
    """True if one more use of the value costs nothing: it has a name."""
    while isinstance(v, Same) and not v.named:
        v = v.value
    return v.named or isinstance(v, Read | Pick)


def load_function(v: LoadVector) -> Function | None:
    """The library function that loads such elements; None if none is needed."""
    if v.words or (v.buffer.numbers and v.is_whole and v.stride == 1 and v.type.bits == 32):
        numbers = v.buffer.numbers or v.buffer.dtype
        return ("words" if dtypes.itemsize(numbers) == 1 else "pairs", *v.type)
    if v.places:
        return (name_of(v.places), *v.type)
    if v.channel is not None:
        return (v.channel.name, *v.type)
    name = {2: "even", 3: "third"}.get(v.stride) if v.is_whole else None
    if v.is_whole and v.stride == 1 and v.once:
        name = "load"
    return (name, *v.type) if name else None


def convert_function(v: Convert) -> Function | None:
    """The library function that widens integers of 8 or 16 bits, or narrows 512 bits to bytes; None for other conversions."""
    source = v.value.type
    if v.type.dtype == "int32" and source.bits < 32:
        return ("widen_at" if widened_load(v) is not None else "widen", *source)
    whole = source.dtype == "int32" and source.lanes == _NARROWED_LANES
    return (f"narrow_{v.type.dtype}", *source) if whole and v.type.dtype in ("int8", "uint8") else None


_NARROWED_LANES = 16

_CONVERTED_LANES = 4
"""Elements of vectors for which processors have instructions that load and widen, or narrow and store (Helium)."""


def widened_load(v: Convert) -> LoadVector | None:
    """The load of contiguous elements that a conversion widens, if a function does both; None for other conversions."""
    load = v.value
    if not isinstance(load, LoadVector) or load.named or load.type.lanes != _CONVERTED_LANES:
        return None
    plain = load.is_whole and load.stride == 1 and load.type.dtype == load.buffer.dtype
    return load if plain and load_function(load) is None else None


def narrowed_value(s: StoreVector) -> Value | None:
    """The int32 numbers whose lower bits a store writes to contiguous elements, if a function does both; None for other stores."""
    if not s.is_whole or s.stride != 1 or s.value.type.lanes != _CONVERTED_LANES or s.value.type.bits >= 32:
        return None
    value = s.value
    while isinstance(value, Convert) and value.type.bits < 32:
        value = value.value
    return value if value.type.dtype == "int32" else None


def scaled_sum(s: Arithmetic) -> tuple[Value, Value, Splat] | None:
    """The operands `a`, `b` and `x` of `a + b * x`, where x is a number in every lane, if a function computes both; None otherwise."""
    product = s.b
    if s.op != "+" or s.type != _SCALED or not isinstance(product, Arithmetic) or product.op != "*" or product.named:
        return None
    for b, x in ((product.a, product.b), (product.b, product.a)):
        if isinstance(x, Splat) and not isinstance(x.scalar, Const):
            return s.a, b, x
    return None


_SCALED = VectorType("int32", _CONVERTED_LANES)


def store_function(s: StoreVector) -> Function | None:
    """The library function that stores the first elements of a vector, or narrow ones; None for other stores."""
    if narrowed_value(s) is not None:
        return ("narrow_to", *s.value.type)
    return ("put", *s.value.type) if s.stride == 1 and not s.is_whole else None


def called(steps: Sequence[Step]) -> list[Function]:
    """The functions that these steps and their parts call, in the order of first calls."""
    functions: dict[Function, None] = {}
    stack = list(reversed(steps))
    while stack:
        s = stack.pop()
        if isinstance(s, Pick):
            stack += [*reversed(s.other.steps), *reversed(s.then.steps)]
        function = function_of(s)
        if function is not None:
            functions[function] = None
    return list(functions)


def function_of(s: Step) -> Function | None:
    """The library function that a step calls; None without one."""
    if isinstance(s, Apply | LookUp):
        return s.function
    if isinstance(s, Convert):
        return convert_function(s)
    if isinstance(s, Arithmetic):
        return ("add_scaled", *s.type) if scaled_sum(s) is not None else None
    if isinstance(s, LoadVector):
        return load_function(s)
    return store_function(s) if isinstance(s, StoreVector) else None


def operands(s: Step) -> list[Value]:
    """The values that a step uses, without those of parts of a `Pick`."""
    return [v for x in vars(s).values() for v in (x if isinstance(x, tuple) else (x,)) if isinstance(v, Value)]
