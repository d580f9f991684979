"""Values of data types and references for callers in C: their memory, and functions that make them and take them apart.

All of them are in the header, as inline functions: the text is the same for every backend.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...tir.errors import OTHER_VALUES_ERROR, VALUES_FULL_ERROR
from ...tir.program import Program
from ...tir.region import HEADER, Field
from ...tir.values import Alternative, ValueType
from ..c_types import stored_type
from .comment import inside
from .names import Identifiers, sanitize

OTHER_VALUES, VALUES_FULL = "OTHER_VALUES", "VALUES_FULL"
"""The names, behind that of the program, of the errors of bytes that are no values of the parameters' types, and of memory that results
do not fit in."""

VARIABLE = "values"
"""The parameter that points to the memory for values."""

LOCAL = (VARIABLE, "region", "objects", "given", "from")
"""Variables of the functions that begin a run on values."""


@dataclass(frozen=True)
class Constructor:
    """The names of an alternative's functions in C, and of the macro for its tag."""

    alternative: Alternative
    make: str
    get: tuple[str, ...]
    put: str
    macro: str


@dataclass(frozen=True)
class DataInterface:
    """The values of a program for callers in C.

    Attributes:
        name: the network's.
        struct: the name of the memory's type.
        tests: for each type, the function that says whether a handle is one of it.
    """

    name: str
    struct: str
    types: Sequence[ValueType]
    tests: Sequence[str]
    constructors: Sequence[Sequence[Constructor]]
    tag: str
    begin: str
    new: str
    place: str

    @property
    def declaration(self) -> str:
        """The parameter that points to the memory."""
        return f"struct {self.struct} *{VARIABLE}"

    @property
    def macros(self) -> list[str]:
        """The names of its macros."""
        own = [f"{self.name.upper()}_{m}" for m in (OTHER_VALUES, VALUES_FULL)]
        return [*own, *(c.macro for cases in self.constructors for c in cases)]

    def header(self) -> list[str]:
        """The struct, the errors and the functions, for a header."""
        upper = self.name.upper()
        lines = [
            "/* Values of data types and references lie in memory of the caller's, one object behind the other. A value is a handle: the",
            f" * offset of its object, or a negative number for a constructor without arguments. {self.begin} begins such a",
            " * memory; an earlier `top` takes back the objects that were made since. A run reads the values that it gets there, and adds",
            " * those of its results. */",
            f"struct {self.struct} {{",
            "  int64_t top, size; /* in bytes */",
            f"  int64_t head[{HEADER // 8 - 2}];",
            "};",
            "",
            "/* Errors of a run: the values are not of the types of its parameters; the results do not fit in the memory, which is as before. */",
            f"#define {upper}_{OTHER_VALUES} {OTHER_VALUES_ERROR}",
            f"#define {upper}_{VALUES_FULL} {VALUES_FULL_ERROR}",
            "",
        ]
        for t, constructors in zip(self.types, self.constructors, strict=True):
            lines.append(f"/* {inside(t.text)} */")
            lines += [f"#define {c.macro} {c.alternative.layout.tag}" for c in constructors if t.data]
        return [*lines, ""]

    def functions(self) -> list[str]:
        """The inline functions, for a header."""
        memory = self.declaration
        lines = [
            "/* Begins a memory of that many bytes, at a multiple of 8; NULL if it is elsewhere, or too small. */",
            f"static inline struct {self.struct} *{self.begin}(void *memory, size_t size) {{",
            f"  struct {self.struct} *{VARIABLE} = (struct {self.struct} *)memory;",
            f"  if (!memory || (uintptr_t)memory % 8 != 0 || size < {HEADER}u || size > (size_t)INT64_MAX) return NULL;",
            f"  memset(memory, 0, {HEADER});",
            f"  {VARIABLE}->top = {HEADER};",
            f"  {VARIABLE}->size = (int64_t)(size / 8 * 8);",
            f"  return {VARIABLE};",
            "}",
            "",
            "/* The number of a value's constructor. */",
            f"static inline int32_t {self.tag}(const {memory}, int64_t value) {{",
            "  int64_t word;",
            "  if (value < 0) return (int32_t)(-1 - value);",
            f"  memcpy(&word, (const unsigned char *){VARIABLE} + value, 8);",
            "  return (int32_t)(word & INT64_C(0x7fffffff));",
            "}",
            "",
            f"static inline const unsigned char *{self.place}(const {memory}, int64_t at) {{",
            f"  return (const unsigned char *){VARIABLE} + at;",
            "}",
            "",
            f"static inline int64_t {self.new}({memory}, int64_t size, int64_t word) {{",
            f"  const int64_t at = {VARIABLE}->top;",
            f"  if ({VARIABLE}->size - at < size) return 0;",
            f"  memcpy((unsigned char *){VARIABLE} + at, &word, 8);",
            f"  {VARIABLE}->top = at + size;",
            "  return at;",
            "}",
        ]
        for t, test in zip(self.types, self.tests, strict=True):
            lines += ["", *self._test(t, test)]
        lines += [
            "",
            "/* Constructors return a new value, or 0 if there is no room, or an argument is no value of its type; the functions with a number",
            " * behind the constructor's name give that argument of a value that it made. */",
        ]
        for cases in self.constructors:
            for c in cases:
                lines += [*self._make(c), *(line for n in range(len(c.get)) for line in self._get(c, n))]
                lines += self._put(c) if c.put else []
        return lines

    def _test(self, t: ValueType, test: str) -> list[str]:
        known = [f"value == {-1 - a.layout.tag}" for a in t.alternatives if not a.layout.fields]
        several = any(a.layout.fields for a in t.alternatives)
        lines = [
            f"/* Whether a value is {'a' if t.data else 'one of'} {inside(t.text)}. */",
            f"static inline int {test}(const {self.declaration}, int64_t value) {{",
        ]
        if not several:
            return [*lines, f"  (void){VARIABLE};", f"  return {' || '.join(known)};", "}"]
        last = t.first + len(t.alternatives) - 1
        return [
            *lines,
            "  int64_t word;",
            f"  if (value < 0) return {' || '.join(known) or '0'};",
            f"  if (value < {HEADER} || value >= {VARIABLE}->top || value % 8 != 0) return 0;",
            f"  memcpy(&word, {self.place}({VARIABLE}, value), 8);",
            f"  return word >> 32 >= {t.first} && word >> 32 <= {last};",
            "}",
        ]

    def _make(self, c: Constructor) -> list[str]:
        layout = c.alternative.layout
        if not layout.fields:
            return [f"static inline int64_t {c.make}(void) {{ return {-1 - layout.tag}; }}"]
        word = layout.tag | layout.number << 32
        return [
            f"static inline int64_t {c.make}({self.declaration}, {_parameters(layout.fields)}) {{",
            "  int64_t at;",
            *self._refusals(c),
            f"  at = {self.new}({VARIABLE}, {layout.size}, INT64_C({word}));",
            "  if (at == 0) return 0;",
            *_stores(layout.fields, f"(unsigned char *){VARIABLE} + at"),
            "  return at;",
            "}",
        ]

    def _put(self, c: Constructor) -> list[str]:
        """The function that writes a reference."""
        fields = c.alternative.layout.fields
        return [
            "/* Writes a reference; 0 if a new value is not of its type. */",
            f"static inline int {c.put}({self.declaration}, int64_t value, {_parameters(fields)}) {{",
            *self._refusals(c),
            *_stores(fields, f"(unsigned char *){VARIABLE} + value"),
            "  return 1;",
            "}",
        ]

    def _refusals(self, c: Constructor) -> list[str]:
        checks = [
            f"!{self.tests[target]}({VARIABLE}, x{n})" for n, target in enumerate(c.alternative.targets) if target >= 0
        ]
        return [f"  if ({' || '.join(checks)}) return 0;"] if checks else []

    def _get(self, c: Constructor, n: int) -> list[str]:
        f = c.alternative.layout.fields[n]
        t = stored_type(f.dtype)
        source = f"{self.place}({VARIABLE}, value + {f.offset})"
        if f.shape:
            return [
                f"static inline const {t} *{c.get[n]}(const {self.declaration}, int64_t value) {{",
                f"  return (const {t} *)(const void *){source}; /* {_type(f)} */",
                "}",
            ]
        return [
            f"static inline {t} {c.get[n]}(const {self.declaration}, int64_t value) {{",
            f"  {t} result;",
            f"  memcpy(&result, {source}, sizeof result);",
            "  return result;",
            "}",
        ]


def data_interface(program: Program, name: str, names: Identifiers) -> DataInterface | None:
    """The values of a program's entries; None if all their parameters and results are tensors. Functions get their names from `names`."""
    values = next((v for n in program.entry_names if (v := program.functions[n].values) is not None), None)
    if values is None:
        return None
    macros = Identifiers()

    def constructor(t: ValueType, a: Alternative) -> Constructor:
        make = names.fresh(f"{name}_{sanitize(a.layout.name)}")
        get = tuple(names.fresh(f"{make}_{n}") for n in range(len(a.layout.fields)))
        put = names.fresh(f"{make}_write") if not t.data and a.layout.fields else ""
        return Constructor(a, make, get, put, macros.fresh(f"{make.upper()}_TAG"))

    struct, tag, begin, new, place = (
        names.fresh(f"{name}_{x}") for x in ("values", "tag", "values_begin", "values_new", "values_at")
    )
    tests = [names.fresh(f"{name}_is_{sanitize(t.text).strip('_')}") for t in values.types]
    constructors = [[constructor(t, a) for a in t.alternatives] for t in values.types]
    return DataInterface(name, struct, values.types, tests, constructors, tag, begin, new, place)


def _type(f: Field) -> str:
    return f"{f.dtype}[{', '.join(map(str, f.shape))}]"


def _parameters(fields: Sequence[Field]) -> str:
    return ", ".join(
        f"const {stored_type(f.dtype)} *x{n}" if f.shape else f"{stored_type(f.dtype)} x{n}"
        for n, f in enumerate(fields)
    )


def _stores(fields: Sequence[Field], base: str) -> list[str]:
    return [
        f"  memcpy({base} + {f.offset}, {'' if f.shape else '&'}x{n}, {f.nbytes}u);" if f.nbytes else f"  (void)x{n};"
        for n, f in enumerate(fields)
    ]
