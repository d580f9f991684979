"""Lowered functions in a text: `@name = primfn(…) … }`, as loop nests; one with parts that nests here lack is kept as text.

A text may call functions that it does not hold: calls and loop nests are often pasted apart. Their types are what the calls say.

The type is what the buffers say: those that a call does not hand over are results. How buffers group into tuples is in no
lowered function; the type comments at a call of it tell, if there are any. What is kept as text has the type of its buffers
only if the text tells all of them and the call how many are arguments, with or without comments: otherwise the type is that of the
comments alone. So a text says the same of its functions whether types are printed in it or not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeGuard

from ..diagnostics import Diagnostics, IrError, Source, Span
from ..ir import (
    Call,
    Expr,
    FuncType,
    GlobalVar,
    IncompleteType,
    Module,
    Op,
    TensorType,
    Tuple,
    TupleType,
    Type,
    Var,
    children,
    post_order,
)
from ..ir.meta import LoweredText
from ..ir.types import leaf_count, require_few_leaves
from .mistakes import DefinedTwice, LoweredFunction

if TYPE_CHECKING:
    from ..tir.stmt import PrimFunc
    from .primfn.constants import ConstantOf
    from .primfn.names import TakenNames

_HEAD = re.compile(r"^@([\w.]+)\s*=\s*primfn\(", re.MULTILINE)
_PARAMETERS = re.compile(r"primfn\(([^)]*)\)")
_SHAPED = re.compile(r"([\w.]+): (?:[\w.]+: )?Buffer\([\w.]+(?:: Pointer\([^)]*\))?, (\w+), \[([^\]]*)\]")
_MAPPED = re.compile(r"([\w.]+): ([\w.]+)(?=[,}])")
_COMMENT = re.compile(r"\s*/\*\s*ty=")


def lowered_functions(source: Source) -> dict[str, Span]:
    """The places of a text's lowered functions; they end at a `}` at the start of a line."""
    if "primfn(" not in source.text:
        return {}
    functions: dict[str, Span] = {}
    offset = 0
    while match := _HEAD.search(source.text, offset):
        stop = source.text.find("\n}", match.end())
        offset = len(source.text) if stop < 0 else stop + 2
        functions[match[1]] = Span(source, match.start(), offset)
    return functions


def with_lowered(
    module: Module,
    lowered: dict[str, Span],
    diagnostics: Diagnostics,
    read_type: Callable[[str], Type | None],
    constant: ConstantOf | None = None,
) -> Module:
    """The module with its lowered functions, and their types as far as they can be told; `constant` finds constants by their
    numbers in the metadata section."""
    from .primfn.names import TakenNames

    calls = _first_calls(module)
    nests: dict[str, Any] = {}
    names = TakenNames()
    for name, span in lowered.items():
        if name in module.functions:
            diagnostics.error(f"the function @{name} is defined twice", span, code=DefinedTwice)
        text = span.source.text[span.start : span.end]
        text = text[text.index("=") + 1 :].lstrip()
        call = calls.get(name)
        whole = Span(span.source, span.end - len(text), span.end)
        if not text.endswith("\n}"):
            diagnostics.warn(
                f"the lowered function @{name} has no end, a }} at the start of a line; it is added",
                span,
                code=LoweredFunction,
            )
            whole = _with_end(whole)
            text = whole.source.text[whole.start : whole.end]
        nest = _read(name, whole, names, call, diagnostics, read_type, constant)
        if nest is not None:
            nests[name] = nest
            continue
        nests[name] = LoweredText(text, _type_of_text(text, call, read_type) if call is not None else None)
    return module.with_functions({**nests, **module.functions})


def _with_end(span: Span) -> Span:
    """The same text with its end, in a source that is the same up to there."""
    before = span.source.text[: span.end].rstrip() + "\n}"
    return Span(Source(span.source.name, before), span.start, len(before))


def _read(
    name: str,
    span: Span,
    names: TakenNames,
    call: Call | None,
    diagnostics: Diagnostics,
    read_type: Callable[[str], Type | None],
    constant: ConstantOf | None,
) -> PrimFunc | LoweredText | None:
    """The loop nest at `span`; text of the same type for a malformed one, which is an error; None for one with constructs that nests
    here lack, which is a note."""
    from .primfn.function import read_primfn
    from .primfn.tokens import NotRead

    text = span.source.text[span.start : span.end]
    arguments = None if call is None else _arguments(call, read_type)
    outputs = 0 if arguments is None else len(buffers(text)) - leaf_count(arguments)
    try:
        nest = read_primfn(name, span, names, outputs if outputs > 0 else None, constant)
    except NotRead as reason:
        diagnostics.warn(
            f"the lowered function @{name} is kept as text: {reason.what}", reason.span, code=LoweredFunction
        )
        return None
    except IrError as error:
        diagnostics.items += error.diagnostics
        return LoweredText(text, None if call is None else _type_of_text(text, call, read_type))
    tensors = [TensorType(b.shape, b.dtype) for b in nest.original_params]
    known = None if call is None or arguments is None else _type(tensors, arguments, _stated(call, read_type))
    nest.checked_type = known or _type_of_buffers(nest)
    return nest


def _type_of_text(text: str, call: Call, read_type: Callable[[str], Type | None]) -> FuncType | None:
    """The type of a function that is kept as text."""
    tensors = [t for t in buffers(text) if t is not None]
    arguments = _arguments(call, read_type) if isinstance(call.args[1], Tuple) else None
    if arguments is not None and tensors and len(tensors) == len(buffers(text)):
        return _type(tensors, arguments, _stated(call, read_type))
    return _type_of_call(call, read_type)


def _type_of_buffers(f: PrimFunc) -> FuncType:
    """The type of a function of tensors, as nothing says how they group into tuples."""
    types = [TensorType(b.shape, b.dtype) for b in f.original_params]
    first = len(types) - f.num_outputs
    results = types[first:]
    return FuncType(tuple(types[:first]), results[0] if len(results) == 1 else TupleType(tuple(results)))


def functions_elsewhere(
    module: Module, names: Iterable[str], read_type: Callable[[str], Type | None]
) -> dict[str, LoweredText]:
    """The undefined functions that are lowered: `call_lowered` and nothing else refers to them."""
    calls = _first_calls(module)
    other: set[str] = set()
    for f in module.relay_functions.values():
        for e in post_order(f):
            used = e.args[1:] if _calls_lowered(e) else children(e)
            other.update(a.name for a in used if isinstance(a, GlobalVar))
    return {n: LoweredText("", _type_of_call(calls[n], read_type)) for n in names if n in calls and n not in other}


def _type_of_call(call: Call, read_type: Callable[[str], Type | None]) -> FuncType | None:
    arguments = _stated(call.args[1], read_type)
    if isinstance(call.args[1], Tuple) and not isinstance(arguments, TupleType):
        arguments = TupleType(tuple(IncompleteType() for _ in call.args[1].fields))
    if not isinstance(arguments, TupleType):
        return None
    return FuncType(arguments.fields, _stated(call, read_type) or IncompleteType())


def _calls_lowered(e: Expr) -> TypeGuard[Call]:
    return (
        isinstance(e, Call)
        and isinstance(e.op, Op)
        and e.op.name == "call_lowered"
        and len(e.args) == 2
        and isinstance(e.args[0], GlobalVar)
    )


def _first_calls(module: Module) -> dict[str, Call]:
    """A call of each lowered function that is called."""
    calls: dict[str, Call] = {}
    for f in module.relay_functions.values():
        for e in post_order(f):
            if _calls_lowered(e) and isinstance(e.args[0], GlobalVar):
                calls.setdefault(e.args[0].name, e)
    return calls


def buffers(text: str) -> list[TensorType | None]:
    """The tensors that a lowered function is handed, in order; None for those whose shape is not static or not told."""
    text = text.replace("\r\n", "\n")
    head = text[: text.find(") {\n")] if ") {\n" in text else text
    parameters = _PARAMETERS.match(text)
    if parameters is None:
        return []
    handles = [p.split(":")[0].strip() for p in parameters[1].split(",") if p.strip()]
    # Buffers as they were before they became one-dimensional, by handle; else as they are, by way of their names.
    known = {m[1]: _tensor(m[2], m[3]) for m in _SHAPED.finditer(_part(head, "preflattened_buffer_map"))}
    flat = {m[1]: _tensor(m[2], m[3]) for m in _SHAPED.finditer(_part(head, "buffers"))}
    for m in _MAPPED.finditer(_part(head, "buffer_map")):
        known.setdefault(m[1], flat.get(m[2]))
    return [known.get(h) for h in handles]


def _part(head: str, name: str) -> str:
    """The text in the braces of `name = {…}`."""
    match = re.search(rf"^  {name} = \{{", head, re.MULTILINE)
    if match is None:
        return ""
    end = re.compile(r"\}(?= \{$|\n|$)").search(head, match.end())
    return head[match.end() : end.start() + 1 if end is not None else len(head)]


def _tensor(dtype: str, dims: str) -> TensorType | None:
    sizes = [d.strip() for d in dims.split(",") if d.strip()]
    if not all(s.isdigit() for s in sizes):
        return None
    return TensorType(tuple(int(s) for s in sizes), dtype)


def _type(tensors: list[TensorType], arguments: TupleType, result: Type | None) -> FuncType | None:
    """The type of a lowered function of those buffers: its first are `arguments`; the others group as `result` where it has as
    many tensors. None without results."""
    left = iter(tensors)
    taken = _filled(arguments, left)
    rest = list(left)
    if not rest or not isinstance(taken, TupleType):
        return None
    if result is None or leaf_count(result) != len(rest):
        return FuncType(taken.fields, rest[0] if len(rest) == 1 else TupleType(tuple(rest)))
    return FuncType(taken.fields, _filled(result, iter(rest)))


def _arguments(call: Call, read_type: Callable[[str], Type | None]) -> TupleType | None:
    """The grouping into tuples of a call's tensors; None if the call does not have it."""
    types: dict[Expr, Type] = {}
    for e in post_order(call.args[1], enter=lambda e: isinstance(e, Tuple)):
        stated = _stated(e, read_type) or (e.type_annotation if isinstance(e, Var) else None)
        if isinstance(e, Tuple) and not isinstance(stated, TupleType):
            stated = TupleType(tuple(types[f] for f in e.fields))
        types[e] = stated or IncompleteType()
    tuple_type = types[call.args[1]]
    if not isinstance(tuple_type, TupleType):
        return None
    require_few_leaves(tuple_type)
    return tuple_type


def _stated(e: Expr, read_type: Callable[[str], Type | None]) -> Type | None:
    """The type in the comment `/* ty=… */` behind an expression, or None."""
    if e.span is None:
        return None
    text = e.span.source.text
    match = _COMMENT.match(text, e.span.end)
    if match is None:
        return None
    stop = text.find("*/", match.end())
    return read_type(re.sub(r"\s*span=\S*\s*$", "", text[match.end() : stop])) if stop >= 0 else None


def _filled(t: Type, tensors: Iterator[TensorType]) -> Type:
    """`t` with its tensors replaced by those, as far as they go."""
    done: list[Type] = []
    stack: list[tuple[Type, bool]] = [(t, False)]
    while stack:
        x, ready = stack.pop()
        if not isinstance(x, TupleType):
            done.append(next(tensors, None) or x)
        elif ready:
            first = len(done) - len(x.fields)
            done[first:] = [TupleType(tuple(done[first:]))]
        else:
            stack.append((x, True))
            stack.extend((f, False) for f in reversed(x.fields))
    return done[0]
