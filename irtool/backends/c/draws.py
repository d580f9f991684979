"""Random inputs in C: the numbers that numpy's `RandomState` draws, so that large inputs need not be stored.

The generator is MT19937 (Matsumoto and Nishimura, "Mersenne Twister", 1998), seeded by a single word. A double has 53 bits of two
outputs, and a whole number is the first output whose lowest bits are in range; numpy guarantees both for `RandomState`
("Compatibility policy" in its manual).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...selection.vectors.types import HALVES
from ..c_types import bare, literal, stored_type
from ..formulas.support import TO_BITS, Helper
from ..interface.entry import Parameter
from ..sources import Draw

_PER_LINE = 8


def given_values(p: Parameter, value: Draw | Any, suffix: str = "") -> list[str]:
    """The declaration of an input's values, if they are not drawn; its name ends in the suffix."""
    if isinstance(value, Draw):
        return []
    flat = value.reshape(-1)
    if p.slot.dtype in HALVES:
        numbers = [f"{v}u" for v in flat.view("uint16").tolist()]
    else:
        numbers = [bare(literal(v, p.slot.dtype)) for v in flat.tolist()]
    return table(f"const {stored_type(p.slot.dtype)} {p.name}_given{suffix}", numbers)


def table(declared: str, numbers: Sequence[str]) -> list[str]:
    """A static array of these numbers; C has no empty arrays."""
    numbers = numbers or ["0"]
    rows = ("  " + ", ".join(numbers[i : i + _PER_LINE]) + "," for i in range(0, len(numbers), _PER_LINE))
    return [f"static {declared}[{len(numbers)}] = {{", *rows, "};"]


def generator(inputs: Sequence[tuple[Parameter, Draw | Any]]) -> list[str]:
    """The functions that draw these inputs."""
    drawn = [(p.slot.dtype, value) for p, value in inputs if isinstance(value, Draw)]
    if not drawn:
        return []
    lines = [*_TWISTER]
    lines += _BELOW if any(d.whole for _, d in drawn) else ()
    lines += _UNIFORM if any(not d.whole for _, d in drawn) else ()
    return lines


def helpers(inputs: Sequence[tuple[Parameter, Draw | Any]]) -> list[Helper]:
    """The support functions that `fill` calls for these inputs."""
    drawn = {p.slot.dtype for p, value in inputs if isinstance(value, Draw)}
    return [h for dtype in HALVES if dtype in drawn for h in (_ODD, TO_BITS[dtype])]


def fill(p: Parameter, draw: Draw | Any, size: int, suffix: str = "") -> list[str]:
    """Statements that fill an input of so many elements; `i` is a variable of type `unsigned long`."""
    value = f"{p.name}_given{suffix}[i]"
    seeded = []
    if isinstance(draw, Draw):
        seeded = [f"  seed({draw.seed}u);"]
        if draw.whole:
            value = f"below({int(draw.high - draw.low) - 1}u)"
            value = f"{literal(draw.low, 'int32')} + {value}" if draw.low else value
        else:
            value = f"uniform({bare(literal(draw.low, 'float64'))}, {literal(draw.high - draw.low, 'float64')})"
        value = _narrowed(value, p.slot.dtype)
    return [*seeded, f"  for (i = 0; i < {size}u; ++i) {p.name}_data[i] = {value};"]


def _narrowed(value: str, dtype: str) -> str:
    """A double as a dtype, rounded as by numpy: through float32, except float16, which is rounded once."""
    if dtype not in HALVES:
        return f"({stored_type(dtype)})({value})"
    single = f"{_ODD.name}({value})" if dtype == "float16" else f"(float)({value})"
    return f"{TO_BITS[dtype].name}({single})"


_ODD = Helper("odd", ("float64",))
_TWISTER = """\
static uint32_t state[624];
static int drawn;

static void seed(uint32_t s) {
  uint32_t n;
  state[0] = s;
  for (n = 1; n < 624; ++n) state[n] = 1812433253u * (state[n - 1] ^ (state[n - 1] >> 30)) + n;
  drawn = 624;
}

static uint32_t next_word(void) {
  uint32_t y;
  int n;
  if (drawn == 624) {
    for (n = 0; n < 624; ++n) {
      y = (state[n] & 0x80000000u) | (state[(n + 1) % 624] & 0x7fffffffu);
      state[n] = state[(n + 397) % 624] ^ (y >> 1) ^ (y & 1u ? 0x9908b0dfu : 0u);
    }
    drawn = 0;
  }
  y = state[drawn++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}
""".splitlines()
_BELOW = """
static uint32_t below(uint32_t last) {
  uint32_t mask = last, y;
  int n;
  if (!last) return 0;
  for (n = 1; n < 32; n *= 2) mask |= mask >> n;
  do y = next_word() & mask; while (y > last);
  return y;
}
""".splitlines()
# The product is stored before the sum; a fused instruction for both would round only once.
_UNIFORM = """
static double uniform(double low, double width) {
  const double high_bits = next_word() >> 5, low_bits = next_word() >> 6;
  const volatile double offset = width * ((high_bits * 67108864.0 + low_bits) / 9007199254740992.0);
  return low + offset;
}
""".splitlines()
