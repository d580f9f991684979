"""C identifiers from any text."""

from __future__ import annotations

import re

_WORDS_OF_C = """
auto break case char const continue default do double else enum extern float for goto if inline int long register restrict return short signed
sizeof static struct switch typedef union unsigned void volatile while
asm typeof bool true false alignas alignof static_assert thread_local nullptr constexpr
"""
_WORDS_OF_CPP = """
catch class const_cast delete dynamic_cast explicit export friend mutable namespace new noexcept operator private protected public
reinterpret_cast static_cast template this throw try typeid typename using virtual wchar_t
and or not xor bitand bitor compl and_eq or_eq xor_eq not_eq
"""
_STANDARD_NAMES = """
main errno assert NULL NAN INFINITY EOF I complex imaginary linux unix arm near far
int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t ptrdiff_t
abs exp log sqrt sin cos tan pow floor ceil round trunc fabs fmod gamma signal time y0 y1 yn j0 j1 jn index
"""
_RESERVED = frozenset(f"{_WORDS_OF_C}{_WORDS_OF_CPP}{_STANDARD_NAMES}".split())

_STANDARD_MACRO = re.compile(
    r"U?INT\w*_C|\w+_(MAX|MIN)|u?int\w*_t|(PRI|SCN)[dioxuX]\w*|SIG(INT|TERM|ABRT|FPE|ILL|SEGV|_[A-Z]+)|EDOM|ERANGE|EILSEQ"
    r"|(FLT|DBL|LDBL|FP|LC|SEEK|EXIT|CLOCKS|MATH|HUGE|M)_[A-Z0-9_]+|BUFSIZ|CHAR_BIT|stdin|stdout|stderr"
)
"""Names that the standard headers may define: a program may include them before the header with our names."""


def sanitize(text: str) -> str:
    """`text` with the characters that C does not allow replaced; results may collide (see `Identifiers`)."""
    identifier = re.sub(r"[^A-Za-z0-9_]", "_", text) or "_"
    if identifier[0].isdigit() or identifier.startswith(("_", "irt_", "IRT_")):
        identifier = "v" + identifier
    return identifier[:100]


class Identifiers:
    """A scope that gives identifiers which differ from each other and from C's own words."""

    def __init__(self, *taken: str, outer: Identifiers | None = None) -> None:
        self._taken = set(taken)
        self._counts: dict[str, int] = {}
        self._outer = outer
        """The scope around: consulted and not copied, since there may be as many scopes as names."""

    def taken(self, name: str) -> bool:
        """True if the identifier was handed out or reserved, here or outside."""
        scope: Identifiers | None = self
        while scope is not None:
            if name in scope._taken:
                return True
            scope = scope._outer
        return False

    def take(self, *names: str) -> None:
        """Reserves identifiers."""
        self._taken.update(names)

    def inner(self, *taken: str) -> Identifiers:
        """A scope inside of this one, whose names differ from those out here too."""
        return Identifiers(*taken, outer=self)

    def fresh(self, text: str) -> str:
        """A new identifier that resembles `text`."""
        stem = sanitize(text)
        if _STANDARD_MACRO.fullmatch(f"{stem}_2"):  # a number does not change its kind
            stem = f"v{stem}"
        name = stem
        while self.taken(name) or name in _RESERVED or _STANDARD_MACRO.fullmatch(name):
            n = self._counts[stem] = self._count(stem) + 1
            name = f"{stem}_{n}"
        self._taken.add(name)
        return name

    def _count(self, stem: str) -> int:
        """A number up to which all names of that stem are taken."""
        scope: Identifiers | None = self
        while scope is not None:
            if stem in scope._counts:
                return scope._counts[stem]
            scope = scope._outer
        return 1
