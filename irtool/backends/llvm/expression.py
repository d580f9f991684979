"""Scalar expressions as LLVM instructions.

An expression is a DAG; every node is computed once. What stands in a branch that may not be evaluated (`if_then_else`, the
right of `and`/`or`) is computed in blocks of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from ...diagnostics import IrError
from ...selection.nests import strict_order
from ...selection.vectors.lower import WHOLE
from ...selection.vectors.types import HALVES
from ...tir import dtypes
from ...tir.expr import QUOTIENTS, Binary, Call, Cast, Const, Expr, Load, Not, Select, Var, children
from ...tir.int16_dot import PACK_WIDE
from ...tir.intrinsics import PRODUCT
from ...tir.simplify import Simplifier
from ...tir.word_functions import DOTS, WORD_FUNCTIONS
from ...trampoline import trampoline
from ..formulas.support import FROM_BITS, TO_BITS, Helper
from ..libm import LIBM
from .builder import Builder, float_bits
from .library import Library
from .types import literal, value_type

_INTRINSICS = {"sqrt", "fabs", "floor", "ceil", "trunc", "round", "nearbyint", "copysign"}
"""Functions that LLVM has itself, with exactly the results of libm."""
_COMPARE = {"<": "lt", "<=": "le", "==": "eq", "!=": "ne"}
_FLOAT = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
_INT = {"+": "add", "-": "sub", "*": "mul", "&": "and", "|": "or", "^": "xor"}


class Expressions:
    """Writes the expressions of one function. `load` gives the value of an element whose index is computed; `wide`: int32 is
    computed in 64 bits, as indices may be that large; `contract`: products and sums may be rounded once."""

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
        """The type that numbers of the dtype are computed in."""
        return "i64" if self.wide and dtype == "int32" else value_type(dtype)

    def write(self, e: Expr) -> str:
        """The operand of an expression."""
        return trampoline(self._scope([e], {}))[0]

    def index(self, e: Expr) -> str:
        """The operand of an index, as i64."""
        e = self.simplify(e)
        if isinstance(e, Const):
            return str(int(e.value))
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
            return literal(e.value, e.dtype)
        if isinstance(e, Var):
            return self.variables[e]
        if isinstance(e, Load):
            return self.load(e, kids)
        if isinstance(e, Binary):
            return self._binary(e, *kids)
        if isinstance(e, Not):
            return self.b.value(f"xor i1 {kids[0]}, true")
        if isinstance(e, Select):
            t = self.type(e.dtype)
            return self.b.value(f"select i1 {kids[0]}, {t} {kids[1]}, {t} {kids[2]}")
        if isinstance(e, Cast):
            return self._cast(e, kids[0])
        assert isinstance(e, Call)
        return self._call(e, kids)

    def helper(self, helper: Helper, result: str, *args: tuple[str, str]) -> str:
        """A call of a support function: the type of its result, and types with operands."""
        arguments = ", ".join(f"{t} {a}" for t, a in args)
        return self.b.value(f"call {result} {self.library.scalar(helper)}({arguments})")

    def rounded(self, value: str, dtype: str) -> str:
        """A float as a 16-bit one holds it."""
        return self.helper(Helper("round", (dtype,)), "float", ("float", value)) if dtype in HALVES else value

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
            return self.rounded(self.b.value(f"{_FLOAT[op]} {self.flags}{t} {a}, {b}"), dtype)
        if op in _INT:
            keeps = op in "+-*" and not unsigned and (self.simplify.never_wraps(e) or (t == "i64" and dtype == "int32"))
            return self.b.value(f"{_INT[op]} {'nsw ' if keeps else ''}{t} {a}, {b}")
        if op in ("floordiv", "floormod", "truncdiv", "truncmod"):
            low, _ = self.simplify.range(e.a)
            divisor, _ = self.simplify.range(e.b)
            if divisor > 0 and (low >= 0 or op in ("truncdiv", "truncmod")):
                return self.b.value(f"{'u' if unsigned else 's'}{'div' if op in QUOTIENTS else 'rem'} {t} {a}, {b}")
            return self._help_ints(op, dtype, a, b)
        if op in ("<<", ">>"):
            low, high = self.simplify.range(e.b)
            if op == ">>" and low >= 0 and high < dtypes.bits(dtype):
                return self.b.value(f"{'lshr' if unsigned else 'ashr'} {t} {a}, {b}")
            helper = Helper("shl" if op == "<<" else "shr", (dtype,))
            u = value_type(dtype)
            return self._widened(self.helper(helper, u, *((u, self._narrowed(x, dtype)) for x in (a, b))), dtype)
        raise IrError(f"no LLVM IR for {op} on {dtype}")

    def _help_ints(self, op: str, dtype: str, a: str, b: str) -> str:
        t = self.type(dtype)
        return self.helper(Helper(op, ("int64" if t == "i64" and dtype == "int32" else dtype,)), t, (t, a), (t, b))

    def _widened(self, value: str, dtype: str) -> str:
        """What has been computed in the dtype's own width, as it is computed with here."""
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
            if dtypes.is_float(target):
                if source == "float64" and target in HALVES:
                    return self.rounded(self.helper(Helper("odd", (source,)), "float", (s, value)), target)
                if s != t:
                    value = self.b.value(f"{'fpext' if t == 'double' else 'fptrunc'} {s} {value} to {t}")
                return self.rounded(value, target)
            if t == "i1":
                return self.b.value(f"fcmp une {s} {value}, {float_bits(0.0, True)}")
            helper = Helper("to", ("float32" if source in HALVES else source, target))
            return self._widened(self.helper(helper, value_type(target), (s, value)), target)
        unsigned = dtypes.is_unsigned(source) or s == "i1"
        if dtypes.is_float(target):
            return self.rounded(self.b.value(f"{'ui' if unsigned else 'si'}tofp {s} {value} to {t}"), target)
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
        if name in ("popcount", "clz"):
            u = value_type(source)
            result = u if name == "popcount" else "i32"
            call_value = self.helper(Helper(name, (source,)), result, (u, self._narrowed(kids[0], source)))
            return self._widened(call_value, dtype)
        if name == "reinterpret":
            return self._reinterpret(source, dtype, kids[0])
        if name in WORD_FUNCTIONS:
            args = [(value_type(dtype), literal(0, dtype))] if name in DOTS else []
            args += [self._operand(k, source, name) for k in kids]
            return self._widened(self.helper(Helper(name), value_type(dtype), *args), dtype)
        if not dtypes.is_float(dtype):
            if name == "pow":
                u = value_type(dtype)
                args = [(u, self._narrowed(k, dtype)) for k in kids]
                return self._widened(self.helper(Helper(name, (dtype,)), u, *args), dtype)
            raise IrError(f"no LLVM IR for {name} of {dtype}")
        one = literal(1.0, "float32")
        if name == "rsqrt":
            call_value = self.b.value(f"fdiv {t} {one}, {self._outside('sqrt', t, kids)}")
        elif name == "exp10":
            call_value = self._outside("pow", t, [literal(10.0, "float64"), kids[0]])
        elif name == PRODUCT:
            call_value = self.b.value(f"fmul {t} {kids[0]}, {kids[1]}")  # no flag: nothing is contracted with it
        elif name == "flushed_exp":
            call_value = self.helper(Helper(name, ("float32",)), t, (t, kids[0]))
        elif name == "sigmoid":
            call_value = self.helper(Helper(name, ("float64" if t == "double" else "float32",)), t, (t, kids[0]))
        elif name in LIBM:
            call_value = self._outside(LIBM[name], t, kids)
        else:
            raise IrError(f"no LLVM IR for the intrinsic {name}")
        return call_value if name in WHOLE else self.rounded(call_value, dtype)

    def _operand(self, value: str, source: str, function: str) -> tuple[str, str]:
        """An operand of a function of words; `pack2_i16` takes bytes, too."""
        if function == PACK_WIDE and dtypes.bits(source) == 8:
            how = "zext" if dtypes.is_unsigned(source) else "sext"
            return "i16", self.b.value(f"{how} i8 {value} to i16")
        return value_type(source), self._narrowed(value, source)

    def _outside(self, name: str, t: str, args: Sequence[str]) -> str:
        """A call of libm, or of LLVM's own twin of that."""
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
