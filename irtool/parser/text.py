"""From a text to a module or an expression, with everything there is to say about it."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..diagnostics import Diagnostic, Diagnostics, IrError, Source, Span, nearest
from ..ir import Expr, Function, Module, Type, Var, free_variables
from . import dialect
from .builder import Builder
from .builder.state import GaveUp, State
from .lexer import Lexer, Word
from .lowered import lowered_functions, with_lowered
from .metadata import Metadata, find_section
from .reader import Reader
from .tables import Tables, load

CUT_OFF = "the metadata section is cut off: values that the text refers to are unknown"
"""The warning about such a text."""

_MOST_UNDEFINED = 50
_LONGEST = 32 << 20
"""Characters of code in a text, its metadata section apart: a few gigabytes of expressions at worst."""

_VERSIONS = ("0.0.5", "0.0.4")
_TYPE = re.compile(r"^[ \t]*(?:extern[ \t]+)?type[ \t]+\w+[^{}\n]*(?:\{[^{}]*\})?", re.MULTILINE)
_DEFINITION = re.compile(r"^[ \t]*def\b", re.MULTILINE)
_MODULE_WORDS = frozenset(("DEF", "TYPE", "EXTERN"))


def parse(text: str, filename: str = "<text>") -> Module:
    """The module that a text holds. A bare expression becomes the function `@main` of its free variables.

    Nothing is inferred. Raises IrError with every mistake that was found.
    """
    module, found = read_with_diagnostics(text, filename)
    if module is None:
        raise IrError([d for d in found if d.level == "error"])
    return module


def parse_expr(text: str, filename: str = "<text>") -> Expr:
    """The expression that a text holds. Raises IrError with every mistake that was found."""
    found = Diagnostics()
    result = _read(text, filename, found, "expression")
    found.check()
    return result


def read_with_diagnostics(text: str, filename: str = "<text>") -> tuple[Module | None, list[Diagnostic]]:
    """The module that a text holds, None where there are errors; and the errors and warnings, in order of place."""
    found = Diagnostics()
    result = _read(text, filename, found, None)
    items = sorted(found.items, key=lambda d: d.span.start if d.span is not None else -1)
    if found.errors:
        return None, items
    if isinstance(result, Expr):
        items.append(
            Diagnostic("the text is a bare expression; it is taken as the body of @main", result.span, "warning")
        )
        result = expression_module(result)
    return result, items


def read_type(text: str, known: State | None = None) -> Type | None:
    """The type that a text holds, or None if it holds none. `known` tells the names of types and type parameters."""
    found = Diagnostics()
    source = Source("<type>", text)
    builder = Builder(source, known.metadata if known is not None else Metadata(), found)
    if known is not None:
        builder.type_definitions = known.type_definitions
        builder.type_variables = dict(known.type_variables)
        builder.dim_names = known.dim_names
    tables = load()
    Reader(tables, builder, "lone_type").run(Lexer(tables, source, found).words())
    return None if found.errors else builder.result


def _read(text: str, filename: str, found: Diagnostics, start: str | None) -> Any:
    section = find_section(text)
    source = Source(filename, text if section < 0 else text[:section])
    if len(source.text) > _LONGEST:
        size = f"{len(source.text) / (1 << 20):.0f} MB of code, and at most {_LONGEST >> 20} MB are read"
        found.error(f"the text has {size}", Span(source, 0, 1))
        return None
    try:
        metadata = Metadata(text, section)
    except IrError as error:
        for d in error.diagnostics:
            found.error(d.message, Span(source, max(section - 1, 0), section), help=d.help)
        return None
    del text
    result, said = _attempt(source, metadata, start, types_first=False)
    if any(d.message.startswith("unknown") for d in said.errors) and _late_types(source.text):
        # a constructor may be used before its type is defined
        again = _attempt(source, metadata, start, types_first=True)
        if not again[1].errors:
            result, said = again
    found.items += said.items
    return result


def _attempt(
    source: Source, metadata: Metadata, start: str | None, types_first: bool
) -> tuple[Module | Expr | None, Diagnostics]:
    """Reads the code of a text, in order or with its type definitions before all else."""
    found = Diagnostics()
    tables = load()
    lowered = lowered_functions(source)
    version, is_module = _look_at_start(tables, source)
    builder = Builder(source, metadata, found)
    builder.strict = version is not None
    if start is None:
        is_empty = version is not None and not source.text.strip()
        start = "module" if is_module or lowered or is_empty else "expression"
        _check_version(version, source, found)
    lines_bind = version is None and dialect.lines_bind(source.text)
    early = _late_types(source.text) if types_first else []
    reader = Reader(tables, builder, start, lines_bind)
    with _garbage_collection_paused():
        try:
            reader.run(_words(tables, source, found, lines_bind, lowered, early))
        except GaveUp:
            return None, found
    for name, span in lowered.items():
        head = Span(source, span.start, span.start + len(name) + 1)
        found.warn(f"the lowered function @{name} is kept as text", head)
    return _finish(builder, start, lowered), found


def _look_at_start(tables: Tables, source: Source) -> tuple[str | None, bool]:
    """The version that the text names, and whether definitions follow."""
    version = None
    for kind, word, _ in Lexer(tables, source, Diagnostics()).words():
        if kind == "VERSION":
            version = dialect.read_version(word)
            continue
        return version, kind in _MODULE_WORDS or kind == "$END"
    return version, True


def _check_version(version: str | None, source: Source, found: Diagnostics) -> None:
    if version is None:
        found.warn("the text has no version line", Span(source, 0, 1), help='it should start with #[version = "0.0.5"]')
    elif version not in _VERSIONS:
        found.error(f'unknown version "{version}"', Span(source, 0, 1), help='this is the reader of version "0.0.5"')
    elif version != _VERSIONS[0]:
        found.warn(f"the text is of version {version}", Span(source, 0, 1))


def _late_types(text: str) -> list[tuple[int, int]]:
    """Where type definitions stand behind the first function."""
    first = _DEFINITION.search(text)
    return [m.span() for m in _TYPE.finditer(text, first.start())] if first is not None else []


def _words(
    tables: Tables,
    source: Source,
    found: Diagnostics,
    lines_bind: bool,
    lowered: dict[str, Span],
    early: list[tuple[int, int]],
) -> Iterator[Word]:
    """The words of a text without its lowered functions, those of the `early` parts first."""
    text = source.text
    skipped = [(s.start, s.end) for s in lowered.values()]
    if not skipped and not early:
        lexer = Lexer(tables, source, found)
        lexer.line_ends_bind = lines_bind
        return lexer.words()
    rest: list[tuple[int, int]] = []
    at = 0
    for a, b in sorted(skipped + early):
        rest.append((at, a))
        at = max(at, b)
    rest.append((at, len(text)))
    return _words_of_parts(tables, source, found, lines_bind, early + rest)


def _words_of_parts(
    tables: Tables, source: Source, found: Diagnostics, lines_bind: bool, parts: list[tuple[int, int]]
) -> Iterator[Word]:
    """The words of several parts of a text, the version line before all."""
    paths: set[str] = set()
    version = next(Lexer(tables, source, Diagnostics()).words())
    if version[0] == "VERSION":
        yield version
    for start, end in parts:
        lexer = Lexer(tables, source, found, start, end)
        lexer.paths = paths
        lexer.line_ends_bind = lines_bind
        for word in lexer.words():
            if word[0] == "$END":
                break
            if word != version:
                yield word
    yield "$END", "", len(source.text)


def _finish(builder: Builder, start: str, lowered: dict[str, Span]) -> Any:
    """Reports what only the end of the text tells: names that nothing defines, a metadata section that is not there."""
    found, metadata = builder.found, builder.metadata
    for span in builder.loose_attributes:
        found.error("attributes stand where an expression must", span)
    for message, span in builder.doubtful.values():
        found.error(message, span)
    for name, span in builder.undefined[:_MOST_UNDEFINED]:
        owner = builder.parameter_of.get(name)
        hint = f"; it is a parameter of @{owner}" if owner is not None else ""
        found.error(f"%{name} is not defined here{hint}", span)
    if metadata.missing:
        found.items.append(Diagnostic(CUT_OFF, level="warning", filename=builder.source.name))
    if start == "module":
        undefined = [name for name in builder.globals if name not in builder.functions and name not in lowered]
        for name in undefined[:_MOST_UNDEFINED]:
            var = builder.globals[name]
            found.error(f"there is no function @{name}", var.span, help=nearest(name, builder.functions))
        unheard = [name for name in builder.type_names if name not in builder.type_definitions]
        for name in unheard[:_MOST_UNDEFINED]:
            span = builder.type_names[name]
            known = [*builder.type_definitions, "int32", "float32", "bool"]
            found.error(f"unknown type {name}", span, help=nearest(name, known))
        if lowered and builder.result is not None:
            return with_lowered(builder.result, lowered, found, lambda text: read_type(text, builder))
        return builder.result
    if found.errors:
        return None
    result = builder.result
    if not isinstance(result, Expr):
        found.error("the text is not an expression")
        return None
    return result


def expression_module(e: Expr) -> Module:
    """The module whose `@main` is a function, or the function of the expression's free variables."""
    if not isinstance(e, Function):
        params: list[Var] = free_variables(e)
        e = Function(tuple(params), e, None, (), None, e.span)  # type: ignore[arg-type]
    return Module({"main": e})


@contextmanager
def _garbage_collection_paused() -> Iterator[None]:
    """Reading makes many objects and no garbage cycles: looking for some would take most of the time in a large text."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
