"""Prints the bodies of vectorized loops (`selection.vectors`) in GCC's vector types."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...selection.vectors import ir
from ...selection.vectors.types import VectorType
from ...symbolic_int import SymbolicInt
from ...tir import dtypes
from ...tir.expr import Cast, Const, Expr, Load, post_order
from ...tir.native_halves import HALF
from ...tir.stmt import Buffer, Scope
from ..c_types import bare, enclose, half_bits, literal, value_type
from ..formulas.support import HOLD, TO_BITS
from ..formulas.vector_math import types as types_of
from ..formulas.vector_types import vector_type
from .expression import Writer


class VectorPrinter:
    """Prints one body. `types` collects its vector types; a `named` value becomes a variable."""

    def __init__(
        self,
        scalars: Writer,
        place: Callable[[Buffer], str],
        element: Callable[[Buffer, str], str],
        registers: Mapping[ir.Register, str],
        types: dict[tuple[str, int], None],
    ) -> None:
        self.scalars = scalars
        self.place = place
        self.element = element
        self.registers = registers
        self.types = types
        self.text: dict[ir.Value, str] = {}
        self.addresses: dict[ir.LoadVector, str] = {}
        """The addresses of loads of contiguous elements."""
        self.declares = False
        """True if some statement declares a variable."""

    def print(self, body: ir.Body) -> list[str]:
        """C statements of a body and of its inner bodies."""
        lines: list[str] = []
        for s in body.steps:
            if isinstance(s, ir.Assign):
                lines.append(f"{self.registers[s.register]} = {bare(self.text[s.value])};")
            elif isinstance(s, ir.StoreVector):
                lines += self._store(s)
            else:
                text = self._value(s, lines)
                if s.named:
                    name = self.scalars.names.fresh("v")
                    hold = isinstance(s, ir.LoadVector) and s.stays_in_register
                    self._declare(f"{'' if hold else 'const '}{self._type(s.type)} {name} = {bare(text)};", lines)
                    if hold:
                        lines.append(f"{self.scalars.helper(HOLD, name)};")
                    text = name
                self.text[s] = text
        return lines

    def print_square(self, s: ir.CopySquare) -> list[str]:
        """C statements that copy a square."""
        lines: list[str] = []
        to = f"{self.place(s.target)} + {self._scalar(s.to, lines)}"
        start = f"{self.place(s.source)} + {self._scalar(s.start, lines)}"
        return [*lines, f"{self._function(s.function, to, str(s.down), start, str(s.rows))};"]

    def _declare(self, statement: str, lines: list[str]) -> None:
        self.declares = True
        lines.append(statement)

    def _type(self, t: VectorType) -> str:
        self.types[t] = None
        return vector_type(*t)

    def _function(self, function: ir.Function, *args: str) -> str:
        """A call of the function."""
        name, dtype, lanes = function
        t = VectorType(dtype, lanes)
        self.types.update(dict.fromkeys((t.mask, *sorted(types_of(*function)))))
        return f"irt_v{name}_{self._type(t)[4:]}({', '.join(bare(a) for a in args)})"

    def _scalar(self, e: Expr, lines: list[str]) -> str:
        before, (text,) = self.scalars.write([self.scalars.simplify(e)])
        self.declares |= bool(before)
        lines += before
        return text if text.isidentifier() or text.isdigit() else enclose(text)

    def _store(self, s: ir.StoreVector) -> list[str]:
        narrowed = ir.narrowed_value(s)
        value, lines = self.text[narrowed or s.value], []  # type: str, list[str]
        t = self._type(s.value.type)
        base = self._scalar(s.base, lines)
        place = self.place(s.buffer)
        function = ir.store_function(s)
        if function is not None and narrowed is not None:
            return [*lines, f"{self._function(function, f'{place} + {base}', value)};"]
        if s.is_whole and s.stride == 1:
            return [*lines, f"*({t}_u *)({place} + {base}) = {bare(value)};"]
        if function is not None:
            return [*lines, f"{self._function(function, f'{place} + {base}', value, str(s.count))};"]
        name = self.scalars.names.fresh("v")
        self._declare(f"const {t} {name} = {bare(value)};", lines)
        return [*lines, *(f"{place}[{bare(base)} + {n * s.stride}] = {name}[{n}];" for n in range(s.count))]

    def _value(self, v: ir.Value, lines: list[str]) -> str:
        """The C expression of a value; statements that it needs are appended."""
        if isinstance(v, ir.Read):
            return self.registers[v.register]
        t = self._type(v.type)
        if isinstance(v, ir.Lanes):
            return enclose(f"({t}){{{', '.join(map(str, range(v.type.lanes)))}}}")
        if isinstance(v, ir.Splat):
            scalar = self._bits(v.scalar, lines) if v.type.dtype == HALF else self._in_every_lane(v.scalar, lines)
            return enclose(f"{scalar} - ({t}){{0}}")
        if isinstance(v, ir.Build):
            return enclose(f"({t}){{{', '.join(bare(self._scalar(e, lines)) for e in v.scalars)}}}")
        if isinstance(v, ir.LoadVector):
            return self._load(v, t, lines)
        if isinstance(v, ir.LookUp):
            self.types[v.type.mask] = None
            return self._function(v.function, f"(const uint8_t *){self.place(v.buffer)}", self.text[v.value])
        if isinstance(v, ir.Pick):
            return self._pick(v, t, lines)
        if isinstance(v, ir.Same):
            return self.text[v.value]
        if isinstance(v, ir.Bitcast):
            return enclose(f"({t}){self.text[v.value]}")
        if isinstance(v, ir.Convert):
            function = ir.convert_function(v)
            if function is not None:
                load = ir.widened_load(v)
                return self._function(function, self.text[v.value] if load is None else self.addresses[load])
            return f"__builtin_convertvector({bare(self.text[v.value])}, {t})"
        if isinstance(v, ir.Compare):
            return enclose(f"{self.text[v.a]} {v.op} {self.text[v.b]}")
        function = ir.function_of(v)
        scaled = ir.scaled_sum(v) if isinstance(v, ir.Arithmetic) else None
        if scaled is not None and function is not None:
            return self._function(function, *(self.text[x] for x in scaled))
        if isinstance(v, ir.Arithmetic):
            return self._wrapping(v.type, v.op, self.text[v.a], f"{self.text[v.b]}", v.op in "+-*")
        if isinstance(v, ir.Shift):
            return self._wrapping(v.type, v.op, self.text[v.value], str(v.amount), v.op == "<<")
        if isinstance(v, ir.Logic):
            return self._logic(v)
        if isinstance(v, ir.Unary):
            return self._unary(v, t)
        assert isinstance(v, ir.Apply)
        args = [self.text[a] for a in v.args]
        if v.function[0] == "select":
            args[0] = f"({self._type(v.type.mask)}){args[0]}"
        return self._function(v.function, *args)

    def _in_every_lane(self, e: Expr, lines: list[str]) -> str:
        if e.dtype == "bool":
            return f"-{self._scalar(e, lines)}"
        scalar = literal(e.value, e.dtype) if isinstance(e, Const) else self._scalar(e, lines)
        if not dtypes.is_float(e.dtype) and _has_formula(e):
            return f"({value_type(e.dtype)})({bare(scalar)})"  # formulas are int64_t, and no other integer converts to a vector
        return scalar

    def _bits(self, e: Expr, lines: list[str]) -> str:
        """The bits of a float16 scalar; those in memory if it is an element."""
        if isinstance(e, Const):
            return str(half_bits(e.value))
        if isinstance(e, Cast) and e.value.dtype == "float32":
            return self.scalars.helper(TO_BITS[HALF], self._scalar(e.value, lines))
        if isinstance(e, Load) and e.indices and e.source.scope != Scope.REGISTER:
            return self.element(e.source, bare(self._scalar(e.indices[0], lines)))
        return self.scalars.helper(TO_BITS[HALF], self._scalar(e, lines))

    def _wrapping(self, t: VectorType, op: str, a: str, b: str, may_overflow: bool) -> str:
        """A sum, difference or product of signed integers by unsigned ones, which may overflow."""
        if not may_overflow or dtypes.is_float(t.dtype) or dtypes.is_unsigned(t.dtype):
            return enclose(f"{a} {op} {b}")
        u = self._type(VectorType(f"u{t.dtype}", t.lanes))
        right = b if op == "<<" else f"({u}){b}"
        return enclose(f"({self._type(t)})(({u}){a} {op} {right})")

    def _logic(self, v: ir.Logic) -> str:
        texts = [self.text[x] for x in v.values]
        if v.op == "choose":
            m, a, b = texts
            return enclose(f"({m} & {a}) | (~{m} & {b})")
        return enclose(f"{texts[0]} {v.op} {texts[1]}")

    def _unary(self, v: ir.Unary, t: str) -> str:
        value = self.text[v.value]
        if v.op == "not":
            return enclose(f"~{value}")
        if v.op == "is_set":
            return enclose(f"{value} != 0")
        if v.op == "byte":
            return f"({t})({value} & 1)"
        one = f"({half_bits(1) if v.type.dtype == HALF else literal(1, v.type.dtype)} - ({t}){{0}})"
        return enclose(f"({t})({value} & ({self._type(v.type.mask)}){one})")

    def _load(self, v: ir.LoadVector, t: str, lines: list[str]) -> str:
        base = self._scalar(v.base, lines)
        place = self.place(v.buffer)
        function = ir.load_function(v)
        if function is not None:
            return self._function(function, f"{place} + {base}")
        if v.is_whole and v.stride == 1:
            self.addresses[v] = f"{place} + {base}"
            return f"*(const {t}_u *)({place} + {base})"
        items = ", ".join(self.element(v.buffer, f"{bare(base)} + {n * v.stride}") for n in range(v.count))
        return enclose(f"({t}){{{items}}}")

    def _pick(self, v: ir.Pick, t: str, lines: list[str]) -> str:
        cond = self._scalar(v.cond, lines)
        name = self.scalars.names.fresh("v")
        self._declare(f"{t} {name};", lines)
        lines.append(f"if ({bare(cond)}) {{")
        for part, end in ((v.then, "} else {"), (v.other, "}")):
            assert part.result is not None
            lines += ["  " + x for x in self.print(part)]
            lines += [f"  {name} = {bare(self.text[part.result])};", end]
        return name


def _has_formula(e: Expr) -> bool:
    """True if a length of the run is in an expression."""
    return any(isinstance(x, Const) and isinstance(x.value, SymbolicInt) for x in post_order(e))
