"""Memory of each target that functions take: TVM's `FunctionInfo`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..diagnostics import IrError
from ..ir import Constant, Function, Module, Var
from ..ir.target import Target
from ..ops.base import is_call_to
from ..symbolic_int import bound
from ..tir.stmt import Allocate, AllocateConst, PrimFunc, Stmt, children, pre_order
from .storage import StoragePlan, plan, type_bytes
from .targets import DEFAULT, target_of, targets_of

_ALIGNMENT = 16
"""Bytes: TVM's reports round the allocations of a kernel up to a multiple of it."""

MAIN = "__tvm_main__"
"""What TVM calls the function that runs a module's `@main`."""


@dataclass(frozen=True)
class FunctionInfo:
    """Bytes that a function takes, and the run functions, by target (`cuda -arch=sm_75`).

    Attributes:
        workspace: bytes that a run needs.
        io: inputs and results.
        constants: constants.
        tir_primfuncs: the loop nest, of a kernel.
        relay_primfuncs: the Relay function that it was, or is.
    """

    workspace: Mapping[str, int]
    io: Mapping[str, int]
    constants: Mapping[str, int]
    tir_primfuncs: Mapping[str, PrimFunc] = field(default_factory=dict, repr=False, compare=False)
    relay_primfuncs: Mapping[str, Function] = field(default_factory=dict, repr=False, compare=False)

    def as_dict(self) -> dict[str, dict[str, int]]:
        """The sizes, for reports."""
        return {"workspace": dict(self.workspace), "io": dict(self.io), "constants": dict(self.constants)}


def plan_info(planned: StoragePlan, targets: Sequence[Target] = ()) -> FunctionInfo:
    """TVM's report on a function, of its plan before lowering (`plan(…, lowered=False)`).

    `io` counts every parameter and the result (a tuple once for each of its fields), `constants` every constant, and
    `workspace` the largest value in each storage token that holds anything else (a tuple counts as one value), each with the
    target of its device. `targets` are those that the module is for; they stand in `workspace` whether they have any or not.
    """
    names = {d: str(target_of(d, targets)) for d in {t.device for t in planned.tokens}}
    first = str(targets[0]) if targets else DEFAULT
    present = dict.fromkeys([names[t.device] for t in planned.tokens] or [first], 0)
    largest: dict[tuple[str, int], int] = {}
    io, constants = dict(present), dict(present)
    # Tuples that arguments stand in once calls are lowered are no values of the function.
    arguments = {e.args[1] for e in planned.storage if is_call_to(e, "call_lowered")}
    for e, storage in planned.storage.items():
        if e in arguments:
            continue
        size = type_bytes(e.checked_type)
        for i, device in zip(storage.ids, storage.devices, strict=True):
            target = names[device]
            if isinstance(e, Constant):
                constants[target] += size
            elif isinstance(e, Var) or e is planned.function.body:
                io[target] += size
            else:
                largest[target, i] = max(largest.get((target, i), 0), size)
    workspace = {**dict.fromkeys(map(str, targets), 0), **present}
    for (target, _), size in largest.items():
        workspace[target] += size
    functions = dict.fromkeys(present, planned.function)
    return FunctionInfo(workspace, io, constants, relay_primfuncs=functions)


def main_func_info(module: Module, targets: Sequence[Target] = (), entry: str = "main") -> FunctionInfo | None:
    """The same for the entry of a fused module; None if it has none, or no plan (it has branches, say)."""
    if not isinstance(module.functions.get(entry), Function):
        return None
    try:
        return plan_info(plan(module, entry, lowered=False), targets)
    except IrError:
        return None


def nest_info(f: PrimFunc, made_from: Function | None = None) -> FunctionInfo:
    """TVM's report on a loop nest, and the constants that it holds. `io` is the size of its last parameter, as in TVM."""
    record = f.attrs.get("target")
    target = DEFAULT if record is None else str(Target.from_record(record))
    last = bound(f.params[-1].nbytes) if f.params else 0
    relay = {} if made_from is None else {target: made_from}
    constants = sum(s.buffer.nbytes for s in pre_order(f.body) if isinstance(s, AllocateConst))
    return FunctionInfo({target: workspace_bytes(f)}, {target: last}, {target: constants}, {target: f}, relay)


def function_infos(module: Module, entry: str = "main") -> dict[str, FunctionInfo]:
    """TVM's report on a lowered module: its entry, as `__tvm_main__`, and every loop nest, by name.

    What lowering noted on the module is taken where it is of these functions. Raises IrError if the entry has no plan.
    """
    main = module.attrs.get("main_func_info") if entry == "main" else None
    return {MAIN: main or plan_info(plan(module, entry, lowered=False), targets_of(module)), **nest_infos(module)}


def nest_infos(module: Module) -> dict[str, FunctionInfo]:
    """TVM's report on each loop nest of a module, by name."""
    noted: Mapping[str, FunctionInfo] = module.attrs.get("function_metadata", {})
    infos: dict[str, FunctionInfo] = {}
    for name, f in module.functions.items():
        if isinstance(f, PrimFunc):
            known = noted.get(name)
            same = known is not None and any(g is f for g in known.tir_primfuncs.values())
            infos[name] = known if known is not None and same else nest_info(f)
    return infos


def storage_report(module: Module, entries: Iterable[str] = ("main",)) -> dict[str, Any]:
    """The plans of a fused module's entries, for reports: the bytes of each storage token, and the function info by
    target. Of an entry that has no plan (it has branches, say) the report says why."""
    result: dict[str, Any] = {}
    for name in entries:
        try:
            planned = plan(module, name)
            result[name] = {
                "tokens": list(planned.token_bytes),
                "total_bytes": planned.total_bytes,
                **plan_info(plan(module, name, lowered=False), targets_of(module)).as_dict(),
            }
        except IrError as error:
            result[name] = {"reason": error.diagnostics[0].message}
    return result


def workspace_bytes(f: PrimFunc) -> int:
    """The most bytes that the function's allocations take at any one time, each rounded up to 16."""
    most = 0
    stack: list[tuple[Stmt, int]] = [(f.body, 0)]
    while stack:
        s, live = stack.pop()
        if isinstance(s, Allocate):
            live += -(-bound(s.buffer.nbytes) // _ALIGNMENT) * _ALIGNMENT
            most = max(most, live)
        stack.extend((k, live) for k in children(s))
    return most
