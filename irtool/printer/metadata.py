"""References into the metadata section: `meta[relay.Constant][3]`.

What has no text of its own (tensors, symbolic dimensions, devices, attributes of operators that declare none) is listed by
kind in the order in which it is met; the same object is listed once, and so is arithmetic on dimensions that is equal: types are
inferred anew where the text is read, with objects of their own.
"""

from __future__ import annotations

from typing import Any

from ..ir import ANY, Constant, DimExpr, DimVar, Expr, GlobalVar, Int64, MissingData
from ..ir.meta import MetaNode, VirtualDevice
from ..symbolic_int import Symbol, SymbolicInt


class References:
    """The objects referred to so far, by TVM's type key."""

    def __init__(self) -> None:
        self.entries: dict[str, list[Any]] = {}
        self._known: dict[object, str] = {}
        self._alive: list[Any] = []
        self.taken: set[tuple[str, int]] = set()
        """Missing objects whose index went to another one: they have to be reserved before anything is printed."""
        self.lengths: dict[str, Symbol] = {}
        """The lengths that formulas have, which a line at the top declares, by name."""

    def formula(self, extent: SymbolicInt) -> str:
        """The text of a formula, whose lengths are declared."""
        for s in extent.symbols():
            self.lengths[s.name] = s
        return str(extent)

    def reserve(self, key: str, index: int) -> None:
        """Keeps the index of an object that is not there, so that it is referred to as before."""
        listed = self.entries.setdefault(key, [])
        listed.extend([None] * (index + 1 - len(listed)))

    def refer(self, node: Any) -> str:
        """The reference to `node`, which is listed if it was not yet."""
        identity: object = node if node.__class__ is DimExpr else id(node)
        known = self._known.get(identity)
        if known is None:
            missing = missing_reference(node)
            if missing is not None:
                key, index = missing
                self.reserve(key, index)
                if self.entries[key][index] is not None:
                    self.taken.add(missing)
                known = f"meta[{key}][{index}]"
            else:
                key = type_key(node)
                listed = self.entries.setdefault(key, [])
                known = f"meta[{key}][{len(listed)}]"
                listed.append(node)
            self._known[identity] = known
            self._alive.append(node)
        return known

    @property
    def used(self) -> bool:
        """True if anything was referred to."""
        return bool(self._known)

    @property
    def complete(self) -> bool:
        """True if there is something to write into a metadata section."""
        return any(node is not None for listed in self.entries.values() for node in listed)


def missing_reference(node: Any) -> tuple[str, int] | None:
    """Key and index of a node that stands for an entry of a metadata section that its text did not have, else None."""
    cls = node.__class__
    if cls is Constant:
        return (node.data.key, node.data.index) if isinstance(node.data, MissingData) else None
    if cls is DimVar:
        return node.missing
    if cls is MetaNode or cls is VirtualDevice:
        return None if node.missing is None else (type_key(node), node.missing)
    return None


def type_key(node: Any) -> str:
    """TVM's name for the class of a node."""
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
