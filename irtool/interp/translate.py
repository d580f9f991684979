"""From functions to code: every node becomes an instruction in the block that `places` gives it.

The walk is in order of evaluation. A node is written into its own block when it is first met; where that is met from a
branch, the instruction for the `if` has not been written yet, so the node comes before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Protocol

from ..deferred import np
from ..diagnostics import IrError, Span
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
    use_counts,
)
from ..ir.attributes import formulas, stated
from .code import UNSET, BasicBlock, Clause, CompiledFunction, Instruction, Kind
from .complements import complement
from .evaluation_blocks import Places
from .liveness import finish_blocks
from .mistakes import MissingConstant
from .reference import reference
from .values import ConstructorValue, OperatorValue

_LEAVES = frozenset({Var, GlobalVar, Constant, Op, Constructor})


class Globals(Protocol):
    """Values of nodes that are the same in every call: constants, and functions of the module."""

    def constant(self, e: Constant) -> np.ndarray: ...

    def closure(self, name: str, span: Span | None = None) -> Any: ...


def translate(root: Function | Expr, machine: Globals, name: str = "fn") -> CompiledFunction:
    """The code of a function, or of an expression whose free variables the code then captures."""
    whole = root if isinstance(root, Function) else Function((), root)
    scopes = Places(whole)
    uses = use_counts(whole.body)
    codes: dict[Expr, CompiledFunction] = {}
    for f in scopes.literals:
        codes[f] = _Writer(machine, scopes, uses, codes, f, "fn").code()
    return _Writer(machine, scopes, uses, codes, whole, name).code()


class _Writer:
    """Writes the code of one function."""

    def __init__(
        self,
        machine: Globals,
        scopes: Places,
        uses: Counter[Expr],
        codes: dict[Expr, CompiledFunction],
        function: Function,
        name: str,
    ) -> None:
        self.machine = machine
        self.places = scopes
        self.uses = uses
        self.codes = codes
        self.function = function
        self.name = name
        self.body = scopes.functions[function]
        self.slots: dict[Expr, int] = {}
        self.initial: list[Any] = []
        """What each slot holds at entry."""
        self.captured: dict[Expr, int] = {}
        self.recursive: dict[Expr, Var] = {}
        """Function literals that are the value of a `let`, with the variable that stands for themselves."""
        self.written: set[Expr] = set()
        self.stack: list[Any] = []

    def code(self) -> CompiledFunction:
        params = self.function.params
        for p in params:
            self.slots[p] = self._new_slot()
        self.body.defines.update(range(len(params)))
        self._set_tail(self.body, self.function.body)
        self._visit_into(self.body, self.function.body)
        self._write()
        blocks = [b for b in self.places.blocks if b.function is self.body]
        own = {self.slots[e]: b for e, b in self.places.own.items() if b.function is self.body}
        finish_blocks(blocks, own)
        slots = tuple(self.captured.values())
        return CompiledFunction(
            self.body, len(params), self.initial[len(params) :], tuple(self.captured), slots, self.name
        )

    def _write(self) -> None:
        stack, written = self.stack, self.written
        while stack:
            step, e, block = stack.pop()
            if step is not None:
                step(self, e, block)
            elif e.__class__ not in _LEAVES:
                place = self.places.of(e)
                if place.function is not self.body:
                    self._capture(e)
                elif e in self.places.own and e not in block.needed and place is not block:
                    block.needed.add(e)
                    stack.append((_Writer._need, e, block))
                    if e not in written:
                        written.add(e)
                        stack.append((_Writer._close, e, place))
                        _VISIT[e.__class__](self, e, place)
                elif e not in written:
                    written.add(e)
                    _VISIT[e.__class__](self, e, place)

    # Slots and blocks

    def _new_slot(self, value: Any = UNSET) -> int:
        self.initial.append(value)
        return len(self.initial) - 1

    def _set_tail(self, block: BasicBlock, root: Expr) -> None:
        """Notes which expression, evaluated last in the block, gives the function's result."""
        while root.__class__ is Let and self.uses[root] == 1:
            root = root.body
        if self.uses[root] == 1:
            block.tail = root

    def _visit_into(self, block: BasicBlock, root: Expr) -> None:
        """Schedules the writing of the instructions for `root`, and of `root` as the block's value."""
        self.stack += [(_Writer._close, root, block), (None, root, block)]

    def _close(self, root: Expr, block: BasicBlock) -> None:
        block.result = self._slot(root)

    def _need(self, e: Expr, block: BasicBlock) -> None:
        block.instructions.append(Instruction(Kind.NEED, self._slot(e), (), self.places.own[e], e))

    def _capture(self, e: Expr) -> int:
        slot = self.captured.get(e)
        if slot is None:
            slot = self.slots[e] = self.captured[e] = self._new_slot()
        return slot

    def _slot(self, e: Expr) -> int:
        """The slot of an expression that has been visited, or of a leaf."""
        slot = self.slots.get(e)
        if slot is not None:
            return slot
        if e.__class__ is Var:
            if self.places.binds_here(e, self.body):
                raise IrError(f"the variable %{e.name} is used before it is bound", e.span)
            return self._capture(e)
        slot = self.slots[e] = self._new_slot(self._leaf_value(e))
        return slot

    def _leaf_value(self, e: Expr) -> Any:
        if isinstance(e, Constant):
            if isinstance(e.data, MissingData):
                what = f"meta[{e.data.key}][{e.data.index}]"
                raise IrError(f"the constant {what} has no data: its metadata is missing", e.span, code=MissingConstant)
            return self.machine.constant(e)
        if isinstance(e, GlobalVar):
            return self.machine.closure(e.name, e.span)
        if isinstance(e, Op):
            return OperatorValue(e.operator)
        assert isinstance(e, Constructor)
        return ConstructorValue(e)

    def _emit(self, kind: Kind, e: Expr, block: BasicBlock, args: tuple[Expr, ...], extra: Any = None) -> None:
        slots = tuple([self._slot(a) for a in args])
        out = self.slots[e] = self._new_slot()
        block.instructions.append(Instruction(kind, out, slots, extra, e))
        block.defines.add(out)

    def _after(self, e: Expr, block: BasicBlock, kids: tuple[Expr, ...], kind: Kind, extra: Any = None) -> None:
        """Writes the instruction once the operands have been written."""
        self.stack.append((lambda w, e, block: w._emit(kind, e, block, kids, extra), e, block))
        self.stack.extend([(None, k, block) for k in reversed(kids)])

    # Visits: push the parts to write, in reverse order

    def _tuple(self, e: Tuple, block: BasicBlock) -> None:
        self._after(e, block, e.fields, Kind.TUPLE)

    def _field(self, e: TupleGetItem, block: BasicBlock) -> None:
        self._after(e, block, (e.tuple,), Kind.FIELD, e.index)

    def _ref_create(self, e: RefCreate, block: BasicBlock) -> None:
        self._after(e, block, (e.value,), Kind.REF_CREATE)

    def _ref_read(self, e: RefRead, block: BasicBlock) -> None:
        self._after(e, block, (e.ref,), Kind.REF_READ)

    def _ref_write(self, e: RefWrite, block: BasicBlock) -> None:
        self._after(e, block, (e.ref, e.value), Kind.REF_WRITE)

    def _call(self, e: Call, block: BasicBlock) -> None:
        fused = complement(e)
        if fused is not None and not any(s in self.places.own for s in fused.steps):
            self._after(e, block, (fused.argument,), Kind.OPERATOR, fused.function)
        elif isinstance(e.op, Op):
            operator = e.op.operator
            attrs = e.attrs if isinstance(e.attrs, operator) else operator.make(e.attrs, e.span)
            if formulas([value for _, value in stated(attrs)]):
                raise IrError(f"an attribute of {attrs.name} is a length that only the run knows", e.span)
            self._after(
                e,
                block,
                e.args,
                Kind.OPERATOR,
                reference(attrs, e.checked_type, [a.checked_type for a in e.args], e.span),
            )
        elif isinstance(e.op, Constructor):
            self._after(e, block, e.args, Kind.DATA, e.op)
        else:
            self._after(e, block, (*e.args, e.op), Kind.TAIL_CALL if block.tail is e else Kind.CALL)

    def _function(self, e: Function, block: BasicBlock) -> None:
        self.stack.append((_Writer._leave_function, e, block))
        for c in reversed(self.codes[e].captured):
            self.stack.append((None, c, block))

    def _leave_function(self, e: Function, block: BasicBlock) -> None:
        code = self.codes[e]
        itself = self.recursive.get(e)
        others = tuple(c for c in code.captured if c is not itself)
        own_capture = next((i for i, c in enumerate(code.captured) if c is itself), None)
        self._emit(Kind.CLOSURE, e, block, others, (code, own_capture))

    def _let(self, e: Let, block: BasicBlock) -> None:
        if e.value.__class__ is Function:
            self.recursive[e.value] = e.var
        self.stack += [
            (_Writer._leave_let, e, block),
            (None, e.body, block),
            (_Writer._bind, e, block),
            (None, e.value, block),
        ]

    def _bind(self, e: Let, block: BasicBlock) -> None:
        self.slots[e.var] = self._slot(e.value)

    def _leave_let(self, e: Let, block: BasicBlock) -> None:
        self.slots[e] = self._slot(e.body)

    def _if(self, e: If, block: BasicBlock) -> None:
        self.stack.append((_Writer._leave_if, e, block))
        branches = self.places.branches[e]
        for root, branch in zip((e.false_branch, e.true_branch), reversed(branches), strict=True):
            if block.tail is e:
                self._set_tail(branch, root)
            self._visit_into(branch, root)
        self.stack.append((None, e.cond, block))

    def _leave_if(self, e: If, block: BasicBlock) -> None:
        self._emit(Kind.IF, e, block, (e.cond,), self.places.branches[e])

    def _match(self, e: Match, block: BasicBlock) -> None:
        self.stack.append((_Writer._leave_match, e, block))
        for c, branch in zip(reversed(e.clauses), reversed(self.places.branches[e]), strict=True):
            for v in bound_vars(c.pattern):
                slot = self.slots[v] = self._new_slot()
                branch.defines.add(slot)
            if block.tail is e:
                self._set_tail(branch, c.body)
            self._visit_into(branch, c.body)
        self.stack.append((None, e.data, block))

    def _leave_match(self, e: Match, block: BasicBlock) -> None:
        clauses = tuple(
            Clause(c.pattern, {v: self.slots[v] for v in bound_vars(c.pattern)}, branch)
            for c, branch in zip(e.clauses, self.places.branches[e], strict=True)
        )
        self._emit(Kind.MATCH, e, block, (e.data,), clauses)


_VISIT: dict[type, Callable[[_Writer, Any, BasicBlock], None]] = {
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
