"""TVM's storage plan: which numbered piece of memory each value is in, and how many bytes a function needs.

This is not how irtool lays out its own arena (see `memory`): it is what TVM's graph executor is told, and what its
reports say. Values get *tokens*. A parameter and a constant have one each for good; the result of a call takes a free one
of similar size, or a new one, and gives it back when its last reader has run. A token is as large as the largest value
that was ever in it.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..diagnostics import IrError
from ..ir import (
    Call,
    Constant,
    Expr,
    Function,
    FuncType,
    GlobalVar,
    Let,
    Module,
    Op,
    TensorType,
    Tuple,
    TupleGetItem,
    TupleType,
    Type,
    Var,
    post_order,
    tuple_leaves,
)
from ..tir import dtypes
from ..tir.stmt import Allocate, PrimFunc, Stmt, children
from .mistakes import DynamicShape

_MATCH_RANGE = 16
"""A free token fits where it is not more than so many times larger or smaller than what is asked for."""

_WORKSPACE_ALIGNMENT = 16
"""Bytes: what TVM rounds a kernel's allocations up to when it reports them."""


@dataclass(frozen=True)
class Storage:
    """Where a value is: one entry for each of its tensors, tuples flattened.

    Attributes:
        ids: numbers of the pieces of memory (the `storage_id` of graph JSON).
        sizes: bytes of the values that made these pieces.
    """

    ids: tuple[int, ...]
    sizes: tuple[int, ...]


@dataclass(frozen=True)
class StoragePlan:
    """The plan of one function.

    Attributes:
        storage: by expression: parameters, variables, constants, calls, tuples and projections.
        token_bytes: by storage id, the bytes of that piece of memory.
    """

    function: Function
    storage: Mapping[Expr, Storage]
    token_bytes: tuple[int, ...]

    def __getitem__(self, e: Expr) -> Storage:
        return self.storage[e]

    @property
    def total_bytes(self) -> int:
        """Everything: parameters, constants and values between."""
        return sum(self.token_bytes)

    def info(self, target: str = "c") -> FunctionInfo:
        """What TVM reports about the function; of the plan before lowering (`plan(…, lowered=False)`).

        `io` counts every parameter and the result (a tuple once for each of its fields), `constants` every constant, and
        `workspace` the largest value in each piece of memory that holds anything else (a tuple counts as one value).
        """
        largest: dict[int, int] = {}
        io = constants = 0
        for e, held in self.storage.items():
            size = type_bytes(e.checked_type)
            if isinstance(e, Constant):
                constants += size * len(held.ids)
            elif isinstance(e, Var) or e is self.function.body:
                io += size * len(held.ids)
            else:
                for i in held.ids:
                    largest[i] = max(largest.get(i, 0), size)
        return FunctionInfo({target: sum(largest.values())}, {target: io}, {target: constants})


@dataclass(frozen=True)
class FunctionInfo:
    """Bytes that a function needs, by target: workspace, inputs and outputs, constants."""

    workspace: Mapping[str, int]
    io: Mapping[str, int]
    constants: Mapping[str, int]

    def as_dict(self) -> dict[str, dict[str, int]]:
        """For reports."""
        return {"workspace": dict(self.workspace), "io": dict(self.io), "constants": dict(self.constants)}


def plan(module: Module | Function, entry: str = "main", *, lowered: bool = True) -> StoragePlan:
    """TVM's storage plan of a fused or lowered function whose types are known.

    Args:
        module: a module of which `entry` is planned, or the function itself.
        lowered: plan as after lowering, where a kernel that only reshapes shares its operand's memory (what graph JSON
            says). Without it, as before lowering (what `FunctionInfo` is computed from).

    Raises IrError where the function has branches, or a shape is not static.
    """
    function = module[entry] if isinstance(module, Module) else module
    return _Planner(function, lowered, module if isinstance(module, Module) else None).run()


def function_infos(module: Module, entry: str = "main", target: str = "c") -> dict[str, FunctionInfo]:
    """What TVM reports about a lowered module: its entry, as `__tvm_main__`, and every loop nest, by name.

    `io` of a loop nest is the size of its last parameter, as TVM has it.
    """
    infos = {"__tvm_main__": plan(module, entry, lowered=False).info(target)}
    for name, f in module.functions.items():
        if isinstance(f, PrimFunc):
            last = f.params[-1].nbytes if f.params else 0
            infos[name] = FunctionInfo({target: workspace_bytes(f)}, {target: last}, {target: 0})
    return infos


def storage_report(module: Module, entries: Iterable[str] = ("main",), target: str = "c") -> dict[str, Any]:
    """The plans of a fused module's entries, for reports: the bytes of each piece of memory, and the function info by
    target. Of an entry that has no plan (it has branches, say) the report says why."""
    found: dict[str, Any] = {}
    for name in entries:
        try:
            pieces = plan(module, name)
            found[name] = {
                "pieces": list(pieces.token_bytes),
                "total_bytes": pieces.total_bytes,
                **plan(module, name, lowered=False).info(target).as_dict(),
            }
        except IrError as error:
            found[name] = {"reason": error.diagnostics[0].message}
    return found


def workspace_bytes(f: PrimFunc) -> int:
    """The most bytes that the function's allocations take at any one time, each rounded up to 16."""
    most = 0
    stack: list[tuple[Stmt, int]] = [(f.body, 0)]
    while stack:
        s, held = stack.pop()
        if isinstance(s, Allocate):
            held += -(-s.buffer.nbytes // _WORKSPACE_ALIGNMENT) * _WORKSPACE_ALIGNMENT
            most = max(most, held)
        stack.extend((k, held) for k in children(s))
    return most


def type_bytes(t: Type | None) -> int:
    """Bytes of a value: tensors, and tuples of them. Raises IrError for a shape that is not static."""
    return sum(_tensor_bytes(x) for x in _tensors(t))


def _tensors(t: Type | None) -> list[TensorType]:
    found: list[TensorType] = []
    for x in tuple_leaves(t):  # type: ignore[arg-type]  # types have been inferred
        if isinstance(x, TensorType):
            found.append(x)
        elif not isinstance(x, FuncType):
            raise IrError(f"a value of type {x} has no place in a storage plan")
    return found


def _tensor_bytes(t: TensorType) -> int:
    if not t.is_static:
        raise IrError(f"the shape {t} is not static: its storage cannot be planned", code=DynamicShape)
    n = -(-dtypes.bits(t.dtype) // 8)
    for d in t.shape:
        n *= int(d)  # type: ignore[arg-type]  # a static shape: its dimensions are numbers
    return n


@dataclass(eq=False)
class _Token:
    """A piece of memory. `readers` counts what still needs its contents."""

    size: int
    readers: int = 0
    id: int = -1
    largest: int = field(default=0)


class _Planner:
    def __init__(self, function: Function, lowered: bool, module: Module | None) -> None:
        self.function = function
        self.lowered = lowered
        self.module = module
        self.order = post_order(function.body, enter=lambda e: not isinstance(e, Function))
        self.bound: dict[Expr, Expr] = {e.var: e.value for e in self.order if isinstance(e, Let)}
        self.made: list[_Token] = []
        self.free: list[tuple[int, int, _Token]] = []
        """Free tokens by size, then by when they became free."""
        self.freed = 0

    def run(self) -> StoragePlan:
        wanted = self._count_readers()
        held: dict[Expr, list[_Token]] = {}
        for p in self.function.params:
            held[p] = self._keep(wanted[p])
        for e in self.order:
            if isinstance(e, Constant):
                held[e] = self._keep(wanted[e])
            elif isinstance(e, Call):
                if not _is_on_device(e):
                    held[e] = self._call(e, wanted[e], [t for a in e.args for t in held.get(self._origin(a), ())])
            else:
                self._pass_on(e, held)
        storage = {
            e: Storage(tuple(t.id for t in tokens), tuple(t.size for t in tokens))
            for e, tokens in held.items()
            if tokens or isinstance(e, Tuple | TupleGetItem)
        }
        return StoragePlan(self.function, storage, tuple(t.largest for t in self.made))

    def _count_readers(self) -> dict[Expr, list[_Token]]:
        """A token for every value, none shared, and how many calls read it (the function's result is read once more)."""
        held: dict[Expr, list[_Token]] = {}
        for e in (*self.function.params, *self.order):
            if isinstance(e, Call | Constant) or e in self.function.params:
                if e not in held and not _is_on_device(e):
                    held[e] = [_Token(_tensor_bytes(t)) for t in _tensors(e.checked_type)]
            else:
                self._pass_on(e, held)
        for e in self.order:
            if isinstance(e, Call) and not _is_on_device(e):
                for a in e.args:
                    for token in held.get(self._origin(a), ()):
                        token.readers += 1
        for token in held[self._origin(self.function.body)]:
            token.readers += 1
        return held

    def _pass_on(self, e: Expr, held: dict[Expr, list[_Token]]) -> None:
        """Notes the tokens of an expression that only hands values on."""
        if isinstance(e, Tuple):
            held[e] = [t for f in e.fields for t in held[self._origin(f)]]
        elif isinstance(e, TupleGetItem):
            t = e.tuple.checked_type
            assert isinstance(t, TupleType)
            start = sum(len(_tensors(f)) for f in t.fields[: e.index])
            held[e] = held[self._origin(e.tuple)][start : start + len(_tensors(t.fields[e.index]))]
        elif isinstance(e, Let):
            held[e.var] = held.get(self._origin(e.value), [])
            held[e] = held[self._origin(e.body)]
        elif not isinstance(e, Var | GlobalVar | Op | Function):
            raise IrError(
                f"{type(e).__name__} has no place in a storage plan: it is for straight-line functions", e.span
            )

    def _call(self, e: Call, wanted: list[_Token], arguments: list[_Token]) -> list[_Token]:
        if self.lowered and len(arguments) == 1 and len(wanted) == 1 and self._only_reshapes(e):
            tokens = arguments[:]
            tokens[0].readers += wanted[0].readers
        else:
            tokens = [self._request(t) for t in wanted]
        for token in tokens:
            self._release_if_unread(token)
        for token in arguments:
            token.readers -= 1
            self._release_if_unread(token)
        return tokens

    def _origin(self, e: Expr) -> Expr:
        """The expression whose value this is, behind devices and variables that a `let` binds."""
        while True:
            if _is_on_device(e):
                e = e.args[0]  # type: ignore[attr-defined]
            elif e in self.bound:
                e = self.bound[e]
            else:
                return e

    def _only_reshapes(self, e: Call) -> bool:
        """Whether a kernel call (of a primitive function, or lowered) only gives its operand another shape."""
        callee: Any = self.bound.get(e.op, e.op)
        if isinstance(callee, GlobalVar) and self.module is not None:
            callee = self.module.functions.get(callee.name)
        if isinstance(callee, Function):
            return bool(callee.attrs.get("relay.reshape_only"))
        metadata = getattr(e.attrs, "metadata", None)
        return isinstance(metadata, Mapping) and bool(metadata.get("relay.reshape_only"))

    def _allocate(self, wanted: _Token) -> _Token:
        wanted.id = len(self.made)
        wanted.largest = wanted.size
        self.made.append(wanted)
        return wanted

    def _keep(self, wanted: list[_Token]) -> list[_Token]:
        """Memory that is never free again: one reader more than there are."""
        for token in wanted:
            self._allocate(token).readers += 1
        return wanted

    def _request(self, wanted: _Token) -> _Token:
        """A free token: the smallest that is large enough, else the largest that is not; a new one where none is near."""
        size = wanted.size
        middle = bisect.bisect_left(self.free, (size,))
        if middle < len(self.free) and self.free[middle][0] <= size * _MATCH_RANGE:
            at = middle
        elif middle and self.free[middle - 1][0] >= size // _MATCH_RANGE:
            at = middle - 1
        else:
            return self._allocate(wanted)
        token = self.free.pop(at)[2]
        token.largest = max(token.largest, size)
        token.readers = wanted.readers
        return token

    def _release_if_unread(self, token: _Token) -> None:
        if token.readers == 0:
            self.freed += 1
            bisect.insort(self.free, (token.largest, self.freed, token))


def _is_on_device(e: Expr) -> bool:
    return isinstance(e, Call) and isinstance(e.op, Op) and e.op.name == "on_device"


__all__ = [
    "FunctionInfo",
    "Storage",
    "StoragePlan",
    "function_infos",
    "plan",
    "storage_report",
    "type_bytes",
    "workspace_bytes",
]
