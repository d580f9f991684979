"""A primfn as a loop nest, verified."""

from __future__ import annotations

from ...diagnostics import Diagnostic, IrError, Span
from ...tir.stmt import AllocateConst, PrimFunc, Store, pre_order
from ...tir.verify import find_mistakes
from ..mistakes import MalformedLoopNest
from .constants import ConstantOf
from .header import read_header
from .names import TakenNames
from .statements import Body
from .tokens import NotRead, Tokens


def read_primfn(
    name: str, span: Span, names: TakenNames, outputs: int | None, constant: ConstantOf | None = None
) -> PrimFunc:
    """The loop nest that the text `primfn(…) … }` at `span` describes.

    `outputs` is the number of its last parameters that are results; None if no call tells: those from the first on that
    is written; `constant` finds constants in the metadata section. Raises NotRead if it has what nests here have not, IrError, with places, where it is malformed.
    """
    tokens = Tokens(span.source, span.start, span.end)
    header = read_header(tokens, names)
    body = Body(tokens, header, names, constant)
    nest = body.read()
    if tokens.kind != "end":
        raise tokens.unexpected("the end of the function")
    written = {s.buffer for s in pre_order(nest) if isinstance(s, Store)}
    if outputs is None or outputs > len(header.params):
        first = next((n for n, b in enumerate(header.params) if b in written), len(header.params) - 1)
        outputs = len(header.params) - max(first, 0)
    # Constants are in the metadata section, which is printed anew.
    holds_data = any(isinstance(s, AllocateConst) for s in pre_order(nest))
    text = "" if holds_data else span.source.text[span.start : span.end]
    result = PrimFunc(name, header.params, nest, outputs, header.attrs, None, header.preflattened, text)
    diagnostics: list[Diagnostic] = []
    for mistake in find_mistakes(result):
        place = body.places.get(mistake.at, span) if mistake.at is not None else _head_of(span)
        if mistake.comes_from_data:
            raise NotRead(mistake.message, place)
        diagnostics.append(Diagnostic(mistake.message, place, code=MalformedLoopNest))
    if diagnostics:
        raise IrError(list(dict.fromkeys(diagnostics)))
    return result


def _head_of(span: Span) -> Span:
    stop = span.source.text.find("\n", span.start, span.end)
    return Span(span.source, span.start, stop if stop >= 0 else span.end)
