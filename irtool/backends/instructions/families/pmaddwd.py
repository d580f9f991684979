"""`pmaddwd` of SSE2, AVX2 and AVX-512: the sums of two products of 16-bit numbers, to which accumulators are added.

Four bytes are two such sums, of the even bytes and then of the odd ones, each widened: no sum of two products saturates, as those of
`pmaddubsw` do.
"""

from __future__ import annotations

from string import Template

from ....tir.int8_dot import DOTS
from ....tir.int16_dot import DOT_WIDE
from ..row import Form, InstructionSet, Row

SETS: tuple[InstructionSet, ...] = ()

_TYPE = "  typedef short pairs __attribute__((vector_size(4 * $lanes)));\n"
_WIDE = """
#if $lanes == 16 && !defined(__clang__)
  return ($t)(($u)acc + ($u)__builtin_ia32_pmaddwd512_mask((pairs)a, (pairs)b, ($t){0}, 0xffff));
#else
  return ($t)(($u)acc + ($u)__builtin_ia32_pmaddwd$bits((pairs)a, (pairs)b));
#endif
"""
_WIDE_IR = """
  %x = bitcast $t %a to $pairs
  %y = bitcast $t %b to $pairs
  %products = call $t @$madd($pairs %x, $pairs %y)
  %sum = add $t %acc, %products
  ret $t %sum
"""

_BYTES = """
  const pairs ea = $even_a, oa = $odd_a, eb = $even_b, ob = $odd_b;
#if $$lanes == 16 && !defined(__clang__)
  const $$t even = __builtin_ia32_pmaddwd512_mask(ea, eb, ($$t){0}, 0xffff);
  const $$t odd = __builtin_ia32_pmaddwd512_mask(oa, ob, ($$t){0}, 0xffff);
#else
  const $$t even = ($$t)__builtin_ia32_pmaddwd$$bits(ea, eb), odd = ($$t)__builtin_ia32_pmaddwd$$bits(oa, ob);
#endif
  return ($$t)(($$u)acc + ($$u)even + ($$u)odd);
"""
_HALVES = {
    "uint8": ("(pairs)(($$u)$x & 0x00ff00ffu)", "(pairs)((($$u)$x >> 8) & 0x00ff00ffu)"),
    "int8": ("(pairs)(($$u)$x << 8) >> 8", "(pairs)$x >> 8"),
}
"""The even bytes and the odd ones, widened."""

_BYTES_IR = """
$halves_a
$halves_b
  %even = call $$t @$$madd($$pairs %even_a, $$pairs %even_b)
  %odd = call $$t @$$madd($$pairs %odd_a, $$pairs %odd_b)
  %products = add $$t %even, %odd
  %sum = add $$t %acc, %products
  ret $$t %sum
"""
_HALVES_IR = {
    "uint8": """
  %low_$x = and $$t %$x, $$splat_00ff00ff
  %even_$x = bitcast $$t %low_$x to $$pairs
  %right_$x = lshr $$t %$x, $$splat_8
  %high_$x = and $$t %right_$x, $$splat_00ff00ff
  %odd_$x = bitcast $$t %high_$x to $$pairs
""",
    "int8": """
  %left_$x = shl $$t %$x, $$splat_8
  %low_$x = bitcast $$t %left_$x to $$pairs
  %even_$x = ashr $$pairs %low_$x, $$short_8
  %high_$x = bitcast $$t %$x to $$pairs
  %odd_$x = ashr $$pairs %high_$x, $$short_8
""",
}


def _of_bytes(function: str) -> Form:
    operands = dict(zip("ab", DOTS[function], strict=True))
    halves = {
        f"{half}_{x}": Template(_HALVES[dtype][n]).substitute(x=x)
        for x, dtype in operands.items()
        for n, half in enumerate(("even", "odd"))
    }
    ir = {f"halves_{x}": Template(_HALVES_IR[dtype]).substitute(x=x) for x, dtype in operands.items()}
    # Two products, two sums, and the instructions that split the operand that is not shared.
    c, llvm = Template(_BYTES).substitute(halves), Template(_BYTES_IR).substitute(ir)
    return Form(function, 6, _TYPE + c, llvm)


ROWS = (
    Row(
        "v?pmaddwd",
        "x86_64",
        rows=1,
        depth=2,
        when={16: (("__AVX512BW__",),), 8: (("__AVX2__",),), 4: (("__SSE2__",),)},
        forms=(Form(DOT_WIDE, 2, _TYPE + _WIDE, _WIDE_IR), *map(_of_bytes, DOTS)),
        words={
            16: {"bits": "512", "madd": "llvm.x86.avx512.pmaddw.d.512"},
            8: {"bits": "256", "madd": "llvm.x86.avx2.pmadd.wd"},
            4: {"bits": "128", "madd": "llvm.x86.sse2.pmadd.wd"},
        },
        declares="declare $t @$madd($pairs, $pairs)",
    ),
)
