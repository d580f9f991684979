"""The walk: hashes parts before wholes, with an explicit stack, each node once."""

from __future__ import annotations

from typing import Any

from .parts import Definition, FreeVariable, describe, identity
from .values import combine, text


def tvm_hash(root: Any, addresses: dict[Any, int] | None = None) -> int:
    """TVM's structural hash of an expression or type, 0 ≤ hash < 2⁶⁴; time is linear in the number of nodes.

    `addresses` gives a made-up address to each variable, type variable or global name that is used and not bound inside;
    those that are missing are added. With one dictionary for several hashes, different variables stay different.
    """
    return _Walk({} if addresses is None else addresses).run(root)


class _Frame:
    """A node whose parts are being hashed. `binding`: whether variables inside are counted as they are met."""

    __slots__ = ("binding", "hashes", "key", "next", "parts", "shared", "type_key")

    def __init__(self, node: Any, key: Any, binding: bool) -> None:
        self.key = key
        self.binding = binding
        self.type_key, self.shared, self.parts = describe(node)
        self.next = 0
        self.hashes: list[int] = []

    def reduced(self) -> int:
        h = text(self.type_key)
        for part in reversed(self.hashes):
            h = combine(h, part)
        return h


class _Walk:
    def __init__(self, addresses: dict[Any, int]) -> None:
        self.addresses = addresses
        self.known: dict[Any, int] = {}
        self.variables = 0
        self.shared = 0

    def run(self, root: Any) -> int:
        frames = [_Frame(root, identity(root), False)]
        while True:
            frame = frames[-1]
            opened = self._advance(frame)
            if opened is not None:
                frames.append(opened)
                continue
            h = frame.reduced()
            if frame.shared:
                h = combine(h, self.shared)
                self.shared += 1
            if frame.key is not None:
                self.known[frame.key] = h
            frames.pop()
            if not frames:
                return h
            frames[-1].hashes.append(h)

    def _advance(self, frame: _Frame) -> _Frame | None:
        """Hashes parts until one has to be looked into, which is returned, or none is left."""
        while frame.next < len(frame.parts):
            part = frame.parts[frame.next]
            frame.next += 1
            binding = frame.binding
            if part.__class__ is Definition:
                part, binding = part.node, True
            if part is None:
                frame.hashes.append(0)
            elif part.__class__ is int:
                frame.hashes.append(part)
            elif part.__class__ is FreeVariable:
                frame.hashes.append(self._variable(part.key, binding))
            else:
                key = identity(part)
                known = None if key is None else self.known.get(key)
                if known is None:
                    return _Frame(part, key, binding)
                frame.hashes.append(known)
        return None

    def _variable(self, key: Any, binding: bool) -> int:
        if binding:
            self.variables += 1
            return self.variables - 1
        return self.addresses.setdefault(key, _FIRST_ADDRESS + _STEP * len(self.addresses))


_FIRST_ADDRESS = 1 << 32
_STEP = 16

__all__ = ["tvm_hash"]
