"""The Language Server Protocol: lines and messages of a client on one side, offsets and analyses on the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer

from .. import __version__
from ..diagnostics import Diagnostic, IrError, Span
from ..parser.symbols import BINDING, CONSTRUCTOR, FUNCTION, TYPE, VARIABLE
from .analysis import Analysis, analyse
from .completion import ATTRIBUTE, KEYWORD, OPERATOR, complete
from .fixes import fixes
from .hints import type_hints
from .hover import Manual, hover
from .lines import Lines
from .outline import Item, outline
from .renaming import check_renaming, renamed_places
from .semantic_tokens import KINDS, MODIFIERS, encode, semantic_tokens

Format = Callable[[str], str]
"""The canonical layout of a text. Raises IrError if it cannot be read."""

_DELAY = 0.2
"""Seconds without a change after which a text is read again."""

_COMPLETED = {
    VARIABLE: lsp.CompletionItemKind.Variable,
    BINDING: lsp.CompletionItemKind.Variable,
    FUNCTION: lsp.CompletionItemKind.Function,
    CONSTRUCTOR: lsp.CompletionItemKind.Constructor,
    OPERATOR: lsp.CompletionItemKind.Function,
    ATTRIBUTE: lsp.CompletionItemKind.Property,
    KEYWORD: lsp.CompletionItemKind.Keyword,
}
_OUTLINED = {
    VARIABLE: lsp.SymbolKind.Variable,
    FUNCTION: lsp.SymbolKind.Function,
    TYPE: lsp.SymbolKind.Enum,
    CONSTRUCTOR: lsp.SymbolKind.EnumMember,
}


class Document:
    """An open text, its analysis, and its places in the client's words."""

    def __init__(self, uri: str, version: int | None, analysis: Analysis, encoding: str) -> None:
        self.uri = uri
        self.version = version
        self.analysis = analysis
        self.lines = Lines(analysis.text, encoding)

    def offset(self, position: lsp.Position) -> int:
        return self.lines.offset(position.line, position.character)

    def position(self, offset: int) -> lsp.Position:
        return lsp.Position(*self.lines.position(offset))

    def range(self, start: int, end: int) -> lsp.Range:
        return lsp.Range(self.position(start), self.position(end))

    def range_of(self, span: Span) -> lsp.Range:
        return self.range(span.start, max(span.end, span.start))


class RelayServer(LanguageServer):
    """A server that knows the texts that are open, each analysed once for each version."""

    def __init__(self) -> None:
        super().__init__("irtool", __version__)
        self._known: dict[str, Document] = {}
        self._waiting: dict[str, asyncio.Task[None]] = {}

    def document(self, uri: str) -> Document:
        """An open text and its analysis."""
        text = self.workspace.get_text_document(uri)
        known = self._known.get(uri)
        if known is None or known.version != text.version or known.analysis.text != text.source:
            analysis = analyse(text.source, text.filename or uri)
            known = self._known[uri] = Document(uri, text.version, analysis, self._encoding())
        return known

    def _encoding(self) -> str:
        chosen = self.workspace.position_encoding
        return chosen.value if isinstance(chosen, lsp.PositionEncodingKind) else chosen or "utf-16"

    def forget(self, uri: str) -> None:
        """The document is closed."""
        self._known.pop(uri, None)
        waiting = self._waiting.pop(uri, None)
        if waiting is not None:
            waiting.cancel()
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))

    def say(self, uri: str) -> None:
        """Sends the client the diagnostics of a document."""
        document = self.document(uri)
        diagnostics = [_diagnostic(document, d) for d in document.analysis.diagnostics]
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, diagnostics, document.version))

    def say_soon(self, uri: str) -> None:
        """`say`, once nothing has changed for a moment."""
        waiting = self._waiting.get(uri)
        if waiting is not None:
            waiting.cancel()
        self._waiting[uri] = asyncio.ensure_future(self._say_later(uri))

    async def _say_later(self, uri: str) -> None:
        await asyncio.sleep(_DELAY)
        self.say(uri)


def create_server(manual: Manual, layout: Format) -> RelayServer:
    """A server for Relay text. `manual` gives that of an operator in Markdown, `layout` the canonical layout of a text."""
    server = RelayServer()
    _serve_documents(server)
    _serve_display(server, manual)
    _serve_navigation(server)
    _serve_editing(server)
    _serve_layout(server, layout)
    return server


def _serve_documents(server: RelayServer) -> None:
    """Diagnostics of open documents."""

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        server.say(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        server.say_soon(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        server.forget(params.text_document.uri)


def _serve_display(server: RelayServer, manual: Manual) -> None:
    """Information on a document beside its text: hover, types, and symbols."""

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hovered(params: lsp.HoverParams) -> lsp.Hover | None:
        document = server.document(params.text_document.uri)
        hover_text = hover(document.analysis, document.offset(params.position), manual)
        if hover_text is None:
            return None
        text, start, end = hover_text
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text), document.range(start, end))

    @server.feature(lsp.TEXT_DOCUMENT_INLAY_HINT)
    def hints(params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
        document = server.document(params.text_document.uri)
        start, end = (document.offset(p) for p in (params.range.start, params.range.end))
        return [
            lsp.InlayHint(document.position(position), t, lsp.InlayHintKind.Type)
            for position, t in type_hints(document.analysis, start, end)
        ]

    legend = lsp.SemanticTokensLegend(list(KINDS), list(MODIFIERS))

    @server.feature(lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, legend)
    def tokens(params: lsp.SemanticTokensParams) -> lsp.SemanticTokens:
        document = server.document(params.text_document.uri)
        return lsp.SemanticTokens(encode(semantic_tokens(document.analysis), document.lines))

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def symbols(params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        document = server.document(params.text_document.uri)
        return [_symbol(document, i) for i in outline(document.analysis)]


def _serve_navigation(server: RelayServer) -> None:
    """Definitions and uses of names."""

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def definition(params: lsp.DefinitionParams) -> lsp.Location | None:
        document = server.document(params.text_document.uri)
        symbol_at = document.analysis.symbols.at(document.offset(params.position))
        if symbol_at is None or symbol_at[0].definition is None:
            return None
        return lsp.Location(document.uri, document.range_of(symbol_at[0].definition))

    @server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    def references(params: lsp.ReferenceParams) -> list[lsp.Location]:
        document = server.document(params.text_document.uri)
        symbol_at = document.analysis.symbols.at(document.offset(params.position))
        if symbol_at is None:
            return []
        spans = symbol_at[0].places if params.context.include_declaration else symbol_at[0].uses
        return [lsp.Location(document.uri, document.range_of(p)) for p in spans]

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
    def highlights(params: lsp.DocumentHighlightParams) -> list[lsp.DocumentHighlight]:
        document = server.document(params.text_document.uri)
        symbol_at = document.analysis.symbols.at(document.offset(params.position))
        return (
            [lsp.DocumentHighlight(document.range_of(p)) for p in symbol_at[0].places] if symbol_at is not None else []
        )


def _serve_editing(server: RelayServer) -> None:
    """Renaming, completion, and fixes for diagnostics."""

    @server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions([lsp.CodeActionKind.QuickFix]))
    def actions(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        document = server.document(params.text_document.uri)
        only = params.context.only
        if only is not None and not any(k in ("", lsp.CodeActionKind.QuickFix) for k in only):
            return []
        start, end = (document.offset(p) for p in (params.range.start, params.range.end))
        return [
            lsp.CodeAction(
                f"Change to {fix.text}",
                lsp.CodeActionKind.QuickFix,
                [_diagnostic(document, fix.diagnostic)],
                edit=lsp.WorkspaceEdit({document.uri: [lsp.TextEdit(document.range(fix.start, fix.end), fix.text)]}),
            )
            for fix in fixes(document.analysis, start, end)
        ]

    @server.feature(lsp.TEXT_DOCUMENT_PREPARE_RENAME)
    def may_be_renamed(params: lsp.PrepareRenameParams) -> lsp.Range:
        document = server.document(params.text_document.uri)
        try:
            return document.range_of(check_renaming(document.analysis, document.offset(params.position)))
        except IrError as error:
            raise _refusal(error) from error

    @server.feature(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))
    def renamed(params: lsp.RenameParams) -> lsp.WorkspaceEdit:
        document = server.document(params.text_document.uri)
        try:
            spans = renamed_places(document.analysis, document.offset(params.position), params.new_name)
        except IrError as error:
            raise _refusal(error) from error
        edits = [lsp.TextEdit(document.range_of(p), name) for p, name in spans]
        return lsp.WorkspaceEdit(changes={document.uri: edits})

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=["%", "@", ".", "("]))
    def completion(params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
        document = server.document(params.text_document.uri)
        offset = document.offset(params.position)
        start, candidates = complete(document.analysis, offset)
        place = document.range(start, offset)
        return [
            lsp.CompletionItem(
                c.word,
                kind=_COMPLETED[c.kind],
                detail=c.detail or None,
                text_edit=lsp.TextEdit(place, c.word + c.cursor),
                sort_text=f"{rank:05d}",
                filter_text=c.word,
            )
            for rank, c in enumerate(candidates)
        ]


def _serve_layout(server: RelayServer, layout: Format) -> None:
    """Formatting."""

    @server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
    def formatting(params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
        document = server.document(params.text_document.uri)
        try:
            text = layout(document.analysis.text)
        except IrError as error:
            raise _refusal(error) from error
        return (
            [lsp.TextEdit(document.range(0, len(document.analysis.text)), text)]
            if text != document.analysis.text
            else []
        )


def _symbol(document: Document, item: Item) -> lsp.DocumentSymbol:
    return lsp.DocumentSymbol(
        item.symbol.name,
        _OUTLINED[item.symbol.kind],
        document.range_of(item.whole),
        document.range_of(item.name),
        children=[_symbol(document, i) for i in item.inside],
    )


def _diagnostic(document: Document, d: Diagnostic) -> lsp.Diagnostic:
    place = document.range_of(d.span) if d.span is not None else document.range(0, 0)
    level = lsp.DiagnosticSeverity.Warning if d.level == "warning" else lsp.DiagnosticSeverity.Error
    message = "\n".join([d.message, *(f"note: {n}" for n in d.notes), *([f"help: {d.help}"] if d.help else [])])
    return lsp.Diagnostic(place, message, level, d.code.name if d.code is not None else None, source="irtool")


def _refusal(error: IrError) -> Any:
    return JsonRpcInvalidParams("\n".join(d.message for d in error.diagnostics))
