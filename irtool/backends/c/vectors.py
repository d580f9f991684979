"""The body of a vectorized loop, in GCC's vector types.

A node that does not change with the lane stays scalar; one that does becomes a vector. What has no vector form raises
`Scalar`, and the loop is then written as a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...tir import dtypes
from ...tir.expr import Binary, Call, Cast, Const, Expr, Load, Not, Select, Var, children, const, post_order, substitute
from ...tir.simplify import Simplifier
from ...tir.stmt import Buffer, Store
from .expression import Writer, _bare
from .scalars import literal
from .vector_math import EXACT, FUNCTIONS
from .vector_powers import CHEAP


class Scalar(Exception):
    """This loop has no vector form."""


LANES = (2, 4, 8, 16, 32, 64)


def width_for(count: int) -> int:
    """Lanes of the smallest vector that holds `count` elements; 1 for one element. Raises Scalar if there is none."""
    if count == 1:
        return 1
    for lanes in LANES:
        if count <= lanes:
            return lanes
    raise Scalar


_TYPES = ("float32", "float64", "int32", "int64", "uint32", "uint64", "int8", "uint8", "int16", "uint16")


def vector_type(dtype: str, lanes: int) -> str:
    """The name of the vector type."""
    short = {"float32": "f32", "float64": "f64"}.get(dtype) or dtype.replace("uint", "u").replace("int", "i")
    return f"irt_{short}x{lanes}"


def define_type(dtype: str, lanes: int) -> str:
    """Definitions of the vector type, and of its twin that may stand at any address of an element."""
    from .scalars import value_type

    name, element, size = vector_type(dtype, lanes), value_type(dtype), lanes * dtypes.itemsize(dtype)
    return (
        f"typedef {element} {name} __attribute__((vector_size({size})));\n"
        f"typedef {element} {name}_u __attribute__((vector_size({size}), aligned({dtypes.itemsize(dtype)}), may_alias));"
    )


class VectorWriter:
    """Writes the stores of one vectorized loop, of `count` steps: as many lanes as `width` says, the rest of them unused.

    Lanes that are not used hold any value: it is computed with, but neither read from memory nor written there.
    """

    def __init__(
        self,
        scalars: Writer,
        simplify: Simplifier,
        place: Callable[[Buffer], str],
        register: Callable[[Load | Store], str | None],
        lane: Var,
        count: int,
        width: int,
        types: dict[tuple[str, int], None],
        functions: dict[tuple[str, str, int], None],
        strict: bool = False,
    ) -> None:
        self.scalars = scalars
        self.simplify = simplify
        self.place = place
        self.register = register
        self.lane = lane
        self.count = count
        self.lanes = width
        self.types = types
        self.functions = functions
        self.strict = strict
        self.varying: dict[Expr, bool] = {}

    def write(self, stores: Sequence[Store]) -> list[str]:
        """C statements for one pass over all lanes. Raises Scalar."""
        lines: list[str] = []
        for s in stores:
            lines += self._store(s)
        return lines

    def _type(self, dtype: str) -> str:
        if dtype not in _TYPES:
            raise Scalar
        self.types[(dtype, self.lanes)] = None
        return vector_type(dtype, self.lanes)

    def _mask(self, dtype: str) -> str:
        """The vector type that comparing vectors of `dtype` gives."""
        return self._type(f"int{dtypes.bits(dtype)}")

    def _varies(self, e: Expr) -> bool:
        found = self.varying.get(e)
        if found is None:
            for x in post_order(e):
                if x not in self.varying:
                    self.varying[x] = x is self.lane or any(self.varying[k] for k in children(x))
            found = self.varying[e]
        return found

    def _store(self, s: Store) -> list[str]:
        dtype = s.buffer.dtype
        t = self._type(dtype)
        lines: list[str] = []
        value = self._value(s.value, lines, {})
        register = self.register(s)
        if register is not None:
            if isinstance(s.value, Load) and value.startswith("*"):
                self.functions[("load", dtype, self.lanes)] = None
                value = f"irt_vload_{t[4:]}({value.split(')', 1)[1]})"
            return [*lines, f"{register} = {_bare(value)};"]
        index = s.indices[0] if s.indices else const(0)
        step = self._stride(index)
        if step is None:
            raise Scalar
        base = self._scalar(substitute(index, {self.lane: const(0)}), lines)
        place = self.place(s.buffer)
        if step == 1 and self.count == self.lanes:
            return [*lines, f"*({t}_u *)({place} + {base}) = {_bare(value)};"]
        if step == 1:
            self.functions[("put", dtype, self.lanes)] = None
            return [*lines, f"irt_vput_{t[4:]}({place} + {base}, {_bare(value)}, {self.count});"]
        name = self.scalars.names.fresh("v")
        lines.append(f"const {t} {name} = {_bare(value)};")
        for n in range(self.count):
            lines.append(f"{place}[{_bare(base)} + {n * step}] = {name}[{n}];")
        return lines

    def _stride(self, index: Expr) -> int | None:
        terms, _ = self.simplify.linear(index)
        for atom in terms:
            if atom is not self.lane and self._varies(atom):
                return None
        return terms.get(self.lane, 0)

    def _scalar(self, e: Expr, lines: list[str]) -> str:
        before, (text,) = self.scalars.write([self.simplify(e)])
        lines += before
        return text if text.isidentifier() or text.isdigit() else f"({text})"

    def _value(self, root: Expr, lines: list[str], known: dict[Expr, str]) -> str:
        """The vector of an expression; statements that it needs are appended."""
        text = dict(known)
        uses: dict[Expr, int] = {}
        order = post_order(root)
        for e in order:
            for k in children(e):
                uses[k] = uses.get(k, 0) + 1
        for e in self._needed(root):
            if e in text:
                continue
            made = self._node(e, text, lines)
            if uses.get(e, 0) > 1 and not isinstance(e, Const | Var):
                name = self.scalars.names.fresh("v")
                lines.append(f"const {self._value_type(e)} {name} = {_bare(made)};")
                made = name
            text[e] = made
        return text[root]

    def _value_type(self, e: Expr) -> str:
        return self._type(e.dtype) if e.dtype != "bool" else self._mask(_compared(e))

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
            if self._varies(e) and not isinstance(e, Load):
                kids = children(e)
                if isinstance(e, Select) and not self._varies(e.cond):
                    kids = () if e.lazy else (e.then, e.other)
                stack.extend((k, False) for k in reversed(kids))
        return order

    def _node(self, e: Expr, text: dict[Expr, str], lines: list[str]) -> str:
        if not self._varies(e):
            return self._broadcast(e, lines)
        if e is self.lane:
            t = self._type(e.dtype)
            return f"(({t}){{{', '.join(map(str, range(self.lanes)))}}})"
        if isinstance(e, Load):
            return self._load(e, lines)
        if isinstance(e, Binary):
            return self._binary(e, text[e.a], text[e.b])
        if isinstance(e, Select):
            return self._select(e, text, lines)
        if isinstance(e, Cast):
            source = e.value.dtype
            if source == "bool" or e.dtype == "bool" or (dtypes.is_float(source) and not dtypes.is_float(e.dtype)):
                raise Scalar
            self._type(source)
            made = _bare(text[e.value])
            for step in (*_between(source, e.dtype), e.dtype):
                made = f"__builtin_convertvector({made}, {self._type(step)})"
            return made
        if isinstance(e, Not):
            return f"(~{text[e.value]})"
        assert isinstance(e, Call)
        return self._call(e, [text[a] for a in e.args])

    def _broadcast(self, e: Expr, lines: list[str]) -> str:
        if e.dtype == "bool":
            raise Scalar
        t = self._type(e.dtype)
        if isinstance(e, Const):
            return f"({literal(e.value, e.dtype)} - ({t}){{0}})"
        scalar = self._scalar(e, lines)
        return f"({scalar} - ({t}){{0}})"

    def _load(self, e: Load, lines: list[str]) -> str:
        register = self.register(e)
        if register is not None:
            return register
        t = self._type(e.dtype)
        index = e.indices[0] if e.indices else const(0)
        step = self._stride(index)
        if step is None:
            raise Scalar
        base = self._scalar(substitute(index, {self.lane: const(0)}), lines)
        place = self.place(e.source)
        if step == 1 and self.count == self.lanes:
            return f"*(const {t}_u *)({place} + {base})"
        if step == 2 and self.count == self.lanes:
            self._mask(e.dtype)
            self.functions[("even", e.dtype, self.lanes)] = None
            return f"irt_veven_{t[4:]}({place} + {base})"
        items = ", ".join(f"{place}[{_bare(base)} + {n * step}]" for n in range(self.count))
        return f"(({t}){{{items}}})"

    def _binary(self, e: Binary, a: str, b: str) -> str:
        op, dtype = e.op, e.a.dtype
        if dtype == "bool":
            if op in ("and", "or", "==", "!="):
                if _compared(e.a) != _compared(e.b):
                    raise Scalar
                sign = {"and": "&", "or": "|", "==": "==", "!=": "!="}[op]
                return f"({a} {sign} {b})"
            raise Scalar
        t = self._type(dtype)
        if op in ("<", "<=", "==", "!="):
            self._mask(dtype)
            return f"({a} {op} {b})"
        if op in ("min", "max"):
            self._mask(dtype)
            self.functions[(op, dtype, self.lanes)] = None
            return f"irt_v{op}_{t[4:]}({_bare(a)}, {_bare(b)})"
        if dtypes.is_float(dtype):
            if op in ("+", "-", "*", "/"):
                return f"({a} {op} {b})"
            raise Scalar
        if op in ("+", "-", "*"):
            if dtypes.is_unsigned(dtype):
                return f"({a} {op} {b})"
            u = self._type("u" + dtype)
            return f"(({t})(({u}){a} {op} ({u}){b}))"
        if op in ("&", "|", "^"):
            return f"({a} {op} {b})"
        raise Scalar

    def _select(self, e: Select, text: dict[Expr, str], lines: list[str]) -> str:
        t = self._type(e.dtype)
        if not self._varies(e.cond):
            cond = self._scalar(e.cond, lines)
            name = self.scalars.names.fresh("v")
            then_lines: list[str] = []
            other_lines: list[str] = []
            known = {k: v for k, v in text.items() if v.isidentifier()}
            then = self._value(e.then, then_lines, known)
            other = self._value(e.other, other_lines, known)
            lines += [f"{t} {name};", f"if {cond if cond.startswith('(') else f'({cond})'} {{"]
            lines += ["  " + x for x in [*then_lines, f"{name} = {_bare(then)};"]] + ["} else {"]
            lines += ["  " + x for x in [*other_lines, f"{name} = {_bare(other)};"]] + ["}"]
            return name
        if e.lazy or dtypes.bits(_compared(e.cond)) != dtypes.bits(e.dtype):
            raise Scalar
        m = self._mask(e.dtype)
        self.functions[("select", e.dtype, self.lanes)] = None
        return f"irt_vselect_{t[4:]}(({m}){text[e.cond]}, {_bare(text[e.then])}, {_bare(text[e.other])})"

    def _call(self, e: Call, args: list[str]) -> str:
        if (e.name, e.dtype) not in FUNCTIONS or (self.strict and e.name not in EXACT):
            raise Scalar
        t = self._type(e.dtype)
        self._mask(e.dtype)
        name = e.name
        if name == "pow" and isinstance(e.args[1], Const) and e.args[1].value in CHEAP:
            name, args = CHEAP[float(e.args[1].value)], args[:1]
        self.functions[(name, e.dtype, self.lanes)] = None
        return f"irt_v{name}_{t[4:]}({', '.join(_bare(a) for a in args)})"


def _between(source: str, target: str) -> list[str]:
    """Integer dtypes to widen by way of: gcc widens a vector to twice its width in an instruction, but element by element to
    four times. On the way to floats the last is int32, from which all processors convert."""
    width = dtypes.bits(source)
    if dtypes.is_float(source) or width >= 32:
        return []
    sign = "u" if dtypes.is_unsigned(source) else ""
    if dtypes.is_float(target):
        return [f"{sign}int16", "int32"] if width == 8 else ["int32"]
    return [f"{sign}int{w}" for w in (16, 32) if width < w < dtypes.bits(target)]


def _compared(e: Expr) -> str:
    """The dtype whose comparison made a bool."""
    while isinstance(e, Not) or (isinstance(e, Binary) and e.op in ("and", "or")):
        e = e.value if isinstance(e, Not) else e.a
    if isinstance(e, Binary) and e.a.dtype != "bool":
        return e.a.dtype
    raise Scalar
