"""Comparison, in a test bench, of values of data types and references with expected ones: both lie in memory as a run has them.

The C function follows handles in both memories at once, by a table of fields, and compares the numbers in objects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...selection.vectors.types import HALVES
from ...tir.dtypes import HANDLE
from ...tir.region import HEADER, Layout
from ...tir.values import ValueType
from ..c_types import stored_type
from ..formulas.support import FROM_BITS, Helper
from . import draws


class ValueComparison:
    """The table and the functions for values of these types, in trials with these expected images."""

    def __init__(self, types: Sequence[ValueType], images: Sequence[Any]) -> None:
        self._layouts: dict[int, Layout] = {
            a.layout.number: a.layout for t in types for a in t.alternatives if a.layout.fields
        }
        dtypes = {f.dtype for layout in self._layouts.values() for f in layout.fields} - {HANDLE}
        self.dtypes = sorted(dtypes)
        """The dtypes of numbers in objects; the kind of a field is the place of its dtype, and the number of them for a handle."""
        self._most = max((self._handles(image) for image in images), default=0)
        self._words = max((image.size for image in images), default=0)

    def helpers(self) -> list[Helper]:
        """The support functions that it calls."""
        return [h for dtype, h in FROM_BITS.items() if dtype in self.dtypes]

    def largest(self, image: Any) -> Mapping[str, float]:
        """The largest magnitude of the numbers of each dtype in an image."""
        import numpy as np

        result = dict.fromkeys(self.dtypes, 0.0)
        for layout, place in self._objects(image):
            for f in layout.fields:
                if f.dtype != HANDLE and f.nbytes:
                    stored = "uint16" if f.dtype == "bfloat16" else f.dtype
                    data = np.frombuffer(
                        image.view("uint8").data[place + f.offset : place + f.offset + f.nbytes], stored
                    )
                    if f.dtype == "bfloat16":
                        data = (data.astype("uint32") << 16).view("float32")
                    wide = np.abs(data.astype("float64"))
                    result[f.dtype] = max(result[f.dtype], float(np.where(np.isfinite(wide), wide, 0).max()))
        return result

    def _objects(self, image: Any) -> Iterator[tuple[Layout, int]]:
        """The objects of an image, with their places in bytes."""
        place = HEADER
        while place < image.size * 8:
            layout = self._layouts[int(image[place // 8]) >> 32]
            yield layout, place
            place += layout.size

    def _handles(self, image: Any) -> int:
        return sum(f.dtype == HANDLE for layout, _ in self._objects(image) for f in layout.fields)

    def lines(self) -> list[str]:
        """The declarations."""
        numbers = max(self._layouts, default=0) + 1
        fields: list[str] = []
        first = []
        for n in range(numbers + 1):
            first.append(str(len(fields) // 3))
            for f in self._layouts[n].fields if n in self._layouts else ():
                kind = len(self.dtypes) if f.dtype == HANDLE else self.dtypes.index(f.dtype)
                count = f.nbytes // 8 if f.dtype == HANDLE else _count(f.shape)
                fields += [str(f.offset), str(kind), str(count)]
        cases = [f"    case {n}: return {_wide(dtype)};" for n, dtype in enumerate(self.dtypes)]
        pending = 4 * self._most + 64
        return [
            "/* The fields of each object: offset, kind, elements. */",
            *draws.table("const int32_t fields", fields),
            *draws.table("const int32_t first_fields", first),
            f"static int64_t seen[{max(1, self._words)}], waiting[{2 * pending}];",
            "",
            "static double number_of(const unsigned char *field, int kind, int32_t n) {",
            "  switch (kind) {",
            *cases,
            "    default: (void)field; (void)n; return 0;",
            "  }",
            "}",
            "",
            "/* The differences of a value and an expected one. */",
            "static int differ(const char *what, const int64_t *got, int64_t value, const int64_t *want, int64_t expected, const double *allowed) {",
            "  int wrong = 0, count = 1;",
            "  waiting[0] = value;",
            "  waiting[1] = expected;",
            "  while (count > 0) {",
            "    int32_t f, n;",
            "    int64_t number;",
            "    value = waiting[2 * --count];",
            "    expected = waiting[2 * count + 1];",
            "    if (expected >= 0 && seen[expected / 8] == value) continue;",
            "    if (expected < 0 || value < 0 || got[value / 8] != want[expected / 8]) {",
            "      if (expected == value && expected < 0) continue;",
            '      printf("%s has another constructor than expected\\n", what);',
            "      ++wrong;",
            "      continue;",
            "    }",
            "    seen[expected / 8] = value;",
            "    number = want[expected / 8] >> 32;",
            "    for (f = first_fields[number]; f < first_fields[number + 1]; ++f) {",
            "      const int32_t offset = fields[3 * f], kind = fields[3 * f + 1];",
            f"      if (kind == {len(self.dtypes)}) {{",
            f'        if (count == {pending}) {{ printf("%s has too many values\\n", what); return wrong + 1; }}',
            "        waiting[2 * count] = got[(value + offset) / 8];",
            "        waiting[2 * count++ + 1] = want[(expected + offset) / 8];",
            "        continue;",
            "      }",
            "      for (n = 0; n < fields[3 * f + 2]; ++n)",
            "        wrong += differs(what, (unsigned long)n, number_of((const unsigned char *)got + value + offset, kind, n),",
            "                         number_of((const unsigned char *)want + expected + offset, kind, n), allowed[kind]);",
            "    }",
            "  }",
            "  return wrong;",
            "}",
            "",
        ]


def _count(shape: Sequence[int]) -> int:
    import math

    return math.prod(shape)


def _wide(dtype: str) -> str:
    """The element of a field as a double."""
    element = f"((const {stored_type(dtype)} *)(const void *)field)[n]"
    return f"(double){FROM_BITS[dtype].name}({element})" if dtype in HALVES else f"(double){element}"
