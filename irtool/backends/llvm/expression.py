"""Scalar expressions as LLVM instructions.

An expression is a DAG; every node is computed once. Nodes of a branch that may not be evaluated (`if_then_else`, the right of
`and`/`or`) are computed in blocks of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from ...diagnostics import IrError
from ...selection.nests import strict_order
from ...selection.scalars import Support, is_rounded, support_of
from ...selection.vectors.types import HALVES
from ...symbolic_int import SymbolicInt
from ...tir import dtypes
from ...tir.expr import Binary, Call, Cast, Const, Expr, Load, Not, Select, Var, children
from ...tir.int16_dot import PACK_WIDE
from ...tir.intrinsics import PRODUCT
from ...tir.simplify import Simplifier
from ...tir.word_functions import DOTS
from ...trampoline import trampoline
from ..formulas.support import FROM_BITS, TO_BITS, Helper
from ..libm import LIBM
from .builder import Builder, float_bits
from .formulas import write_formula
from .library import Library
from .types import literal, value_type

_INTRINSICS = {"sqrt", "fabs", "floor", "ceil", "trunc", "round", "nearbyint", "copysign"}
"""LLVM's own functions with exactly the results of libm."""
_COMPARE = {"<": "lt", "<=": "le", "==": "eq", "!=": "ne"}
_FLOAT = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
_DIVISIONS = {"floordiv": "div", "truncdiv": "div", "floormod": "rem", "truncmod": "rem"}
_INT = {"+": "add", "-": "sub", "*": "mul", "&": "and", "|": "or", "^": "xor"}


class Expressions:
    """Writes the expressions of one function.

    `load` returns the element at a computed index; `wide`: int32 is computed in 64 bits, as indices may be that large;
    `contract`: products and sums may be rounded once.
    """

    def __init__(
        self,
        builder: Builder,
        library: Library,
        simplify: Simplifier,
        load: Callable[[Load, Sequence[str]], str],
        wide: bool,
        contract: bool,
    ) -> None:
        self.b = builder
        self.library = library
        self.simplify = simplify
        self.load = load
        self.wide = wide
        self.flags = "contract " if contract else ""
        self.variables: dict[Expr, str] = {}

    def type(self, dtype: str) -> str:
        """The type in which numbers of the dtype are computed."""
        return "i64" if self.wide and dtype == "int32" else value_type(dtype)

    def write(self, e: Expr) -> str:
        """The operand of an expression."""
        return trampoline(self._scope([e], {}))[0]

    def index(self, e: Expr) -> str:
        """The operand of an index, as i64."""
        e = self.simplify(e)
        if isinstance(e, Const):
            return write_formula(self.b, e.int_value)
        value = self.write(e)
        return value if self.type(e.dtype) == "i64" else self.b.value(f"sext {self.type(e.dtype)} {value} to i64", "i")

    # -- scopes --------------------------------------------------------------------------------------------------------

    def _scope(self, roots: Sequence[Expr], outer: dict[Expr, str]) -> Generator[Any, Any, list[str]]:
        texts = dict(outer)
        order, _ = strict_order(roots, texts)
        for e in order:
            if e in texts:
                continue
            if isinstance(e, Select) and e.lazy:
                texts[e] = yield self._branches(e, texts)
            elif isinstance(e, Binary) and e.op in ("and", "or"):
                texts[e] = yield self._short_circuit(e, texts)
            else:
                texts[e] = self._one(e, [texts[k] for k in children(e)])
        return [texts[r] for r in roots]

    def _branches(self, e: Select, values: dict[Expr, str]) -> Generator[Any, Any, str]:
        b = self.b
        then, other, end = (b.fresh(n) for n in ("then", "else", "end"))
        b.branch(values[e.cond], then, other)
        b.start(then)
        (first,) = yield self._scope([e.then], values)
        then_block = b.block
        b.jump(end)
        b.start(other)
        (second,) = yield self._scope([e.other], values)
        other_block = b.block
        b.start(end)
        return b.value(f"phi {self.type(e.dtype)} [ {first}, %{then_block} ], [ {second}, %{other_block} ]")

    def _short_circuit(self, e: Binary, values: dict[Expr, str]) -> Generator[Any, Any, str]:
        b = self.b
        more, end = b.fresh("more"), b.fresh("end")
        before = b.block
        b.branch(values[e.a], *((more, end) if e.op == "and" else (end, more)))
        b.start(more)
        (right,) = yield self._scope([e.b], values)
        after = b.block
        b.start(end)
        known = "false" if e.op == "and" else "true"
        return b.value(f"phi i1 [ {known}, %{before} ], [ {right}, %{after} ]")

    # -- nodes ---------------------------------------------------------------------------------------------------------

    def _one(self, e: Expr, kids: list[str]) -> str:
        if isinstance(e, Const):
            return self._formula(e.value, e.dtype) if isinstance(e.value, SymbolicInt) else literal(e.value, e.dtype)
        if isinstance(e, Var):
            return self.variables[e]
        if isinstance(e, Load):
            return self.load(e, kids)
        if isinstance(e, Not):
            return self.b.value(f"xor i1 {kids[0]}, true")
        if isinstance(e, Select):
            t = self.type(e.dtype)
            return self.b.value(f"select i1 {kids[0]}, {t} {kids[1]}, {t} {kids[2]}")
        assert isinstance(e, Binary | Cast | Call)
        value = self._operation(e, kids)
        return self.helper(Helper("round", (e.dtype,)), "float", ("float", value)) if is_rounded(e) else value

    def _formula(self, value: SymbolicInt, dtype: str) -> str:
        """An extent that the run knows, as a number of the dtype, which holds it."""
        operand, t = write_formula(self.b, value), self.type(dtype)
        if dtypes.is_float(dtype):
            return self.b.value(f"sitofp i64 {operand} to {t}")
        return operand if t == "i64" else self.b.value(f"trunc i64 {operand} to {t}")

    def _operation(self, e: Binary | Cast | Call, kids: list[str]) -> str:
        support = None if e.dtype == "bool" else support_of(e, self.simplify, self.wide)
        if support is not None:
            return self._support(e, support, kids)
        if isinstance(e, Binary):
            return self._binary(e, *kids)
        return self._cast(e, kids[0]) if isinstance(e, Cast) else self._call(e, kids)

    def _support(self, e: Binary | Cast | Call, support: Support, kids: list[str]) -> str:
        """A call of a support function, which computes in the width of its dtype."""
        name, about = support
        args = [(value_type(e.dtype), literal(0, e.dtype))] if name in DOTS else []
        if isinstance(e, Binary) and about != (e.dtype,):  # in 64 bits, as indices are
            t = value_type(about[0])
            return self.helper(Helper(*support), t, *((t, k) for k in kids))
        args += [self._operand(k, x.dtype, name) for k, x in zip(kids, children(e), strict=True)]
        result = "float" if name == "odd" else value_type(e.dtype)
        return self._widened(self.helper(Helper(*support), result, *args), e.dtype)

    def helper(self, helper: Helper, result: str, *args: tuple[str, str]) -> str:
        """A call of a support function: the type of its result, and types with operands."""
        arguments = ", ".join(f"{t} {a}" for t, a in args)
        return self.b.value(f"call {result} {self.library.scalar(helper)}({arguments})")

    def _binary(self, e: Binary, a: str, b: str) -> str:
        op, dtype = e.op, e.a.dtype
        t = self.type(dtype)
        unsigned = dtypes.is_unsigned(dtype) or t == "i1"
        if op in _COMPARE:
            if dtypes.is_float(dtype):
                return self.b.value(f"fcmp {'une' if op == '!=' else 'o' + _COMPARE[op]} {t} {a}, {b}")
            sign = "" if op in ("==", "!=") else "u" if unsigned else "s"
            return self.b.value(f"icmp {sign}{_COMPARE[op]} {t} {a}, {b}")
        if op in ("min", "max", "minimum", "maximum"):
            return self._extreme(op, t, a, b, unsigned)
        if dtypes.is_float(dtype):
            return self.b.value(f"{_FLOAT[op]} {self.flags}{t} {a}, {b}")
        if op in _INT:
            keeps = op in "+-*" and not unsigned and (self.simplify.never_wraps(e) or (t == "i64" and dtype == "int32"))
            return self.b.value(f"{_INT[op]} {'nsw ' if keeps else ''}{t} {a}, {b}")
        if op in _DIVISIONS:
            return self.b.value(f"{'u' if unsigned else 's'}{_DIVISIONS[op]} {t} {a}, {b}")
        if op == ">>":
            return self.b.value(f"{'lshr' if unsigned else 'ashr'} {t} {a}, {b}")
        raise IrError(f"no LLVM IR for {op} on {dtype}")

    def _widened(self, value: str, dtype: str) -> str:
        """A value in the dtype's own width, converted to the type of arithmetic."""
        return self.b.value(f"sext i32 {value} to i64") if self.wide and dtype == "int32" else value

    def _narrowed(self, value: str, dtype: str) -> str:
        return self.b.value(f"trunc i64 {value} to i32") if self.wide and dtype == "int32" else value

    def _extreme(self, op: str, t: str, a: str, b: str, unsigned: bool) -> str:
        least = op in ("min", "minimum")
        if t in ("float", "double"):
            first = self.b.value(f"fcmp {'olt' if least else 'ogt'} {t} {a}, {b}")
            if op in ("minimum", "maximum"):
                nan = self.b.value(f"fcmp uno {t} {a}, {a}")
                first = self.b.value(f"or i1 {first}, {nan}")
        else:
            first = self.b.value(f"icmp {'u' if unsigned else 's'}{'lt' if least else 'gt'} {t} {a}, {b}")
        return self.b.value(f"select i1 {first}, {t} {a}, {t} {b}")

    def _cast(self, e: Cast, value: str) -> str:
        source, target = e.value.dtype, e.dtype
        s, t = self.type(source), self.type(target)
        if dtypes.is_float(source):
            if t == "i1":
                return self.b.value(f"fcmp une {s} {value}, {float_bits(0.0, True)}")
            return value if s == t else self.b.value(f"{'fpext' if t == 'double' else 'fptrunc'} {s} {value} to {t}")
        unsigned = dtypes.is_unsigned(source) or s == "i1"
        if dtypes.is_float(target):
            return self.b.value(f"{'ui' if unsigned else 'si'}tofp {s} {value} to {t}")
        if t == "i1":
            return value if s == "i1" else self.b.value(f"icmp ne {s} {value}, 0")
        bits, target_bits = int(s[1:]), int(t[1:])
        if bits == target_bits:
            return value
        how = "trunc" if target_bits < bits else "zext" if unsigned else "sext"
        return self.b.value(f"{how} {s} {value} to {t}")

    def _call(self, e: Call, kids: list[str]) -> str:
        name, dtype = e.name, e.dtype
        source = e.args[0].dtype
        s, t = self.type(source), self.type(dtype)
        if name == "isnan":
            return self.b.value(f"fcmp uno {s} {kids[0]}, {kids[0]}")
        if name in ("isinf", "isfinite"):
            size = self._outside("fabs", s, kids)
            return self.b.value(
                f"fcmp {'oeq' if name == 'isinf' else 'olt'} {s} {size}, {float_bits(float('inf'), True)}"
            )
        if name == "reinterpret":
            return self._reinterpret(source, dtype, kids[0])
        if not dtypes.is_float(dtype):
            raise IrError(f"no LLVM IR for {name} of {dtype}")
        if name == "rsqrt":
            return self.b.value(f"fdiv {t} {literal(1.0, 'float32')}, {self._outside('sqrt', t, kids)}")
        if name == "exp10":
            return self._outside("pow", t, [literal(10.0, "float64"), kids[0]])
        if name == PRODUCT:
            return self.b.value(f"fmul {t} {kids[0]}, {kids[1]}")  # no flag: the product is not contracted
        if name in LIBM:
            return self._outside(LIBM[name], t, kids)
        raise IrError(f"no LLVM IR for the intrinsic {name}")

    def _operand(self, value: str, source: str, function: str) -> tuple[str, str]:
        """An operand of a function of words; `pack2_i16` takes bytes, too."""
        if function == PACK_WIDE and dtypes.bits(source) == 8:
            how = "zext" if dtypes.is_unsigned(source) else "sext"
            return "i16", self.b.value(f"{how} i8 {value} to i16")
        return value_type(source), self._narrowed(value, source)

    def _outside(self, name: str, t: str, args: Sequence[str]) -> str:
        """A call of a function of libm, or of LLVM's own equivalent."""
        symbol = (
            f"llvm.{name}.{'f32' if t == 'float' else 'f64'}" if name in _INTRINSICS else name + "f" * (t == "float")
        )
        self.library.outside(f"declare {t} @{symbol}({', '.join([t] * len(args))})")
        return self.b.value(f"call {t} @{symbol}({', '.join(f'{t} {a}' for a in args)})")

    def _reinterpret(self, source: str, target: str, value: str) -> str:
        s, t = self.type(source), self.type(target)
        if source in HALVES:
            bits = self.helper(TO_BITS[source], "i16", ("float", value))
            return self._reinterpret("uint16", target, bits)
        if target in HALVES:
            return self.helper(FROM_BITS[target], "float", ("i16", value))
        if s == t:
            return value
        if self.wide and "i64" in (s, t) and "int32" in (source, target):
            narrow = self._narrowed(value, source)
            return self._widened(self.b.value(f"bitcast {value_type(source)} {narrow} to {value_type(target)}"), target)
        return self.b.value(f"bitcast {s} {value} to {t}")
