"""`pmaddubsw` of SSSE3, AVX2 and AVX-512: the sums of two products of unsigned and signed bytes in 16 bits, which `pmaddwd` adds.

Those sums saturate, so that it computes `dot4_u8s7` only, whose second factors are small enough.
"""

from __future__ import annotations

from ....tir.int8_dot import NARROW
from ..row import Form, InstructionSet, Row

SETS: tuple[InstructionSet, ...] = ()

_C = """
  typedef char bytes __attribute__((vector_size(4 * $lanes)));
  typedef short pairs __attribute__((vector_size(4 * $lanes)));
  const pairs ones = (pairs)(($t){0} + 0x10001);
#if $lanes == 16 && !defined(__clang__)
  const pairs sums = (pairs)__builtin_ia32_pmaddubsw512_mask((bytes)a, (bytes)b, (pairs){0}, 0xffffffff);
  return ($t)(($u)acc + ($u)__builtin_ia32_pmaddwd512_mask(sums, ones, ($t){0}, 0xffff));
#else
  const pairs sums = (pairs)__builtin_ia32_pmaddubsw$bits((bytes)a, (bytes)b);
  return ($t)(($u)acc + ($u)__builtin_ia32_pmaddwd$bits(sums, ones));
#endif
"""
_LLVM = """
  %x = bitcast $t %a to $bytes
  %y = bitcast $t %b to $bytes
  %sums = call $pairs @$maddubs($bytes %x, $bytes %y)
  %products = call $t @$madd($pairs %sums, $pairs $short_1)
  %sum = add $t %acc, %products
  ret $t %sum
"""

ROWS = (
    Row(
        "v?pmaddubsw",
        "x86_64",
        rows=1,
        depth=4,
        when={16: (("__AVX512BW__",),), 8: (("__AVX2__",),), 4: (("__SSSE3__",),)},
        forms=(Form(NARROW, 3, _C, _LLVM),),
        words={
            16: {"bits": "512", "maddubs": "llvm.x86.avx512.pmaddubs.w.512", "madd": "llvm.x86.avx512.pmaddw.d.512"},
            8: {"bits": "256", "maddubs": "llvm.x86.avx2.pmadd.ub.sw", "madd": "llvm.x86.avx2.pmadd.wd"},
            4: {"bits": "128", "maddubs": "llvm.x86.ssse3.pmadd.ub.sw.128", "madd": "llvm.x86.sse2.pmadd.wd"},
        },
        declares="""
declare $pairs @$maddubs($bytes, $bytes)
declare $t @$madd($pairs, $pairs)
""",
    ),
)
