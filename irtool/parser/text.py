"""From a text to a module or an expression, with everything there is to say about it."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ..diagnostics import Diagnostic, Diagnostics, IrError, Source, Span, nearest
from ..did_you_mean import ask
from ..ir import Expr, Function, Module, Type, Var, free_variables
from . import dialect
from .builder import Builder
from .builder.state import GaveUp, State
from .lexer import Lexer, Word
from .lowered import functions_elsewhere, lowered_functions, with_lowered
from .metadata import Metadata, find_section
from .mistakes import (
    BareExpression,
    FromPrelude,
    LoweredFunction,
    MissingMetadata,
    NoVersionLine,
    NumberOutOfRange,
    TutorialDialect,
    UndefinedVariable,
    UnknownConstructor,
    UnknownFunction,
    UnknownOperator,
    UnknownRecord,
    UnknownType,
    UnknownVersion,
)
from .prelude import definitions, with_prelude
from .reader import Reader
from .tables import Tables, load

Built = TypeVar("Built", bound=Builder)
_BARE = "the text is a bare expression; it is taken as the body of @main"
_MOST_UNDEFINED = 50
_MOST_NAMED = 5
_VERSIONS = ("0.0.5", "0.0.4")
_OF_TYPES = (UnknownType, UnknownConstructor, UnknownOperator)
"""What is said of the types, and of calls and patterns of the constructors, that are defined further down."""
_LACKING = (UnknownType, UnknownConstructor, UnknownOperator, UnknownFunction)
"""What is said of names that the prelude may define."""
_HALF_CHARACTER = re.compile("[\ud800-\udc7f\udd00-\udfff]")
"""What no text can be written with; other surrogates stand for the bytes of a file that are no UTF-8."""
_TYPE = re.compile(r"^[ \t]*(?:extern[ \t]+)?type[ \t]+\w+[^{}\n]*(?:\{[^{}]*\})?", re.MULTILINE)
_DEFINITION = re.compile(r"^[ \t]*def\b", re.MULTILINE)
_MODULE_WORDS = frozenset(("DEF", "TYPE", "EXTERN"))


def parse(text: str, filename: str = "<text>") -> Module:
    """The module that a text holds. A bare expression becomes the function `@main` of its free variables.

    Nothing is inferred. Raises IrError with every mistake that was found.
    """
    module, diagnostics = read_with_diagnostics(text, filename)
    if module is None:
        raise IrError([d for d in diagnostics if d.level == "error"])
    return module


def standard_library(file: str) -> Module:
    """The module of a file of TVM's standard library. Raises IrError for a missing file."""
    return parse("\n".join(['#[version = "0.0.5"]', *(d.text for d in definitions(file))]), file)


def parse_expr(text: str, filename: str = "<text>") -> Expr:
    """The expression that a text holds. Raises IrError with every mistake that was found."""
    diagnostics = Diagnostics()
    result = _read(text, filename, diagnostics, "expression", Builder)[0]
    diagnostics.check()
    return result


def read_with_diagnostics(text: str, filename: str = "<text>") -> tuple[Module | None, list[Diagnostic]]:
    """The module that a text holds, None if there are errors; and the errors and warnings, in order of place.

    Where the text uses definitions of TVM's prelude without having them, it gets them, and a note says so.
    """
    return read_completed(Builder, text, filename)[:2]


def read_completed(
    make: type[Built], text: str, filename: str
) -> tuple[Module | None, list[Diagnostic], Built | None, int]:
    """As `read_with_diagnostics`, with the builder, and the offset behind which definitions of the prelude stand."""
    module, items, builder = read_with(make, text, filename)
    if module is not None or not any(d.code in _LACKING for d in items):
        return module, items, builder, len(text)
    whole, added = with_prelude(text)
    if not added:
        return module, items, builder, len(text)
    again, problems, other = read_with(make, whole, filename)
    if again is None and len([d for d in problems if d.level == "error"]) >= len(
        [d for d in items if d.level == "error"]
    ):
        return module, items, builder, len(text)
    message = f"defined as in TVM's prelude: {', '.join(added)}"
    note = Diagnostic(message, level="note", filename=filename, code=FromPrelude)
    end = next((n for n, (a, b) in enumerate(zip(text, whole)) if a != b), len(text))
    return again, [*problems, note], other, end


def read_with(make: type[Built], text: str, filename: str) -> tuple[Module | None, list[Diagnostic], Built | None]:
    """As `read_with_diagnostics`, and the builder that made the module; None if nothing was read."""
    diagnostics = Diagnostics()
    result, builder = _read(text, filename, diagnostics, None, make)
    items = sorted(diagnostics.items, key=lambda d: d.span.start if d.span is not None else -1)
    if diagnostics.errors:
        return None, items, builder
    if isinstance(result, Expr):
        items.append(Diagnostic(_BARE, result.span, "warning", code=BareExpression))
        result = expression_module(result)
    return result, items, builder


def read_type(text: str, known: State | None = None) -> Type | None:
    """The type that a text holds, or None if it holds none. `known` tells the names of types and type parameters."""
    diagnostics = Diagnostics()
    source = Source("<type>", text)
    builder = Builder(source, known.metadata if known is not None else Metadata(), diagnostics, read_type)
    if known is not None:
        builder.type_definitions = known.type_definitions
        builder.type_variables = dict(known.type_variables)
        builder.dim_names = known.dim_names
        builder.length_names = known.length_names
    tables = load()
    Reader(tables, builder, "lone_type").run(Lexer(tables, source, diagnostics).words())
    return None if diagnostics.errors else builder.result


def accepted_form(text: str, filename: str) -> tuple[Module | Expr, Source, Form, str]:
    """The module or expression of a text; its code, the form in which that is read, and its start symbol, `module` or
    `expression`. Raises IrError with every mistake."""
    diagnostics = Diagnostics()
    result, _, source, form = _settle(text, filename, diagnostics, None, Builder)
    if diagnostics.errors:
        raise IrError(diagnostics.errors)
    assert source is not None and form is not None
    return result, source, form, "module" if form.is_module else "expression"


def _read(
    text: str, filename: str, diagnostics: Diagnostics, start: str | None, make: type[Built]
) -> tuple[Any, Built | None]:
    return _settle(text, filename, diagnostics, start, make)[:2]


def _settle(
    text: str, filename: str, diagnostics: Diagnostics, start: str | None, make: type[Built]
) -> tuple[Any, Built | None, Source | None, Form | None]:
    """The module or expression of a text, its builder, its code, and the form in which it was read with the fewest errors."""
    if not text.isascii() and (half := _HALF_CHARACTER.search(text)) is not None:
        diagnostics.error("half of a character stands here", Span(Source(filename, text), half.start(), half.end()))
        return None, None, None, None
    section = find_section(text)
    source = Source(filename, text if section < 0 else text[:section])
    try:
        metadata = Metadata(text, section)
    except IrError as error:
        for d in error.diagnostics:
            diagnostics.items.append(replace(d, span=Span(source, max(section - 1, 0), section)))
        return None, None, None, None
    del text
    form = _look_at(source)
    result, problems, builder = _attempt(source, metadata, start, form, make)
    for other in _other_forms(form, source.text, problems) if problems.errors else ():
        again = _attempt(source, metadata, start, other, make)
        if len(again[1].errors) < len(problems.errors):
            result, problems, builder = again
            form = other
    diagnostics.items += problems.items
    return result, builder, source, form


@dataclass(frozen=True)
class Form:
    """The form of a text, as far as its first words and signs tell.

    Attributes:
        version: the version of the version line, None if there is none.
        version_word: the first version line, None if there is none.
        is_module: definitions follow, and no bare expression does.
        lowered: where the lowered functions are; they are not read.
        parts: the parts of the text, in order.
        lines_bind: the tutorials' dialect: lines end bindings, and operators may have short names.
    """

    version: str | None
    version_word: Word | None
    is_module: bool
    lowered: dict[str, Span]
    parts: tuple[tuple[int, int], ...]
    lines_bind: bool


def _look_at(source: Source) -> Form:
    lowered = lowered_functions(source)
    parts = _without(sorted((s.start, s.end) for s in lowered.values()), len(source.text))
    version = word = None
    is_module = True
    for kind, text, offset in _words_of(load(), source, Diagnostics(), parts):
        if kind == "LENGTHS":
            continue
        if kind != "VERSION":
            is_module = kind in _MODULE_WORDS or kind == "$END"
            break
        if word is None:
            version, word = dialect.read_version(text), (kind, text, offset)
    return Form(version, word, is_module, lowered, parts, word is None and dialect.lines_bind(source.text, parts))


def _other_forms(form: Form, text: str, problems: Diagnostics) -> Iterator[Form]:
    """Other possible forms of a text with errors."""
    if any(d.code in _OF_TYPES for d in problems.errors):
        early = _late_types(text)
        if early:  # a constructor may be used before its type is defined
            skipped = sorted(early + [(s.start, s.end) for s in form.lowered.values()])
            yield replace(form, parts=(*early, *_without(skipped, len(text))))
    if not form.lines_bind and dialect.lines_bind(text, form.parts):
        yield replace(form, lines_bind=True)


def _attempt(
    source: Source, metadata: Metadata, start: str | None, form: Form, make: type[Built]
) -> tuple[Module | Expr | None, Diagnostics, Built]:
    """Reads the code of a text in that form."""
    diagnostics = Diagnostics()
    tables = load()
    builder = make(source, metadata, diagnostics, read_type)
    builder.strict = form.version is not None and not form.lines_bind
    if start is None:
        start = "module" if form.is_module else "expression"
        _check_version(form.version, source, diagnostics)
        if form.version is not None and form.lines_bind:
            diagnostics.warn(
                "the text has no `;`: it is read in the form of tutorials, in which lines end bindings",
                code=TutorialDialect,
            )
    reader = Reader(tables, builder, start, form.lines_bind)
    with _garbage_collection_paused():
        try:
            reader.run(words_of_form(tables, source, diagnostics, form))
        except GaveUp:
            return None, diagnostics, builder
    return _finish(builder, start, form.lowered), diagnostics, builder


def _check_version(version: str | None, source: Source, diagnostics: Diagnostics) -> None:
    if version is None:
        diagnostics.warn(
            "the text has no version line",
            Span(source, 0, 1),
            help='it should start with #[version = "0.0.5"]',
            code=NoVersionLine,
        )
    elif version not in _VERSIONS:
        diagnostics.error(
            f'unknown version "{version}"',
            Span(source, 0, 1),
            help='this is the reader of version "0.0.5"',
            code=UnknownVersion,
        )
    elif version != _VERSIONS[0]:
        diagnostics.warn(f"the text is of version {version}", Span(source, 0, 1), code=NoVersionLine)


def _late_types(text: str) -> list[tuple[int, int]]:
    """The places of type definitions behind the first function."""
    first = _DEFINITION.search(text)
    return [m.span() for m in _TYPE.finditer(text, first.start())] if first is not None else []


def _without(skipped: list[tuple[int, int]], end: int) -> tuple[tuple[int, int], ...]:
    """The parts of a text of that length between those, which are in order."""
    rest: list[tuple[int, int]] = []
    begin = 0
    for a, b in skipped:
        rest.append((begin, a))
        begin = max(begin, b)
    return (*rest, (begin, end))


def words_of_form(tables: Tables, source: Source, diagnostics: Diagnostics, form: Form) -> Iterator[Word]:
    """The words of a text without its lowered functions; the version line before all, once.

    It may stand again in a text that was put together from several.
    """
    if len(form.parts) == 1:
        lexer = Lexer(tables, source, diagnostics)
        lexer.line_ends_bind = form.lines_bind
        return lexer.words()
    return _words_of_parts(tables, source, diagnostics, form)


def _words_of_parts(tables: Tables, source: Source, diagnostics: Diagnostics, form: Form) -> Iterator[Word]:
    first = form.version_word
    if first is not None:
        yield first
    for word in _words_of(tables, source, diagnostics, form.parts, form.lines_bind):
        if word[0] != "VERSION" or first is None:
            yield word
        elif dialect.read_version(word[1]) != form.version:
            place = Span(source, word[2], word[2] + len(word[1]))
            diagnostics.error("the text has two version lines, and they differ", place, code=UnknownVersion)


def _words_of(
    tables: Tables,
    source: Source,
    diagnostics: Diagnostics,
    parts: tuple[tuple[int, int], ...],
    lines_bind: bool = False,
) -> Iterator[Word]:
    """The words of these parts of a text."""
    paths: set[str] = set()
    for start, end in parts:
        lexer = Lexer(tables, source, diagnostics, start, end)
        lexer.paths = paths
        lexer.line_ends_bind = lines_bind
        for word in lexer.words():
            if word[0] != "$END":
                yield word
    yield "$END", "", len(source.text)


def _finish(builder: Builder, start: str, lowered: dict[str, Span]) -> Any:
    """Reports errors that only the end of the text tells: undefined names, a missing metadata section."""
    diagnostics, metadata = builder.diagnostics, builder.metadata
    for span in builder.loose_attributes:
        diagnostics.error("attributes stand where an expression must", span)
    for message, span in builder.doubtful.values():
        diagnostics.error(message, span, code=NumberOutOfRange)
    for name, span in builder.undefined[:_MOST_UNDEFINED]:
        owner = builder.parameter_of.get(name)
        hint = f"; it is a parameter of @{owner}" if owner is not None else ""
        alike = ["%" + n for n in builder.resembling.get(name, ())]
        diagnostics.error(f"%{name} is not defined here{hint}", span, help=ask(alike), code=UndefinedVariable)
    _report_metadata(builder)
    if start == "module":
        module: Module | None = builder.result
        undefined = [name for name in builder.globals if name not in builder.functions and name not in lowered]
        if undefined and module is not None:
            elsewhere = functions_elsewhere(module, undefined, lambda text: read_type(text, builder))
            for name in elsewhere:
                diagnostics.warn(
                    f"the lowered function @{name} is not in the text", builder.globals[name].span, code=LoweredFunction
                )
            module = module.with_functions({**elsewhere, **module.functions})
            undefined = [name for name in undefined if name not in elsewhere]
        for name in undefined[:_MOST_UNDEFINED]:
            var = builder.globals[name]
            diagnostics.error(
                f"there is no function @{name}", var.span, help=nearest(name, builder.functions), code=UnknownFunction
            )
        unheard = [name for name in builder.type_names if name not in builder.type_definitions]
        for name in unheard[:_MOST_UNDEFINED]:
            span = builder.type_names[name]
            known = [*builder.type_definitions, "int32", "float32", "bool"]
            diagnostics.error(f"unknown type {name}", span, help=nearest(name, known), code=UnknownType)
        if lowered and module is not None:
            return with_lowered(
                module, lowered, diagnostics, lambda text: read_type(text, builder), _constants(metadata)
            )
        return module
    if diagnostics.errors:
        return None
    result = builder.result
    if not isinstance(result, Expr):
        diagnostics.error("the text is not an expression")
        return None
    if lowered:
        diagnostics.warn(_BARE, result.span, code=BareExpression)
        whole = expression_module(result)
        return with_lowered(whole, lowered, diagnostics, lambda text: read_type(text, builder), _constants(metadata))
    return result


def _report_metadata(builder: Builder) -> None:
    """Warns of references to objects that the text's metadata section, if any, does not have."""
    diagnostics, metadata = builder.diagnostics, builder.metadata
    if metadata.missing_records:
        names = list(metadata.missing_records)
        shown = ", ".join(names[:_MOST_NAMED]) + (" …" if len(names) > _MOST_NAMED else "")
        message = f"the text has no {shown}: its value is unknown and is kept as a reference"
        diagnostics.warn(message, metadata.missing_records[names[0]], code=UnknownRecord)
    if metadata.missing_constants:
        diagnostics.items.append(
            Diagnostic(
                "the metadata section is cut off: values that the text refers to are unknown",
                level="warning",
                filename=builder.source.name,
                code=MissingMetadata,
            )
        )


def _constants(metadata: Metadata) -> Callable[[int], Any] | None:
    """Finds constants in a metadata section by their numbers; None if there is no section."""
    return (lambda index: metadata.get("relay.Constant", index)) if metadata.entries else None


def expression_module(e: Expr) -> Module:
    """The module whose `@main` is a function, or the function of the expression's free variables."""
    if not isinstance(e, Function):
        params: list[Var] = free_variables(e)
        e = Function(tuple(params), e, None, (), None, e.span)  # type: ignore[arg-type]  # the same as no attributes, see `Function.__post_init__`
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
