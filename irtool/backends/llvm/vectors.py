"""Prints the bodies of vectorized loops (`selection.vectors`) as instructions on LLVM's vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...selection.vectors import ir
from ...selection.vectors.channels import picks
from ...selection.vectors.squares import plan_square
from ...selection.vectors.types import MEMORY, VectorType
from ...symbolic_int import SymbolicInt
from ...tir import dtypes
from ...tir.expr import Const
from ...tir.native_halves import HALF
from ...tir.shuffles import Shuffle, find_shuffle
from ...tir.stmt import Buffer
from ..c_types import half_bits
from .builder import Builder, float_bits
from .expression import Expressions
from .formulas import write_formula
from .types import lane_type, literal, value_type, vector_type

_HALF_ARITHMETIC = {"add": "fadd", "subtract": "fsub", "multiply": "fmul", "divide": "fdiv"}
_HALF_COMPARISONS = {"less": "<", "less_equal": "<=", "equal": "==", "not_equal": "!="}
"""Functions of vectors of float16 by name (see `vectors.halves`)."""

_ROUNDING = {"floor", "ceil", "trunc", "round", "nearbyint", "sqrt", "fabs", "copysign"}
"""LLVM's own functions, for vectors too."""


class VectorPrinter:
    """Prints one body; `registers` are the stack slots of vectors."""

    def __init__(
        self,
        scalars: Expressions,
        place: Callable[[Buffer], str],
        registers: Mapping[ir.Register, str],
    ) -> None:
        self.scalars = scalars
        self.b: Builder = scalars.b
        self.place = place
        self.registers = registers
        self.values: dict[ir.Value, str] = {}

    def print(self, body: ir.Body) -> None:
        """The instructions of a body and of its inner bodies."""
        for s in body.steps:
            if isinstance(s, ir.Assign):
                self.b.do(f"store {_t(s.value)} {self.values[s.value]}, ptr {self.registers[s.register]}")
            elif isinstance(s, ir.StoreVector):
                self._store(s)
            else:
                self.values[s] = self._value(s)

    def print_square(self, s: ir.CopySquare) -> None:
        """The instructions that copy a square."""
        t = s.type
        start, to = self.scalars.index(s.start), self.scalars.index(s.to)
        whole, align = vector_type(*t), f"align {dtypes.itemsize(t.dtype)}"
        plan = plan_square(t, s.columns)

        def load(size: int, row: int, first: int) -> str:
            place = self._address(s.source, t, start, row * s.rows + first)
            return self._v(f"load {vector_type(t.dtype, size)}, ptr {place}, {align}")

        rows = [self._joined(t, [load(t.lanes // len(parts), *operand) for operand in parts]) for parts in plan.parts]
        for stage in plan.stages:
            before = list(rows)
            for x in stage:
                rows[x.low] = self._shuffled(t, before[x.a], before[x.b], x.lows)
                rows[x.high] = self._shuffled(t, before[x.a], before[x.b], x.highs)
        for k, row in enumerate(rows):
            self.b.do(f"store {whole} {row}, ptr {self._address(s.target, t, to, k * s.down)}, {align}")

    def _joined(self, t: VectorType, parts: list[str]) -> str:
        """Several vectors concatenated to one."""
        while len(parts) > 1:
            width = t.lanes // len(parts)
            half = VectorType(t.dtype, width)
            parts = [self._shuffled(half, a, b, range(2 * width)) for a, b in zip(parts[::2], parts[1::2])]
        return parts[0]

    def _v(self, text: str) -> str:
        return self.b.value(text)

    def _typed(self, *values: ir.Value) -> str:
        return f"{_t(values[0])} {', '.join(self.values[v] for v in values)}"

    # -- memory --------------------------------------------------------------------------------------------------------

    def _address(self, buffer: Buffer, type: VectorType, base: str, more: int = 0) -> str:
        place = self.b.element(value_type(type.dtype), self.place(buffer), base)
        return self.b.element(value_type(type.dtype), place, write_formula(self.b, more))

    def _store(self, s: ir.StoreVector) -> None:
        t, value = s.value.type, self.values[s.value]
        base = self.scalars.index(s.base)
        align = f"align {dtypes.itemsize(t.dtype)}"
        if s.stride == 1:
            first = self._some(value, t, range(s.count))
            self.b.do(f"store {vector_type(t.dtype, s.count)} {first}, ptr {self._address(s.buffer, t, base)}, {align}")
            return
        for n in range(s.count):
            one = self._v(f"extractelement {vector_type(*t)} {value}, i32 {n}")
            place = self._address(s.buffer, t, base, n * s.stride)
            self.b.do(f"store {value_type(t.dtype)} {one}, ptr {place}, {align}")

    def _load(self, v: ir.LoadVector) -> str:
        base = self.scalars.index(v.base)
        t = v.type
        if v.words:
            place = self._address(v.buffer, VectorType(MEMORY.get(v.buffer.dtype, v.buffer.dtype), 1), base)
            return self._v(f"load {vector_type(*t)}, ptr {place}, align 1")
        shuffle = find_shuffle(v.places) if v.places else None
        if shuffle is not None:
            return self._uneven(v, base, shuffle)
        if v.stride == 1:
            part = self._read(v, base, 0, v.count)
            if v.is_whole:
                return part
            lanes = [n if n < v.count else v.count for n in range(t.lanes)]
            return self._shuffled(VectorType(t.dtype, v.count), part, "zeroinitializer", lanes)
        if v.channel is not None:
            vectors = {k: self._read(v, base, k * t.lanes, t.lanes) for k in range(v.channel.count)}
            for pick in picks(v.channel, t.lanes):
                vectors[pick.result] = self._shuffled(t, vectors[pick.a], vectors[pick.b], pick.mask)
            return vectors[v.channel.last]
        if v.is_whole and v.stride == 2:
            a, b = self._read(v, base, 0, t.lanes), self._read(v, base, t.lanes - 1, t.lanes)
            return self._shuffled(t, a, b, [2 * k if 2 * k < t.lanes else 2 * k + 1 for k in range(t.lanes)])
        if v.is_whole and v.stride == 3:
            a, b, c = (self._read(v, base, lane, t.lanes) for lane in (0, t.lanes, 2 * t.lanes - 2))
            first = self._shuffled(t, a, b, [3 * k if 3 * k < 2 * t.lanes else 0 for k in range(t.lanes)])
            rest = [k if 3 * k < 2 * t.lanes else 3 * k - t.lanes + 2 for k in range(t.lanes)]
            return self._shuffled(t, first, c, rest)
        vector = "zeroinitializer"
        e = value_type(t.dtype)
        for n in range(v.count):
            place = self._address(v.buffer, t, base, n * v.stride)
            one = self._v(f"load {e}, ptr {place}, align {dtypes.itemsize(t.dtype)}")
            vector = self._v(f"insertelement {vector_type(*t)} {vector}, {e} {one}, i32 {n}")
        return vector

    def _uneven(self, v: ir.LoadVector, base: str, s: Shuffle) -> str:
        read = [self._read(v, base, start, s.width) for start in s.starts]
        if len(read) == 3:
            first, rest = s.halves()
            return self._shuffled(v.type, self._shuffled(v.type, read[0], read[1], first), read[2], rest)
        return self._shuffled(VectorType(v.type.dtype, s.width), read[0], read[-1], s.mask)

    def _read(self, v: ir.LoadVector, base: str, first: int, count: int) -> str:
        place = self._address(v.buffer, v.type, base, first)
        t = vector_type(v.type.dtype, count)
        return self._v(f"load {t}, ptr {place}, align {dtypes.itemsize(v.type.dtype)}")

    def _shuffled(self, t: VectorType, a: str, b: str, lanes: Sequence[int]) -> str:
        mask = f"<{len(lanes)} x i32> <{', '.join(f'i32 {n}' for n in lanes)}>"
        return self._v(f"shufflevector {vector_type(*t)} {a}, {vector_type(*t)} {b}, {mask}")

    def _some(self, value: str, t: VectorType, lanes: Sequence[int]) -> str:
        return value if len(lanes) == t.lanes else self._shuffled(t, value, "poison", lanes)

    # -- values --------------------------------------------------------------------------------------------------------

    def _value(self, v: ir.Value) -> str:
        t = _t(v)
        if isinstance(v, ir.Read):
            return self._v(f"load {t}, ptr {self.registers[v.register]}")
        if isinstance(v, ir.Lanes):
            return _listed(v.type, range(v.type.lanes))
        if isinstance(v, ir.Splat):
            return self._splat(v)
        if isinstance(v, ir.Build):
            return self._build(v)
        if isinstance(v, ir.LoadVector):
            return self._load(v)
        if isinstance(v, ir.LookUp):
            return self._look_up(v)
        if isinstance(v, ir.Pick):
            return self._pick(v)
        if isinstance(v, ir.Same):
            return self.values[v.value]
        if isinstance(v, ir.Bitcast):
            return self.values[v.value] if _t(v.value) == t else self._v(f"bitcast {self._typed(v.value)} to {t}")
        if isinstance(v, ir.Convert):
            return self._convert(v)
        if isinstance(v, ir.Compare):
            return self._mask(self._compare(v.op, v.a, v.b), v.type)
        if isinstance(v, ir.Arithmetic):
            return self._arithmetic(v)
        if isinstance(v, ir.Shift):
            names = {"<<": "shl", ">>": "lshr" if dtypes.is_unsigned(v.type.dtype) else "ashr", "&": "and"}
            return self._v(f"{names[v.op]} {self._typed(v.value)}, {_listed(v.type, [v.amount] * v.type.lanes)}")
        if isinstance(v, ir.Logic):
            return self._logic(v)
        if isinstance(v, ir.Unary):
            return self._unary(v)
        assert isinstance(v, ir.Apply)
        return self._apply(v)

    def _look_up(self, v: ir.LookUp) -> str:
        vector = "poison"
        for n in range(v.type.lanes):
            element = self._v(f"extractelement {self._typed(v.value)}, i32 {n}")
            place = self._address(v.buffer, v.type, self._v(f"zext i8 {element} to i64"))
            one = self._v(f"load i8, ptr {place}, align 1")
            vector = self._v(f"insertelement {_t(v)} {vector}, i8 {one}, i32 {n}")
        return vector

    def _build(self, v: ir.Build) -> str:
        vector, element = "poison", value_type(v.type.dtype)
        for n, e in enumerate(v.scalars):
            one = self.scalars.write(self.scalars.simplify(e))
            vector = self._v(f"insertelement {_t(v)} {vector}, {element} {one}, i32 {n}")
        return vector

    def _splat(self, v: ir.Splat) -> str:
        t, e = _t(v), lane_type(v.type.dtype)
        if isinstance(v.scalar, Const) and v.scalar.dtype != "bool" and not isinstance(v.scalar.value, SymbolicInt):
            return _listed(v.type, [v.scalar.value] * v.type.lanes)
        one = self.scalars.write(self.scalars.simplify(v.scalar))
        if v.type.dtype == HALF:
            one = self._v(f"fptrunc float {one} to {e}")
        elif v.scalar.dtype == "bool":
            one = self._v(f"sext i1 {one} to {e}")
        elif self.scalars.type(v.scalar.dtype) != e:
            one = self._v(f"trunc i64 {one} to {e}")
        first = self._v(f"insertelement {t} poison, {e} {one}, i32 0")
        return self._v(f"shufflevector {t} {first}, {t} poison, <{v.type.lanes} x i32> zeroinitializer")

    def _compare(self, op: str, a: ir.Value, b: ir.Value) -> str:
        """The bits of a comparison."""
        word = {"<": "lt", "<=": "le", "==": "eq", "!=": "ne"}[op]
        if dtypes.is_float(a.type.dtype):
            return self._v(f"fcmp {'une' if op == '!=' else 'o' + word} {self._typed(a, b)}")
        sign = "" if op in ("==", "!=") else "u" if dtypes.is_unsigned(a.type.dtype) else "s"
        return self._v(f"icmp {sign}{word} {self._typed(a, b)}")

    def _mask(self, bits: str, t: VectorType) -> str:
        return self._v(f"sext <{t.lanes} x i1> {bits} to {vector_type(*t)}")

    def _holds(self, mask: ir.Value) -> str:
        """The bits of a mask."""
        return self._v(f"icmp ne {self._typed(mask)}, zeroinitializer")

    def _arithmetic(self, v: ir.Arithmetic) -> str:
        if dtypes.is_float(v.type.dtype):
            name = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}[v.op]
            return self._v(f"{name} {self.scalars.flags}{self._typed(v.a, v.b)}")
        name = {"+": "add", "-": "sub", "*": "mul", "&": "and", "|": "or", "^": "xor"}[v.op]
        return self._v(f"{name} {self._typed(v.a, v.b)}")

    def _logic(self, v: ir.Logic) -> str:
        if v.op == "choose":
            return self._v(f"select <{v.type.lanes} x i1> {self._holds(v.values[0])}, {self._both(*v.values[1:])}")
        if v.op in ("==", "!="):
            return self._mask(self._compare(v.op, *v.values), v.type)
        return self._v(f"{ {'&': 'and', '|': 'or', '^': 'xor'}[v.op] } {self._typed(*v.values)}")

    def _both(self, a: ir.Value, b: ir.Value) -> str:
        return f"{_t(a)} {self.values[a]}, {_t(b)} {self.values[b]}"

    def _unary(self, v: ir.Unary) -> str:
        t, lanes = v.type, v.type.lanes
        if v.op == "not":
            return self._v(f"xor {self._typed(v.value)}, {_listed(t, [-1] * lanes)}")
        if v.op == "is_set":
            return self._mask(self._holds(v.value), t)
        if v.op == "byte":
            return self._v(f"and {self._typed(v.value)}, {_listed(t, [1] * lanes)}")
        one, zero = (f"{_t(v)} {_listed(t, [n] * lanes)}" for n in (1, 0))
        return self._v(f"select <{lanes} x i1> {self._holds(v.value)}, {one}, {zero}")

    def _convert(self, v: ir.Convert) -> str:
        s, t = v.value.type, v.type
        if dtypes.is_float(s.dtype):
            if dtypes.is_float(t.dtype):
                how = "fpext" if t.bits > s.bits else "fptrunc"
            else:
                how = "fptoui" if dtypes.is_unsigned(t.dtype) else "fptosi"
        elif dtypes.is_float(t.dtype):
            how = "uitofp" if dtypes.is_unsigned(s.dtype) else "sitofp"
        elif s.bits == t.bits:
            return self.values[v.value]
        else:
            how = "trunc" if t.bits < s.bits else "zext" if dtypes.is_unsigned(s.dtype) else "sext"
        return self._v(f"{how} {self._typed(v.value)} to {_t(v)}")

    def _apply(self, v: ir.Apply) -> str:
        name, dtype, lanes = v.function
        t, bits = vector_type(dtype, lanes), f"<{lanes} x i1>"
        if name == "select":
            return self._v(f"select {bits} {self._holds(v.args[0])}, {self._both(*v.args[1:])}")
        if name in ("min", "max", "minimum", "maximum"):
            return self._extreme(name, dtype, bits, *v.args)
        if name in _ROUNDING:
            return self._intrinsic(name, t, dtype, lanes, v.args)
        if name == "rsqrt":
            root = self._intrinsic("sqrt", t, dtype, lanes, v.args)
            return self._v(f"fdiv {t} {_listed(VectorType(dtype, lanes), [1.0] * lanes)}, {root}")
        if name == "isnan":
            return self._mask(self._v(f"fcmp uno {self._typed(v.args[0], v.args[0])}"), v.type)
        if name in ("isinf", "isfinite"):
            size = self._intrinsic("fabs", t, dtype, lanes, v.args)
            infinite = _listed(VectorType(dtype, lanes), [float("inf")] * lanes)
            return self._mask(self._v(f"fcmp {'oeq' if name == 'isinf' else 'olt'} {t} {size}, {infinite}"), v.type)
        if dtype == HALF and name in _HALF_ARITHMETIC:  # each result is rounded: nothing is contracted
            return self._v(f"{_HALF_ARITHMETIC[name]} {self._typed(*v.args)}")
        if dtype == HALF and name in _HALF_COMPARISONS:
            return self._mask(self._compare(_HALF_COMPARISONS[name], *v.args), v.type)
        if HALF in (v.type.dtype, v.args[0].type.dtype) and name in ("h2f", "f2h"):
            return self._v(f"{'fpext' if name == 'h2f' else 'fptrunc'} {self._typed(v.args[0])} to {_t(v)}")
        symbol = self.scalars.library.vector(name, dtype, lanes)
        return self._v(f"call {_t(v)} {symbol}({', '.join(f'{_t(a)} {self.values[a]}' for a in v.args)})")

    def _extreme(self, name: str, dtype: str, bits: str, a: ir.Value, b: ir.Value) -> str:
        least = name in ("min", "minimum")
        if dtypes.is_float(dtype):
            first = self._v(f"fcmp {'olt' if least else 'ogt'} {self._typed(a, b)}")
            if name in ("minimum", "maximum"):
                nan = self._v(f"fcmp uno {self._typed(a, a)}")
                first = self._v(f"or {bits} {first}, {nan}")
        else:
            sign = "u" if dtypes.is_unsigned(dtype) else "s"
            first = self._v(f"icmp {sign}{'lt' if least else 'gt'} {self._typed(a, b)}")
        return self._v(f"select {bits} {first}, {self._both(a, b)}")

    def _intrinsic(self, name: str, t: str, dtype: str, lanes: int, args: Sequence[ir.Value]) -> str:
        symbol = f"llvm.{name}.v{lanes}f{dtypes.bits(dtype)}"
        self.scalars.library.outside(f"declare {t} @{symbol}({', '.join([t] * len(args))})")
        return self._v(f"call {t} @{symbol}({', '.join(f'{t} {self.values[a]}' for a in args)})")

    def _pick(self, v: ir.Pick) -> str:
        b = self.b
        then, other, end = (b.fresh(n) for n in ("then", "else", "end"))
        b.branch(self.scalars.write(self.scalars.simplify(v.cond)), then, other)
        ends = []
        for label, part in ((then, v.then), (other, v.other)):
            assert part.result is not None
            b.start(label)
            self.print(part)
            ends.append(f"[ {self.values[part.result]}, %{b.block} ]")
            b.jump(end)
        b.start(end)
        return self._v(f"phi {_t(v)} {', '.join(ends)}")


def _t(v: ir.Value) -> str:
    return vector_type(*v.type)


def _listed(t: VectorType, values: Sequence[int | float]) -> str:
    """A constant vector."""
    e = lane_type(t.dtype)
    if all(v == 0 and str(v)[0] != "-" for v in values):
        return "zeroinitializer"
    if e == "half":
        texts = [f"0xH{half_bits(v):04X}" for v in values]
    elif dtypes.is_float(t.dtype):
        texts = [float_bits(float(v), e == "float") for v in values]
    else:
        texts = [literal(v, t.dtype) for v in values]
    return f"<{', '.join(f'{e} {x}' for x in texts)}>"
