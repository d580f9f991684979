"""Running code: one loop, with its own stack of frames.

Calls in tail position give up the caller's frame, so a loop written as recursion runs in constant memory; other calls
take a little memory each and no Python stack.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any

from ..deferred import np
from ..diagnostics import IrError, Span, nearest
from ..ir import Constant, ExternFunction, Function, Module, Pattern, PatternConstructor, PatternTuple, PatternVar, Var
from ..ir.narrow import NARROW
from ..ir.show import show_expr
from ..ops.base import RelationError
from ..tir.stmt import PrimFunc
from ..trampoline import trampoline
from .code import UNSET, CompiledFunction, Kind
from .mistakes import CannotEvaluate, EndlessRecursion, NoBody, NoClauseFits
from .nests.value import NestValue
from .translate import translate
from .values import Closure, ConstructorValue, Data, OperatorValue, Reference

_REFUSALS = (
    IrError,
    RelationError,
    ValueError,
    IndexError,
    TypeError,
    ArithmeticError,
    MemoryError,
    NotImplementedError,
)
"""What numpy, and the operators' references, raise for values they cannot work on. Anything else is a bug."""

_ITSELF = object()
"""Stands in a closure's values for the closure, which could not hold itself without a cycle."""

_DEEPEST = 3_000_000
"""Most calls, blocks and matches that may wait for a callee: some gigabytes of memory. Tail calls do not wait."""


class Machine:
    """Evaluates functions of one module; each is translated when first called."""

    def __init__(self, module: Module | None = None) -> None:
        self.module = module
        self._closures: dict[str, Closure | NestValue] = {}

    def closure(self, name: str, span: Span | None = None) -> Closure | NestValue:
        """The module's function of that name as a value."""
        known = self._closures.get(name)
        if known is None:
            functions = self.module.functions if self.module is not None else {}
            if name not in functions:
                raise IrError(f"the function @{name} is not defined", span, help=nearest(name, functions))
            f = functions[name]
            known = NestValue(f, f"@{name}") if isinstance(f, PrimFunc) else Closure(self, None, (), f"@{name}")
            self._closures[name] = known
        return known

    def constant(self, e: Constant) -> np.ndarray:
        """The array of a constant, in the dtype that it stands for."""
        data = e.data
        assert isinstance(data, np.ndarray)
        if e.dtype != str(data.dtype) and e.dtype not in NARROW:
            from ..ops.dtypes import numpy_dtype

            dtype = numpy_dtype(e.dtype)
            return data.view(dtype) if dtype.itemsize == data.dtype.itemsize else data.astype(dtype)
        return data

    def code_of(self, closure: Closure) -> CompiledFunction:
        """The closure's code, translated now if it has not been called before."""
        if closure.code is None:
            assert self.module is not None
            function = self.module.functions[closure.name[1:]]
            if isinstance(function, ExternFunction):
                raise IrError(f"{closure.name} is external: nothing but its type is known", function.span, code=NoBody)
            if not isinstance(function, Function):
                raise IrError(f"{closure.name} has been lowered and is kept as text: it cannot be run", code=NoBody)
            code = translate(function, self, closure.name)
            if code.captured:
                free = code.captured[0]
                raise IrError(f"the variable {show_expr(free)} in {closure.name} is not bound", free.span)
            closure.code = code
        return closure.code

    def call(self, function: Closure, arguments: Sequence[Any]) -> Any:
        """The result of a closure on these arguments."""
        with np.errstate(all="ignore"):
            return self._run(self.code_of(function), _frame(self, function, list(arguments), None))

    def _run(self, code: CompiledFunction, frame: list[Any]) -> Any:
        OPERATOR, NEED, IF, FIELD, TUPLE, CALL, TAIL_CALL, MATCH, CLOSURE, DATA = map(
            int,
            (
                Kind.OPERATOR,
                Kind.NEED,
                Kind.IF,
                Kind.FIELD,
                Kind.TUPLE,
                Kind.CALL,
                Kind.TAIL_CALL,
                Kind.MATCH,
                Kind.CLOSURE,
                Kind.DATA,
            ),
        )
        REF_CREATE, REF_READ = int(Kind.REF_CREATE), int(Kind.REF_READ)
        array = np.ndarray
        stack: list[tuple[Any, int, list[Any], int]] = []
        operands: Any
        block = code.body
        steps, step, end = block.steps, 0, len(block.steps)
        while True:
            if step == end:
                value = frame[block.result]
                if block.gives_up_result:
                    frame[block.result] = None
                if not stack:
                    return value
                block, step, frame, out = stack.pop()
                steps = block.steps
                end = len(steps)
                frame[out] = value
                value = None
                continue
            kind, out, args, frees, extra, node = steps[step]
            step += 1
            if kind == NEED:
                if frame[out] is UNSET:
                    stack.append((block, step, frame, out))
                    block = extra
                    steps, step, end = block.steps, 0, len(block.steps)
                continue
            operands = [frame[a] for a in args]
            for slot in frees:
                frame[slot] = None
            if kind == OPERATOR:
                try:
                    value = extra(*operands)
                except _REFUSALS as error:
                    raise _failure(node, operands, error) from error
                operands = None
                frame[out] = value if value.__class__ is array else _as_value(value)
                value = None
            elif kind == IF:
                if block.tail is not node:
                    stack.append((block, step, frame, out))
                block = extra[0] if operands[0].item() else extra[1]
                for slot in block.entry_frees:
                    frame[slot] = None
                steps, step, end = block.steps, 0, len(block.steps)
            elif kind == FIELD:
                frame[out] = operands[0][extra]
                operands = None
            elif kind == TUPLE:
                frame[out] = tuple(operands)
                operands = None
            elif kind in (CALL, TAIL_CALL):
                function = operands.pop()
                if function.__class__ is not Closure:
                    frame[out] = _apply(function, operands, node)
                    operands = None
                    continue
                code = function.code or function.machine.code_of(function)
                if kind == CALL:
                    if len(stack) >= _DEEPEST:
                        raise IrError(
                            f"more than {_DEEPEST:,} calls wait for each other: the recursion has no end",
                            node.span,
                            code=EndlessRecursion,
                        )
                    stack.append((block, step, frame, out))
                frame = _frame(self, function, operands, node)
                operands = None
                block = code.body
                steps, step, end = block.steps, 0, len(block.steps)
            elif kind == MATCH:
                if block.tail is not node:
                    stack.append((block, step, frame, out))
                for clause in extra:
                    if _matches(clause.pattern, operands[0], clause.slots, frame):
                        break
                else:
                    raise IrError(f"no clause of the match fits {operands[0]!r}", node.span, code=NoClauseFits)
                operands = None
                block = clause.block
                for slot in block.entry_frees:
                    frame[slot] = None
                steps, step, end = block.steps, 0, len(block.steps)
            elif kind == CLOSURE:
                inner, itself = extra
                if itself is not None:
                    operands.insert(itself, _ITSELF)
                frame[out] = Closure(self, inner, tuple(operands))
                operands = None
            elif kind == DATA:
                frame[out] = Data(extra, operands)
                operands = None
            elif kind == REF_CREATE:
                frame[out] = Reference(operands[0])
            elif kind == REF_READ:
                frame[out] = operands[0].value
            else:
                operands[0].value = operands[1]
                frame[out] = ()


def _frame(machine: Machine, function: Closure, arguments: list[Any], node: Any) -> list[Any]:
    code = function.code
    assert code is not None
    if len(arguments) != code.arity:
        span = node.span if node is not None else None
        raise IrError(f"{code.name} takes {code.arity} arguments, {len(arguments)} given", span)
    frame = arguments + code.rest
    for slot, value in zip(code.captured_slots, function.values, strict=True):
        frame[slot] = function if value is _ITSELF else value
    return frame


def _apply(function: Any, operands: list[Any], node: Any) -> Any:
    """Applies a value other than a closure."""
    if isinstance(function, OperatorValue):
        attrs = function.operator.make(node.attrs, node.span)
        try:
            return _as_value(attrs.evaluate(*operands))
        except _REFUSALS as error:
            raise _failure(node, operands, error) from error
    if isinstance(function, ConstructorValue):
        return Data(function.constructor, operands)
    if isinstance(function, NestValue):
        return function(*operands)
    raise IrError(f"only a function can be called, not {_describe(function)}", node.span)


def _as_value(value: Any) -> Any:
    """An operator's result as arrays and tuples of arrays."""
    if isinstance(value, np.ndarray | Closure | Data | Reference):
        return value
    if isinstance(value, tuple | list):
        return trampoline(_as_tuple(value))
    return np.asarray(value)


def _as_tuple(values: Sequence[Any]) -> Generator[Any, Any, tuple[Any, ...]]:
    items = []
    for v in values:
        nested = isinstance(v, tuple | list) and not isinstance(v, Data)
        items.append((yield _as_tuple(v)) if nested else _as_value(v))
    return tuple(items)


def _matches(pattern: Pattern, value: Any, slots: dict[Var, int], frame: list[Any]) -> bool:
    """True if the value fits; then the pattern's variables have been put into the frame."""
    stack = [(pattern, value)]
    while stack:
        p, v = stack.pop()
        if isinstance(p, PatternVar):
            frame[slots[p.var]] = v
        elif isinstance(p, PatternConstructor):
            if v.constructor is not p.constructor and v.constructor.name != p.constructor.name:
                return False
            stack.extend(zip(p.patterns, v, strict=True))
        elif isinstance(p, PatternTuple):
            stack.extend(zip(p.patterns, v, strict=True))
    return True


def _failure(node: Any, operands: list[Any], error: Exception) -> IrError:
    if isinstance(error, IrError):
        if any(d.span is not None for d in error.diagnostics):
            return error
        return IrError(replace(error.diagnostics[0], span=node.span)).classify(CannotEvaluate)
    operand_types = ", ".join(_describe(o) for o in operands)
    return IrError(
        f"{show_expr(node)} cannot be evaluated on ({operand_types}): {error or type(error).__name__}",
        node.span,
        code=CannotEvaluate,
    )


def _describe(value: Any, depth: int = 3) -> str:
    if isinstance(value, np.ndarray):
        return f"Tensor[({', '.join(map(str, value.shape))}), {value.dtype}]" if value.shape else str(value.dtype)
    if value.__class__ is tuple:
        return f"({', '.join(_describe(v, depth - 1) for v in value)})" if depth else "(…)"
    return repr(value)
