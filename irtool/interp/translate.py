"""From functions to code.

Two questions decide where a node is evaluated. Which *function* does it belong to? A node shared between a function
literal and its surroundings belongs to the surroundings, and the closure captures its value. And where *within* the
function? Where the walk, in order of evaluation, first needs it; a branch sees what was evaluated before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..diagnostics import IrError
from ..ir import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    MissingData,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    bound_vars,
    children,
    post_order,
    use_counts,
)
from .code import UNSET, Block, Clause, Code, Instruction, Kind
from .liveness import finish_blocks
from .values import ConstructorValue, OperatorValue

if TYPE_CHECKING:
    from .machine import Machine

_LEAVES = frozenset({Var, GlobalVar, Constant, Op, Constructor})


class Scope:
    """A function literal, or the outermost function."""

    __slots__ = ("depth", "parent")

    def __init__(self, parent: Scope | None) -> None:
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1


def translate(root: Function | Expr, machine: Machine, name: str = "fn") -> Code:
    """The code of a function, or of an expression whose free variables the code then captures."""
    whole = root if isinstance(root, Function) else Function((), root)
    order = post_order(whole.body)
    inner = [e for e in order if e.__class__ is Function]
    plan = _Plan(machine, use_counts(whole.body))
    outermost = Scope(None)
    if inner:
        plan.assign_scopes(whole, order, outermost)
    else:
        plan.only = outermost
    for f in inner:
        assert isinstance(f, Function)
        plan.codes[f] = _Writer(plan, plan.scopes[f], f, "fn").code()
    return _Writer(plan, outermost, whole, name).code()


class _Plan:
    """What is known of a whole function before code is written: who owns each node, how often it is used."""

    def __init__(self, machine: Machine, uses: Counter[Expr]) -> None:
        self.machine = machine
        self.uses = uses
        self.only: Scope | None = None
        self.owners: dict[Expr, Scope] = {}
        self.scopes: dict[Expr, Scope] = {}
        self.codes: dict[Expr, Code] = {}

    def owner(self, e: Expr) -> Scope | None:
        """The function that `e` belongs to; None for a variable that is free in the whole."""
        if self.only is not None and e.__class__ is not Var:
            return self.only
        return self.owners.get(e)

    def assign_scopes(self, whole: Function, order: list[Expr], outermost: Scope) -> None:
        owners = self.owners
        for p in whole.params:
            owners[p] = outermost
        owners[whole.body] = outermost
        for e in reversed(order):
            if e.__class__ is Var:
                continue
            scope = owners[e]
            if e.__class__ is Function:
                scope = self.scopes[e] = Scope(scope)
                for p in e.params:  # type: ignore[attr-defined]
                    owners[p] = scope
            elif e.__class__ is Let:
                owners[e.var] = scope  # type: ignore[attr-defined]
            elif e.__class__ is Match:
                for c in e.clauses:  # type: ignore[attr-defined]
                    for v in bound_vars(c.pattern):
                        owners[v] = scope
            for k in children(e):
                if k.__class__ is Var:
                    continue
                other = owners.get(k)
                owners[k] = scope if other is None else _common(scope, other)


def _common(a: Scope, b: Scope) -> Scope:
    while a is not b:
        if a.depth >= b.depth:
            assert a.parent is not None
            a = a.parent
        else:
            assert b.parent is not None
            b = b.parent
    return a


_MOST_COMPARED = 8


def _exclusive(blocks: list[Block]) -> bool:
    """True if no two of the blocks run in one evaluation: they are below different branches of one `if` or `match`."""
    if len(blocks) > _MOST_COMPARED:
        return False
    for i, a in enumerate(blocks):
        for b in blocks[:i]:
            x, y = (a, b) if a.depth >= b.depth else (b, a)
            while x.depth > y.depth and x.parent is not None:
                x = x.parent
            if x is y:
                return False
            while x.parent is not y.parent:
                assert x.parent is not None and y.parent is not None
                x, y = x.parent, y.parent
            if x.branch_of is not y.branch_of:
                return False
    return True


class _Writer:
    """Writes the code of one function."""

    def __init__(self, plan: _Plan, scope: Scope, function: Function, name: str) -> None:
        self.plan = plan
        self.scope = scope
        self.function = function
        self.name = name
        self.slots: dict[Expr, int] = {}
        self.initial: list[Any] = []
        """What each slot holds at entry."""
        self.captured: dict[Expr, int] = {}
        self.recursive: dict[Expr, Var] = {}
        """Function literals that are the value of a `let`, with the variable that stands for themselves."""
        self.written: dict[Expr, Block] = {}
        self.written_again: dict[Expr, list[Block]] = {}
        self.blocks: list[Block] = []
        self.chain: list[Block] = []
        self.stack: list[Any] = []

    def code(self) -> Code:
        params = self.function.params
        for p in params:
            self.slots[p] = self._new_slot(UNSET)
        body = self._new_block(None, self.function.body, ends_function=True)
        body.defines.update(range(len(params)))
        self.chain = [body]
        self.stack = [(_Writer._close, body, self.function.body), self.function.body]
        self._write()
        lazy = {self.slots[e] for e, again in self.written_again.items() if not _exclusive([self.written[e], *again])}
        finish_blocks(self.blocks, lazy)
        return Code(
            body,
            len(params),
            self.initial[len(params) :],
            tuple(self.captured),
            tuple(self.captured.values()),
            self.name,
        )

    def _write(self) -> None:
        stack = self.stack
        while stack:
            item = stack.pop()
            if item.__class__ is tuple:
                item[0](self, *item[1:])
            elif item.__class__ not in _LEAVES and not self._is_written(item):
                if self.plan.owner(item) is not self.scope:
                    self._capture(item)
                else:
                    _VISIT[item.__class__](self, item)

    # Slots and blocks

    def _new_slot(self, value: Any) -> int:
        self.initial.append(value)
        return len(self.initial) - 1

    def _new_block(self, parent: Block | None, root: Expr, ends_function: bool, of: Expr | None = None) -> Block:
        block = Block(0 if parent is None else parent.depth + 1, parent, of)
        if ends_function:
            while root.__class__ is Let and self.plan.uses[root] == 1:
                root = root.body  # type: ignore[attr-defined]
            if self.plan.uses[root] == 1:
                block.tail = root
        self.blocks.append(block)
        return block

    def _open(self, block: Block) -> None:
        self.chain.append(block)

    def _close(self, block: Block, root: Expr) -> None:
        block.result = self._slot(root)
        self.chain.pop()

    def _is_written(self, e: Expr) -> bool:
        """True if every way to where the walk is now has evaluated `e`."""
        first = self.written.get(e)
        if first is None:
            return e in self.captured
        if first.depth < len(self.chain) and self.chain[first.depth] is first:
            return True
        return any(b.depth < len(self.chain) and self.chain[b.depth] is b for b in self.written_again.get(e, ()))

    def _mark(self, e: Expr) -> None:
        if e in self.written:
            self.written_again.setdefault(e, []).append(self.chain[-1])
        else:
            self.written[e] = self.chain[-1]

    def _capture(self, e: Expr) -> int:
        slot = self.captured.get(e)
        if slot is None:
            slot = self.slots[e] = self.captured[e] = self._new_slot(UNSET)
        return slot

    def _slot(self, e: Expr) -> int:
        """The slot of an expression that has been visited, or of a leaf."""
        slot = self.slots.get(e)
        if slot is not None:
            return slot
        if e.__class__ is Var:
            if self.plan.owner(e) is self.scope:
                raise IrError(f"the variable %{e.name} is used before it is bound", e.span)  # type: ignore[attr-defined]
            return self._capture(e)
        slot = self.slots[e] = self._new_slot(self._leaf_value(e))
        return slot

    def _leaf_value(self, e: Expr) -> Any:
        if isinstance(e, Constant):
            if isinstance(e.data, MissingData):
                raise IrError(
                    f"the constant meta[{e.data.key}][{e.data.index}] has no data: its metadata is missing", e.span
                )
            return self.plan.machine.constant(e)
        if isinstance(e, GlobalVar):
            return self.plan.machine.closure(e.name, e.span)
        if isinstance(e, Op):
            return OperatorValue(e.operator)
        assert isinstance(e, Constructor)
        return ConstructorValue(e)

    def _emit(self, kind: Kind, e: Expr, args: tuple[Expr, ...], extra: Any = None) -> Instruction:
        slots = tuple([self._slot(a) for a in args])
        out = self.slots.get(e)
        if out is None:
            out = self.slots[e] = self._new_slot(UNSET)
        instruction = Instruction(kind, out, slots, extra, e)
        block = self.chain[-1]
        block.instructions.append(instruction)
        block.defines.add(out)
        self._mark(e)
        return instruction

    def _after(self, e: Expr, kids: tuple[Expr, ...], kind: Kind, extra: Any = None) -> None:
        self.stack.append((_Writer._emit, kind, e, kids, extra))
        self.stack.extend(kids[::-1])

    # Visits: push what has to be written first

    def _tuple(self, e: Tuple) -> None:
        self._after(e, e.fields, Kind.TUPLE)

    def _field(self, e: TupleGetItem) -> None:
        self._after(e, (e.tuple,), Kind.FIELD, e.index)

    def _ref_create(self, e: RefCreate) -> None:
        self._after(e, (e.value,), Kind.REF_CREATE)

    def _ref_read(self, e: RefRead) -> None:
        self._after(e, (e.ref,), Kind.REF_READ)

    def _ref_write(self, e: RefWrite) -> None:
        self._after(e, (e.ref, e.value), Kind.REF_WRITE)

    def _call(self, e: Call) -> None:
        if isinstance(e.op, Op):
            operator = e.op.operator
            attrs = e.attrs if isinstance(e.attrs, operator) else operator.make(e.attrs, e.span)
            self._after(e, e.args, Kind.OPERATOR, attrs.evaluate)
        elif isinstance(e.op, Constructor):
            self._after(e, e.args, Kind.DATA, e.op)
        else:
            self.stack.append((_Writer._leave_call, e))
            self.stack.append(e.op)
            self.stack.extend(e.args[::-1])

    def _leave_call(self, e: Call) -> None:
        kind = Kind.TAIL_CALL if self.chain[-1].tail is e else Kind.CALL
        self._emit(kind, e, (*e.args, e.op))

    def _function(self, e: Function) -> None:
        captured = self.plan.codes[e].captured
        self.stack.append((_Writer._leave_function, e))
        self.stack.extend(c for c in captured[::-1] if c.__class__ is not Var)

    def _leave_function(self, e: Function) -> None:
        code = self.plan.codes[e]
        itself = self.recursive.get(e)
        others = tuple(c for c in code.captured if c is not itself)
        at = next((i for i, c in enumerate(code.captured) if c is itself), None)
        self._emit(Kind.CLOSURE, e, others, (code, at))

    def _let(self, e: Let) -> None:
        if e.value.__class__ is Function:
            self.recursive[e.value] = e.var
        self.stack += [(_Writer._leave_let, e), e.body, (_Writer._bind, e), e.value]

    def _bind(self, e: Let) -> None:
        self.slots[e.var] = self._slot(e.value)

    def _leave_let(self, e: Let) -> None:
        self.slots[e] = self._slot(e.body)
        self._mark(e)

    def _if(self, e: If) -> None:
        self.stack += [(_Writer._leave_if, e), e.cond]

    def _leave_if(self, e: If) -> None:
        block = self.chain[-1]
        branches = [(b, self._new_block(block, b, block.tail is e, e)) for b in (e.true_branch, e.false_branch)]
        self._emit(Kind.IF, e, (e.cond,), tuple(b for _, b in branches))
        for root, branch in reversed(branches):
            self.stack += [(_Writer._close, branch, root), root, (_Writer._open, branch)]

    def _match(self, e: Match) -> None:
        self.stack += [(_Writer._leave_match, e), e.data]

    def _leave_match(self, e: Match) -> None:
        block = self.chain[-1]
        clauses = []
        for c in e.clauses:
            branch = self._new_block(block, c.body, block.tail is e, e)
            slots: dict[Var, int] = {}
            for v in bound_vars(c.pattern):
                if v not in self.slots:
                    self.slots[v] = self._new_slot(UNSET)
                slots[v] = self.slots[v]
            branch.defines.update(slots.values())
            clauses.append(Clause(c.pattern, slots, branch))
        self._emit(Kind.MATCH, e, (e.data,), tuple(clauses))
        for c, clause in zip(reversed(e.clauses), reversed(clauses), strict=True):
            self.stack += [(_Writer._close, clause.block, c.body), c.body, (_Writer._open, clause.block)]


_VISIT: dict[type, Callable[[_Writer, Any], None]] = {
    Tuple: _Writer._tuple,
    TupleGetItem: _Writer._field,
    Call: _Writer._call,
    Function: _Writer._function,
    Let: _Writer._let,
    If: _Writer._if,
    Match: _Writer._match,
    RefCreate: _Writer._ref_create,
    RefRead: _Writer._ref_read,
    RefWrite: _Writer._ref_write,
}
