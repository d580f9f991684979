"""Loop nests and straight programs of them, run in Python: what schedules and lowering must keep, without a C compiler.

A nest becomes a Python function over flat lists, places in memory included; memory that nobody wrote holds None, which
nothing can be computed with. Floats are computed in double precision and rounded where they are stored.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from irtool.ops.dtypes import numpy_dtype
from irtool.tir import dtypes
from irtool.tir.bf16_dot import DOT_PAIR, PACK_PAIR
from irtool.tir.expr import Binary, Call, Cast, Const, Expr, Load, Not, Select, Var
from irtool.tir.int8_dot import DOTS
from irtool.tir.int16_dot import DOT_WIDE, PACK_WIDE
from irtool.tir.intrinsics import LEAST_EXPONENT
from irtool.tir.program import CopySlot, Program, RunKernel, Slot
from irtool.tir.stmt import Allocate, Buffer, For, If, Let, Prefetch, PrimFunc, Seq, Stmt, Store, While


def run_program(program: Program, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The results of the entry, which runs kernels one after the other."""
    function = program.functions[program.entry]
    memory: dict[Slot, list[Any]] = {s: s.data.reshape(-1).tolist() for s in program.constants}
    for slot, value in zip(function.params, inputs, strict=True):
        memory[slot.resolve()] = np.asarray(value).reshape(-1).tolist()

    def of(slot: Slot) -> list[Any]:
        return memory.setdefault(slot.resolve(), [None] * slot.size)

    compiled: dict[PrimFunc, Any] = {}
    for step in function.body:
        if isinstance(step, CopySlot):
            of(step.target)[:] = of(step.source)
            continue
        assert isinstance(step, RunKernel), step
        if step.kernel not in compiled:
            compiled[step.kernel] = compile_nest(step.kernel)
        compiled[step.kernel](*map(of, step.inputs), *map(of, step.outputs))
    return [np.array(of(s), numpy_dtype(s.dtype)).reshape(s.shape) for s in function.results]


def run_nest(nest: PrimFunc, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """What a nest puts into its outputs, as they lie in memory."""
    outputs: list[list[Any]] = [[None] * b.size for b in nest.outputs]
    compile_nest(nest)(*(np.asarray(x).reshape(-1).tolist() for x in inputs), *outputs)
    return [np.array(o, numpy_dtype(b.dtype)).reshape(b.shape) for o, b in zip(outputs, nest.outputs)]


def compile_nest(nest: PrimFunc) -> Any:
    """A nest as a function of the flat lists of its parameters."""
    space: dict[str, Any] = dict(_SPACE)
    exec(write_nest(nest), space)
    return space["nest"]


def write_nest(nest: PrimFunc) -> str:
    """A nest as a function in Python: whatever its loops and variables are called, the same for the same work."""
    writer = _Writer()
    head = f"def nest({', '.join(writer.name(b) for b in nest.params)}):"
    writer.write(nest.body, 1)
    return "\n".join([head, *writer.lines])


class _Writer:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[Buffer | Var, str] = {}

    def name(self, thing: Buffer | Var) -> str:
        return self.names.setdefault(thing, f"{'m' if isinstance(thing, Buffer) else 'v'}{len(self.names)}")

    def write(self, s: Stmt, depth: int) -> None:
        pad = " " * depth
        if isinstance(s, Seq):
            for part in s.stmts:
                self.write(part, depth)
            if not s.stmts:
                self.lines.append(f"{pad}pass")
        elif isinstance(s, For):
            self.lines.append(f"{pad}for {self.name(s.var)} in range({self.text(s.extent)}):")
            self.write(s.body, depth + 1)
        elif isinstance(s, Store):
            place = self.text(s.buffer.offset(s.indices))
            self.lines.append(f"{pad}{self.name(s.buffer)}[{place}] = {rounded(self.text(s.value), s.buffer.dtype)}")
        elif isinstance(s, If):
            self.lines.append(f"{pad}if {self.text(s.cond)}:")
            self.write(s.then, depth + 1)
            if s.other is not None:
                self.lines.append(f"{pad}else:")
                self.write(s.other, depth + 1)
        elif isinstance(s, While):
            self.lines.append(f"{pad}while {self.text(s.cond)}:")
            self.write(s.body, depth + 1)
        elif isinstance(s, Let):
            self.lines.append(f"{pad}{self.name(s.var)} = {self.text(s.value)}")
            self.write(s.body, depth)
        elif isinstance(s, Prefetch):
            self.lines.append(f"{pad}{self.text(s.place)}")
        else:
            assert isinstance(s, Allocate), s
            self.lines.append(f"{pad}{self.name(s.buffer)} = [None] * {s.buffer.size}")
            self.write(s.body, depth)

    def text(self, e: Expr) -> str:
        if isinstance(e, Const):
            return f"float({str(float(e.value))!r})" if not math.isfinite(e.value) else f"({e.value!r})"
        if isinstance(e, Var):
            return self.name(e)
        if isinstance(e, Load):
            return f"{self.name(e.source)}[{self.text(e.source.offset(e.indices))}]"
        if isinstance(e, Not):
            return f"(not {self.text(e.value)})"
        if isinstance(e, Select):
            return f"({self.text(e.then)} if {self.text(e.cond)} else {self.text(e.other)})"
        if isinstance(e, Cast):
            return self._cast(e)
        if isinstance(e, Call):
            return rounded(f"{e.name}_({', '.join(map(self.text, e.args))}{_widths(e)})", e.dtype)
        assert isinstance(e, Binary), e
        a, b = self.text(e.a), self.text(e.b)
        if e.op in ("and", "or", "<", "<=", "==", "!="):
            return f"({a} {e.op} {b})"
        if e.op in _FUNCTIONS:
            return rounded(f"{_FUNCTIONS[e.op]}({a}, {b})", e.dtype)
        infix = f"({a} {e.op} {b})"
        return infix if e.op in "+-*" and dtypes.is_float(e.dtype) else wrapped(infix, e)

    def _cast(self, e: Cast) -> str:
        value = self.text(e.value)
        if e.dtype == "bool":
            return f"({value} != 0)"
        if dtypes.is_float(e.dtype):
            return f"float({value})"
        return f"to_int({value}, {e.dtype!r})"


def rounded(text: str, dtype: str) -> str:
    """A value as it is stored."""
    if dtype == "bool":
        return text
    return f"as_{dtype}({text})"


def wrapped(text: str, e: Binary) -> str:
    """The value of integer arithmetic; indices are not made to overflow."""
    return (
        text if e.dtype in ("int32", "int64") and e.op in ("+", "-", "*") and _is_index(e) else rounded(text, e.dtype)
    )


def _is_index(e: Expr) -> bool:
    stack: list[Expr] = [e]
    while stack:
        x = stack.pop()
        if isinstance(x, Binary):
            stack += [x.a, x.b]
        elif not isinstance(x, Const | Var):
            return False
    return True


def _widths(e: Call) -> str:
    if e.name in ("popcount", "clz"):
        return f", {dtypes.bits(e.args[0].dtype)}"
    return f", {e.args[0].dtype!r}, {e.dtype!r}" if e.name == "reinterpret" else ""


_FUNCTIONS = {
    "/": "divide",
    "floordiv": "floordiv",
    "floormod": "floormod",
    "truncdiv": "truncdiv",
    "truncmod": "truncmod",
    "min": "least",
    "max": "most",
    "minimum": "least_or_nan",
    "maximum": "most_or_nan",
}


def divide(a: float, b: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.float64(a) / np.float64(b))


def truncdiv(a: float, b: float) -> float:
    if isinstance(a, float):
        return float(np.trunc(divide(a, b)))
    return (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1) if b else 0


def truncmod(a: float, b: float) -> float:
    if isinstance(a, float):
        return math.fmod(a, b) if b else math.nan
    return a - truncdiv(a, b) * b if b else 0


def to_int(value: float, dtype: str) -> int:
    """A number as an integer dtype: as `docs/language.md` says of casts."""
    if isinstance(value, float):
        if dtype == "uint64" and 0 <= value < 1 << 64:
            return int(value)
        wide = "int64" if dtypes.bits(dtype) == 64 or dtypes.is_unsigned(dtype) else "int32"
        low, high = dtypes.int_range(wide)
        value = int(value) if low - 1 < value < high + 1 else low
    return int(dtypes.round_to(int(value), dtype))


def reinterpret_(value: float, old: str, new: str) -> float:
    codes = {"float32": "f", "float64": "d", "float16": "e"}
    names = {8: "b", 16: "h", 32: "i", 64: "q"}

    def code(dtype: str) -> str:
        kind = names[dtypes.bits(dtype)]
        return codes.get(dtype) or (kind.upper() if dtypes.is_unsigned(dtype) else kind)

    return struct.unpack(code(new), struct.pack(code(old), value))[0]


def _float32(value: float) -> float:
    return float(np.float32(value))


def _through_numpy(function: Any) -> Any:
    def call(*values: float) -> Any:
        with np.errstate(all="ignore"):
            result = function(*(np.float64(v) if isinstance(v, float) else v for v in values))
        return result.item() if isinstance(result, np.generic) else result

    return call


def _half_away(x: float) -> float:
    return math.copysign(math.floor(abs(x) + 0.5), x) if math.isfinite(x) else x


def _integer_power(a: float, b: float) -> float:
    if isinstance(a, int):
        if b >= 0:
            return a**b
        return {1: 1, -1: 1 if b % 2 == 0 else -1}.get(a, 0)
    return _through_numpy(np.power)(a, b)


_NUMPY = {
    n: getattr(np, n) for n in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan")
}
_NUMPY |= {n: getattr(np, n) for n in ("sinh", "cosh", "tanh", "floor", "ceil", "trunc", "fmod", "hypot", "copysign")}
_NUMPY |= {"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh}
_NUMPY |= {"atanh": np.arctanh, "atan2": np.arctan2, "nearbyint": np.rint, "fabs": np.abs, "isnan": np.isnan}
_NUMPY |= {
    "isinf": np.isinf,
    "isfinite": np.isfinite,
    "nextafter": lambda a, b: np.nextafter(np.float32(a), np.float32(b)),
}
_NUMPY |= {
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "flushed_exp": lambda x: 0.0 if x < LEAST_EXPONENT else np.exp(x),
    "exp10": lambda x: np.float64(10) ** x,
    "product": lambda x, y: x * y,
}


def pack_pair(a: float, b: float) -> int:
    """Two numbers that bfloat16 holds, in a word."""
    low, high = (struct.unpack("<I", struct.pack("<f", x))[0] >> 16 for x in (a, b))
    return struct.unpack("<i", struct.pack("<I", low | high << 16))[0]


def dot_pair(a: int, b: int) -> float:
    """The sum of the products of the numbers of two words."""
    (a0, b0), (a1, b1) = (
        tuple(struct.unpack("<f", struct.pack("<I", half(w & 0xFFFFFFFF)))[0] for w in (a, b))
        for half in (lambda w: w << 16 & 0xFFFFFFFF, lambda w: w & 0xFFFF0000)
    )
    return float(np.float32(np.float32(a1 * b1) + np.float32(a0 * b0)))


def pack_wide(a: int, b: int) -> int:
    """Two integers of 16 bits, or of 8, in a word."""
    return struct.unpack("<i", struct.pack("<I", (a & 0xFFFF) | (b & 0xFFFF) << 16))[0]


def dot_wide(a: int, b: int) -> int:
    """The sum of the products of the numbers of two words."""
    x, y = (struct.unpack("<2h", struct.pack("<i", w)) for w in (a, b))
    total = sum(p * q for p, q in zip(x, y, strict=True)) & 0xFFFFFFFF
    return struct.unpack("<i", struct.pack("<I", total))[0]


def dot(a: int, b: int, pair: tuple[str, str]) -> int:
    """The sum of the products of the bytes of two words."""
    x, y = (
        struct.unpack("4b" if d == "int8" else "4B", struct.pack("<i", w)) for w, d in zip((a, b), pair, strict=True)
    )
    return sum(p * q for p, q in zip(x, y, strict=True))


_SPACE: dict[str, Any] = {f"{name}_": _through_numpy(function) for name, function in _NUMPY.items()}
_SPACE |= {f"as_{d}": lambda v, d=d: dtypes.round_to(v, d) for d in ("float16", "bfloat16")}
_SPACE |= {"as_float32": _float32, "as_float64": float}
_SPACE |= {
    f"as_{s}int{w}": lambda v, d=f"{s}int{w}": dtypes.round_to(v, d) for s in ("", "u") for w in (4, 8, 16, 32, 64)
}
_SPACE |= {
    "divide": divide,
    "truncdiv": truncdiv,
    "truncmod": truncmod,
    "floordiv": lambda a, b: a // b if b else 0,
    "floormod": lambda a, b: a % b if b else 0,
    "least": lambda a, b: a if a < b else b,
    "most": lambda a, b: a if a > b else b,
    "least_or_nan": lambda a, b: a if a < b or a != a else b,
    "most_or_nan": lambda a, b: a if a > b or a != a else b,
    "to_int": to_int,
    "reinterpret_": reinterpret_,
    "pow_": _integer_power,
    "erf_": math.erf,
    "round_": _half_away,
    "popcount_": lambda v, w: (v & ((1 << w) - 1)).bit_count(),
    "clz_": lambda v, w: w - (v & ((1 << w) - 1)).bit_length(),
    "pack4_": lambda *values: (
        int.from_bytes([v & 255 for v in values], "little", signed=False) - (values[3] & 128) * 2**25
    ),
}
_SPACE |= {f"{DOT_PAIR}_": dot_pair, f"{PACK_PAIR}_": pack_pair}
_SPACE |= {f"{DOT_WIDE}_": dot_wide, f"{PACK_WIDE}_": pack_wide}
_SPACE |= {f"{name}_": lambda a, b, pair=pair: dot(a, b, pair) for name, pair in DOTS.items()}
