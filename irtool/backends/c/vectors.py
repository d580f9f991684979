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
from .expression import WHOLE, Writer, _bare
from .scalars import HALVES, literal
from .vector_conversions import TYPES
from .vector_math import EXACT, FUNCTIONS
from .vector_powers import cheapest


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
        self.widths: dict[Expr, int] = {}
        self.called: dict[str, tuple[str, str, int]] = {}
        self.has_bytes = False
        self.has_logic = False

    def write(self, stores: Sequence[Store]) -> list[str]:
        """C statements for one pass over all lanes. Raises Scalar."""
        lines: list[str] = []
        for s in stores:
            lines += self._store(s)
        # Compilers join several passes of a loop whose vectors of bytes are short; of loops with branches they cannot.
        if (
            self.has_bytes
            and self.lanes < 8
            and not self.has_logic
            and all(f[0] in _PLAIN for f in self.called.values())
        ):
            raise Scalar
        text = "\n".join(lines)
        self.functions.update({f: None for call, f in self.called.items() if call in text})
        return lines

    def _type(self, dtype: str) -> str:
        """The vector type that numbers of `dtype` are computed in."""
        dtype = held(dtype)
        if dtype not in _TYPES:
            raise Scalar
        self.types[(dtype, self.lanes)] = None
        return vector_type(dtype, self.lanes)

    def _stored(self, dtype: str) -> str:
        """The vector type of elements in memory."""
        return self._type(_MEMORY.get(dtype, dtype))

    def _mask(self, dtype: str) -> str:
        """The vector type that comparing vectors of `dtype` gives."""
        return self._type(f"int{_bits(dtype)}")

    def _function(self, name: str, dtype: str, *args: str) -> str:
        """A call of the function for vectors of `dtype`."""
        dtype = held(dtype)
        t = self._type(dtype)
        self._mask(dtype)
        for other in TYPES.get(name, ()):
            self._type(other)
        called = f"irt_v{name}_{t[4:]}("
        self.called[called] = (name, dtype, self.lanes)
        return f"{called}{', '.join(_bare(a) for a in args)})"

    def _rounded(self, text: str, dtype: str) -> str:
        return self._function(f"round_{dtype}", dtype, text) if dtype in HALVES else text

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
        lines: list[str] = []
        value = self._value(s.value, lines, {})
        register = self.register(s)
        if register is not None:
            if dtype == "bool":
                raise Scalar
            if isinstance(s.value, Load) and value.startswith("*"):
                value = self._function("load", dtype, value.split(")", 1)[1])
            return [*lines, f"{register} = {_bare(value)};"]
        value = self._to_memory(s.value, value)
        dtype = _MEMORY.get(dtype, dtype)
        t = self._type(dtype)
        index = s.indices[0] if s.indices else const(0)
        step = self._stride(index)
        if step is None:
            raise Scalar
        base = self._scalar(substitute(index, {self.lane: const(0)}), lines)
        place = self.place(s.buffer)
        if step == 1 and self.count == self.lanes:
            return [*lines, f"*({t}_u *)({place} + {base}) = {_bare(value)};"]
        if step == 1:
            put = self._function("put", dtype, f"{place} + {base}", value, str(self.count))
            return [*lines, f"{put};"]
        name = self.scalars.names.fresh("v")
        lines.append(f"const {t} {name} = {_bare(value)};")
        for n in range(self.count):
            lines.append(f"{place}[{_bare(base)} + {n * step}] = {name}[{n}];")
        return lines

    def _to_memory(self, e: Expr, text: str) -> str:
        """The value as it is stored."""
        if e.dtype == "bool":
            self.has_bytes = True
            return f"({self._type('uint8')})({self._masked(e, text, 8)} & 1)"
        if e.dtype not in HALVES:
            return text
        twice = f"irt_vround_{e.dtype}_{self._type(e.dtype)[4:]}("
        if text.startswith(twice):
            text = text.removeprefix(twice)[:-1]
        return self._function("f2h" if e.dtype == "float16" else "f2b", e.dtype, text)

    def _from_memory(self, dtype: str, text: str) -> str:
        """What has been read, as it is computed with."""
        if dtype == "bool":
            self.has_bytes = True
            self._mask("uint8")
            return f"({text}{_IS_SET}"
        return self._function("h2f" if dtype == "float16" else "b2f", dtype, text) if dtype in HALVES else text

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
        return self._type(e.dtype) if e.dtype != "bool" else self._type(f"int{self.widths[e]}")

    def _masked(self, e: Expr, text: str, width: int) -> str:
        """The mask of a bool, of integers that wide."""
        made = text
        for step in (*_between(f"int{self.widths[e]}", f"int{width}", self.lanes), f"int{width}"):
            if step != f"int{self.widths[e]}":
                made = f"__builtin_convertvector({_bare(made)}, {self._type(step)})"
        return made

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
            return self._cast(e, text[e.value])
        if isinstance(e, Not):
            self.widths[e] = self.widths[e.value]
            return f"(~{text[e.value]})"
        assert isinstance(e, Call)
        return self._call(e, [text[a] for a in e.args])

    def _cast(self, e: Cast, value: str) -> str:
        source, target = e.value.dtype, e.dtype
        if source == "bool" and isinstance(e.value, Load) and value.endswith(_IS_SET):
            value, source = value[1:].removesuffix(_IS_SET), "uint8"
        if source == "bool":
            width = _bits(target)
            mask, t = self._masked(e.value, value, width), self._type(target)
            one = f"({literal(1, target)} - ({t}){{0}})"
            return f"(({t})({mask} & ({self._type(f'int{width}')}){one}))"
        if dtypes.is_float(source) and not dtypes.is_float(target):
            if target not in ("int32", "int16", "int8") and (held(source), target) != ("float32", "uint8"):
                raise Scalar
            self.has_bytes = self.has_bytes or dtypes.bits(target) == 8
            value, source = self._function("to_int32", source, value), "int32"
        self._type(source)
        made = _bare(value)
        for step in (*_between(source, held(target), self.lanes), target):
            if held(step) != held(source):
                made = f"__builtin_convertvector({made}, {self._type(step)})"
        return self._rounded(made, target)

    def _broadcast(self, e: Expr, lines: list[str]) -> str:
        if e.dtype == "bool":
            self.widths[e] = 32
            return f"(-{self._scalar(e, lines)} - ({self._type('int32')}){{0}})"
        t = self._type(e.dtype)
        if isinstance(e, Const):
            return f"({literal(e.value, e.dtype)} - ({t}){{0}})"
        scalar = self._scalar(e, lines)
        return f"({scalar} - ({t}){{0}})"

    def _load(self, e: Load, lines: list[str]) -> str:
        register = self.register(e)
        if register is not None:
            if e.dtype == "bool":
                raise Scalar
            return register
        t = self._stored(e.dtype)
        if e.dtype == "bool":
            self.widths[e] = 8
        index = e.indices[0] if e.indices else const(0)
        step = self._stride(index)
        if step is None:
            raise Scalar
        base = self._scalar(substitute(index, {self.lane: const(0)}), lines)
        place = self.place(e.source)
        if step == 1 and self.count == self.lanes:
            text = f"*(const {t}_u *)({place} + {base})"
        elif step in (2, 3) and self.count == self.lanes:
            text = self._function("even" if step == 2 else "third", _MEMORY.get(e.dtype, e.dtype), f"{place} + {base}")
        else:
            items = ", ".join(f"{place}[{_bare(base)} + {n * step}]" for n in range(self.count))
            text = f"(({t}){{{items}}})"
        return self._from_memory(e.dtype, text)

    def _binary(self, e: Binary, a: str, b: str) -> str:
        op, dtype = e.op, e.a.dtype
        if dtype == "bool":
            sign = {"and": "&", "or": "|"}.get(op, op)
            if sign in ("&", "|", "^", "==", "!="):
                self.has_logic = True
                width = self.widths[e] = max(self.widths[e.a], self.widths[e.b])
                return f"({self._masked(e.a, a, width)} {sign} {self._masked(e.b, b, width)})"
            raise Scalar
        t = self._type(dtype)
        if op in ("<", "<=", "==", "!="):
            self._mask(dtype)
            self.widths[e] = _bits(dtype)
            return f"({a} {op} {b})"
        if op in ("min", "max", "minimum", "maximum"):
            return self._function(op, dtype, a, b)
        if dtypes.is_float(dtype):
            if op in ("+", "-", "*", "/"):
                return self._rounded(f"({a} {op} {b})", dtype)
            raise Scalar
        if op in ("+", "-", "*"):
            if dtypes.is_unsigned(dtype):
                return f"({a} {op} {b})"
            u = self._type("u" + dtype)
            return f"(({t})(({u}){a} {op} ({u}){b}))"
        if op in ("&", "|", "^"):
            return f"({a} {op} {b})"
        if op in ("<<", ">>"):
            return self._shift(e, a)
        return self._division(e, a)

    def _shift(self, e: Binary, a: str) -> str:
        """A shift by a number of bits that C has a shift for, the same for all lanes."""
        t = self._type(e.dtype)
        if not isinstance(e.b, Const) or not 0 <= e.b.value < dtypes.bits(e.dtype):
            raise Scalar
        # Few processors shift 64 bits with their sign; what fixed-point products need of them, compilers find in a loop.
        if dtypes.bits(e.dtype) == 64:
            raise Scalar
        if e.op == ">>" or dtypes.is_unsigned(e.dtype):
            return f"({a} {e.op} {int(e.b.value)})"
        return f"(({t})(({self._type('u' + e.dtype)}){a} << {int(e.b.value)}))"

    def _division(self, e: Binary, a: str) -> str:
        """A division by a literal power of two that rounds down."""
        value = int(e.b.value) if isinstance(e.b, Const) else 0
        low, _ = self.simplify.range(e.a)
        down = e.op.startswith("floor") or low >= 0 or dtypes.is_unsigned(e.dtype)
        if value <= 0 or value & (value - 1) or not down:
            raise Scalar
        self._type(e.dtype)
        return f"({a} >> {value.bit_length() - 1})" if e.op.endswith("div") else f"({a} & {value - 1})"

    def _select(self, e: Select, text: dict[Expr, str], lines: list[str]) -> str:
        if not self._varies(e.cond):
            t = self._type(e.dtype)
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
        if e.lazy:
            raise Scalar
        if e.dtype == "bool":
            width = self.widths[e] = max(self.widths[k] for k in (e.cond, e.then, e.other))
            m, a, b = (self._masked(k, text[k], width) for k in (e.cond, e.then, e.other))
            return f"(({m} & {a}) | (~{m} & {b}))"
        m = self._mask(e.dtype)
        mask = f"({m}){self._masked(e.cond, text[e.cond], _bits(e.dtype))}"
        return self._function("select", e.dtype, mask, text[e.then], text[e.other])

    def _call(self, e: Call, args: list[str]) -> str:
        if e.name == "reinterpret":
            return self._reinterpreted(e, *args)
        dtype = held(e.args[0].dtype)
        if (e.name, dtype) not in FUNCTIONS or (self.strict and e.name not in EXACT):
            raise Scalar
        name, which = cheapest(e)
        made = self._function(name, dtype, *(args[n] for n in which))
        if e.dtype == "bool":
            self.widths[e] = _bits(dtype)
        return made if e.name in WHOLE else self._rounded(made, e.dtype)

    def _reinterpreted(self, e: Call, value: str) -> str:
        source, target = e.args[0].dtype, e.dtype
        if dtypes.bits(source) != dtypes.bits(target) or {source, target} & {"bool", *HALVES}:
            raise Scalar
        return f"(({self._type(target)}){value})"


_PLAIN = (
    "load",
    "put",
    "even",
    "select",
    "min",
    "max",
    "minimum",
    "maximum",
    "fabs",
    "isnan",
    "isinf",
    "isfinite",
    "to_int32",
)
"""Functions that compilers make of a loop, too."""

_IS_SET = " != 0)"
"""How a vector of bools that has been read, as bytes, ends."""

_MEMORY = {"float16": "uint16", "bfloat16": "uint16", "bool": "uint8"}
"""The dtypes that elements are stored as, where it is not their own."""


def held(dtype: str) -> str:
    """The dtype that a number is computed in."""
    return "float32" if dtype in HALVES else dtype


def _bits(dtype: str) -> int:
    return dtypes.bits(held(dtype))


def _between(source: str, target: str, lanes: int) -> list[str]:
    """Dtypes to convert integers by way of: gcc widens or narrows a vector by a factor of two in an instruction or two, but
    element by element to a fourth or four times. On the way to floats the last is int32, from which all processors convert."""
    width, wanted = dtypes.bits(source), dtypes.bits(target)
    sign = "u" if dtypes.is_unsigned(source) else ""
    if dtypes.is_float(source):
        return []
    if dtypes.is_float(target):
        return [f"{sign}int16", "int32"] if width == 8 else ["int32"] if width == 16 else []
    # Processors with such wide vectors narrow them at once.
    if wanted < width:
        return [] if lanes * width >= 512 else [f"{sign}int{w}" for w in (32, 16) if wanted < w < width]
    return [f"{sign}int{w}" for w in (16, 32) if width < w < wanted]
