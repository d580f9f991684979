"""`to_text`: a module, an expression or a type as text."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from ..diagnostics import UsageError
from ..ir import Expr, ExternFunction, Function, FuncType, Module, Type, TypeData
from ..ir.meta import LoweredText
from ..symbolic_int import declaration
from .metadata import References
from .relay import RelayPrinter
from .types import TypeText

VERSION = '#[version = "0.0.5"]\n'

_TYPES = ("all", "calls", "none")
_CONSTANTS = ("inline", "elide", "external")

_ELIDED = "/* The metadata section, with the values of the constants, has been left out. */"


def to_text(
    node: Any,
    metadata: bool = True,
    types: str = "all",
    spans: bool = False,
    constants: str = "inline",
    portable_names: bool = False,
    external_path: str | os.PathLike[str] | None = None,
) -> str:
    """The text of a module, an expression, a type definition, a type or a loop nest.

    Args:
        node: the object to print. Modules and expressions start with a version line.
        metadata: write the metadata section. Without it the references into it stay, with a comment.
        types: which nodes get a type comment: `all`, `calls` or `none`.
        spans: add the place in the source to each comment.
        constants: `inline` into the metadata section; `elide` leaves them out (what is left reads back, the constants as
            typed unknowns); `external` leaves them out, too, and writes them to `external_path`,
            which a comment names.
        portable_names: letters, digits and `_` only in names of variables.
        external_path: the `.npz` file for external constants; see `external`.

    Raises UsageError for an option of no known value.
    """
    _one_of("types", types, _TYPES)
    _one_of("constants", constants, _CONSTANTS)
    if (constants == "external") != (external_path is not None):
        raise UsageError("constants=external and external_path go together")
    if isinstance(node, Type):
        return TypeText(References())(node)
    reserved: set[tuple[str, int]] = set()
    while True:
        references = References()
        for key, index in sorted(reserved):
            references.reserve(key, index)
        body = _body(node, RelayPrinter(references, metadata, types, spans, portable_names))
        if references.taken <= reserved:
            break
        reserved |= references.taken  # indices that mean something else already
    if external_path is not None:
        from .external import mark, write_constants

        listed = references.entries.get("relay.Constant", ())
        if any(c is not None for c in listed):
            body += f"\n{mark(external_path)}\n"
            write_constants(external_path, listed)
    return "".join([VERSION, _lengths(references), body, *_section(references, metadata, constants)])


def constant_names(node: Module | Expr) -> dict[Any, str]:
    """The constants that text refers to as `meta[relay.Constant][N]`, with these names."""
    references = References()
    _body(node, RelayPrinter(references, True, "none", False, False))
    listed = references.entries.get("relay.Constant", ())
    return {c: f"meta[relay.Constant][{n}]" for n, c in enumerate(listed) if c is not None}


def _body(node: Any, printer: RelayPrinter) -> str:
    """The text of a node without version line and metadata."""
    if isinstance(node, Module):
        return _module(node, printer)
    if isinstance(node, TypeData):
        return printer.type_definition(node)
    if isinstance(node, Expr):
        return printer.expression(node)
    from ..tir.stmt import PrimFunc

    if isinstance(node, PrimFunc):
        from .tir import LoopNestPrinter

        return LoopNestPrinter(printer.references).function(node.name, node) + "\n"
    raise UsageError(f"a {type(node).__name__} has no text")


def _module(m: Module, printer: RelayPrinter) -> str:
    """Type definitions, then functions, both by name, with an empty line between them."""
    for name, f in m.functions.items():
        known = f.checked_type if isinstance(f, LoweredText) and not f.text else None
        if isinstance(known, FuncType) and not known.ret_type.is_open:
            printer.elsewhere[name] = known.ret_type
    surveys = {name: printer.survey(f) for name, f in m.functions.items() if isinstance(f, Function)}
    parts = [printer.type_definition(m.type_definitions[name]) + "\n" for name in sorted(m.type_definitions)]
    nests: Any = None
    # Names are counted through all nests: where one was changed, all are written anew.
    as_written = all(
        f.written for f in m.functions.values() if not isinstance(f, Function | ExternFunction | LoweredText)
    )
    for name in sorted(m.functions):
        f = m.functions[name]
        if isinstance(f, Function):
            parts.append(printer.definition(name, f, surveys[name]) + "\n")
        elif isinstance(f, ExternFunction):
            parts.append(printer.declaration(name, f) + "\n")
        elif isinstance(f, LoweredText):
            if f.text:
                parts.append(f"@{name} = {f.text}\n")
        elif as_written:
            parts.append(f"@{name} = {f.written}\n")
        else:
            from .tir import LoopNestPrinter

            if nests is None:
                nests = LoopNestPrinter(printer.references)
            parts.append(nests.function(name, f) + "\n")
    return "\n".join(parts)


def _lengths(references: References) -> str:
    """The line that declares the lengths of the formulas in a text."""
    listed = ", ".join(declaration(references.lengths[name]) for name in sorted(references.lengths))
    return f'#[lengths = "{listed}"]\n' if listed else ""


def text_of(node: Any) -> str:
    """The text of a node as `print` shows it: without the lines before it and without the metadata section."""
    text = to_text(node, metadata=False).removeprefix(VERSION)
    return (text.partition("\n")[2] if text.startswith("#[lengths") else text).rstrip("\n")


def _section(references: References, metadata: bool, constants: str) -> Iterator[str]:
    if not references.used:
        return
    if not metadata:
        yield "\n" + _ELIDED
        return
    if constants != "inline":
        references.entries.pop("relay.Constant", None)
    if references.complete:
        from .nodes import section

        yield "\n#[metadata]\n"
        yield from section(references.entries)


def _one_of(option: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise UsageError(f"{option} is one of {', '.join(known)}, not {value}")
