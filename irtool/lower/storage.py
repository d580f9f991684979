"""TVM's storage plan: which storage token, a numbered part of memory, each value is in, and on which device.

This is not how irtool lays out its own arena (see `memory`): it is what TVM's graph executor is told, and what its
reports say. Values get *tokens* (see `storage_tokens`). A parameter and a constant have one each for good; the result of a
call takes a free one of similar size on its device, or a new one, and gives it back when its last reader has run. A token is as
large as the largest value that was ever in it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
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
from ..ir.meta import VirtualDevice
from ..ops.base import is_call_to
from ..passes.core.lexical_devices import without_device
from ..passes.core.primitive_functions import RESHAPE_ONLY, only_reshapes
from ..passes.devices.placed import placed
from ..symbolic_int import bound
from ..tir import dtypes
from .mistakes import DynamicShape
from .storage_tokens import Token, TokenAllocator


@dataclass(frozen=True)
class Storage:
    """The place of a value: one entry for each of its tensors, tuples flattened.

    Attributes:
        ids: numbers of the storage tokens (the `storage_id` of graph JSON).
        sizes: bytes of the values that made these tokens.
        devices: where the tokens are; None if nothing says.
        references: how often the value is read: by calls, and once as the result of the function. A token is free again
            when the last one has run.
    """

    ids: tuple[int, ...]
    sizes: tuple[int, ...]
    devices: tuple[VirtualDevice | None, ...]
    references: tuple[int, ...]


@dataclass(frozen=True)
class StorageToken:
    """A part of memory that values share: its number, how many bytes it has, and the device that it is on, None if nothing says."""

    id: int
    nbytes: int
    device: VirtualDevice | None


@dataclass(frozen=True)
class StoragePlan:
    """The plan of one function.

    Attributes:
        storage: by expression: parameters, variables, constants, calls, tuples and projections.
        tokens: the parts of memory, by storage id.
    """

    function: Function
    storage: Mapping[Expr, Storage]
    tokens: tuple[StorageToken, ...]

    def __getitem__(self, e: Expr) -> Storage:
        return self.storage[e]

    @property
    def token_bytes(self) -> tuple[int, ...]:
        """By storage id, the bytes of that token."""
        return tuple(p.nbytes for p in self.tokens)

    @property
    def total_bytes(self) -> int:
        """Everything: parameters, constants and values between."""
        return sum(self.token_bytes)


def plan(module: Module | Function, entry: str = "main", *, lowered: bool = True) -> StoragePlan:
    """TVM's storage plan of a fused or lowered function whose types are known.

    Args:
        module: a module of which `entry` is planned, or the function itself.
        lowered: plan as after lowering, where a kernel that only reshapes shares its operand's memory (what graph JSON
            says). Without it, as before lowering (what `FunctionInfo` is computed from).

    Raises IrError if the function has branches, or a shape is not static.
    """
    function = module[entry] if isinstance(module, Module) else module
    return _Planner(function, lowered, module if isinstance(module, Module) else None).run()


def type_bytes(t: Type | None) -> int:
    """Bytes of a value: tensors, and tuples of them. Raises IrError for a shape that is not static."""
    return sum(_tensor_bytes(x) for x in _tensors(t))


def _tensors(t: Type | None) -> list[TensorType]:
    tensor_types: list[TensorType] = []
    for x in tuple_leaves(t):  # type: ignore[arg-type]  # types have been inferred
        if isinstance(x, TensorType):
            tensor_types.append(x)
        elif not isinstance(x, FuncType):
            raise IrError(f"a storage plan cannot hold a value of type {x}")
    return tensor_types


def _tensor_bytes(t: TensorType) -> int:
    if not t.is_static:
        raise IrError(f"the shape {t} is not static: its storage cannot be planned", code=DynamicShape)
    return -(-dtypes.bits(t.dtype) // 8) * bound(math.prod(t.static_shape))


class _Planner:
    def __init__(self, function: Function, lowered: bool, module: Module | None) -> None:
        self.function = function
        self.lowered = lowered
        self.module = module
        self.order = post_order(function.body, enter=lambda e: not isinstance(e, Function))
        self.bound: dict[Expr, Expr] = {e.var: e.value for e in self.order if isinstance(e, Let)}
        self.devices = placed(function)
        self.allocator = TokenAllocator()
        self._origins: dict[Expr, Expr] = {}

    def run(self) -> StoragePlan:
        tokens_of = self._count_readers()
        references = {e: tuple(t.readers for t in tokens) for e, tokens in tokens_of.items()}
        assigned: dict[Expr, list[Token]] = {}
        for p in self.function.params:
            assigned[p] = [self.allocator.keep(t) for t in tokens_of[p]]
        for e in self.order:
            if isinstance(e, Constant):
                assigned[e] = [self.allocator.keep(t) for t in tokens_of[e]]
            elif isinstance(e, Call):
                if not is_call_to(e, "on_device"):
                    assigned[e] = self._call(
                        e, tokens_of[e], [t for a in e.args for t in assigned.get(self._origin(a), ())]
                    )
            else:
                self._pass_on(e, assigned)
        storage = {
            e: Storage(
                tuple(t.id for t in tokens),
                tuple(t.size for t in tokens),
                tuple(t.device for t in tokens),
                references[e],
            )
            for e, tokens in assigned.items()
            if tokens or isinstance(e, Tuple | TupleGetItem)
        }
        tokens = tuple(StorageToken(t.id, t.largest, t.device) for t in self.allocator.tokens)
        return StoragePlan(self.function, storage, tokens)

    def _count_readers(self) -> dict[Expr, list[Token]]:
        """A token for every value, none shared, and how many calls read it (the function's result is read once more)."""
        assigned: dict[Expr, list[Token]] = {}
        parameters = set(self.function.params)
        for e in (*self.function.params, *self.order):
            if isinstance(e, Call | Constant) or e in parameters:
                if e not in assigned and not is_call_to(e, "on_device"):
                    device = self.devices.get(e)
                    assigned[e] = [Token(_tensor_bytes(t), device) for t in _tensors(e.checked_type)]
            else:
                self._pass_on(e, assigned)
        for e in self.order:
            if isinstance(e, Call) and not is_call_to(e, "on_device"):
                for a in e.args:
                    for token in assigned.get(self._origin(a), ()):
                        token.readers += 1
        for token in self._tokens(self.function.body, assigned):
            token.readers += 1
        return assigned

    def _pass_on(self, e: Expr, assigned: dict[Expr, list[Token]]) -> None:
        """Notes the tokens of an expression that only hands values on."""
        if isinstance(e, Tuple):
            assigned[e] = [t for f in e.fields for t in self._tokens(f, assigned)]
        elif isinstance(e, TupleGetItem):
            t = e.tuple.checked_type
            assert isinstance(t, TupleType)
            assigned[e] = self._tokens(e.tuple, assigned)[t.leaves_of(e.index)]
        elif isinstance(e, Let):
            assigned[e.var] = self._tokens(e.value, assigned)
            assigned[e] = self._tokens(e.body, assigned)
        elif not isinstance(e, Var | GlobalVar | Op | Function):
            raise IrError(
                f"{type(e).__name__} has no place in a storage plan, which is for straight-line functions", e.span
            )

    def _call(self, e: Call, requested: list[Token], arguments: list[Token]) -> list[Token]:
        if self.lowered and len(arguments) == 1 and len(requested) == 1 and self._only_reshapes(e):
            tokens = arguments[:]
            tokens[0].readers += requested[0].readers
        else:
            tokens = [self.allocator.request(t) for t in requested]
        for token in tokens:
            self.allocator.release_if_unread(token)
        for token in arguments:
            token.readers -= 1
            self.allocator.release_if_unread(token)
        return tokens

    def _tokens(self, e: Expr, assigned: Mapping[Expr, list[Token]]) -> list[Token]:
        """The tokens of a value; functions are in no memory."""
        e = self._origin(e)
        return [] if isinstance(e.checked_type, FuncType) else assigned[e]

    def _origin(self, e: Expr) -> Expr:
        """The expression whose value this is, behind devices and variables that a `let` binds."""
        passed: list[Expr] = []
        while (value := self._origins.get(e)) is None:
            inner = without_device(e)
            if inner is not e:
                value = inner
            elif e in self.bound:
                value = self.bound[e]
            else:
                break
            passed.append(e)
            e = value
        expr = e if value is None else value
        for v in passed:  # a chain of names for one value is followed once
            self._origins[v] = expr
        return expr

    def _only_reshapes(self, e: Call) -> bool:
        """True if a kernel call (of a primitive function, or lowered) only gives its operand another shape."""
        callee: Any = self.bound.get(e.op, e.op)
        if isinstance(callee, GlobalVar) and self.module is not None:
            callee = self.module.functions.get(callee.name)
        if isinstance(callee, Function):
            return only_reshapes(callee)
        metadata = getattr(e.attrs, "metadata", None)
        return isinstance(metadata, Mapping) and bool(metadata.get(RESHAPE_ONLY))


__all__ = ["Storage", "StoragePlan", "StorageToken", "plan", "type_bytes"]
