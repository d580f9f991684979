"""A Relay module as a program of kernel calls.

Each first-order function of the module becomes a host function. Calls of primitive functions become kernel calls, and so
do calls of operators that nobody fused; `let`, tuples and projections leave nothing behind; `if` becomes a branch; calls
of other functions stay calls. A value that only renames memory (a reshape) shares its operand's slot.

Algebraic data, closed functions and references are values known while lowering: C has slots only for the tensors in them.
So calls of functions that take or give such values are lowered in place, once for each call, and a `match` takes the
clause that fits. This needs constructors that do not depend on the inputs; where they do, that is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Iterable, Iterator
from math import prod
from typing import Any

from ..diagnostics import Diagnostic, IrError
from ..interp import evaluate_expr
from ..interp.values import Data
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
    Module,
    Op,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    RefCreate,
    RefRead,
    RefWrite,
    TensorType,
    Tuple,
    TupleGetItem,
    TupleType,
    Type,
    Var,
    children,
    free_variables,
    post_order,
)
from ..ir.structural import structural_equal, structural_hash
from ..tir.program import (
    CONSTANT,
    PARAM,
    RESULT,
    Branch,
    CallFunction,
    CopySlot,
    HostFunction,
    Program,
    RunKernel,
    Slot,
    steps,
)
from ..tir.sharing import copied_input, in_place_pairs
from ..tir.stmt import PrimFunc
from ..trampoline import trampoline
from .compose import TensorGraph, compose, flat_types
from .loops import loop_tail_calls
from .naming import kernel_name
from .nest import lower_function

Value = Any
"""A Slot, a tuple of Values (`Data` with a constructor), or a Function or a cell known when compiling."""

_FOLDED = 4096
"""Elements up to which a result of constants is computed while lowering, in functions lowered in place."""

_IN_PLACE = 50_000
"""Calls lowered in place before a recursion is taken as endless."""


class DependsOnValues(IrError):
    """What must be known while lowering (a constructor, how deep a recursion goes) depends on the values of inputs."""


class _Refused:
    """Stands for the value of an expression that has no counterpart in C: what depends on it is not complained of."""


_REFUSED = _Refused()


def lower_module(module: Module, entries: Iterable[str] = ("main",)) -> Program:
    """The program of a typed module: the entries, what they call, and their kernels; memory is not planned yet.

    Raises IrError where an expression has no counterpart in C, listing every operator that cannot be compiled;
    DependsOnValues where it would have one if inputs were constants.
    """
    return _Lowering(module).run(list(entries))


def structure_of(t: Type | None) -> Any:
    """None for a tensor, a tuple of structures for a tuple."""
    done: dict[int, Any] = {}
    stack: list[tuple[Any, bool]] = [(t, False)]
    while stack:
        x, ready = stack.pop()
        if not isinstance(x, TupleType):
            done[id(x)] = None
        elif ready:
            done[id(x)] = tuple(done[id(f)] for f in x.fields)
        else:
            stack.append((x, True))
            stack.extend((f, False) for f in x.fields)
    return done[id(t)]


class _Kernels:
    """Kernels made so far: equal primitive functions share one."""

    def __init__(self) -> None:
        self.all: list[PrimFunc] = []
        self.problems: list[Diagnostic] = []
        self._by_hash: dict[int, list[tuple[Function, PrimFunc, TensorGraph]]] = {}
        self._names: dict[str, int] = {}

    def get(self, function: Function) -> tuple[PrimFunc, TensorGraph] | None:
        """The kernel of a primitive function; None, with a problem noted, where it has none."""
        key = structural_hash(function)
        for other, kernel, graph in self._by_hash.get(key, ()):
            if other is function or structural_equal(other, function):
                return kernel, graph
        try:
            graph = compose(function)
        except IrError as error:
            self.problems += error.diagnostics
            return None
        name = kernel_name(c.op.name for c in graph.operators)  # type: ignore[attr-defined]
        seen = self._names[name] = self._names.get(name, -1) + 1
        kernel = lower_function(graph, f"{name}_{seen}" if seen else name)
        kernel.attrs["operators"] = [c.op.name for c in graph.operators]  # type: ignore[attr-defined]
        kernel.attrs["copies"] = copied_input(kernel)
        kernel.attrs["in_place"] = in_place_pairs(kernel)
        self.all.append(kernel)
        self._by_hash.setdefault(key, []).append((function, kernel, graph))
        return kernel, graph


class _Cell:
    """A reference: what it holds at this point, and how deep in branches it was made."""

    def __init__(self, value: Value, level: int) -> None:
        self.value = value
        self.level = level


class _Lowering:
    def __init__(self, module: Module) -> None:
        self.module = module
        self.kernels = _Kernels()
        self.constants: dict[Any, Slot] = {}
        self.constants_of: dict[Constant, Slot] = {}
        self.functions: dict[str, HostFunction] = {}
        self.waiting: list[tuple[str, Function]] = []
        self.queued: set[str] = set()
        self.lifted: dict[Function, str] = {}
        self.in_place = 0
        self.depends_on_values = False

    def run(self, entries: list[str]) -> Program:
        for name in entries:
            self.enqueue(name, self.module[name])
        while self.waiting:
            name, function = self.waiting.pop()
            self.functions[name] = _Body(self, name, function).lower()
        if self.kernels.problems:
            kind = DependsOnValues if self.depends_on_values else IrError
            raise kind(list(dict.fromkeys(self.kernels.problems)))
        self.functions = loop_tail_calls(self.functions, entries)
        used = {id(s.kernel) for f in self.functions.values() for s in steps(f.body) if isinstance(s, RunKernel)}
        program = Program(
            self.functions,
            [k for k in self.kernels.all if id(k) in used],
            list(self.constants.values()),
            entries[0],
            entries,
        )
        return program

    def enqueue(self, name: str, function: Function) -> str:
        if name not in self.queued:
            self.queued.add(name)
            self.waiting.append((name, function))
        return name

    def lift(self, function: Function, hint: str) -> str:
        """A local function without free variables, as a function of the module."""
        if function not in self.lifted:
            free = free_variables(function)
            if free:
                raise IrError(
                    f"the function uses %{free[0].name} from around it: closures must be removed before compiling",
                    function.span,
                    help="inline it, or pass the variable as a parameter",
                )
            name = f"{hint}_local{len(self.lifted)}"
            self.lifted[function] = name
            self.enqueue(name, function)
        return self.lifted[function]

    def constant(self, e: Constant) -> Slot:
        data = e.data
        if isinstance(data, MissingData):
            raise IrError(f"the data of constant {data.key}[{data.index}] is missing", e.span)
        seen = self.constants_of.get(e)
        if seen is None:
            content = (e.dtype, data.shape, hashlib.sha256(data.tobytes()).digest())
            seen = self.constants.get(content)
            if seen is None:
                seen = Slot(f"constant_{len(self.constants)}", data.shape, e.dtype, CONSTANT, data)
                self.constants[content] = seen
            self.constants_of[e] = seen
        return seen

    def wrap(self, e: Call) -> tuple[Function, list[Expr]]:
        """A primitive function around one operator's call, and the arguments that it takes (constants of one element stay
        inside)."""
        params: list[Var] = []
        inner: list[Expr] = []
        outer: list[Expr] = []
        for n, a in enumerate(e.args):
            if isinstance(a, Constant) and a.is_scalar:
                inner.append(a)
                continue
            v = Var(f"p{n}", a.checked_type, None, a.checked_type)
            params.append(v)
            inner.append(v)
            outer.append(a)
        body = Call(e.op, tuple(inner), e.attrs, e.type_args, e.span, e.checked_type)
        return Function(tuple(params), body, e.checked_type, (), {"Primitive": 1}, e.span), outer


class _Body:
    """The lowering of one function."""

    def __init__(self, whole: _Lowering, name: str, function: Function) -> None:
        self.whole = whole
        self.name = name
        self.function = function
        self.count = 0
        # Values known, innermost branch last. What a branch computes is not known outside of it.
        self.known: list[dict[Expr, Value]] = [{}]
        self.made: list[set[Slot]] = [set()]
        self.blocks: list[list[Any]] = [[]]
        # Functions that are being lowered in place, each with how deep in branches that began.
        self.active: list[tuple[Function, int]] = []
        self.last_arm: list[tuple[tuple[int, ...], str]] = []

    def lower(self) -> HostFunction:
        f = self.function
        params: list[Slot] = []
        names: list[str] = []
        structures: list[Any] = []
        for p in f.params:
            t = p.checked_type or p.type_annotation
            try:
                types = flat_types(t, p)
            except IrError as error:
                self.whole.kernels.problems += error.diagnostics
                self.known[0][p] = _REFUSED
                continue
            slots = [Slot(f"{p.name}_{n}", _dims(x), x.dtype, PARAM) for n, x in enumerate(types)]
            if len(slots) == 1:
                slots[0].name = p.name
            params += slots
            names.append(p.name)
            structures.append(structure_of(t))
            self.known[0][p] = _nest(structures[-1], iter(slots))
        value = trampoline(self.value(f.body))
        structure: Any = None
        results: list[Slot] = []
        if value is not _REFUSED:
            try:
                structure = _structure(value)
                slots = _flat(value, f.body)
                for n, (slot, shape) in enumerate(zip(slots, _shapes(f.body, slots))):
                    result = Slot(f"out{n}", shape, slot.dtype, RESULT)
                    results.append(result)
                    self.deliver(slot, result)
            except IrError as error:
                self.whole.kernels.problems += error.diagnostics
        return HostFunction(self.name, params, results, self.blocks[0], structure, names, structures)

    def fresh(self, shape: Any, dtype: str, level: int = -1) -> Slot:
        """A temporary of the innermost block, or of another one."""
        self.count += 1
        slot = Slot(f"t{self.count}", shape, dtype)
        self.made[level].add(slot)
        return slot

    def deliver(self, source: Slot, target: Slot) -> None:
        """Makes the value of `source` appear in `target`: by computing it there, or else by copying."""
        source = source.resolve()
        if source in self.made[-1]:
            self.made[-1].discard(source)
            source.forward = target
        else:
            self.blocks[-1].append(CopySlot(source, target))

    def find(self, e: Expr) -> Value | None:
        for scope in reversed(self.known):
            if e in scope:
                return scope[e]
        return None

    def value(self, root: Expr) -> Generator[Any, Any, Value]:
        """The value of an expression; steps that compute it are added to the innermost block. Run on a trampoline."""
        while isinstance(root, Let) and self.find(root) is None:
            known = self.find(root.var)
            if known is None:
                held = yield self.value(root.value)
                self.known[-1][root.var] = held
            root = root.body
        found = self.find(root)
        if found is not None:
            return found
        closed = (If, Let, Function, Match)
        order = post_order(root, enter=lambda e: not isinstance(e, closed) and self.find(e) is None)
        for e in order:
            if self.find(e) is not None or isinstance(e, Op | GlobalVar | Constructor):
                continue
            if isinstance(e, If):
                made = yield self.branch(e)
            elif isinstance(e, Match):
                made = yield self.match(e)
            elif isinstance(e, Call) and (callee := self.lowered_in_place(e)) is not None:
                made = yield self.call_in_place(e, callee)
            elif isinstance(e, Let):
                made = yield self.value(e)
            else:
                made = self.tried(e)
            self.known[-1][e] = made
        return self.find(root)

    def tried(self, e: Expr) -> Value:
        """A node whose operands are known, or refused: what has no counterpart is noted once, and the rest goes on."""
        if any(self.find(k) is _REFUSED for k in children(e)):
            return _REFUSED
        try:
            return self.one(e)
        except IrError as error:
            self.whole.kernels.problems += error.diagnostics
            return _REFUSED

    def one(self, e: Expr) -> Value:
        """A node whose operands are known."""
        if isinstance(e, Constant):
            return self.whole.constant(e)
        if isinstance(e, Tuple):
            return tuple(self.known_value(f) for f in e.fields)
        if isinstance(e, TupleGetItem):
            return self.find(e.tuple)[e.index]  # type: ignore[index]
        if isinstance(e, Function):
            return e
        if isinstance(e, RefCreate):
            return _Cell(self.known_value(e.value), len(self.blocks))
        if isinstance(e, RefRead | RefWrite):
            return self.reference(e)
        if isinstance(e, Call):
            return self.call(e)
        if isinstance(e, Var):
            raise IrError(f"%{e.name} is not known here", e.span)
        raise IrError(f"{type(e).__name__} has no counterpart in C: {e!r}", e.span)

    def reference(self, e: RefRead | RefWrite) -> Value:
        """What a reference holds is known when compiling, as long as it is written where it was made."""
        cell = self.find(e.ref)
        if not isinstance(cell, _Cell):
            raise IrError("the reference is not known when compiling", e.span)
        if isinstance(e, RefRead):
            return cell.value
        if cell.level != len(self.blocks):
            raise IrError("a reference from outside is written in a branch: that has no counterpart in C", e.span)
        cell.value = self.known_value(e.value)
        return ()

    def known_value(self, e: Expr) -> Value:
        """The value of an operand; a constructor that stands alone is the data it makes."""
        if isinstance(e, Constructor):
            if e.inputs:
                raise IrError(f"the constructor {e.name} is used as a function: that has no counterpart in C", e.span)
            return Data(e)
        return e if isinstance(e, GlobalVar) else self.find(e)

    # -- data, and the functions that handle it ------------------------------------------------------------------------

    def lowered_in_place(self, e: Call) -> Function | None:
        """The function that a call applies, where C cannot have it: its parameters or its result are not tensors."""
        callee: Any = self.find(e.op) if isinstance(e.op, Var) else e.op
        if isinstance(callee, GlobalVar):
            callee = self.whole.module[callee.name]
        if not isinstance(callee, Function) or callee.attrs.get("Primitive"):
            return None
        types = [e.checked_type, *(a.checked_type for a in e.args)]
        return None if all(_is_tensors(t) for t in types) else callee

    def call_in_place(self, e: Call, function: Function) -> Generator[Any, Any, Value]:
        """The value of a call, by lowering the function's body here with its parameters known."""
        values = [self.known_value(a) for a in e.args]
        if any(v is _REFUSED for v in values):
            return _REFUSED
        self.whole.in_place += 1
        begun = [depth for f, depth in self.active if f is function]
        shown = f"@{e.op.name}" if isinstance(e.op, GlobalVar) else "the function"
        if begun and begun[-1] < len(self.blocks):
            return self.refuse_value(f"how deep {shown} recurses depends on the inputs, and it handles data", e)
        if self.whole.in_place > _IN_PLACE:
            return self.refuse(f"the recursion of {shown} has no end while compiling", e)
        free = free_variables(function)
        if free:
            return self.refuse(f"the function uses %{free[0].name} from around it: remove closures first", e)
        around = self.known
        self.known = [dict(zip(function.params, values))]
        self.active.append((function, len(self.blocks)))
        value = yield self.value(function.body)
        self.active.pop()
        self.known = around
        return value

    def match(self, e: Match) -> Generator[Any, Any, Value]:
        """The first clause that fits the data."""
        yield self.value(e.data)
        value = self.known_value(e.data)
        if value is _REFUSED:
            return _REFUSED
        for clause in e.clauses:
            bound = _matched(clause.pattern, value)
            if bound is not None:
                self.known[-1].update(bound)
                return (yield self.value(clause.body))
        return self.refuse("no clause of the match fits", e)

    def refuse(self, message: str, e: Expr, help: str = "") -> Value:
        """Notes that an expression has no counterpart."""
        self.whole.kernels.problems.append(Diagnostic(message, e.span, help=help))
        return _REFUSED

    def refuse_value(self, message: str, e: Expr) -> Value:
        """The same where it would have one, were the inputs constants."""
        self.whole.depends_on_values = True
        return self.refuse(message, e, "give those inputs as weights, so that they are known when compiling")

    def folded(self, e: Call, function: Function, inputs: list[Slot], types: list[TensorType]) -> Value | None:
        """The result of a primitive function of constants, as a constant: in functions lowered in place, where it may
        decide how deep they recurse."""
        if not self.active or any(s.kind != CONSTANT for s in inputs) or sum(_size(t) for t in types) > _FOLDED:
            return None
        values = [Constant(s.data, s.dtype, TensorType(s.shape, s.dtype)) for s in inputs]
        arguments = iter(values)
        operands = [_nest(structure_of(p.checked_type), arguments) for p in function.params]
        if any(isinstance(o, tuple) for o in operands):
            return None
        found = evaluate_expr(Call(function, tuple(operands), None, (), e.span, e.checked_type))
        if isinstance(found, tuple) or len(types) != 1:
            return None
        return self.whole.constant(Constant(found, types[0].dtype, types[0], e.span))

    def call(self, e: Call) -> Value:
        callee: Any = e.op
        args = list(e.args)
        if isinstance(callee, Constructor):
            return Data(callee, [self.known_value(a) for a in args])
        if isinstance(callee, Op):
            callee, args = self.whole.wrap(e)
            return self.kernel(e, callee, args)
        if isinstance(callee, Var):
            callee = self.find(callee)
        if isinstance(callee, GlobalVar):
            function = self.whole.module[callee.name]
            if not function.attrs.get("Primitive"):
                return self.call_function(e, self.whole.enqueue(callee.name, function), args)
            callee = function
        if not isinstance(callee, Function):
            raise IrError(f"the callee {e.op!r} is not known when compiling", e.span)
        if callee.attrs.get("Primitive"):
            return self.kernel(e, callee, args)
        return self.call_function(e, self.whole.lift(callee, self.name), args)

    def call_function(self, e: Call, name: str, args: list[Expr]) -> Value:
        inputs = [s for a in args for s in _flat(self.find(a), a)]
        outputs = [self.fresh(_dims(t), t.dtype) for t in flat_types(e.checked_type, e)]
        self.blocks[-1].append(CallFunction(name, inputs, outputs))
        return _nest(structure_of(e.checked_type), iter(outputs))

    def kernel(self, e: Call, function: Function, args: list[Expr]) -> Value:
        inputs = [s for a in args for s in _flat(self.find(a), a)]
        types = flat_types(e.checked_type, e)
        folded = self.folded(e, function, inputs, types)
        if folded is not None:
            return folded
        found = self.whole.kernels.get(function)
        if found is None:
            return _nest(structure_of(e.checked_type), iter([self.fresh(_dims(t), t.dtype) for t in types]))
        made, graph = found
        inputs += [self.whole.constant(c) for c in graph.constants]
        copied = made.attrs["copies"]
        if copied is not None:
            return _nest(structure_of(e.checked_type), iter([inputs[copied]]))
        outputs = [self.fresh(_dims(t), t.dtype) for t in types]
        self.blocks[-1].append(RunKernel(made, inputs, outputs))
        return _nest(structure_of(e.checked_type), iter(outputs))

    def branch(self, e: If) -> Generator[Any, Any, Value]:
        cond = yield self.value(e.cond)
        if isinstance(cond, Slot) and cond.kind == CONSTANT:
            return (yield self.value(e.true_branch if cond.data else e.false_branch))
        refused = cond is _REFUSED
        arms: list[list[Any]] = []
        results: list[Slot] = []
        structures: list[Any] = []
        for arm in (e.true_branch, e.false_branch):
            self.known.append({})
            self.made.append(set())
            self.blocks.append([])
            value = yield self.value(arm)
            refused = refused or value is _REFUSED
            if not refused:
                try:
                    self.deliver_all(arm, _flat(value, arm), results, not arms)
                    structures.append(_structure(value))
                except IrError as error:
                    self.whole.kernels.problems += error.diagnostics
                    refused = True
            self.known.pop()
            self.made.pop()
            arms.append(self.blocks.pop())
        if refused:
            return _REFUSED
        if not _same_structure(*structures):
            return self.refuse_value("which constructor this gives depends on the inputs", e)
        if [(s.shape, s.dtype) for s in results] != self.last_arm:
            return self.refuse_value("the shape that this gives depends on the inputs", e)
        self.blocks[-1].append(Branch(cond, arms[0], arms[1]))
        return _nest(structures[0], iter(results))

    def deliver_all(self, arm: Expr, sources: list[Slot], results: list[Slot], first: bool) -> None:
        """Makes the values of an arm of a branch appear in the branch's results, which the first arm makes."""
        forms = [(shape, s.dtype) for shape, s in zip(_shapes(arm, sources), sources)]
        if first:
            results += [self.fresh(shape, dtype, -2) for shape, dtype in forms]
        self.last_arm = forms
        for source, target in zip(sources, results):
            self.deliver(source, target)


def _is_tensors(t: Type | None) -> bool:
    """True for a tensor type or nested tuples of them."""
    stack = [t]
    while stack:
        x = stack.pop()
        if isinstance(x, TupleType):
            stack.extend(x.fields)
        elif not isinstance(x, TensorType):
            return False
    return True


def _matched(pattern: Pattern, value: Value) -> dict[Expr, Value] | None:
    """What a pattern's variables stand for if the value fits it."""
    bound: dict[Expr, Value] = {}
    stack = [(pattern, value)]
    while stack:
        p, v = stack.pop()
        if isinstance(p, PatternVar):
            bound[p.var] = v
        elif isinstance(p, PatternConstructor):
            if not isinstance(v, Data) or v.constructor.name != p.constructor.name:
                return None
            stack.extend(zip(p.patterns, v))
        elif isinstance(p, PatternTuple):
            stack.extend(zip(p.patterns, v))
    return bound


def _structure(value: Value) -> Any:
    """None for a slot, tuples and data around them; anything else is None as well."""
    return _with_leaves(value, lambda leaf: None)


def _nest(structure: Any, slots: Iterator[Any]) -> Value:
    """Slots in the shape of a structure."""
    return _with_leaves(structure, lambda leaf: next(slots))


def _with_leaves(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """`value` with everything in it that is neither a tuple nor data replaced, left to right."""
    if not isinstance(value, tuple):
        return leaf(value)
    stack: list[tuple[Any, Any, list[Any]]] = [(value, iter(value), [])]
    while True:
        whole, left, done = stack[-1]
        for part in left:
            if not isinstance(part, tuple):
                done.append(leaf(part))
            else:
                stack.append((part, iter(part), []))
                break
        else:
            stack.pop()
            made = _like(whole, done)
            if not stack:
                return made
            stack[-1][2].append(made)


def _like(whole: Any, parts: list[Any]) -> Any:
    return Data(whole.constructor, parts) if isinstance(whole, Data) else tuple(parts)


def _same_structure(a: Any, b: Any) -> bool:
    stack = [(a, b)]
    while stack:
        x, y = stack.pop()
        if x is None or y is None:
            if x is not y:
                return False
            continue
        names = [v.constructor.name if isinstance(v, Data) else None for v in (x, y)]
        if names[0] != names[1] or len(x) != len(y):
            return False
        stack.extend(zip(x, y))
    return True


def _size(t: TensorType) -> int:
    return prod(_dims(t))


def _dims(t: Any) -> tuple[int, ...]:
    return tuple(int(d) for d in t.shape)


def _shapes(e: Expr, slots: list[Slot]) -> list[tuple[int, ...]]:
    """The shapes of a value: those of its type (a reshape shares its operand's slot), or where that has none, the slots'."""
    try:
        shapes = [_dims(t) for t in flat_types(e.checked_type, e)]
    except IrError:
        return [s.shape for s in slots]
    return shapes if len(shapes) == len(slots) else [s.shape for s in slots]


def _flat(value: Value, e: Expr) -> list[Slot]:
    """The slots of a value, tuples flattened."""
    found: list[Slot] = []
    stack = [value]
    while stack:
        v = stack.pop()
        if isinstance(v, tuple):
            stack.extend(reversed(v))
        elif isinstance(v, Slot):
            found.append(v)
        else:
            raise IrError("a function is used as a value: closures must be removed before compiling", e.span)
    return found
