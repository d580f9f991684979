"""Relay as text, in the layout of TVM 0.10.

Reading the text gives the same graph back, and the layout says which nodes get a number:

* Names of functions and operators, variables, and constants stand where they are used.
* A node used once stands in place at the end of a scope (the body of a function, a branch, a clause, the right side of a
  `let`). Every other node is bound: `%3 = …;` on a line of its own before the line that uses it.
* The numbers follow the order of evaluation: below a call everything that its arguments need comes first, argument by
  argument; then the arguments themselves; then the function called, where that is an expression.

`_visit` writes a node's own text once all below it is written; `Bindings.place` puts it in line or binds it. Chains of
calls, tuples and fields are walked with a work list; nodes that open scopes are generators on a trampoline, so no nesting is
too deep.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any

from ..ir import (
    Call,
    Constant,
    Constructor,
    Expr,
    ExternFunction,
    Function,
    GlobalVar,
    If,
    IncompleteType,
    Let,
    Match,
    MissingData,
    Op,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Type,
    TypeData,
    TypeVar,
    Var,
)
from ..ir.attributes import formulas, stated
from ..ir.expr import CHILDREN_OF
from ..ir.meta import MetaNode
from ..trampoline import trampoline
from .attributes import AttributeText
from .bindings import IN_PLACE, Bindings, Text, count_uses, joined
from .brevity import Brevity, deeper
from .literals import has_literal, scalar_literal
from .metadata import References, missing_reference
from .names import Names
from .types import TypeText, annotated_type_variables

Steps = Generator[Any, Any, Any]


class RelayPrinter(Bindings):
    """Prints the functions and type definitions of one text: names and numbers run on from one to the next.

    `types` says which nodes get a type comment: `all` as TVM does it, `calls`, or `none`. `spans` adds the place in the
    source to the comments. With `metadata` off, values are spelled out where that is possible.
    """

    def __init__(
        self,
        references: References,
        metadata: bool = True,
        types: str = "all",
        spans: bool = False,
        portable_names: bool = False,
    ) -> None:
        self.brevity = Brevity()
        super().__init__()
        self.type_names: dict[str, list[TypeVar]] = {}
        self.elsewhere: dict[str, Type] = {}
        """Result types of lowered functions that the text calls and does not hold: only the calls state them."""
        self.references = references
        self.metadata = metadata
        self.types = types
        self.spans = spans
        self.names = Names(portable_names)
        self.type_text = TypeText(references)
        self.attribute_text = AttributeText(references, metadata)
        every = (Call, Tuple, TupleGetItem, Function, Constant)
        self.commented: tuple[type, ...] = {"all": every, "calls": (Call,), "none": every if spans else ()}[types]

    # entry points

    def expression(self, e: Expr) -> str:
        """An expression on its own; its free variables are declared on lines before it."""
        self.begin(self.survey(e))
        return joined(trampoline(self._scope(e, 0)))

    def definition(self, name: str, f: Function, uses: dict[Expr, int]) -> str:
        """`def @name(…) { … }`. `uses` is the survey of `f`."""
        self.begin(uses)
        return joined(trampoline(self._function(f"def @{name}", f, 0)))

    def declaration(self, name: str, f: ExternFunction) -> str:
        """`extern def @name: fn (…) -> …`."""
        return f"extern def @{name}: {self.type_text(f.checked_type)}"

    def begin(self, uses: dict[Expr, int]) -> None:
        super().begin(uses)
        self.type_names = {}
        self.brevity.grow(len(uses) + sum(uses.values()))

    def survey(self, root: Expr) -> dict[Expr, int]:
        """The number of edges to each node below `root`; sets aside the indices of missing constants.

        Every function of a text is surveyed before the first is printed.
        """
        uses = count_uses(root)
        for e in uses:
            if e.__class__ is Constant and isinstance(e.data, MissingData):
                self.references.reserve(e.data.key, e.data.index)
        return uses

    def type_definition(self, t: TypeData) -> str:
        """`type List[A] { Cons(A, List[A]), Nil, }`."""
        head = f"type {t.header.name}"
        if t.type_vars:
            head += f"[{', '.join(v.name for v in t.type_vars)}]"
        lines = [c.name + (f"({', '.join(map(self.type_text, c.inputs))})" if c.inputs else "") for c in t.constructors]
        return f"{head} {{\n  " + ",\n  ".join(lines) + ("," if lines else "") + "\n}"

    # scopes and bindings

    def _scope(self, e: Expr, indent: int) -> Steps:
        """The text of a scope: the lines that bind the operands of `e`, and `e`. Lines after the first start at `indent`."""
        outer, self.lines = self.lines, []
        yield self._visit(e, indent, indent if self.stands_in_place(e) else None)
        last = self.place(e, True, indent)
        lines, self.lines = self.lines, outer
        lines.append(last)
        return lines

    def _body(self, e: Expr, indent: int) -> Steps:
        """`{ … }` around a scope, the closing brace at `indent`."""
        inner = deeper(indent)
        return ["{", "\n" + " " * inner, (yield self._scope(e, inner)), "\n" + " " * indent, "}"]

    def comment(self, e: Expr) -> str:
        """The comment behind a node: its type as far as it is known."""
        known = e.checked_type
        if self.types == "none":
            known = None
        elif known is None and self.elsewhere and e.__class__ is Call and e.args and e.args[0].__class__ is GlobalVar:
            known = self.elsewhere.get(e.args[0].name)
        elif known is not None and not self.brevity.admits(known):
            return f" {self.brevity.left_out(known)}"
        text = "" if known is None or known.__class__ is IncompleteType else f" ty={self.type_text(known)}"
        if self.spans and e.span is not None:
            text += f" span={e.span.location}"
            # What stands in a comment must not end it, and spans are words.
            text += f"({re.sub(r'[*/]{2,}|[^!-~]+', '_', e.span.node)})" if e.span.node else ""
        return f" /*{text} */" if text else ""

    # nodes

    def _visit(self, root: Expr, indent: int, own_indent: int | None) -> Steps:
        """Fills the memo for `root` and everything below it that is not there yet.

        New lines of the current scope start at `indent`. `own_indent` is the indent of `root`'s own text where it will stand in
        place; None if it will be bound, on a line of the current scope.
        """
        memo = self.memo
        if root in memo:
            return
        stack: list[Expr | None] = [root]
        while stack:
            e = stack.pop()
            if e is None:
                e = stack.pop()
                assert e is not None
                if e in memo:
                    continue
                cls = e.__class__
                if cls is Call:
                    memo[e] = self._call(e, indent)  # type: ignore[arg-type]  # a call, by its class
                elif cls is Tuple:
                    memo[e] = self._tuple(e, indent)  # type: ignore[arg-type]  # a tuple, by its class
                else:
                    inner = self.place(e.tuple, False, indent)  # type: ignore[attr-defined]  # a field, by its class
                    memo[e] = f"{inner}.{e.index}"  # type: ignore[attr-defined]  # a field, by its class
                continue
            if e in memo:
                continue
            cls = e.__class__
            if cls is Call:
                stack.append(e)
                stack.append(None)
                stack.extend(_arguments(e)[::-1])  # type: ignore[arg-type]  # a call, by its class
                op = e.op  # type: ignore[attr-defined]  # a call, by its class
                if op not in memo:
                    stack.append(op)
            elif cls is Tuple or cls is TupleGetItem:
                stack.append(e)
                stack.append(None)
                stack.extend(CHILDREN_OF[cls](e)[::-1])
            elif cls in IN_PLACE:
                memo[e] = self._leaf(e)
            else:
                self.enter(e)
                memo[e] = yield self._structured(e, indent, own_indent if e is root else None)
                self.leave(e, indent, e is not root)

    def _leaf(self, e: Expr) -> str:
        cls = e.__class__
        if cls is GlobalVar:
            return f"@{e.name}"  # type: ignore[attr-defined]  # a global variable, by its class
        if cls is Constant:
            return self._constant(e)  # type: ignore[arg-type]  # a constant, by its class
        if cls is Var:
            self.free[e] = self.declare(e, free=True)  # type: ignore[index,arg-type]  # a variable, by its class
            return self.memo[e]
        return e.name  # type: ignore[attr-defined]  # an operator or constructor: nothing else is left

    def _constant(self, c: Constant) -> str:
        if c.is_scalar and has_literal(c.dtype):
            text = scalar_literal(c.data[()], c.dtype)  # type: ignore[index]  # a scalar has data
        else:
            text = self.references.refer(c)
        known = c.checked_type if c.checked_type is not None else c.type_annotation
        if isinstance(c.data, MissingData) and known is not None and self.types == "calls":
            # Nothing else in the text says it.
            text += f" /* ty={self.type_text(known)} */"
        elif Constant in self.commented:
            is_annotated = c.checked_type is None and c.type_annotation is not None and self.types != "none"
            text += (
                f" /* ty={self.type_text(c.type_annotation)} */"
                if is_annotated and c.type_annotation
                else self.comment(c)
            )
        return text

    def declare(self, v: Var, listed: bool = False, known_type: Type | None = None, free: bool = False) -> str:
        """Gives a variable its name and returns its declaration: name, device, annotation, type.

        `known_type` is the type that the text says of what the variable is bound to: a long annotation need not repeat that.

        In a list, of parameters or of a pattern, a name that nothing is said about has to be plain: text could not tell
        `(%a.0)` from a field of `%a`.
        """
        name = "%" + self.names.unique(v.name, listed and v.type_annotation is None, free)
        self.memo[v] = name
        if _says_something(v.virtual_device):
            name += f" {{virtual_device={self.attribute_text(v.virtual_device)}}}"
        if v.type_annotation is not None:
            name += f": {self._annotation(v.type_annotation, known_type)}"
        if self.types == "all" and (v.checked_type is not None or v in self.uses):
            name += self.comment(v)
        return name

    def _annotation(self, t: Type, known_type: Type | None) -> str:
        """A type that the program states; `_`, which inference fills in again, for a long one that `known_type` says as well."""
        brevity = self.brevity
        if (
            (known_type is not None or brevity.is_blown_up(t))
            and not brevity.admits(t)
            and (known_type is None or t == known_type)
        ):
            return f"_ {brevity.left_out(t)}"
        return self.type_text(t)

    def _call(self, e: Call, indent: int) -> str:
        place, memo = self.place, self.memo
        args = []
        for a in e.args:
            if a not in memo:
                memo[a] = self._tuple(a, indent)  # type: ignore[arg-type]  # the arguments of call_lowered
            args.append(place(a, False, indent))
        op = e.op
        if e.attrs is not None:
            args += self._attributes(e.attrs, op)
        if op.__class__ is Constructor:
            name = op.name
            return f"{name}({', '.join(args)})" if op.inputs else name
        return f"{place(op, False, indent)}({', '.join(args)})"

    def _attributes(self, attrs: Any, op: Expr) -> list[str]:
        attributes = stated(attrs)
        if (
            attributes
            and attributes[0][1].__class__ is MetaNode
            and missing_reference(attributes[0][1])
            and op.__class__ is Op
        ):
            record = attributes[0][1]
            if record.type_key == attrs.attrs_name:  # all attributes are in one record, which is missing
                return [self.references.refer(record)]
        has_record = op.__class__ is Op and self.metadata and not attrs.declares_attrs and attrs.attrs_name
        if has_record and not formulas([v for _, v in attributes]):  # a record has numbers only
            return [self.references.refer(attrs)]
        text = self.attribute_text
        return [f"{key}={text(value)}" for key, value in attributes]

    def _tuple(self, e: Tuple, indent: int) -> str:
        fields = [self.place(f, False, indent) for f in e.fields]
        return f"({', '.join(fields)}{',' if len(fields) == 1 else ''})"

    # nodes that open scopes, or that TVM visits one by one

    def _structured(self, e: Expr, indent: int, own_indent: int | None) -> Steps:
        cls = e.__class__
        own = indent if own_indent is None else own_indent
        if cls is Function:
            return self._function("fn ", e, own)  # type: ignore[arg-type]  # a function, by its class
        if cls is Let:
            return self._let(e, indent, own_indent)  # type: ignore[arg-type]  # a let, by its class
        if cls is If:
            return self._if(e, indent, own)  # type: ignore[arg-type]  # an if, by its class
        if cls is Match:
            return self._match(e, indent, own)  # type: ignore[arg-type]  # a match, by its class
        return self._reference(e, indent)

    def _operand(self, e: Expr, indent: int) -> Steps:
        yield self._visit(e, indent, None)
        return self.place(e, False, indent)

    def _function(self, prefix: str, f: Function, indent: int) -> Steps:
        head = prefix
        if f.type_params:
            head += f"[{', '.join(self._type_parameter(v, f) for v in f.type_params)}]"
        params = [self.declare(p, True) for p in f.params]
        params += [f"{key}={self.attribute_text(value)}" for key, value in f.attrs.items()]
        if _says_something(f.virtual_device):
            params.append(f"virtual_device={self.attribute_text(f.virtual_device)}")
        head += f"({', '.join(params)}) "
        if f.ret_type is not None:
            head += f"-> {self._annotation(f.ret_type, f.body.checked_type)} "
        body = yield self._body(f.body, indent)
        for v in f.type_params:
            self.type_names[self.type_text(v)].pop()
        return [head, body]

    def _type_parameter(self, v: TypeVar, f: Function) -> str:
        """The name of a type parameter: its own, unless `f` speaks of an outer one of that name."""
        name, count = v.name, 0
        hidden = [u for u in self.type_names.get(name, ()) if u is not v]
        if hidden and not annotated_type_variables(f).isdisjoint(hidden):
            while self.type_names.get(name):
                count += 1
                name = f"{v.name}{count}"
            self.type_text.renamed[v] = name
        self.type_names.setdefault(name, []).append(v)
        return name

    def _let(self, e: Let, indent: int, own_indent: int | None) -> Steps:
        """A chain of lets. Where it does not end a scope it stands in parentheses, two columns further in."""
        inner = deeper(indent) if own_indent is None else own_indent
        newline = "\n" + " " * inner
        outer = self.lines
        chain: list[Text] = []
        scope = indent
        link: Expr = e
        while link.__class__ is Let and (link is e or self.uses.get(link, 0) <= 1):
            value = link.value
            name = self.declare(link.var, known_type=value.checked_type)
            yield self._visit(value, scope, inner if self.stands_in_place(value) else None)
            chain.append([f"let {name} = ", self.place(value, True, scope), ";", newline])
            self.lines = chain
            scope = inner
            link = link.body
        chain.append((yield self._scope(link, inner)))
        self.lines = outer
        if own_indent is None:
            return ["(", newline, chain, "\n" + " " * indent, ")"]
        return chain

    def _if(self, e: If, indent: int, own: int) -> Steps:
        cond = yield self._operand(e.cond, indent)
        true = yield self._body(e.true_branch, own)
        false = yield self._body(e.false_branch, own)
        return [f"if ({cond}) ", true, " else ", false]

    def _match(self, e: Match, indent: int, own: int) -> Steps:
        data = yield self._operand(e.data, indent)
        inner = deeper(own)
        newline = "\n" + " " * inner
        out: list[Text] = [f"match{'' if e.complete else '?'} ({data}) {{"]
        for clause in e.clauses:
            pattern = self._pattern(clause.pattern)
            body = yield self._body(clause.body, inner)
            out += [newline, pattern, " => ", body, ","]
        if not e.clauses:
            out.append(newline)
        out += ["\n" + " " * own, "}"]
        return out

    def _pattern(self, root: Pattern) -> str:
        out: list[str] = []
        stack: list[Any] = [root]
        while stack:
            p = stack.pop()
            if p.__class__ is str:
                out.append(p)
            elif isinstance(p, PatternVar):
                out.append(self.declare(p.var, True, p.var.checked_type))
            elif isinstance(p, PatternConstructor | PatternTuple):
                name = p.constructor.name if isinstance(p, PatternConstructor) else ""
                if name and not p.patterns:
                    out.append(name)
                    continue
                out.append(name + "(")
                stack.append(")")
                for i, q in enumerate(reversed(p.patterns)):
                    if i:
                        stack.append(", ")
                    stack.append(q)
            else:
                out.append("_")
        return "".join(out)

    def _reference(self, e: Expr, indent: int) -> Steps:
        if isinstance(e, RefCreate):
            return f"ref({(yield self._operand(e.value, indent))})"
        if isinstance(e, RefRead):
            return f"ref_read({(yield self._operand(e.ref, indent))})"
        assert isinstance(e, RefWrite)
        ref = yield self._operand(e.ref, indent)
        return f"ref_write({ref}, {(yield self._operand(e.value, indent))})"


def _arguments(e: Call) -> tuple[Expr, ...]:
    """The operands of a call, for the lines before it: its arguments; for a lowered call the fields of its argument tuple come first."""
    op = e.op
    if op.__class__ is Op and op.name == "call_lowered" and len(e.args) == 2 and e.args[1].__class__ is Tuple:
        return (e.args[0], *e.args[1].fields)
    return e.args


def _says_something(device: Any) -> bool:
    return device is not None and (device.missing is not None or not device.is_unconstrained)
