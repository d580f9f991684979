"""The body of a primfn: loops, stores, branches, allocations, one statement after the other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...diagnostics import Span
from ...tir import dtypes
from ...tir.expr import Const, Expr, Load, Var
from ...tir.simplify import Simplifier
from ...tir.stmt import (
    DOUBLE_BUFFER_SCOPE,
    PARALLEL,
    PREFETCH_SCOPE,
    SERIAL,
    UNROLLED,
    VECTORIZED,
    Allocate,
    AllocateConst,
    Annotate,
    Buffer,
    For,
    If,
    Let,
    Prefetch,
    Stmt,
    Store,
    While,
    seq,
    substitute_stmt,
)
from ...tir.stmt import (
    Scope as Storage,
)
from .constants import ConstantOf, read_constant
from .expressions import SymbolTable, checked_indices, read_expression
from .header import Header, read_declaration, read_dtype, read_pointer_type, read_shape
from .names import TakenNames
from .tokens import Tokens

_KINDS = {
    "serial": SERIAL,
    "parallel": PARALLEL,
    "vectorized": VECTORIZED,
    "unroll": UNROLLED,
    "unrolled": UNROLLED,
}
_ANNOTATIONS = frozenset((PREFETCH_SCOPE, DOUBLE_BUFFER_SCOPE))
_SCOPES = {str(s): s for s in (Storage.GLOBAL, Storage.LOCAL, Storage.REGISTER)}


@dataclass
class _Block:
    """Statements that are being read: the head of their block, and the names that go out of scope at its end.

    `done` has statements, and the heads of allocations and `let`s, whose body is what follows them, and of annotations, whose body
    is the next statement.
    """

    head: Any = None
    first: int = 0
    braced: bool = True
    done: list[Any] = field(default_factory=list)
    variables: list[str] = field(default_factory=list)
    buffers: list[str] = field(default_factory=list)


class Body:
    """Reads the statements of one primfn.

    Attributes:
        places: where each statement stands.
    """

    def __init__(self, tokens: Tokens, header: Header, names: TakenNames, constant: ConstantOf | None = None) -> None:
        self.tokens = tokens
        self.constant_of = constant
        self.names = names
        self.buffers = dict(header.buffers)
        self.pointers = dict(header.pointers)
        self.scope = SymbolTable(self.buffer)
        self.places: dict[Stmt, Span] = {}
        self.blocks = [_Block()]

    def read(self) -> Stmt:
        """The statements up to the brace that closes the body, which is left behind."""
        tokens = self.tokens
        while True:
            if tokens.skip(";"):
                continue
            if tokens.text == "}" and tokens.kind == "sign":
                tokens.take()
                ended = self.end_block()
                if ended is not None:
                    return ended
                continue
            self.statement()

    def statement(self) -> None:
        """Reads a statement, or the head of one."""
        tokens = self.tokens
        first, text = tokens.at, tokens.text
        if tokens.kind != "name":
            if text == "{":
                tokens.take()
                self.blocks.append(_Block(("block",), first))
                return
            raise tokens.unexpected("a statement")
        following = tokens.ahead(1)
        if text == "for" and following == "(":
            self.loop(first)
        elif text == "if":
            tokens.take()
            self.opened(("if", self.condition(first)), first)
        elif text == "while":
            tokens.take()
            self.opened(("while", self.condition(first)), first)
        elif text == "let" and following not in ("[", ":"):
            self.let(first)
        elif text == "allocate" and following == "(":
            self.allocate(first)
        elif text == "prefetch" and following == "(":
            self.prefetch(first)
        elif text == "attr" and following == "[":
            self.annotate(first)
        elif text == "constant" and following == "(":
            self.constant(first)
        elif text.startswith("@") or text == "attr" or following in ("(", "="):
            tokens.refuse(f"{text} begins a statement that nests here have not", first)
        else:
            self.store(first)

    def opened(self, head: Any, first: int, variable: str = "") -> None:
        self.tokens.expect("{")
        self.blocks.append(_Block(head, first, variables=[variable] if variable else []))

    def condition(self, first: int) -> Expr:
        cond = read_expression(self.tokens, self.scope)
        if cond.dtype != "bool":
            raise self.tokens.wrong(f"a condition is a bool, not {cond.dtype}", first)
        return cond

    def declare(self) -> tuple[str, Var]:
        """`name: dtype`, as a variable that is not in scope yet."""
        tokens = self.tokens
        first = tokens.at
        name = tokens.name("a variable")
        if name in self.scope.variables:
            raise tokens.wrong(f"{name} is bound again below its own binding", first)
        tokens.expect(":")
        return name, Var(self.names.hint(name), read_dtype(tokens))

    def loop(self, first: int) -> None:
        tokens = self.tokens
        tokens.take()
        tokens.expect("(")
        name, var = self.declare()
        tokens.expect(",")
        begin = read_expression(tokens, self.scope)
        tokens.expect(",")
        extent = read_expression(tokens, self.scope)
        tokens.expect(")")
        for e in (begin, extent):
            if e.dtype != var.dtype or not dtypes.is_int(e.dtype):
                raise tokens.wrong(f"the loop of {name} counts in {var.dtype}, its bounds are {e.dtype}", first)
        kind = SERIAL
        if tokens.kind == "string":
            kind_text = tokens.take()[1:-1]
            if kind_text not in _KINDS:
                tokens.refuse(f"a loop runs as {kind_text}", first)
            kind = _KINDS[kind_text]
        self.scope.variables[name] = var
        self.opened(("for", var, begin, extent, kind), first, name)

    def let(self, first: int) -> None:
        tokens = self.tokens
        tokens.take()
        name, var = self.declare()
        tokens.expect("=")
        value = read_expression(tokens, self.scope)
        if value.dtype != var.dtype:
            raise tokens.wrong(f"{name} is {var.dtype}, its value {value.dtype}", first)
        self.scope.variables[name] = var
        top = self.blocks[-1]
        top.variables.append(name)
        top.done.append(("let", var, value, tokens.span(first)))

    def allocate(self, first: int) -> None:
        """`allocate(name: Pointer(global float32), float32, [16]), storage_scope = global`, with a block, or before further statements."""
        tokens = self.tokens
        tokens.take()
        tokens.expect("(")
        pointer = tokens.name("a pointer")
        if pointer in self.pointers:
            raise tokens.wrong(f"{pointer} is allocated twice", first)
        tokens.expect(":")
        scope = read_pointer_type(tokens)
        tokens.expect(",")
        dtype = read_dtype(tokens)
        tokens.expect(",")
        shape = read_shape(tokens)
        tokens.expect(")")
        while tokens.skip(","):
            key = tokens.name("what is said of an allocation")
            tokens.expect("=")
            if key == "index_map":
                tokens.refuse("a buffer is laid out by an index map", first)
            if key == "storage_scope":
                scope = tokens.name("a scope")
            elif key == "offset":
                tokens.integer("an offset")
            else:
                tokens.refuse(f"an allocation has {key}", first)
        if scope not in _SCOPES:
            tokens.refuse(f"memory is allocated in {scope}", first)
        buffer = Buffer(self.names.hint(pointer), shape, dtype, _SCOPES[scope])
        self.pointers[pointer] = buffer
        span = tokens.span(first)
        if tokens.text == "{":
            tokens.take()
            self.blocks.append(_Block(("allocate", buffer, span), first, buffers=[pointer]))
            return
        top = self.blocks[-1]
        top.buffers.append(pointer)
        top.done.append(("allocate", buffer, span))

    def constant(self, first: int) -> None:
        """A constant, with a block, or before further statements, as memory is allocated."""
        pointer, constant = read_constant(self.tokens, self.names, self.constant_of)
        if pointer in self.pointers:
            raise self.tokens.wrong(f"{pointer} is allocated twice", first)
        self.pointers[pointer] = constant.buffer
        span = self.tokens.span(first)
        if self.tokens.skip("{"):
            self.blocks.append(_Block(("constant", constant, span), first, buffers=[pointer]))
            return
        top = self.blocks[-1]
        top.buffers.append(pointer)
        top.done.append(("constant", constant, span))

    def annotate(self, first: int) -> None:
        """`attr [x] "prefetch_scope" = 4`, with a block, or before a statement. A buffer goes by its name, or that of its memory."""
        tokens = self.tokens
        tokens.take()
        tokens.expect("[")
        known = tokens.ahead(1) == "]" and tokens.text in self.pointers
        buffer = self.pointers[tokens.take()] if known else self.buffer(tokens)
        if buffer is None:
            tokens.refuse("an annotation is of something other than a buffer", first)
        tokens.expect("]")
        if tokens.kind != "string":
            raise tokens.unexpected("the name of an annotation")
        key = tokens.take()[1:-1]
        if key not in _ANNOTATIONS:
            tokens.refuse(f"a buffer is annotated with {key}", first)
        tokens.expect("=")
        value = read_expression(tokens, self.scope)
        if not isinstance(value, Const) or not dtypes.is_int(value.dtype):
            raise tokens.wrong(f"{key} is a constant integer", first)
        head = ("annotation", Annotate(buffer, key, value, seq([])), tokens.span(first))
        if tokens.skip("{"):
            self.blocks.append(_Block(head, first))
        else:
            self.blocks[-1].done.append(head)

    def store(self, first: int) -> None:
        tokens = self.tokens
        buffer = self.buffer(tokens)
        if buffer is None:
            raise tokens.wrong(f"{tokens.text} is no buffer that is declared here", first)
        tokens.expect("[")
        indices = tokens.list_of(lambda: read_expression(tokens, self.scope), "]")
        tokens.expect("=")
        value = read_expression(tokens, self.scope)
        if value.dtype != buffer.dtype:
            raise tokens.wrong(f"{value.dtype} is stored in {buffer.name}, which is {buffer.dtype}", first)
        self.add(Store(buffer, checked_indices(tokens, buffer, tuple(indices), first), value), first)

    def prefetch(self, first: int) -> None:
        """`prefetch(name, [i:(i + 1), …])`: a single element, whose line is asked for."""
        tokens = self.tokens
        tokens.take()
        tokens.expect("(")
        buffer = self.buffer(tokens)
        if buffer is None:
            raise tokens.wrong(f"{tokens.text} is no buffer that is declared here", first)
        tokens.expect(",")
        tokens.expect("[")
        indices = tokens.list_of(self.single_element, "]")
        tokens.expect(")")
        self.add(Prefetch(Load(buffer, checked_indices(tokens, buffer, tuple(indices), first))), first)

    def single_element(self) -> Expr:
        """`i:(i + 1)`, as `i`."""
        tokens = self.tokens
        first = tokens.at
        begin = read_expression(tokens, self.scope)
        tokens.expect(":")
        end = read_expression(tokens, self.scope)
        if Simplifier().linear(end - begin) != ({}, 1):
            tokens.refuse("a prefetch is of more than one element", first)
        return begin

    def buffer(self, tokens: Tokens) -> Buffer | None:
        """The buffer that comes next, by its name, or declared: `x_1: Buffer(x, float32, [16], [])`."""
        first, name = tokens.at, tokens.text
        if tokens.ahead(1) != ":" or tokens.ahead(2) != "Buffer":
            known = self.buffers.get(name)
            if known is not None:
                tokens.take()
            return known
        tokens.take()
        tokens.take()
        declared = read_declaration(tokens)
        buffer = self.pointers.get(declared.pointer)
        if buffer is None:
            raise tokens.wrong(f"the memory {declared.pointer} of {name} is not allocated here", first)
        if (buffer.shape, buffer.dtype) != (declared.shape, declared.dtype):
            tokens.refuse(f"{name} is another view of the memory {declared.pointer}", first)
        if self.buffers.get(name, buffer) is not buffer:
            raise tokens.wrong(f"the buffer {name} is declared twice", first)
        if name not in self.buffers:
            self.names.hint(name)
            self.buffers[name] = buffer
        return buffer

    # -- ends ----------------------------------------------------------------------------------------------------------

    def add(self, s: Stmt, first: int, span: Span | None = None) -> Stmt:
        self.places[s] = span or self.tokens.span(first)
        self.blocks[-1].done.append(s)
        return s

    def end_block(self) -> Stmt | None:
        """Ends the innermost block; the whole body, if that is the one."""
        block = self.blocks.pop()
        body = self.gathered(block)
        for name in block.variables:
            del self.scope.variables[name]
        for name in block.buffers:
            buffer = self.pointers.pop(name)
            self.buffers = {n: b for n, b in self.buffers.items() if b is not buffer}
        if not self.blocks:
            return body
        head, first, tokens = block.head, block.first, self.tokens
        kind = head[0]
        if kind == "for":
            _, var, begin, extent, how = head
            if not (isinstance(begin, Const) and begin.value == 0):
                body = self.shifted(body, var, begin)
            self.add(For(var, extent, body, how), first, _head(tokens, first))
        elif kind == "while":
            self.add(While(head[1], body), first, _head(tokens, first))
        elif kind == "allocate":
            self.add(Allocate(head[1], body), first, head[2])
        elif kind in ("annotation", "constant"):
            self.add(_with_body(head[1], body), first, head[2])
        elif kind == "else":
            self.add(If(head[1], head[2], body), first, _head(tokens, first))
        elif kind == "if" and tokens.skip("else"):
            self.opened(("else", head[1], body), first)
        elif kind == "if":
            self.add(If(head[1], body), first, _head(tokens, first))
        else:
            self.blocks[-1].done.append(body)
        return None

    def shifted(self, body: Stmt, var: Var, begin: Expr) -> Stmt:
        """A body whose loop begins at 0, in place of `begin`."""
        return substitute_stmt(body, {var: var + begin})

    def gathered(self, block: _Block) -> Stmt:
        """The statements of a block as one; the body of an allocation or a `let` is the rest of the block, that of an annotation
        the next statement."""
        done: list[Stmt] = []
        for item in reversed(block.done):
            if isinstance(item, Stmt):
                done.append(item)
                continue
            stmt: Stmt
            if item[0] == "annotation":
                stmt = _with_body(item[1], done.pop() if done else seq([]))
                self.places[stmt] = item[-1]
                done.append(stmt)
                continue
            inner = seq(done[::-1])
            if item[0] == "let":
                stmt = Let(item[1], item[2], inner)
            else:
                stmt = Allocate(item[1], inner) if item[0] == "allocate" else _with_body(item[1], inner)
            self.places[stmt] = item[-1]
            done = [stmt]
        return seq(done[::-1])


def _with_body(head: AllocateConst | Annotate, body: Stmt) -> Stmt:
    if isinstance(head, Annotate):
        return Annotate(head.buffer, head.key, head.value, body)
    return AllocateConst(head.buffer, head.data, body, head.storage_index)


def _head(tokens: Tokens, first: int) -> Span:
    """The tokens of a statement up to its block."""
    token = first
    depth = 0
    while token < len(tokens.texts) - 1:
        text = tokens.texts[token]
        if text == "{" and not depth:
            break
        depth += (text in "([") - (text in ")]") if text else 0
        token += 1
    last = max(token - 1, first)
    return Span(tokens.source, tokens.starts[first], tokens.starts[last] + len(tokens.texts[last]))
