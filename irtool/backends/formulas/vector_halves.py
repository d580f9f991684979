"""Arithmetic on vectors of float16, which are stored as their bits, as C text (see `vector_math` for the placeholders).

Processors with float16 arithmetic take one or two instructions; others compute element by element in float32, with the same bits
(see `tir.native_halves`), apart from those of a NaN. Compilers would contract a product and a sum to one rounding, and replace a
quotient by a power of two with a product, so that both are hidden from them.
"""

from __future__ import annotations

from ...selection.vectors.types import VectorType
from ...tir.native_halves import EXTREMES, HALF
from .support import FROM_BITS, TO_BITS, Helper
from .templates import fill

HELPERS: tuple[Helper, ...] = (FROM_BITS[HALF], TO_BITS[HALF])
"""The support functions that these functions call."""

_X86_LANES, _X86_REGISTER, _ARM_LANES = 32, 8, 8
"""The most lanes of a vector, and those of x86's shortest register: clang puts nothing shorter there in assembly."""

_WAYS = """IRT_INLINE $result irt_v{name}_{n}($parameters) {{
$ways  $result y;
  int k;
  for (k = 0; k < {lanes}; ++k) y[k] = $one;
  return y;
$end}}"""
_X86 = "#if defined(__AVX512FP16__) && defined(__AVX512VL__)$more\n$x86\n#el"
_ARM = "if defined(__aarch64__) && defined(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC)\n$arm\n#else\n"
_TYPE = "  __extension__ typedef _Float16 half __attribute__((vector_size(2 * {lanes})));\n"
_PLAIN = _TYPE + "  return ({t})((half)a $op (half)b);"
_HIDDEN = _TYPE + '  half y = (half)a $op (half)b;\n  __asm__("" : "+$register"(y));\n  return ({t})y;'
_FLOAT = "irt_h2f({}[k])"
_TWO = "{t} a, {t} b"
_BOTH = {"a": _FLOAT.format("a"), "b": _FLOAT.format("b")}

_OPERATORS = {"add": ("+", _PLAIN), "subtract": ("-", _PLAIN), "multiply": ("*", _HIDDEN), "divide": ("/", _HIDDEN)}
_COMPARISONS = {
    "less": ("<", 1, "fcmgt %0.$h, %2.$h, %1.$h"),
    "less_equal": ("<=", 2, "fcmge %0.$h, %2.$h, %1.$h"),
    "equal": ("==", 0, "fcmeq %0.$h, %1.$h, %2.$h"),
    "not_equal": ("!=", 4, "fcmeq %0.$h, %1.$h, %2.$h\\n\\tmvn %0.$b, %0.$b"),
}
"""The operator, x86's number for it, and Arm's instructions, for which gcc generates comparisons of single elements."""
_COMPARED_X86 = """  {i} m;
  __asm__("vcmpph $$$number, %2, %1, %%k1\\n\\tvpmovm2w %%k1, %0" : "=v"(m) : "v"(a), "v"(b) : "k1");
  return m;"""
_ASSEMBLED = '  $type $to;\n  __asm__("$instruction" : "=$register"($to) : $operands);\n  return $to;'
_LESSER_ARM = """  {i} m;
  __asm__("fcmgt $order" : "=w"(m) : "w"(a), "w"(b));
  return ({t})((m & ({i})a) | (~m & ({i})b));"""
# The instruction gives the second operand where either is NaN: the first one stays where it is.
_KEEPING_X86 = """  {t} y = a;
  __asm__("vcmpph $$7, %0, %0, %%k1\\n\\tv${name}ph %1, %0, %0%{{%%k1%}}" : "+v"(y) : "v"(b) : "k1");
  return y;"""
_KEEPING_ARM = """  {i} m = irt_vless_{n}($order) | ~irt_vequal_{n}(a, a);
  return ({t})((m & ({i})a) | (~m & ({i})b));"""
_FABS = "IRT_INLINE {t} irt_vfabs_{n}({t} x) {{ return x & 0x7fff; }}"


def written(name: str, t: VectorType) -> str:
    """The text of a function on vectors of float16; empty for other types, and for functions with the same text for all types."""
    if t.dtype != HALF or name not in (*_OPERATORS, *_COMPARISONS, *EXTREMES, "sqrt", "fabs"):
        return ""
    if name == "fabs":
        return _FABS
    if name == "sqrt":
        return _in_ways(t, f"irt_f2h(sqrtf({_FLOAT.format('x')}))", *_root(t), parameters="{t} x")
    if name in _OPERATORS:
        op, text = _OPERATORS[name]
        one = fill("irt_f2h($a $op $b)", op=op, **_BOTH)
        return _in_ways(t, one, fill(text, op=op, register="v"), fill(text, op=op, register="w"))
    if name in _COMPARISONS:
        op, number, instruction = _COMPARISONS[name]
        arm = _assembled("w", fill(instruction, **_arrangement(t)), ("a", "b"), "{i}", "m")
        one = fill("($a $op $b) ? -1 : 0", op=op, **_BOTH)
        return _in_ways(t, one, fill(_COMPARED_X86, number=str(number)), arm, result="{i}")
    is_least = name in ("min", "minimum")
    if name in ("minimum", "maximum"):
        one = fill("$a $op $b || $a != $a ? a[k] : b[k]", op="<" if is_least else ">", **_BOTH)
        arm = fill(_KEEPING_ARM, order="a, b" if is_least else "b, a")
        return _in_ways(t, one, fill(_KEEPING_X86, name=name[:3]), arm)
    one = fill("$a $op $b ? a[k] : b[k]", op="<" if is_least else ">", **_BOTH)
    order = fill("%0.$h, %2.$h, %1.$h" if is_least else "%0.$h, %1.$h, %2.$h", **_arrangement(t))
    x86 = _assembled("v", f"v{name}ph %2, %1, %0", ("a", "b"))
    return _in_ways(t, one, x86, fill(_LESSER_ARM, order=order))


def _root(t: VectorType) -> tuple[str, str]:
    return (
        _assembled("v", "vsqrtph %1, %0", ("x",)),
        _assembled("w", fill("fsqrt %0.$h, %1.$h", **_arrangement(t)), ("x",)),
    )


def _assembled(
    register: str, instruction: str, operands_given: tuple[str, ...], result: str = "{t}", to: str = "y"
) -> str:
    operands = ", ".join(f'"{register}"({x})' for x in operands_given)
    return fill(_ASSEMBLED, type=result, instruction=instruction, register=register, operands=operands, to=to)


def _arrangement(t: VectorType) -> dict[str, str]:
    """Arm's names of such vectors: of numbers, and of bytes."""
    return {"h": f"{t.lanes}h", "b": f"{2 * t.lanes}b"}


def _in_ways(t: VectorType, one: str, x86: str, arm: str, parameters: str = _TWO, result: str = "{t}") -> str:
    """The text with the bodies for x86 and Arm, if they have such vectors, and the body for all processors."""
    branches = []
    if 4 <= t.lanes <= _X86_LANES:
        branches.append(fill(_X86, x86=x86, more=" && !defined(__clang__)" if t.lanes < _X86_REGISTER else ""))
        branches.append(fill(_ARM, arm=arm) if t.lanes <= _ARM_LANES else "se\n")
    ways = "".join(branches)
    return fill(_WAYS, result=result, parameters=parameters, ways=ways, one=one, end="#endif\n" if ways else "")
