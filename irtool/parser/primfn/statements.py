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
from .tokens import Words

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

    def __init__(self, words: Words, header: Header, names: TakenNames, constant: ConstantOf | None = None) -> None:
        self.words = words
        self.constant_of = constant
        self.names = names
        self.buffers = dict(header.buffers)
        self.pointers = dict(header.pointers)
        self.scope = SymbolTable(self.buffer)
        self.places: dict[Stmt, Span] = {}
        self.blocks = [_Block()]

    def read(self) -> Stmt:
        """The statements up to the brace that closes the body, which is left behind."""
        words = self.words
        while True:
            if words.skip(";"):
                continue
            if words.text == "}" and words.kind == "sign":
                words.take()
                ended = self.end_block()
                if ended is not None:
                    return ended
                continue
            self.statement()

    def statement(self) -> None:
        """Reads a statement, or the head of one."""
        words = self.words
        first, text = words.at, words.text
        if words.kind != "name":
            if text == "{":
                words.take()
                self.blocks.append(_Block(("block",), first))
                return
            raise words.unexpected("a statement")
        following = words.ahead(1)
        if text == "for" and following == "(":
            self.loop(first)
        elif text == "if":
            words.take()
            self.opened(("if", self.condition(first)), first)
        elif text == "while":
            words.take()
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
            words.refuse(f"{text} begins a statement that nests here have not", first)
        else:
            self.store(first)

    def opened(self, head: Any, first: int, variable: str = "") -> None:
        self.words.expect("{")
        self.blocks.append(_Block(head, first, variables=[variable] if variable else []))

    def condition(self, first: int) -> Expr:
        cond = read_expression(self.words, self.scope)
        if cond.dtype != "bool":
            raise self.words.wrong(f"a condition is a bool, not {cond.dtype}", first)
        return cond

    def declare(self) -> tuple[str, Var]:
        """`name: dtype`, as a variable that is not in scope yet."""
        words = self.words
        first = words.at
        name = words.name("a variable")
        if name in self.scope.variables:
            raise words.wrong(f"{name} is bound again below its own binding", first)
        words.expect(":")
        return name, Var(self.names.hint(name), read_dtype(words))

    def loop(self, first: int) -> None:
        words = self.words
        words.take()
        words.expect("(")
        name, var = self.declare()
        words.expect(",")
        begin = read_expression(words, self.scope)
        words.expect(",")
        extent = read_expression(words, self.scope)
        words.expect(")")
        for e in (begin, extent):
            if e.dtype != var.dtype or not dtypes.is_int(e.dtype):
                raise words.wrong(f"the loop of {name} counts in {var.dtype}, its bounds are {e.dtype}", first)
        kind = SERIAL
        if words.kind == "string":
            said = words.take()[1:-1]
            if said not in _KINDS:
                words.refuse(f"a loop runs as {said}", first)
            kind = _KINDS[said]
        self.scope.variables[name] = var
        self.opened(("for", var, begin, extent, kind), first, name)

    def let(self, first: int) -> None:
        words = self.words
        words.take()
        name, var = self.declare()
        words.expect("=")
        value = read_expression(words, self.scope)
        if value.dtype != var.dtype:
            raise words.wrong(f"{name} is {var.dtype}, its value {value.dtype}", first)
        self.scope.variables[name] = var
        top = self.blocks[-1]
        top.variables.append(name)
        top.done.append(("let", var, value, words.span(first)))

    def allocate(self, first: int) -> None:
        """`allocate(name: Pointer(global float32), float32, [16]), storage_scope = global`, with a block, or before further statements."""
        words = self.words
        words.take()
        words.expect("(")
        pointer = words.name("a pointer")
        if pointer in self.pointers:
            raise words.wrong(f"{pointer} is allocated twice", first)
        words.expect(":")
        scope = read_pointer_type(words)
        words.expect(",")
        dtype = read_dtype(words)
        words.expect(",")
        shape = read_shape(words)
        words.expect(")")
        while words.skip(","):
            key = words.name("what is said of an allocation")
            words.expect("=")
            if key == "index_map":
                words.refuse("a buffer is laid out by an index map", first)
            if key == "storage_scope":
                scope = words.name("a scope")
            elif key == "offset":
                words.integer("an offset")
            else:
                words.refuse(f"an allocation has {key}", first)
        if scope not in _SCOPES:
            words.refuse(f"memory is allocated in {scope}", first)
        buffer = Buffer(self.names.hint(pointer), shape, dtype, _SCOPES[scope])
        self.pointers[pointer] = buffer
        span = words.span(first)
        if words.text == "{":
            words.take()
            self.blocks.append(_Block(("allocate", buffer, span), first, buffers=[pointer]))
            return
        top = self.blocks[-1]
        top.buffers.append(pointer)
        top.done.append(("allocate", buffer, span))

    def constant(self, first: int) -> None:
        """A constant, with a block, or before further statements, as memory is allocated."""
        pointer, held = read_constant(self.words, self.names, self.constant_of)
        if pointer in self.pointers:
            raise self.words.wrong(f"{pointer} is allocated twice", first)
        self.pointers[pointer] = held.buffer
        span = self.words.span(first)
        if self.words.skip("{"):
            self.blocks.append(_Block(("constant", held, span), first, buffers=[pointer]))
            return
        top = self.blocks[-1]
        top.buffers.append(pointer)
        top.done.append(("constant", held, span))

    def annotate(self, first: int) -> None:
        """`attr [x] "prefetch_scope" = 4`, with a block, or before a statement. A buffer goes by its name, or that of its memory."""
        words = self.words
        words.take()
        words.expect("[")
        known = words.ahead(1) == "]" and words.text in self.pointers
        buffer = self.pointers[words.take()] if known else self.buffer(words)
        if buffer is None:
            words.refuse("an annotation is of something other than a buffer", first)
        words.expect("]")
        if words.kind != "string":
            raise words.unexpected("the name of an annotation")
        key = words.take()[1:-1]
        if key not in _ANNOTATIONS:
            words.refuse(f"a buffer is annotated with {key}", first)
        words.expect("=")
        value = read_expression(words, self.scope)
        if not isinstance(value, Const) or not dtypes.is_int(value.dtype):
            raise words.wrong(f"{key} is a constant integer", first)
        head = ("annotation", Annotate(buffer, key, value, seq([])), words.span(first))
        if words.skip("{"):
            self.blocks.append(_Block(head, first))
        else:
            self.blocks[-1].done.append(head)

    def store(self, first: int) -> None:
        words = self.words
        buffer = self.buffer(words)
        if buffer is None:
            raise words.wrong(f"{words.text} is no buffer that is declared here", first)
        words.expect("[")
        indices = words.list_of(lambda: read_expression(words, self.scope), "]")
        words.expect("=")
        value = read_expression(words, self.scope)
        if value.dtype != buffer.dtype:
            raise words.wrong(f"{value.dtype} is stored in {buffer.name}, which is {buffer.dtype}", first)
        self.add(Store(buffer, checked_indices(words, buffer, tuple(indices), first), value), first)

    def prefetch(self, first: int) -> None:
        """`prefetch(name, [i:(i + 1), …])`: a single element, whose line is asked for."""
        words = self.words
        words.take()
        words.expect("(")
        buffer = self.buffer(words)
        if buffer is None:
            raise words.wrong(f"{words.text} is no buffer that is declared here", first)
        words.expect(",")
        words.expect("[")
        indices = words.list_of(self.single_element, "]")
        words.expect(")")
        self.add(Prefetch(Load(buffer, checked_indices(words, buffer, tuple(indices), first))), first)

    def single_element(self) -> Expr:
        """`i:(i + 1)`, as `i`."""
        words = self.words
        first = words.at
        begin = read_expression(words, self.scope)
        words.expect(":")
        end = read_expression(words, self.scope)
        if Simplifier().linear(end - begin) != ({}, 1):
            words.refuse("a prefetch is of more than one element", first)
        return begin

    def buffer(self, words: Words) -> Buffer | None:
        """The buffer that comes next, by its name, or declared: `x_1: Buffer(x, float32, [16], [])`."""
        first, name = words.at, words.text
        if words.ahead(1) != ":" or words.ahead(2) != "Buffer":
            known = self.buffers.get(name)
            if known is not None:
                words.take()
            return known
        words.take()
        words.take()
        said = read_declaration(words)
        buffer = self.pointers.get(said.pointer)
        if buffer is None:
            raise words.wrong(f"the memory {said.pointer} of {name} is not allocated here", first)
        if (buffer.shape, buffer.dtype) != (said.shape, said.dtype):
            words.refuse(f"{name} is another view of the memory {said.pointer}", first)
        if self.buffers.get(name, buffer) is not buffer:
            raise words.wrong(f"the buffer {name} is declared twice", first)
        if name not in self.buffers:
            self.names.hint(name)
            self.buffers[name] = buffer
        return buffer

    # -- ends ----------------------------------------------------------------------------------------------------------

    def add(self, s: Stmt, first: int, span: Span | None = None) -> Stmt:
        self.places[s] = span or self.words.span(first)
        self.blocks[-1].done.append(s)
        return s

    def end_block(self) -> Stmt | None:
        """Ends the innermost block; the whole body, if that is the one."""
        block = self.blocks.pop()
        body = self.gathered(block)
        for name in block.variables:
            del self.scope.variables[name]
        for name in block.buffers:
            gone = self.pointers.pop(name)
            self.buffers = {n: b for n, b in self.buffers.items() if b is not gone}
        if not self.blocks:
            return body
        head, first, words = block.head, block.first, self.words
        kind = head[0]
        if kind == "for":
            _, var, begin, extent, how = head
            if not (isinstance(begin, Const) and begin.value == 0):
                body = self.shifted(body, var, begin)
            self.add(For(var, extent, body, how), first, _head(words, first))
        elif kind == "while":
            self.add(While(head[1], body), first, _head(words, first))
        elif kind == "allocate":
            self.add(Allocate(head[1], body), first, head[2])
        elif kind in ("annotation", "constant"):
            self.add(_with_body(head[1], body), first, head[2])
        elif kind == "else":
            self.add(If(head[1], head[2], body), first, _head(words, first))
        elif kind == "if" and words.skip("else"):
            self.opened(("else", head[1], body), first)
        elif kind == "if":
            self.add(If(head[1], body), first, _head(words, first))
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


def _with_body(held: AllocateConst | Annotate, body: Stmt) -> Stmt:
    if isinstance(held, Annotate):
        return Annotate(held.buffer, held.key, held.value, body)
    return AllocateConst(held.buffer, held.data, body, held.storage_index)


def _head(words: Words, first: int) -> Span:
    """The words of a statement up to its block."""
    at = first
    depth = 0
    while at < len(words.texts) - 1:
        text = words.texts[at]
        if text == "{" and not depth:
            break
        depth += (text in "([") - (text in ")]") if text else 0
        at += 1
    last = max(at - 1, first)
    return Span(words.source, words.starts[first], words.starts[last] + len(words.texts[last]))
