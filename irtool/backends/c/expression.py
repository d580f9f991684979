"""Scalar expressions as C.

An expression is a DAG. A node with several uses becomes a local variable, and so does one nested too deeply. Nodes of a branch
that may not be evaluated (`if_then_else`, the right of `and`/`or`) stay in that branch, which becomes an `if` statement if it
needs variables of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence, Set
from typing import Any

from ...diagnostics import IrError
from ...selection.nests import strict_order
from ...selection.scalars import is_rounded, support_of
from ...selection.vectors.types import HALVES, compute_dtype
from ...tir import dtypes
from ...tir.expr import Binary, Call, Cast, Const, Expr, Load, Not, Select, Var, children, post_order
from ...tir.intrinsics import PRODUCT
from ...tir.simplify import Simplifier
from ...tir.word_functions import DOTS
from ...trampoline import trampoline
from ..c_types import bare, enclose, literal, value_type
from ..formulas.support import FROM_BITS, TO_BITS, Helper
from ..interface.names import Identifiers
from ..libm import LIBM

_DEEPEST = 40
"""Nested parentheses before a variable is introduced; compilers need not accept more than 63."""
_LONGEST = 2000
"""The most characters of two branches in one expression."""


_PLAIN = (Binary, Const, Var)
"""The nodes whose text depends on no memory."""


class Writer:
    """Writes the expressions of one function. `support` collects the support functions used."""

    truth_type = "int"
    """The type of variables with truth values."""

    def __init__(
        self,
        names: Identifiers,
        simplify: Simplifier,
        load: Callable[[Load, Sequence[str]], str],
        support: dict[Helper, None],
        index_type: str = "int32_t",
    ) -> None:
        self.names = names
        self.simplify = simplify
        self.load = load
        self.support = support
        self.index_type = index_type
        self.variables: dict[Expr, str] = {}
        self._written: dict[Expr, tuple[str, int]] = {}
        """Texts of index arithmetic without statements, and the depths of their parentheses: the same indices occur again and again."""

    def declare(self, v: Var) -> str:
        """A C name for a variable."""
        if v in self.variables:  # a new variable from now on
            self._written.clear()
        name = self.variables[v] = self.names.fresh(v.name)
        return name

    def type_of(self, e: Expr) -> str:
        """The C type in which `e` is computed; index arithmetic may be wider than its dtype."""
        return self.index_type if e.dtype == "int32" and self.index_type != "int32_t" else value_type(e.dtype)

    def write(self, roots: Sequence[Expr]) -> tuple[list[str], list[str]]:
        """Statements to run first, and a C expression for each root."""
        if len(roots) != 1:
            lines, texts, _ = trampoline(self._scope(roots, {}, {}))
            return lines, [bare(text) for text in texts]
        (root,) = roots
        known = self._written.get(root) or self._neighbour(root)
        if known is not None:
            return [], [bare(known[0])]
        lines, texts, depth = trampoline(self._scope(roots, {}, {}))
        if not lines and all(isinstance(e, _PLAIN) for e in post_order(root)):
            self._written[root] = texts[0], depth
        return lines, [bare(text) for text in texts]

    def _neighbour(self, root: Expr) -> tuple[str, int] | None:
        """The text and the depth of an index that was written before, and a number; None for other expressions."""
        if not isinstance(root, Binary) or root.op not in ("+", "-") or not isinstance(root.b, Const):
            return None
        index = self._written.get(root.a)
        if index is None or index[1] >= _DEEPEST:
            return None
        text, depth = index
        self._written[root] = self._one(root, [text, literal(root.b.value, root.b.dtype)]), depth + 1
        return self._written[root]

    # -- scopes --------------------------------------------------------------------------------------------------------

    def _scope(
        self, roots: Sequence[Expr], outer: dict[Expr, str], outer_depth: dict[Expr, int]
    ) -> Generator[Any, Any, tuple[list[str], list[str], int]]:
        """Statements, the expressions of the roots in their parentheses, and the depth of these."""
        text: dict[Expr, str] = dict(outer)
        depth: dict[Expr, int] = dict(outer_depth)
        lines: list[str] = []
        order, uses = strict_order(roots, text)
        # The operands of a select are read before it, unconditionally: compilers turn `c ? a : x[i]` into masked loads, which
        # gcc 12 gets wrong (-O3, AVX2, a short inner loop), and plain loads are faster anyway.
        early = any(isinstance(e, Select) and not e.lazy for e in order)
        apart = self._apart(order)
        for e in order:
            if e in text:
                continue
            if isinstance(e, Select) and e.lazy:
                result, nested = yield self._branches(e, text, depth, lines)
            elif isinstance(e, Binary) and e.op in ("and", "or"):
                result, nested = yield self._short_circuit(e, text, depth, lines)
            else:
                kids = children(e)
                dot = e.b if isinstance(e, Binary) and e.op == "+" and uses.get(e.b) == 1 and depth.get(e.b) else None
                if isinstance(e, Binary) and isinstance(dot, Call) and dot.name in DOTS:
                    result = self.helper(
                        Helper(dot.name), text[e.a], *(text[k] for k in children(dot))
                    )  # the callee adds by itself
                else:
                    result = self._one(e, [text[k] for k in kids])
                nested = 1 + max((depth.get(k, 0) for k in kids), default=-1)
            is_shared = (
                e in apart or (uses[e] > 1 and not _cheap(e)) or (early and isinstance(e, Load) and bool(e.indices))
            )
            if (is_shared or nested > _DEEPEST) and not isinstance(e, Const | Var):
                name = self.names.fresh("t")
                lines.append(f"const {self.type_of(e)} {name} = {bare(result)};")
                result, nested = name, 0
            text[e] = result
            depth[e] = nested
        return lines, [text[r] for r in roots], max((depth.get(r, 0) for r in roots), default=0)

    def _apart(self, order: Sequence[Expr]) -> Set[Expr]:
        """The nodes that become variables even if they have one use."""
        return frozenset()

    def _condition(self, text: str) -> str:
        """The first operand of `?:`."""
        return bare(text)

    def _branches(
        self, e: Select, text: dict[Expr, str], depth: dict[Expr, int], lines: list[str]
    ) -> Generator[Any, Any, tuple[str, int]]:
        then_lines, then_texts, then_depth = yield self._scope([e.then], text, depth)
        other_lines, other_texts, other_depth = yield self._scope([e.other], text, depth)
        then, other, cond = bare(then_texts[0]), bare(other_texts[0]), text[e.cond]
        if not then_lines and not other_lines and len(then) + len(other) < _LONGEST:
            return enclose(f"{self._condition(cond)} ? {then} : {other}"), 1 + max(
                depth.get(e.cond, 0), then_depth, other_depth
            )
        name = self.names.fresh("t")
        lines.append(f"{self.type_of(e)} {name};")
        lines.append(f"if ({bare(cond)}) {{")
        lines += ["  " + x for x in then_lines] + [f"  {name} = {then};", "} else {"]
        lines += ["  " + x for x in other_lines] + [f"  {name} = {other};", "}"]
        return name, 0

    def _short_circuit(
        self, e: Binary, text: dict[Expr, str], depth: dict[Expr, int], lines: list[str]
    ) -> Generator[Any, Any, tuple[str, int]]:
        right_lines, right_texts, right_depth = yield self._scope([e.b], text, depth)
        left, right = text[e.a], bare(right_texts[0])
        if not right_lines:
            sign = "&&" if e.op == "and" else "||"
            return enclose(f"{left} {sign} ({right})"), 1 + max(depth.get(e.a, 0), 1 + right_depth)
        name = self.names.fresh("t")
        lines += [f"{self.truth_type} {name} = {left};", f"if ({name if e.op == 'and' else '!' + name}) {{"]
        lines += ["  " + x for x in right_lines] + [f"  {name} = {right};", "}"]
        return name, 0

    # -- nodes ---------------------------------------------------------------------------------------------------------

    def _one(self, e: Expr, kids: list[str]) -> str:
        if isinstance(e, Const):
            return literal(e.value, e.dtype)
        if isinstance(e, Var):
            return self.variables[e]
        if isinstance(e, Load):
            return self.load(e, [bare(k) for k in kids])
        if isinstance(e, Not):
            return f"!{kids[0]}"
        if isinstance(e, Select):
            return enclose(f"{kids[0]} ? {kids[1]} : {kids[2]}")
        assert isinstance(e, Binary | Cast | Call)
        text = self._operation(e, kids)
        return self.helper(Helper("round", (e.dtype,)), text) if is_rounded(e) else text

    def _operation(self, e: Binary | Cast | Call, kids: list[str]) -> str:
        support = support_of(e, self.simplify, self.index_type != "int32_t")
        if support is not None:
            start = [literal(0, e.dtype)] if support[0] in DOTS else []
            return self.helper(Helper(*support), *start, *kids)
        if isinstance(e, Binary):
            return self._binary(e, *kids)
        return self._cast(e, kids[0]) if isinstance(e, Cast) else self._call(e, kids)

    def helper(self, helper: Helper, *args: str) -> str:
        """A call of a support function, whose definition the program gets."""
        self.support[helper] = None
        return f"{helper.name}({', '.join(bare(a) for a in args)})"

    def _binary(self, e: Binary, a: str, b: str) -> str:
        op, dtype = e.op, e.a.dtype
        if op in ("<", "<=", "==", "!="):
            return enclose(f"{a} {op} {b}")
        is_float = dtypes.is_float(dtype)
        if op in ("min", "max") or (is_float and op in ("minimum", "maximum")):
            return self.helper(Helper(op, ("int64" if self._is_wide(dtype) else compute_dtype(dtype),)), a, b)
        if is_float:
            return enclose(f"{a} {op} {b}")
        if op in ("+", "-", "*"):
            return self._integer_arithmetic(e, a, b)
        sign = {"floordiv": "/", "truncdiv": "/", "floormod": "%", "truncmod": "%"}.get(op, op)
        if sign in ("/", "%", "&", "|", "^", ">>"):
            return self._narrow(enclose(f"{a} {sign} {b}"), dtype)
        raise IrError(f"no C for {op} on {dtype}")

    def _is_wide(self, dtype: str) -> bool:
        return dtype == "int32" and self.index_type != "int32_t"

    def _narrow(self, text: str, dtype: str) -> str:
        return f"({value_type(dtype)}){text}" if dtypes.bits(dtype) < 32 else text

    def _integer_arithmetic(self, e: Binary, a: str, b: str) -> str:
        dtype = e.dtype
        kind, width = dtypes.parts(dtype)
        t = value_type(dtype)
        if kind == "uint" and width >= 32:
            return enclose(f"{a} {e.op} {b}")
        if self._is_wide(dtype) or self.simplify.never_wraps(e):
            return self._narrow(enclose(f"{a} {e.op} {b}"), dtype)
        wide = "uint64_t" if width == 64 else "uint32_t"
        return f"({t})(({wide}){a} {e.op} ({wide}){b})"

    def _cast(self, e: Cast, value: str) -> str:
        target = e.dtype
        if not dtypes.is_float(target):
            return f"({self.type_of(e)}){value}"
        return value if value_type(e.value.dtype) == value_type(target) else f"({value_type(target)}){value}"

    def _call(self, e: Call, kids: list[str]) -> str:
        name, dtype = e.name, e.dtype
        if name in ("isnan", "isinf", "isfinite"):
            return enclose(f"{name}({bare(kids[0])}) != 0")
        if name == "reinterpret":
            return self._reinterpret(e, kids[0])
        if not dtypes.is_float(dtype):
            raise IrError(f"no C for {name} of {dtype}")
        suffix = "f" if dtype != "float64" else ""
        if name == "rsqrt":
            return enclose(f"1.0{suffix} / sqrt{suffix}({bare(kids[0])})")
        if name == "exp10":
            return f"pow{suffix}(10.0{suffix}, {bare(kids[0])})"
        if name == PRODUCT:
            return self.helper(Helper(name, (dtype,)), *kids)
        if name in LIBM:
            return f"{LIBM[name]}{suffix}({', '.join(bare(k) for k in kids)})"
        raise IrError(f"no C for the intrinsic {name}")

    def _reinterpret(self, e: Call, value: str) -> str:
        source, target = e.args[0].dtype, e.dtype
        if source in HALVES:
            return f"({value_type(target)}){self.helper(TO_BITS[source], value)}"
        if target in HALVES:
            return self.helper(FROM_BITS[target], f"(uint16_t){value}")
        if dtypes.is_float(source) or dtypes.is_float(target):
            return self.helper(Helper(e.name, (source, target)), value)
        return f"({value_type(target)}){value}"


def _cheap(e: Expr) -> bool:
    """True for an expression that is not worth a variable: the compiler sees through it, and the text stays short."""
    if isinstance(e, Binary) and not dtypes.is_float(e.dtype):
        return all(isinstance(k, Const | Var) for k in (e.a, e.b)) and e.op in ("+", "-", "*", "<", "<=", "==", "!=")
    return isinstance(e, Load) and not e.indices
