"""The loop nests of a module's primitive functions: equal ones for one target share theirs."""

from __future__ import annotations

from typing import Any

from ..diagnostics import Diagnostic, IrError
from ..ir import Function, FuncType, Module
from ..ir.meta import VirtualDevice
from ..ir.structural import structural_equal, structural_hash
from ..ir.target import Target
from ..tir.constants import bind_constants
from ..tir.stmt import PrimFunc
from .compose import TensorGraph, compose
from .naming import kernel_name
from .plain import lower_plainly

_Key = tuple[int, Target, VirtualDevice | None]


class LoopNests:
    """Loop nests made so far, by name, in `functions`, their original functions in `sources`; functions without a nest are noted in
    `problems`.

    Their names begin with `prefix` and are no other functions' of the module.
    """

    def __init__(self, module: Module, prefix: str) -> None:
        self.prefix = prefix
        self.functions: dict[str, PrimFunc] = {}
        self.sources: dict[str, Function] = {}
        self.problems: list[Diagnostic] = []
        self._taken = set(module.functions)
        self._known: dict[_Key, list[tuple[Function, str]]] = {}

    def get(self, function: Function, target: Target, device: VirtualDevice | None = None) -> str | None:
        """The name of the loop nest of a primitive function that is called on a device; None, with the problems noted, where
        there is none."""
        known = self._known.setdefault((structural_hash(function), target, device), [])
        for other, name in known:
            if other is function or structural_equal(other, function):
                return name
        try:
            graph = compose(function)
            name = self._fresh(kernel_name((c.op_name for c in graph.operators), self.prefix))
            self.functions[name] = _nest_of(graph, function, name, target)
        except IrError as error:
            self.problems += error.diagnostics
            return None
        self.sources[name] = function
        known.append((function, name))
        return name

    def _fresh(self, name: str) -> str:
        taken = name
        number = 0
        while taken in self._taken:
            number += 1
            taken = f"{name}_{number}"
        self._taken.add(taken)
        return taken


def loop_nest(function: Function, name: str, target: Target) -> PrimFunc:
    """The loop nest of a primitive function whose types are known, without any schedule, as LowerTE puts it into a module.

    Raises IrError if an operator has no tensor expression, or a shape is not static.
    """
    return _nest_of(compose(function), function, name, target)


def _nest_of(graph: TensorGraph, function: Function, name: str, target: Target) -> PrimFunc:
    nest = bind_constants(lower_plainly(graph, name), [c.data for c in graph.constants])
    nest.attrs.update(_attributes(name, function.attrs.get("hash"), target))
    types = [p.checked_type or p.type_annotation or p.known_type for p in function.params]
    nest.checked_type = FuncType(tuple(types), function.body.known_type)
    return nest


def _attributes(name: str, hash: Any, target: Target) -> dict[str, Any]:
    """The attributes of a loop nest, in the order in which TVM prints them, which differs with their number."""
    attrs = {
        "from_legacy_te_schedule": True,
        "global_symbol": name,
        "tir.noalias": True,
        "target": target.record(),
    }
    return attrs if hash is None else {"hash": hash, **dict(_reordered(attrs))}


def _reordered(attrs: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(k, attrs[k]) for k in ("target", "tir.noalias", "global_symbol", "from_legacy_te_schedule")]
