"""From the stores of a vectorized loop to vectors.

A node that does not depend on the lane stays scalar; others become vectors. A node without a vector form raises `Scalar`, and the
loop stays a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...symbolic_int import as_integer, is_known
from ...tir import dtypes
from ...tir.expr import (
    QUOTIENTS,
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    Load,
    Not,
    Select,
    Var,
    children,
    const,
    post_order,
)
from ...tir.native_halves import HALF
from ...tir.shuffles import find_shuffle
from ...tir.simplify import Simplifier
from ...tir.stmt import Buffer, For, Scope, Store, pre_order
from ...tir.tables import looked_up
from ...tir.word_functions import DOTS, PACKS
from . import ir
from .channels import MOST, Channel
from .halves import HalfLowering
from .ir import (
    Apply,
    Arithmetic,
    Assign,
    Bitcast,
    Body,
    Build,
    Compare,
    Convert,
    Lanes,
    LoadVector,
    Logic,
    LookUp,
    Pack,
    Pick,
    Read,
    Same,
    Shift,
    Splat,
    StoreVector,
    Unary,
    Value,
)
from .rewrite import rewrite
from .types import HALVES, MEMORY, Scalar, VectorType, compute_dtype, vector, width_for
from .wide import LEAST_LANES, WIDE, WideLowering, find_wide

WHOLE = {"floor", "ceil", "trunc", "round", "nearbyint", "fabs", "copysign"}
"""Functions of 16-bit floats with exact results, which need no rounding."""

_SHIFTS = {"<<": "shl", ">>": "shr"}

FunctionOf = tuple[str, tuple[int, ...]] | None
"""A vector function, and the numbers of the arguments that it takes; None without one."""

_PLAIN = (
    "load", "put", "even", "channel_2_0", "channel_2_1", "widen", "widen_at", "narrow_to", "narrow_uint8", "narrow_int8", "select", "min", "max", "minimum", "maximum", "fabs", "isnan", "isinf", "isfinite", "to_int32",
)  # fmt: skip
"""Functions that compilers also generate from a loop."""


def lower_loop(
    s: For, simplify: Simplifier, function: Callable[[Call], FunctionOf], native_halves: bool = False
) -> Body:
    """The body of a vectorized loop, with as many lanes as its steps and its registers need.

    `function` returns the vector function of a call, with the arguments that it takes; `native_halves`: float16 is computed in 16
    bits. Raises Scalar for a loop without a vector form.
    """
    stores, count = stores_of(s), s.steps
    lanes = max([width_for(count), *(width_for(b.shape[-1]) for b in _vector_registers(stores))])

    def register(x: Load | Store) -> ir.Register | None:
        b = x.source if isinstance(x, Load) else x.buffer
        if b.scope != Scope.REGISTER or (isinstance(x, Load) and is_single(b)):
            return None
        if x.indices[-1] is not s.var or width_for(b.shape[-1]) != lanes:
            raise Scalar
        return b, constant_indices(x.indices[:-1])

    return Lowering(simplify, register, function, s.var, count, lanes, native_halves).run(stores)


def is_single(b: Buffer) -> bool:
    """True for a buffer in registers that are single numbers."""
    return b.shape[-1] == 1


def joins_numbers(s: For) -> bool:
    """True if a loop over lanes reads a register of its own for each lane."""
    reads = (e.source for x in stores_of(s) for e in post_order(x.value) if isinstance(e, Load))
    return any(b.scope == Scope.REGISTER and is_single(b) for b in reads)


def stores_of(s: For) -> list[Store]:
    """The stores of a vectorized loop, in order."""
    return [x for x in pre_order(s.body) if isinstance(x, Store)]


def _factors(e: Expr) -> tuple[Expr, ...]:
    """The factors of `int32(int64(a) * int64(b) >> 32)`, the high half of a product of int32; none of other expressions."""
    shifted = e.value if isinstance(e, Cast) and e.dtype == "int32" else None
    if not isinstance(shifted, Binary) or (shifted.op, shifted.dtype) != (">>", "int64"):
        return ()
    product, bits = shifted.a, shifted.b
    if not isinstance(product, Binary) or product.op != "*" or not isinstance(bits, Const) or bits.value != 32:
        return ()
    factors = tuple(f for x in (product.a, product.b) if (f := _factor(x)) is not None)
    return factors if len(factors) == 2 else ()


def _factor(e: Expr) -> Expr | None:
    """A number of 64 bits in 32 bits, if these hold it; None otherwise."""
    if isinstance(e, Const) and e.dtype == "int64":
        least, most = dtypes.int_range("int32")
        return const(e.int_value) if is_known(e.int_value) and least <= e.int_value <= most else None
    return e.value if isinstance(e, Cast) and e.value.dtype == "int32" else None


def constant_indices(indices: Sequence[Expr]) -> tuple[int, ...]:
    """The values of indices that are literals."""
    return tuple(i.int_value for i in indices if isinstance(i, Const))


def _vector_registers(stores: Sequence[Store]) -> list[Buffer]:
    """Buffers in vector registers that the stores read or write."""
    registers: dict[Buffer, None] = {}
    for s in stores:
        read = (e.source for e in post_order(s.value) if isinstance(e, Load))
        registers.update((b, None) for b in (s.buffer, *read) if b.scope == Scope.REGISTER and b.shape[-1] > 1)
    return list(registers)


class Lowering:
    """Lowers one vectorized loop of `count` steps to `width` lanes, the rest of them unused.

    Unused lanes hold any value: they take part in arithmetic, but not in loads and stores. `register` returns the register of an
    access, None for memory; `function` that of a call, with the arguments that it takes.
    """

    def __init__(
        self,
        simplify: Simplifier,
        register: Callable[[Load | Store], ir.Register | None],
        function: Callable[[Call], FunctionOf],
        lane: Var,
        count: int,
        width: int,
        native_halves: bool = False,
    ) -> None:
        self.simplify = simplify
        self.register = register
        self.function = function
        self.lane = lane
        self.count = count
        self.lanes = width
        self.native_halves = native_halves
        self.halves = HalfLowering(self)
        self.varying: dict[Expr, bool] = {}
        self.factors: dict[Expr, tuple[Expr, ...]] = {}
        self._first: dict[Expr, Expr] = {lane: simplify(const(0, lane.dtype))}
        self.has_bytes = False
        self.has_logic = False

    def run(self, stores: Sequence[Store]) -> Body:
        """The body for one pass over all lanes, rewritten. Raises Scalar."""
        body = self.lower(stores)
        rewrite(body)
        body.functions = ir.called(body.steps)
        # Compilers join several passes of a loop whose vectors of bytes are short; of loops with branches they cannot.
        if self.has_bytes and self.lanes < 8 and not self.has_logic and all(f[0] in _PLAIN for f in body.functions):
            raise Scalar
        return body

    def lower(self, stores: Sequence[Store]) -> Body:
        """The body before it is rewritten. Raises Scalar."""
        body = Body()
        for s in stores:
            self._store(s, body)
        return body

    def _type(self, dtype: str) -> VectorType:
        return self.halves.type if self._is_native(dtype) else vector(dtype, self.lanes)

    def _is_native(self, dtype: str) -> bool:
        return self.native_halves and dtype == HALF

    def _apply(self, name: str, dtype: str, *args: Value, result: str = "") -> Apply:
        """A call of the function for vectors of `dtype`, with a result of the same type unless `result` is given."""
        t = self._type(dtype)
        return Apply(self._type(result) if result else t, (name, *t), args)

    def _rounded(self, value: Value, dtype: str, body: Body) -> Value:
        if dtype not in HALVES:
            return value
        body.steps.append(value)
        return self.halves.narrowed(value) if self._is_native(dtype) else self._apply(f"round_{dtype}", dtype, value)

    def varies(self, e: Expr) -> bool:
        """True if the value of a node depends on the lane."""
        is_varying = self.varying.get(e)
        if is_varying is None:
            for x in post_order(e):
                if x not in self.varying:
                    self.varying[x] = x is self.lane or any(self.varying[k] for k in children(x))
            is_varying = self.varying[e]
        return is_varying

    # -- stores --------------------------------------------------------------------------------------------------------

    def _store(self, s: Store, body: Body) -> None:
        dtype = s.buffer.dtype
        register = self.register(s)
        value = self._value(s.value, body, {})
        if register is not None:
            if dtype == "bool":
                raise Scalar
            body.steps.append(Assign(register, value))
            return
        self._store_at(s, self._to_memory(s.value, value, body), body)

    def _store_at(self, s: Store, value: Value, body: Body) -> None:
        """Stores a value with the bits in memory."""
        index = s.indices[0] if s.indices else const(0)
        step = self.stride(index)
        if step is None:
            raise Scalar
        body.steps.append(StoreVector(s.buffer, self.base(index), value, step, self.count))

    def _to_memory(self, e: Expr, value: Value, body: Body) -> Value:
        """The value in its stored form."""
        if e.dtype == "bool":
            self.has_bytes = True
            mask = self.masked(value, 8, body)
            return self._add(Unary(self._type("uint8"), "byte", mask), body)
        if e.dtype not in HALVES:
            return value
        if self._is_native(e.dtype):
            return self._add(Bitcast(self._type("uint16"), value), body)
        name = "f2h" if e.dtype == "float16" else "f2b"
        return self._add(self._apply(name, e.dtype, value, result="uint16"), body)

    def _add(self, value: Value, body: Body) -> Value:
        body.steps.append(value)
        return value

    def stride(self, index: Expr) -> int | None:
        """The distance of the offsets of two neighbouring lanes; None if it varies."""
        terms, _ = self.simplify.linear(index)
        for atom in terms:
            if atom is not self.lane and self.varies(atom):
                return None
        return terms.get(self.lane, 0)

    def base(self, index: Expr) -> Expr:
        """The offset of the first lane."""
        return self.simplify.at(self.simplify(index), self._first)

    # -- values --------------------------------------------------------------------------------------------------------

    def _value(self, root: Expr, body: Body, known: dict[Expr, Value]) -> Value:
        """The vector of an expression; its steps are appended."""
        values = dict(known)
        uses: dict[Expr, int] = {}
        for e in post_order(root):
            kids = children(e)
            for k in kids:
                uses[k] = uses.get(k, 0) + 1
            if e not in self.varying:
                self.varying[e] = e is self.lane or any(self.varying[k] for k in kids)
        order = self._needed(root)
        wide = find_wide(order, self.varies) if self.lanes >= LEAST_LANES else set()
        parts = WideLowering(self, body, values, uses)
        for e in order:
            if e in values:
                continue
            if e in wide or (wide and e.dtype in WIDE):
                parts.make(e)
                continue
            for k in children(e):
                if k in parts.parts and k not in values:
                    parts.join(k)
            value = self._node(e, values, body)
            body.steps.append(value)
            value.named = uses.get(e, 0) > 1 and not isinstance(e, Const | Var)
            values[e] = value
        if root in parts.parts:
            parts.join(root)
        return values[root]

    def masked(self, mask: Value, width: int, body: Body) -> Value:
        """A mask of integers of `width` bytes."""
        value = mask
        for step in (*_between(mask.type.dtype, f"int{width}", self.lanes), f"int{width}"):
            if step != mask.type.dtype:
                value = self._add(Convert(self._type(step), value), body)
        return value

    def _needed(self, root: Expr) -> list[Expr]:
        """Nodes to write, children first: not below uniform nodes, nor into indices."""
        seen: set[Expr] = set()
        order: list[Expr] = []
        stack: list[tuple[Expr, bool]] = [(root, False)]
        while stack:
            e, ready = stack.pop()
            if ready:
                order.append(e)
                continue
            if e in seen:
                continue
            seen.add(e)
            stack.append((e, True))
            byte = looked_up(e)
            if self.varies(e) and (byte is not None or not isinstance(e, Load)):
                kids = self._factors(e) or children(e) if byte is None else (byte,)
                if isinstance(e, Select) and not self.varies(e.cond):
                    kids = () if e.lazy else (e.then, e.other)
                stack.extend((k, False) for k in reversed(kids))
        return order

    def _factors(self, e: Expr) -> tuple[Expr, ...]:
        """The factors of a product of which an expression is the high half, always the same nodes; none of other expressions."""
        if e not in self.factors:
            self.factors[e] = _factors(e)
        return self.factors[e]

    def _node(self, e: Expr, values: dict[Expr, Value], body: Body) -> Value:
        """The value of a node with known operands; the caller appends it."""
        if not self.varies(e):
            return Splat(self._type("int32" if e.dtype == "bool" else e.dtype), e)
        if e is self.lane:
            return Lanes(self._type(e.dtype))
        byte = looked_up(e)
        if isinstance(e, Load):
            return self._load(e, body) if byte is None else self._look_up(e, values[byte], body)
        if isinstance(e, Binary):
            return self._binary(e, values[e.a], values[e.b], body)
        if isinstance(e, Select):
            return self._select(e, values, body)
        if isinstance(e, Cast):
            factors = self._factors(e)
            if factors:
                return self._apply("mul_high", "int32", *(values[x] for x in factors))
            return self.cast(e, values[e.value], body)
        if isinstance(e, Not):
            return Unary(values[e.value].type, "not", values[e.value])
        assert isinstance(e, Call)
        return self._call(e, [values[a] for a in e.args], body)

    def cast(self, e: Cast, value: Value, body: Body) -> Value:
        """A number as another type; the caller appends it."""
        source, target = e.value.dtype, e.dtype
        if source == "float64" and target in HALVES:  # rounded once, which two conversions do not
            value, source = self._add(self._apply("odd", source, value, result="float32"), body), "float32"
            return self._rounded(value, target, body)
        if self._is_native(source) or self._is_native(target):
            return self.halves.cast(e, value, body)
        if source in WIDE and value.type.dtype == "int32":  # joined of its parts
            source = "int32"
        if isinstance(value, Unary) and value.op == "is_set" and not value.named:
            value, source = value.value, "uint8"
        if source == "bool":
            mask = self.masked(value, dtypes.bits(compute_dtype(target)), body)
            return Unary(self._type(target), "number", mask)
        if dtypes.is_float(source) and not dtypes.is_float(target):
            if target not in ("int32", "int16", "int8") and (compute_dtype(source), target) != ("float32", "uint8"):
                raise Scalar
            self.has_bytes = self.has_bytes or dtypes.bits(target) == 8
            value, source = self._apply("to_int32", source, value, result="int32"), "int32"
            if target == "int32":
                return value
            body.steps.append(value)
        self._type(source)
        values: list[Value] = [value]
        for step in (*_between(source, compute_dtype(target), self.lanes), target):
            if compute_dtype(step) != compute_dtype(source):
                values.append(Convert(self._type(step), values[-1]))
        if len(values) == 1:  # between 16-bit floats: computed with in the same type
            return self._apply(f"round_{target}", target, value) if target in HALVES else Same(value.type, value)
        body.steps += values[1:-1]
        return self._rounded(values[-1], target, body)

    def _load(self, e: Load, body: Body) -> Value:
        if e.source.scope == Scope.REGISTER and is_single(e.source):
            return self._joined(e)
        register = self.register(e)
        if register is not None:
            if e.dtype == "bool":
                raise Scalar
            return Read(self._type(e.dtype), register)
        value = self._stored(e)
        if e.dtype == "bool":
            t = value.type
            self.has_bytes = True
            return Unary(t.mask, "is_set", self._add(value, body))
        if e.dtype in HALVES:
            body.steps.append(value)
            if self._is_native(e.dtype):
                return self.halves.loaded(value)
            return self._apply("h2f" if e.dtype == "float16" else "b2f", e.dtype, value)
        return value

    def _joined(self, e: Load) -> Build:
        """Numbers in registers of their own, one for each lane."""
        if self.count != self.lanes or e.dtype in HALVES or e.dtype == "bool":
            raise Scalar

        def number(n: int) -> Expr:
            here: dict[Expr, Expr] = {self.lane: const(n, self.lane.dtype)}
            return Load(e.source, tuple(self.simplify.at(i, here) for i in e.indices))

        return Build(self._type(e.dtype), tuple(map(number, range(self.lanes))))

    def _stored(self, e: Load) -> LoadVector:
        """Elements with the bits in memory."""
        t = self._type(MEMORY.get(e.dtype, e.dtype))
        index = e.indices[0] if e.indices else const(0)
        step = self.stride(index)
        return self._uneven(t, e, index) if step is None else self._even(t, e.source, self.base(index), step)

    def _look_up(self, e: Load, byte: Value, body: Body) -> Value:
        assert isinstance(e.source, Buffer)
        table_value = LookUp(self._type("uint8"), e.source, byte)
        return table_value if e.dtype == "uint8" else Bitcast(self._type(e.dtype), self._add(table_value, body))

    def _even(self, t: VectorType, source: Buffer, first: Expr, step: int) -> LoadVector:
        """Elements `step` apart. The first elements of one of `step` channels begin at a multiple of `step`: full vectors from
        there on are within the buffer, because the last element is."""
        if is_known(step) and 1 < step <= MOST and self.count == self.lanes and source.size % step == 0:
            terms, distance = self.simplify.linear(first)
            if all(k % step == 0 for k in terms.values()):
                number = distance % step
                base = self.simplify(first - number) if number else first
                return LoadVector(t, source, base, step, self.count, channel=Channel(step, number))
        return LoadVector(t, source, first, step, self.count)

    def _uneven(self, t: VectorType, e: Load, index: Expr) -> LoadVector:
        """Elements whose offsets differ from lane to lane by known numbers."""
        assert isinstance(e.source, Buffer)
        first = self.base(index)
        distances = []
        for n in range(self.count):
            here = self.simplify.at(self.simplify(index), {self.lane: const(n, self.lane.dtype)})
            terms, distance = self.simplify.linear(here - first)
            if terms:
                raise Scalar
            distances.append(as_integer(distance))
        least = min(distances)
        behind = tuple(p - least for p in distances)
        if self.count != self.lanes or find_shuffle(behind) is None:
            raise Scalar
        return LoadVector(t, e.source, first + least if least else first, 0, self.count, places=behind)

    def _binary(self, e: Binary, a: Value, b: Value, body: Body) -> Value:
        op, dtype = e.op, e.a.dtype
        if dtype == "bool":
            sign = {"and": "&", "or": "|"}.get(op, op)
            if sign in ("&", "|", "^", "==", "!="):
                self.has_logic = True
                width = max(a.type.bits, b.type.bits)
                masks = self.masked(a, width, body), self.masked(b, width, body)
                return Logic(self._type(f"int{width}"), sign, masks)
            raise Scalar
        if self._is_native(dtype):
            return self.halves.operation(op, a, b)
        t = self._type(dtype)
        if op in ("<", "<=", "==", "!="):
            return Compare(t.mask, op, a, b)
        if op in ("min", "max", "minimum", "maximum"):
            return self._apply(op, dtype, a, b)
        if dtypes.is_float(dtype):
            if op in ("+", "-", "*", "/"):
                return self._rounded(Arithmetic(t, op, a, b), dtype, body)
            raise Scalar
        if op in ("+", "-", "*", "&", "|", "^"):
            return Arithmetic(t, op, a, b)
        return self._shift(e, a, b) if op in ("<<", ">>") else self._division(e, a)

    def _shift(self, e: Binary, a: Value, b: Value) -> Value:
        t = self._type(e.dtype)
        if isinstance(e.b, Const) and 0 <= e.b.value < t.bits and (e.op == "<<" or e.dtype != "int64"):
            return Shift(t, e.op, a, e.b.int_value)
        if t.bits < 32:
            raise Scalar
        return self._apply(self.shift_function(e), e.dtype, a, b)

    def shift_function(self, e: Binary) -> str:
        """The function for a shift of 32 or 64 bits: one that takes any number of bits if necessary."""
        low, high = self.simplify.range(e.b)
        return _SHIFTS[e.op] + ("" if low >= 0 and high < dtypes.bits(e.dtype) else "_any")

    def _division(self, e: Binary, a: Value) -> Value:
        """A division by a literal power of two that rounds down."""
        value = e.b.int_value if isinstance(e.b, Const) else 0
        low, _ = self.simplify.range(e.a)
        down = e.op in ("floordiv", "floormod") or low >= 0 or dtypes.is_unsigned(e.dtype)
        if value <= 0 or value & (value - 1) or not down:
            raise Scalar
        t = self._type(e.dtype)
        return Shift(t, ">>", a, value.bit_length() - 1) if e.op in QUOTIENTS else Shift(t, "&", a, value - 1)

    def _select(self, e: Select, values_of: dict[Expr, Value], body: Body) -> Value:
        if not self.varies(e.cond):
            t = self._type(e.dtype)
            known = {k: v for k, v in values_of.items() if ir.is_at_hand(v)}
            then, other = Body(), Body()
            then.result = self._value(e.then, then, known)
            other.result = self._value(e.other, other, known)
            return Pick(t, e.cond, then, other)
        if e.lazy:
            raise Scalar
        values = values_of[e.cond], values_of[e.then], values_of[e.other]
        if e.dtype == "bool":
            width = max(v.type.bits for v in values)
            return Logic(self._type(f"int{width}"), "choose", tuple(self.masked(v, width, body) for v in values))
        mask = self.masked(values[0], self._type(e.dtype).bits, body)
        return self._apply("select", e.dtype, mask, *values[1:])

    def _call(self, e: Call, args: list[Value], body: Body) -> Value:
        if e.name == "reinterpret":
            source, target = e.args[0].dtype, e.dtype
            if dtypes.bits(source) != dtypes.bits(target) or {source, target} & {"bool", *HALVES}:
                raise Scalar
            return Bitcast(self._type(target), *args)
        if e.name in PACKS and e.dtype == "int32":
            return Pack(self._type("int32"), tuple(args))
        if e.name in DOTS and e.args[0].dtype == "int32":
            start = self._add(Splat(self._type(e.dtype), const(0, e.dtype)), body)
            return self._apply(e.name, e.dtype, start, *args)
        if self.native_halves:
            half_call = self.halves.call(e, args, body)
            if isinstance(half_call, Value):
                return half_call
            args = half_call
        chosen = self.function(e)
        if chosen is None:
            raise Scalar
        name, which = chosen
        dtype = compute_dtype(e.args[0].dtype)
        result = f"int{dtypes.bits(dtype)}" if e.dtype == "bool" else ""
        called = self._apply(name, dtype, *(args[n] for n in which), result=result)
        is_whole = e.name in WHOLE and not self._is_native(e.dtype)
        return called if is_whole else self._rounded(called, e.dtype, body)


def _between(source: str, target: str, lanes: int) -> list[str]:
    """Intermediate dtypes of a conversion of integers.

    gcc widens or narrows a vector by a factor of two in an instruction or two, but by a factor of four element by element. For
    int32 there is a function. The last dtype before floats is int32, which all processors convert.
    """
    width, target_width = dtypes.bits(source), dtypes.bits(target)
    sign = "u" if dtypes.is_unsigned(source) else ""
    if dtypes.is_float(source) or (width < 32 and target == "int32"):
        return []
    if dtypes.is_float(target):
        return ["int32"] if width < 32 else []
    # Processors with such wide vectors narrow them at once.
    if target_width < width:
        return [] if lanes * width >= 512 else [f"{sign}int{w}" for w in (32, 16) if target_width < w < width]
    return [f"{sign}int{w}" for w in (16, 32) if width < w < target_width]
