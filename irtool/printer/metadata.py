"""References into the metadata section: `meta[relay.Constant][3]`.

What has no text of its own (tensors, symbolic dimensions, devices, attributes of operators that declare none) is listed by
kind in the order in which it is met; the same object is listed once.
"""

from __future__ import annotations

from typing import Any

from ..ir import ANY, Constant, DimExpr, DimVar, Expr, GlobalVar, Int64, MissingData
from ..ir.meta import MetaNode, VirtualDevice


class References:
    """The objects referred to so far, by the peer's type key."""

    def __init__(self) -> None:
        self.entries: dict[str, list[Any]] = {}
        self._known: dict[int, str] = {}
        self._kept: list[Any] = []

    def reserve(self, missing: MissingData) -> None:
        """Keeps the index of a constant whose data is not there, so that it is referred to as before."""
        listed = self.entries.setdefault(missing.key, [])
        listed.extend([None] * (missing.index + 1 - len(listed)))

    def refer(self, node: Any) -> str:
        """The reference to `node`, which is listed if it was not yet."""
        known = self._known.get(id(node))
        if known is None:
            if isinstance(node, Constant) and isinstance(node.data, MissingData):
                known = f"meta[{node.data.key}][{node.data.index}]"
            else:
                key = type_key(node)
                listed = self.entries.setdefault(key, [])
                known = f"meta[{key}][{len(listed)}]"
                listed.append(node)
            self._known[id(node)] = known
            self._kept.append(node)
        return known

    @property
    def used(self) -> bool:
        """True if anything was referred to."""
        return bool(self._known)

    @property
    def complete(self) -> bool:
        """True if there is something to write into a metadata section."""
        return any(node is not None for listed in self.entries.values() for node in listed)


def type_key(node: Any) -> str:
    """The peer's name for the class of a node."""
    if isinstance(node, MetaNode):
        return node.type_key
    if isinstance(node, VirtualDevice):
        return "VirtualDevice"
    attrs_name = getattr(type(node), "attrs_name", "")
    if attrs_name:
        return attrs_name
    if isinstance(node, DimVar):
        return "tir.SizeVar" if node.nonnegative else "tir.Var"
    if isinstance(node, DimExpr):
        return "tir.Call" if node.op[0].islower() else f"tir.{node.op}"
    if isinstance(node, GlobalVar):
        return "GlobalVar"
    if isinstance(node, Expr):
        return f"relay.{type(node).__name__}"
    if node is ANY:
        return "tir.Any"
    if isinstance(node, str):
        return "runtime.String"
    if isinstance(node, int | Int64):
        return "IntImm"
    if isinstance(node, float):
        return "FloatImm"
    return "Map" if isinstance(node, dict) else "Array"
